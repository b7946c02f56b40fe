"""Reads the firmware's measured-boot log in the crypto-agile TCG 2.0 form.

The kernel shows it as ``/sys/kernel/security/tpm0/binary_bios_measurements``. The first record
is in the old SHA-1 form and announces which digests the others carry. Only the sha256 digests
are used. Source: TCG PC Client Platform Firmware Profile 1.05, section 10.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_SHA256 = 0x000B
_SIGNATURE = b"Spec ID Event03\x00"
_MOST_EVENTS = 10_000
_EVENT_NAMES = {
    0x00000001: "EV_POST_CODE",
    0x00000003: "EV_NO_ACTION",
    0x00000004: "EV_SEPARATOR",
    0x00000005: "EV_ACTION",
    0x00000006: "EV_EVENT_TAG",
    0x00000007: "EV_S_CRTM_CONTENTS",
    0x00000008: "EV_S_CRTM_VERSION",
    0x00000009: "EV_CPU_MICROCODE",
    0x0000000A: "EV_PLATFORM_CONFIG_FLAGS",
    0x0000000B: "EV_TABLE_OF_DEVICES",
    0x0000000C: "EV_COMPACT_HASH",
    0x0000000D: "EV_IPL",
    0x0000000E: "EV_IPL_PARTITION_DATA",
    0x0000000F: "EV_NONHOST_CODE",
    0x00000010: "EV_NONHOST_CONFIG",
    0x80000001: "EV_EFI_VARIABLE_DRIVER_CONFIG",
    0x80000002: "EV_EFI_VARIABLE_BOOT",
    0x80000003: "EV_EFI_BOOT_SERVICES_APPLICATION",
    0x80000004: "EV_EFI_BOOT_SERVICES_DRIVER",
    0x80000005: "EV_EFI_RUNTIME_SERVICES_DRIVER",
    0x80000006: "EV_EFI_GPT_EVENT",
    0x80000007: "EV_EFI_ACTION",
    0x80000008: "EV_EFI_PLATFORM_FIRMWARE_BLOB",
    0x80000009: "EV_EFI_HANDOFF_TABLES",
    0x8000000A: "EV_EFI_PLATFORM_FIRMWARE_BLOB2",
    0x800000E0: "EV_EFI_VARIABLE_AUTHORITY",
}


@dataclass(frozen=True)
class BootEvent:
    """One measurement that firmware or boot loader extended into a PCR."""

    pcr: int
    kind: str
    digest_sha256: str
    description: str


class _Torn(Exception):
    """The log ends inside a record or announces something impossible."""


def parse(blob: bytes) -> tuple[BootEvent, ...] | str:
    """The events that extend a PCR, in order, or a sentence that says why the log is unusable."""
    try:
        return tuple(_events(blob))
    except _Torn as torn:
        return str(torn)


def _events(blob: bytes) -> Iterator[BootEvent]:
    offset, digest_sizes = _header(blob)
    for _ in range(_MOST_EVENTS):
        if offset == len(blob):
            return
        pcr, kind, count = _unpack("<III", blob, offset)
        offset += 12
        sha256: bytes | None = None
        for _ in range(count):
            (algorithm,) = _unpack("<H", blob, offset)
            if algorithm not in digest_sizes:
                raise _Torn("the boot event log holds a digest of an unknown kind")
            digest = _take(blob, offset + 2, digest_sizes[algorithm])
            offset += 2 + len(digest)
            sha256 = digest if algorithm == _SHA256 else sha256
        (size,) = _unpack("<I", blob, offset)
        data = _take(blob, offset + 4, size)
        offset += 4 + size
        if sha256 is None:
            raise _Torn("an event of the boot log carries no sha256 digest")
        if kind != 0x00000003:  # EV_NO_ACTION extends nothing
            yield BootEvent(pcr, _EVENT_NAMES.get(kind, f"0x{kind:08x}"), sha256.hex(), _printable(data))
    raise _Torn("the boot event log is endless")


def _header(blob: bytes) -> tuple[int, dict[int, int]]:
    (size,) = _unpack("<I", blob, 28)  # after PCR, type and a SHA-1 digest
    data = _take(blob, 32, size)
    if not data.startswith(_SIGNATURE):
        raise _Torn("the boot event log is not in the crypto-agile form")
    (count,) = _unpack("<I", data, 24)
    if count > 16:
        raise _Torn("the boot event log announces too many digests")
    pairs = (_unpack("<HH", data, 28 + 4 * index) for index in range(count))
    return 32 + size, {algorithm: length for algorithm, length in pairs}


def _unpack(form: str, blob: bytes, offset: int) -> tuple[int, ...]:
    try:
        return struct.unpack_from(form, blob, offset)
    except struct.error as error:
        raise _Torn("the boot event log is cut") from error


def _take(blob: bytes, offset: int, size: int) -> bytes:
    part = blob[offset : offset + size]
    if len(part) != size:
        raise _Torn("the boot event log is cut")
    return part


def _printable(data: bytes) -> str:
    try:
        text = data.decode("utf-8").rstrip("\x00")
    except UnicodeDecodeError:
        return data[:32].hex()
    return text[:200] if text.isprintable() else data[:32].hex()
