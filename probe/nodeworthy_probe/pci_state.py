"""What PCIe devices and the bridges above them are set to, from plain files of sysfs; what cannot be read is None.

Links come from files that everybody may read. The rest lies in configuration space beyond its first 64 bytes, which the
kernel shows to CAP_SYS_ADMIN alone. Sources: Linux ABI document sysfs-bus-pci; PCI Express Base Specification 5.0:
7.5.3.4 (device control: relaxed ordering bit 4, maximum read request bits 14:12), 7.7.8 (access control services).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from . import pci_tree

_EXPRESS, _ACS = 0x10, 0x0D
_LIST_AT, _STATUS_AT, _HAS_LIST = 0x34, 0x06, 1 << 4
_OPEN_TO_ALL, _EXTENDED_AT = 64, 0x100
_MOST_CAPABILITIES = 64
REDIRECTS = 0b11100
"""ACS control: request redirect, completion redirect, upstream forwarding. Each sends peers' traffic to the root."""


@dataclass(frozen=True)
class Link:
    """A device's link: GT/s a lane and lanes now, and the most that both of its ends can do."""

    speed: float | None
    width: float | None
    best_speed: float | None
    best_width: float | None


@dataclass(frozen=True)
class Control:
    """A device's control register: the largest read that it asks for at once (bytes), whether it may order freely."""

    max_read_request: float | None = None
    relaxed_ordering: float | None = None


def look_at_links(root: Path, arguments: Sequence[str]) -> dict[str, Any]:
    """The links of the fabric adapters and NVMe drives that are named: ``mlx5_0,nvme2n1``."""
    found: dict[str, Any] = {}
    for name in devices_of(arguments):
        place = pci_tree.drive(root, name) if name.startswith("nvme") else pci_tree.adapter(root, name)
        link = link_of(place) if place is not None else Link(None, None, None, None)
        found[name] = {"at": place.name if place is not None else None, **asdict(link)}
    return found


def look_at_settings(root: Path, arguments: Sequence[str]) -> dict[str, Any]:
    """Device control of the adapters that are named, and of all GPUs by their address."""
    places = {name: pci_tree.adapter(root, name) for name in devices_of(arguments)}
    return {
        "adapters": {name: asdict(control_of(place) if place else Control()) for name, place in places.items()},
        "gpus": {place.name: asdict(control_of(place)) for place in pci_tree.gpus(root)},
    }


def look_at_access_control(root: Path, arguments: Sequence[str]) -> dict[str, Any]:
    """The redirecting bits of each bridge between the adapters that are named and the GPUs beside them."""
    places = [place for name in devices_of(arguments) if (place := pci_tree.adapter(root, name)) is not None]
    bridges = between(places, pci_tree.gpus(root))
    return {"adapters": len(places), "bridges": {bridge.name: redirects(bridge) for bridge in bridges}}


def devices_of(arguments: Sequence[str]) -> list[str]:
    """The devices that a test names in its first argument."""
    return [name for name in arguments[0].split(",") if name] if arguments else []


def link_of(device: Path) -> Link:
    """The link above a device. A port that tells no maximum leaves that of the device."""
    speeds = [_speed(device / "max_link_speed"), _speed(device.parent / "max_link_speed")]
    widths = [_width(device / "max_link_width"), _width(device.parent / "max_link_width")]
    return Link(_speed(device / "current_link_speed"), _width(device / "current_link_width"), _least(speeds),
                _least(widths))  # fmt: skip


def control_of(device: Path) -> Control:
    """The device control register; unknown where configuration space cannot be read or holds none."""
    space = _space(device)
    at = _capability(space) if space is not None else None
    if space is None or at is None or at + 10 > len(space):
        return Control()
    word = struct.unpack_from("<H", space, at + 8)[0]
    return Control(float(128 << (word >> 12 & 7)), float(word >> 4 & 1))


def redirects(bridge: Path) -> int | None:
    """The redirecting bits of a bridge's access control; 0 where it has none, None where it cannot be read."""
    space = _space(bridge)
    if space is None:
        return None
    at = _extended(space)
    return 0 if at is None else struct.unpack_from("<H", space, at + 6)[0] & REDIRECTS


def between(adapters: Iterable[Path], gpus: Sequence[Path]) -> list[Path]:
    """The bridges on the way between each adapter and the GPU next to it; without one, all above it and the GPUs."""
    found: dict[Path, None] = {}
    for adapter in adapters:
        beside = pci_tree.nearest(adapter, list(gpus))
        others = [beside] if beside is not None else list(gpus)
        own = pci_tree.bridges(adapter)
        for other in others:
            theirs = pci_tree.bridges(other)
            found.update(dict.fromkeys([one for one in own if one not in theirs]))
            found.update(dict.fromkeys([one for one in theirs if one not in own]))
    return list(found)


def _space(device: Path) -> bytes | None:
    try:
        space = (device / "config").read_bytes()
    except OSError:
        return None
    return space if len(space) > _OPEN_TO_ALL and space[:2] != b"\xff\xff" else None


def _capability(space: bytes) -> int | None:
    """Where the PCI Express capability begins."""
    if not struct.unpack_from("<H", space, _STATUS_AT)[0] & _HAS_LIST:
        return None
    at = space[_LIST_AT] & ~3
    for _ in range(_MOST_CAPABILITIES):
        if not _OPEN_TO_ALL <= at < len(space) - 1:
            return None
        if space[at] == _EXPRESS:
            return at
        at = space[at + 1] & ~3
    return None


def _extended(space: bytes) -> int | None:
    """Where the access control capability begins."""
    at = _EXTENDED_AT
    for _ in range(_MOST_CAPABILITIES):
        if not _EXTENDED_AT <= at <= len(space) - 8:
            return None
        head = struct.unpack_from("<I", space, at)[0]
        if head & 0xFFFF == _ACS:
            return at
        at = head >> 20 & ~3
    return None


def _speed(path: Path) -> float | None:
    found = re.match(r"(\d+(?:\.\d+)?) GT/s", pci_tree.text(path) or "")
    return float(found[1]) if found else None


def _width(path: Path) -> float | None:
    word = pci_tree.text(path) or ""
    return float(word) if word.isdigit() and 0 < int(word) <= 32 else None


def _least(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)
