"""Reads a TPM quote: the TPMS_ATTEST structure, and the PCR values that an event log adds up to. Pure.

Source: TCG TPM 2.0 Library, Part 2: TPMS_ATTEST (10.12.12), TPMS_QUOTE_INFO (10.12.4), TPML_PCR_SELECTION (10.9.7);
numbers are big-endian. Extending a PCR: new = SHA-256(old || digest), from 32 zero bytes (Part 1, 17).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

MAGIC = 0xFF544347
QUOTE_TYPE = 0x8018
ALGORITHM_SHA256 = 0x000B
PCRS = 24
ZERO = bytes(32)


@dataclass(frozen=True, slots=True)
class Attest:
    """What a quote says: magic and type as found, the nonce, the selected PCRs by bank, and the digest over them."""

    magic: int
    type: int
    nonce: bytes
    selections: tuple[tuple[int, frozenset[int]], ...]
    digest: bytes


def parse_attest(content: bytes) -> Attest:
    """Read a TPMS_ATTEST. Raises ValueError when it is cut off, has bytes to spare, or is no quote's."""
    reader = _Reader(content)
    magic, kind = reader.numbers(">IH")
    if (magic, kind) != (MAGIC, QUOTE_TYPE):
        return Attest(magic, kind, b"", (), b"")
    reader.sized()
    nonce = reader.sized()
    reader.take(17 + 8)  # clock, reset and restart counters, safe flag; firmware version
    (count,) = reader.numbers(">I")
    if count > PCRS:
        raise ValueError("too many PCR selections")
    selections = tuple(_selection(reader) for _ in range(count))
    digest = reader.sized()
    if reader.left:
        raise ValueError("bytes behind the structure")
    return Attest(magic, kind, nonce, selections, digest)


def replay(events: Iterable[Mapping[str, Any]], selected: Iterable[int]) -> dict[int, bytes]:
    """Return the value of each selected PCR after the log's events. Raises ValueError for a malformed event."""
    bank = {index: ZERO for index in selected}
    for event in events:
        index, digest = pcr_of(event), digest_of(event)
        if index in bank:
            bank[index] = sha256(bank[index] + digest).digest()
    return bank


def pcr_of(event: Mapping[str, Any]) -> int:
    """Return an event's PCR. Raises ValueError when it is no PCR's number."""
    index = event.get("pcr")
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < PCRS:
        raise ValueError(f"an event names PCR {index}")
    return index


def digest_of(event: Mapping[str, Any]) -> bytes:
    """Return an event's SHA-256 digest. Raises ValueError when it is none."""
    digest = bytes.fromhex(str(event.get("digest_sha256", "")))
    if len(digest) != len(ZERO):
        raise ValueError("an event's digest is no SHA-256")
    return digest


def _selection(reader: _Reader) -> tuple[int, frozenset[int]]:
    algorithm, size = reader.numbers(">HB")
    bitmap = int.from_bytes(reader.take(size), "little")
    return algorithm, frozenset(index for index in range(size * 8) if bitmap >> index & 1)


class _Reader:
    """Takes bytes from the front; ValueError when there are not enough."""

    def __init__(self, content: bytes) -> None:
        self.left = content

    def take(self, count: int) -> bytes:
        if len(self.left) < count:
            raise ValueError("cut off")
        taken, self.left = self.left[:count], self.left[count:]
        return taken

    def numbers(self, form: str) -> tuple[int, ...]:
        return struct.unpack(form, self.take(struct.calcsize(form)))

    def sized(self) -> bytes:
        """Read a TPM2B: two bytes of length, then the content."""
        (size,) = self.numbers(">H")
        return self.take(size)
