"""The lab's TPM vendor: issues the certificate of each node's initial attestation key (IAK)."""

from __future__ import annotations

from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from lab.certificates import write_private
from lab.vendors import lasting, private_pem, publish

_VENDOR = "Nodeworthy Lab TPM Vendor"
_OID_IAK = x509.ObjectIdentifier("2.23.133.11.1.2")  # tcg-cap-verifiedTPMFixed, TCG keys for device identity 1.0


def ensure_authority(state_dir: Path) -> Path:
    """The authority's certificate; key and certificate are written once."""
    certificate_path, key_path = state_dir / "tpm-ca.pem", state_dir / "tpm-ca.key"
    if certificate_path.exists() and key_path.exists():
        return certificate_path
    state_dir.mkdir(parents=True, exist_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name(f"{_VENDOR} Root CA")
    certificate = (
        lasting(subject, subject, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(False, False, False, False, False, True, True, False, False), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    write_private(key_path, private_pem(key))
    publish(certificate_path, certificate.public_bytes(serialization.Encoding.PEM))
    return certificate_path


def ensure_node(node_dir: Path, serial: str, state_dir: Path) -> Path:
    """The node's TPM folder with ``iak.key`` and ``iak.pem``."""
    folder = node_dir / "tpm"
    if _belongs_to(folder / "iak.pem", serial) and (folder / "iak.key").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = issue_iak(ensure_authority(state_dir), key.public_key(), serial)
    write_private(folder / "iak.key", private_pem(key))
    publish(folder / "iak.pem", certificate)
    return folder


def issue_iak(authority: Path, key: ec.EllipticCurvePublicKey, serial: str) -> bytes:
    """A PEM certificate of ``key`` for the chassis ``serial``, signed by the authority."""
    issuer = x509.load_pem_x509_certificate(authority.read_bytes())
    issuer_key = serialization.load_pem_private_key(authority.with_suffix(".key").read_bytes(), None)
    assert isinstance(issuer_key, ec.EllipticCurvePrivateKey)
    certificate = (
        lasting(_name("Initial attestation key", serial), issuer.subject, key)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(True, False, False, False, False, False, False, False, False), critical=True)
        .add_extension(x509.CertificatePolicies([x509.PolicyInformation(_OID_IAK, None)]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
        .sign(issuer_key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM)


def _belongs_to(path: Path, serial: str) -> bool:
    if not path.exists():
        return False
    names = x509.load_pem_x509_certificate(path.read_bytes()).subject.get_attributes_for_oid(NameOID.SERIAL_NUMBER)
    return [name.value for name in names] == [serial]


def _name(common_name: str, serial: str | None = None) -> x509.Name:
    parts = [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, _VENDOR),
        x509.NameAttribute(NameOID.COMMON_NAME, common_name),
    ]
    if serial is not None:
        parts.append(x509.NameAttribute(NameOID.SERIAL_NUMBER, serial))
    return x509.Name(parts)
