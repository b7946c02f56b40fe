"""Writes the measured-boot log in the binary form that firmware leaves and the kernel shows.

Source: TCG PC Client Platform Firmware Profile 1.05, section 10: a first record in the SHA-1
form that announces the digests, then crypto-agile records.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any

_NO_ACTION = 0x00000003
_SHA256 = 0x000B
_SHA256_BYTES = 32
_TYPES = {
    "EV_POST_CODE": 0x00000001,
    "EV_SEPARATOR": 0x00000004,
    "EV_ACTION": 0x00000005,
    "EV_S_CRTM_CONTENTS": 0x00000007,
    "EV_S_CRTM_VERSION": 0x00000008,
    "EV_PLATFORM_CONFIG_FLAGS": 0x0000000A,
    "EV_IPL": 0x0000000D,
    "EV_EFI_VARIABLE_DRIVER_CONFIG": 0x80000001,
    "EV_EFI_VARIABLE_BOOT": 0x80000002,
    "EV_EFI_BOOT_SERVICES_APPLICATION": 0x80000003,
    "EV_EFI_BOOT_SERVICES_DRIVER": 0x80000004,
    "EV_EFI_PLATFORM_FIRMWARE_BLOB": 0x80000008,
    "EV_EFI_VARIABLE_AUTHORITY": 0x800000E0,
}


def write(events: Iterable[Mapping[str, Any]]) -> bytes:
    """The log of the events, in their order; raises KeyError for an event type that is not known here."""
    header = struct.pack("<16sIBBBB", b"Spec ID Event03\x00", 0, 0, 2, 0, 2)
    header += struct.pack("<I", 1) + struct.pack("<HH", _SHA256, _SHA256_BYTES) + b"\x00"
    log = struct.pack("<II20sI", 0, _NO_ACTION, bytes(20), len(header)) + header
    for event in events:
        data = str(event.get("description", "")).encode("utf-8")
        digest = bytes.fromhex(event["digest_sha256"])
        log += struct.pack("<IIIH", int(event["pcr"]), _TYPES[event["type"]], 1, _SHA256) + digest
        log += struct.pack("<I", len(data)) + data
    return log
