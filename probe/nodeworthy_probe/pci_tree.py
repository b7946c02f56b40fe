"""Where PCIe devices sit, from plain files of sysfs: the address of an adapter, the bridges above it, what is near it.

Source: Linux ABI documents sysfs-bus-pci, sysfs-class-infiniband and sysfs-class-nvme: each class device links to its
PCI function, whose real path names all bridges above it.
"""

from __future__ import annotations

import re
from pathlib import Path

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_GPUS = {"0x10de": ("0x0300", "0x0302"), "0x1002": ("0x0302", "0x0380", "0x1200")}
"""PCI classes of GPUs by vendor, NVIDIA and AMD: display controllers, processing accelerators."""


def adapter(root: Path, name: str) -> Path | None:
    """The PCI device of a fabric adapter (``mlx5_0``); None where sysfs names none."""
    return _function(root / "sys/class/infiniband" / name / "device")


def interface(root: Path, name: str) -> Path | None:
    """The PCI device of a network interface (``eth0``); None where sysfs names none."""
    return _function(root / "sys/class/net" / name / "device")


def drive(root: Path, name: str) -> Path | None:
    """The PCI device of an NVMe namespace (``nvme2n1``), by its controller; None where sysfs names none."""
    found = re.match(r"nvme\d+", name)
    return _function(root / "sys/class/nvme" / found[0] / "device") if found else None


def gpus(root: Path) -> list[Path]:
    """The PCI devices of all NVIDIA and AMD GPUs, by address."""
    found = []
    for place in sorted((root / "sys/bus/pci/devices").glob("*")):
        kinds = _GPUS.get(text(place / "vendor") or "", ())
        if kinds and (text(place / "class") or "").startswith(kinds):
            device = _function(place)
            found += [device] if device is not None else []
    return found


def bridges(device: Path) -> list[Path]:
    """The bridges above a device, the nearest first."""
    return [place for place in device.parents if _ADDRESS.fullmatch(place.name)]


def nearest(device: Path, others: list[Path]) -> Path | None:
    """Of other devices the one that shares most bridges with this one; None where none shares any."""
    above = bridges(device)
    shared = [(len([one for one in bridges(other) if one in above]), other) for other in others]
    most = max((count for count, _ in shared), default=0)
    return next((other for count, other in shared if count == most), None) if most else None


def text(path: Path) -> str | None:
    """A file's text without its line end; None when it cannot be read."""
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return None


def _function(place: Path) -> Path | None:
    try:
        real = place.resolve(strict=True)
    except OSError:
        return None
    return real if _ADDRESS.fullmatch(real.name) else None
