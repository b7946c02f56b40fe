"""What the lab's vendors of TPMs and components share: certificates that outlive every lab, and files written whole."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

_NOT_BEFORE = datetime(2026, 1, 1, tzinfo=UTC)
_LIFE = timedelta(days=3650)


def lasting(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    """Begin a certificate that is valid for ten years."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_NOT_BEFORE)
        .not_valid_after(_NOT_BEFORE + _LIFE)
    )


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return a key as PKCS 8 without a password."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def publish(path: Path, content: bytes) -> None:
    """Write a file that others may read meanwhile: they see all of it or none."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_bytes(content)
    partial.replace(path)
