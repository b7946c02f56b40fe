"""The lab's component vendor: an authority of its own, and per component a key and its certificate.

Keys follow from seed, node and component, so that nothing is stored for a thousand nodes; certificates are made when
they are first asked for.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from lab.certificates import write_private
from lab.vendors import lasting, private_pem, publish

_VENDOR = "Nodeworthy Lab Component Vendor"
_ORDER_BITS = 383
"""Below the order of P-384, so that every number of so many bits but 0 is a private key."""


def ensure_authority(state_dir: Path) -> Path:
    """The authority's certificate; key and certificate are written once."""
    certificate_path, key_path = state_dir / "spdm-ca.pem", state_dir / "spdm-ca.key"
    if certificate_path.exists() and key_path.exists():
        return certificate_path
    state_dir.mkdir(parents=True, exist_ok=True)
    key = ec.generate_private_key(ec.SECP384R1())
    subject = _name(f"{_VENDOR} Root CA")
    certificate = (
        lasting(subject, subject, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA384())
    )
    write_private(key_path, private_pem(key))
    publish(certificate_path, certificate.public_bytes(serialization.Encoding.PEM))
    return certificate_path


@lru_cache(maxsize=4096)
def device_key(seed: int, node: str, component: str) -> ec.EllipticCurvePrivateKey:
    """The key in a component's root of trust; always the same."""
    digest = hashlib.sha384(f"nodeworthy-lab:spdm:{seed}:{node}:{component}".encode()).digest()
    return ec.derive_private_key(int.from_bytes(digest, "big") % (1 << _ORDER_BITS) or 1, ec.SECP384R1())


@lru_cache(maxsize=4096)
def device_chain(seed: int, node: str, component: str, state_dir: Path) -> str:
    """The component's certificate and the vendor's root, PEM, the component's first."""
    root = ensure_authority(state_dir).read_bytes()
    issuer = x509.load_pem_x509_certificate(root)
    issuer_key = serialization.load_pem_private_key((state_dir / "spdm-ca.key").read_bytes(), None)
    assert isinstance(issuer_key, ec.EllipticCurvePrivateKey)
    certificate = (
        lasting(_name(component), issuer.subject, device_key(seed, node, component).public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(issuer_key, hashes.SHA384())
    )
    return (certificate.public_bytes(serialization.Encoding.PEM) + root).decode()


def _name(common_name: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, _VENDOR),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )
