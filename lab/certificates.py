"""The lab's own certificate authority: one server certificate for all its ports, client certificates on demand.

Everything is made anew at each `up` and lives in the state directory; the product verifies TLS with `ca.pem` exactly
as it would with a site's authority. Keys are ECDSA P-256, which keeps a handshake below a millisecond.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFE = timedelta(days=365)
_LEEWAY = timedelta(hours=1)


class Certificates:
    """`ca_file`, `server_certificate` and `server_key` are PEM files in `state_dir`; keys are readable by us alone."""

    def __init__(self, state_dir: Path, names: Sequence[str]) -> None:
        self.ca_file = state_dir / "ca.pem"
        self.server_certificate = state_dir / "server.pem"
        self.server_key = state_dir / "server.key"
        self._ca_key = ec.generate_private_key(ec.SECP256R1())
        self._ca = self._authority()
        self.ca_file.write_bytes(_pem(self._ca))
        alternatives = x509.SubjectAlternativeName([_general_name(name) for name in names])
        certificate, key = self._issue(_name("nodeworthy-lab"), ExtendedKeyUsageOID.SERVER_AUTH, alternatives)
        self.server_certificate.write_bytes(certificate)
        write_private(self.server_key, key)

    def _authority(self) -> x509.Certificate:
        subject = _name("nodeworthy-lab-ca")
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        return (
            _builder(subject, subject, self._ca_key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._ca_key.public_key()), critical=False)
            .sign(self._ca_key, hashes.SHA256())
        )

    def _issue(
        self, subject: x509.Name, purpose: x509.ObjectIdentifier, alternatives: x509.SubjectAlternativeName | None
    ) -> tuple[bytes, bytes]:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _builder(subject, self._ca.subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._ca_key.public_key()), critical=False
            )
        )
        if alternatives is not None:
            builder = builder.add_extension(alternatives, critical=False)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return _pem(builder.sign(self._ca_key, hashes.SHA256())), private


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, from its first byte on."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _LEEWAY)
        .not_valid_after(now + _LIFE)
    )


def _name(common_name: str, organizations: Sequence[str] = ()) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
