"""Quotes of a node: the TPMS_ATTEST structure and its signature, with the TPM faults of the lab.

Source: TCG TPM 2.0 Library Part 2 (TPMS_ATTEST, TPMS_QUOTE_INFO, TPML_PCR_SELECTION); all
numbers big-endian. The signature is ECDSA P-256 over SHA-256, DER, as ``tpm2_quote --format
plain`` writes it.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from lab.tpm.pcrs import COUNT, bank_of

_GENERATED = 0xFF544347
_ATTEST_QUOTE = 0x8018
_SHA256 = 0x000B
_FIRMWARE_VERSION = 0x2019_1023_0016_3636
_OLD_NONCE = hashlib.sha256(b"nodeworthy-lab:a nonce of an earlier quote").digest()


@dataclass(frozen=True)
class Quote:
    """One quote with the PCR values that it covers."""

    attest: bytes
    signature: bytes
    pcrs: Mapping[int, bytes]
    digest: bytes


class SoftwareTpm:
    """The TPM of one node, opened from its folder (``iak.key``) with the view's ``tpm`` entry."""

    def __init__(self, key: Path, tpm: Mapping[str, Any], boots: int = 1) -> None:
        loaded = serialization.load_pem_private_key(key.read_bytes(), None)
        if not isinstance(loaded, ec.EllipticCurvePrivateKey):
            raise TypeError(f"{key} holds no elliptic curve key")
        self._key = ec.generate_private_key(ec.SECP256R1()) if tpm.get("fault") == "wrong-key" else loaded
        self._stale = tpm.get("fault") == "stale-quote"
        self._bank = bank_of(tpm)
        self._boots = boots

    def read(self, selection: Sequence[int]) -> dict[int, bytes]:
        """The sha256 PCRs of the selection, ascending."""
        return {index: self._bank[index] for index in sorted(set(selection))}

    def quote(self, nonce: bytes, selection: Sequence[int], clock_ms: int = 1) -> Quote:
        """Sign the selected PCRs and the nonce."""
        pcrs = self.read(selection)
        digest = hashlib.sha256(b"".join(pcrs.values())).digest()
        attest = self._attest(_OLD_NONCE[: len(nonce)] if self._stale else nonce, sorted(pcrs), digest, clock_ms)
        return Quote(attest, self._key.sign(attest, ec.ECDSA(hashes.SHA256())), pcrs, digest)

    def _attest(self, nonce: bytes, selection: Sequence[int], digest: bytes, clock_ms: int) -> bytes:
        bitmap = sum(1 << index for index in selection).to_bytes(COUNT // 8, "little")
        return (
            struct.pack(">IH", _GENERATED, _ATTEST_QUOTE)
            + _sized(struct.pack(">H", _SHA256) + self._key_digest())
            + _sized(nonce)
            + struct.pack(">QIIB", clock_ms, self._boots, 0, 1)
            + struct.pack(">Q", _FIRMWARE_VERSION)
            + struct.pack(">IHB", 1, _SHA256, len(bitmap))
            + bitmap
            + _sized(digest)
        )

    def _key_digest(self) -> bytes:
        public = self._key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return hashlib.sha256(public).digest()


def _sized(content: bytes) -> bytes:
    return struct.pack(">H", len(content)) + content
