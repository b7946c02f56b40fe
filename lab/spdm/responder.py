"""A software SPDM responder: the messages that a requester exchanges with it for measurements, signed for real.

Source: DMTF DSP0274 1.1 and 1.2 (GET_MEASUREMENTS, MEASUREMENTS, DMTF measurement block; signing with its prefix from
1.2 on). ECDSA P-384 over SHA-384, r and s big-endian; all other numbers little-endian.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

VERSIONS = {"1.1": 0x11, "1.2": 0x12}
SIGNING_ALGORITHM = "TPM_ALG_ECDSA_ECC_NIST_P384"
HASHING_ALGORITHM = "TPM_ALG_SHA_384"
ROM, FIRMWARE, CONFIGURATION = 0, 1, 3
"""DMTFSpecMeasurementValueType of the three measurements, which have the indexes 1, 2 and 3."""
_ALL = 0xFF
_HALF = 48


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measured thing; `kind` is DMTFSpecMeasurementValueType."""

    index: int
    kind: int
    digest: bytes


def measurements(firmware: str, version: str) -> tuple[Measurement, ...]:
    """What a component with this firmware measures of itself: SHA-384 of one line of text each."""
    lines = ((ROM, "rom"), (FIRMWARE, f"firmware:{version}"), (CONFIGURATION, "configuration"))
    return tuple(Measurement(index, kind, digest(firmware, what)) for index, (kind, what) in enumerate(lines, 1))


def digest(firmware: str, what: str) -> bytes:
    """The digest of one line."""
    return hashlib.sha384(f"nodeworthy-lab:spdm:{firmware}:{what}".encode()).digest()


def statement(key: ec.EllipticCurvePrivateKey, version: str, nonce: bytes, found: Sequence[Measurement]) -> bytes:
    """SignedMeasurements of ComponentIntegrity: the exchange, from 1.2 on behind VCA, and its signature."""
    number = VERSIONS[version]
    request = struct.pack("<BBBB", number, 0xE0, 0x01, _ALL) + nonce + b"\0"
    record = b"".join(_block(one) for one in found)
    response = (
        struct.pack("<BBBBB", number, 0x60, 0, 0, len(found))
        + len(record).to_bytes(3, "little")
        + record
        + hashlib.sha256(b"responder" + nonce).digest()
        + struct.pack("<H", 0)
    )
    transcript = (_vca(number) if version != "1.1" else b"") + request + response
    message = transcript
    if version != "1.1":
        purpose = b"responder-measurements signing".rjust(36, b"\0")
        message = f"dmtf-spdm-v{version}.*".encode() * 4 + purpose + hashlib.sha384(transcript).digest()
    r, s = decode_dss_signature(key.sign(message, ec.ECDSA(hashes.SHA384())))
    return transcript + r.to_bytes(_HALF, "big") + s.to_bytes(_HALF, "big")


def _block(one: Measurement) -> bytes:
    value = struct.pack("<BH", one.kind, len(one.digest)) + one.digest
    return struct.pack("<BBH", one.index, 0x01, len(value)) + value


def _vca(number: int) -> bytes:
    """Versions, capabilities and algorithms, as far as their sizes matter."""
    versions = struct.pack("<BBBB", 0x10, 0x84, 0, 0) + struct.pack("<BBBBBBBB", 0x10, 0x04, 0, 0, 0, 1, 0, number)
    able = struct.pack("<BBHIII", 0, 0, 0, 0xF7, 4096, 4096)
    capabilities = struct.pack("<BBBB", number, 0xE1, 0, 0) + able + struct.pack("<BBBB", number, 0x61, 0, 0) + able
    asked = struct.pack("<BBBBH", number, 0xE3, 0, 0, 32) + bytes(26)
    chosen = struct.pack("<BBBBH", number, 0x63, 0, 0, 36) + bytes(30)
    return versions + capabilities + asked + chosen
