"""Reads the SPDM messages of a signed statement: what was asked, what was measured, and what exactly was signed. Pure.

Source: DMTF DSP0274 1.1 and 1.2: GET_MEASUREMENTS and MEASUREMENTS (10.11), DMTF measurement block, signature
generation (15; from 1.2 on over a prefix with the version and purpose). Numbers are little-endian, signatures
big-endian.
DSP0268 says of SignedMeasurements: up to SPDM 1.1 the measurement exchanges, from 1.2 on VCA in front of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

GET_VERSION, VERSION = 0x84, 0x04
GET_CAPABILITIES, CAPABILITIES = 0xE1, 0x61
NEGOTIATE_ALGORITHMS, ALGORITHMS = 0xE3, 0x63
GET_MEASUREMENTS, MEASUREMENTS = 0xE0, 0x60
SPDM_1_1, SPDM_1_2, SPDM_1_3 = 0x11, 0x12, 0x13
KNOWN_VERSIONS = (0x10, SPDM_1_1, SPDM_1_2, SPDM_1_3)
NONCE_BYTES = 32
CONTEXT_BYTES = 8
"""RequesterContext, from SPDM 1.3 on."""
DMTF = 0x01
PREFIX_BYTES, PURPOSE_BYTES = 64, 36
PURPOSE = b"responder-measurements signing"


@dataclass(frozen=True, slots=True)
class Statement:
    """What a signed statement says. `measurements` are values by index; `signed` is the L2 transcript."""

    version: int
    nonce: bytes
    measurements: Mapping[int, bytes]
    signed: bytes
    signature: bytes


def parse_statement(content: bytes, signature_bytes: int) -> Statement:
    """Read a statement whose signature has this size. Raises ValueError when it is no whole, signed statement."""
    signed, signature = content[:-signature_bytes], content[-signature_bytes:]
    reader = _Reader(signed)
    announced = reader.left[1:2] == bytes([GET_VERSION])
    if announced:
        _skip_vca(reader)
    measurements: dict[int, bytes] = {}
    nonce, version = b"", 0
    while reader.left:
        if nonce:
            raise ValueError("messages behind the signed ones")
        version, nonce = _request(reader)
        measurements |= _response(reader, version)
    if len(signature) != signature_bytes or not nonce:
        raise ValueError("no signature was asked for")
    if (version >= SPDM_1_2) != announced:
        raise ValueError("the exchange of versions, capabilities and algorithms does not fit the version")
    return Statement(version, nonce, measurements, signed, signature)


def signing_input(statement: Statement, digest: Callable[[bytes], bytes]) -> bytes:
    """Return the bytes that the signature is over: the transcript, or from 1.2 on the prefix and its digest."""
    if statement.version < SPDM_1_2:
        return statement.signed
    major, minor = statement.version >> 4, statement.version & 0xF
    prefix = f"dmtf-spdm-v{major}.{minor}.*".encode() * 4
    assert len(prefix) == PREFIX_BYTES
    return prefix + PURPOSE.rjust(PURPOSE_BYTES, b"\0") + digest(statement.signed)


def _skip_vca(reader: _Reader) -> None:
    """Go past VERSION, CAPABILITIES and ALGORITHMS with their requests."""
    reader.header(GET_VERSION)
    reader.header(VERSION)
    _, count = reader.take(2)
    reader.take(2 * count)
    version = reader.header(GET_CAPABILITIES)[0]
    reader.take(16)
    _, algorithms, _ = reader.header(CAPABILITIES)
    block = reader.take(16)
    if version >= SPDM_1_3 and algorithms & 0x01:
        length = int.from_bytes(reader.take(4)[2:], "little")
        reader.take(length - 4)
    assert len(block) == 16
    for code in (NEGOTIATE_ALGORITHMS, ALGORITHMS):
        reader.header(code)
        length = reader.number(2)
        reader.take(length - 6)


def _request(reader: _Reader) -> tuple[int, bytes]:
    """Read GET_MEASUREMENTS; return its version, and its nonce where it asks for a signature."""
    version, attributes, _ = reader.header(GET_MEASUREMENTS)
    if version not in KNOWN_VERSIONS:
        raise ValueError(f"SPDM version {version >> 4}.{version & 0xF} is not known")
    nonce = reader.take(NONCE_BYTES) if attributes & 0x01 else b""
    if nonce and version >= SPDM_1_1:
        reader.take(1)  # SlotIDParam
    if version >= SPDM_1_3:
        reader.take(CONTEXT_BYTES)
    return version, nonce


def _response(reader: _Reader, asked_version: int) -> dict[int, bytes]:
    """Read MEASUREMENTS up to where its signature would stand."""
    version, _, _ = reader.header(MEASUREMENTS)
    if version != asked_version:
        raise ValueError("request and response are of two versions")
    count = reader.number(1)
    record = _Reader(reader.take(reader.number(3)))
    found: dict[int, bytes] = {}
    for _ in range(count):
        index, specification = record.take(2)
        block = _Reader(record.take(record.number(2)))
        if specification == DMTF:
            block.take(1)  # DMTFSpecMeasurementValueType: what was measured, digest or raw
            block = _Reader(block.take(block.number(2)))
        if index in found:
            raise ValueError(f"measurement {index} comes twice")
        found[index] = block.left
    if record.left:
        raise ValueError("bytes behind the measurement record")
    reader.take(NONCE_BYTES)
    reader.take(reader.number(2))
    if version >= SPDM_1_3:
        reader.take(CONTEXT_BYTES)
    return found


class _Reader:
    """Takes bytes from the front; ValueError when there are not enough."""

    def __init__(self, content: bytes) -> None:
        self.left = content

    def take(self, count: int) -> bytes:
        if not 0 <= count <= len(self.left):
            raise ValueError("cut off")
        taken, self.left = self.left[:count], self.left[count:]
        return taken

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "little")

    def header(self, code: int) -> tuple[int, int, int]:
        """Read a message's header of this code; return version and both parameters."""
        version, seen, first, second = self.take(4)
        if seen != code:
            raise ValueError(f"message {seen:#x} stands where {code:#x} belongs")
        return version, first, second
