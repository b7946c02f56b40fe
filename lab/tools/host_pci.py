"""The PCIe devices in /sys: GPUs, fabric adapters and drives below their bridges, with links and configuration space.

Each GPU has an adapter beside it behind one PCIe switch, as on an HGX board; drives sit at root ports. Formats: Linux
ABI documents sysfs-bus-pci, sysfs-class-infiniband and sysfs-class-nvme; PCI Express Base Specification 5.0, 7.5.3
(PCI Express Capability, id 10h) and 7.7.8 (ACS Extended Capability, id 0Dh).
"""

from __future__ import annotations

import os
import struct
from functools import cache
from pathlib import Path
from typing import Any

_EXPRESS_AT, _EXTENDED_AT = 0x60, 0x100
_SIZE = 0x120
_GPU = "0x030200"
_NVIDIA = "0x10de"
_FIRST_DRIVE_BUS = 0x02
_SPEEDS = {3: "8.0", 4: "16.0", 5: "32.0", 6: "64.0"}
_RELAXED, _REDIRECTS = 1 << 4, 0b11101
"""Device control bit 4; ACS source validation, request and completion redirect, upstream forwarding."""


def write(root: Path, view: dict[str, Any]) -> None:
    """Write all devices below ``root``, and the links of their classes to them."""
    acs = bool(view.get("pci", {}).get("acs_redirect"))
    rails = view.get("rdma", [])
    for index, gpu in enumerate(view.get("gpus", [])):
        down = _switch(root, gpu["pci_bus_id"], acs=acs)
        if gpu.get("present", True):
            place = down[0] / address(gpu["pci_bus_id"])
            _lay(place, {"class": _GPU, "vendor": _NVIDIA, **_links(_link(gpu))}, _config(512, relaxed=True))
            _point(root / "sys/bus/pci/devices" / place.name, place)
        if index < len(rails):
            link = {**_OWN_LINK, **rails[index].get("pcie", {})}
            place = down[1] / _beside(gpu["pci_bus_id"])
            _lay(place, _links(link), _config(int(link["max_read_request"]), relaxed=True))
            _point(root / "sys/class/infiniband" / rails[index]["device"] / "device", place)
    for index, drive in enumerate(view.get("drives", [])):
        place = root / f"sys/devices/pci0000:00/0000:00:{index:02x}.0/0000:{_FIRST_DRIVE_BUS + index:02x}:00.0"
        _lay(place, _links({**_OWN_LINK, "width": 4, "width_max": 4, **drive.get("pcie", {})}))
        _point(root / "sys/class/nvme" / drive["name"].rpartition("n")[0] / "device", place)


_OWN_LINK = {"generation": 5, "generation_max": 5, "width": 16, "width_max": 16, "max_read_request": 4096}


def address(bus_id: str) -> str:
    """NVML's bus id as sysfs writes it."""
    return bus_id[4:].lower()


def _link(gpu: dict[str, Any]) -> dict[str, Any]:
    return {name: gpu[f"pcie_{name}"] for name in ("generation", "generation_max", "width", "width_max")} | {
        "max_read_request": 512
    }


def _beside(bus_id: str) -> str:
    return f"0000:{_bus(bus_id) + 1:02x}:00.0"


def _bus(bus_id: str) -> int:
    return int(bus_id.split(":")[1], 16)


def _links(link: dict[str, Any]) -> dict[str, str]:
    return {
        "current_link_speed": f"{_SPEEDS[link['generation']]} GT/s PCIe",
        "current_link_width": str(link["width"]),
        "max_link_speed": f"{_SPEEDS[link['generation_max']]} GT/s PCIe",
        "max_link_width": str(link["width_max"]),
    }


def _switch(root: Path, bus_id: str, *, acs: bool) -> tuple[Path, Path]:
    """A root port and a switch below it; returns the places of its two downstream ports."""
    bus = _bus(bus_id)
    port = f"sys/devices/pci0000:{bus - 3:02x}/0000:{bus - 3:02x}:01.0/0000:{bus - 2:02x}:00.0"
    downs = (root / port / f"0000:{bus - 1:02x}:00.0", root / port / f"0000:{bus - 1:02x}:01.0")
    for down in downs:
        _lay(down, {}, _config(512, relaxed=True, acs=acs))
    return downs


def _lay(place: Path, files: dict[str, str], config: bytes = b"") -> None:
    """Only what software looks at: every file costs a virtual node time at each start of its pods."""
    place.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (place / name).write_text(f"{text}\n", "ascii")
    if config:
        (place / "config").write_bytes(config)


def _point(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(os.path.relpath(target, link.parent))


@cache
def _config(max_read_request: int, *, relaxed: bool, acs: bool | None = None) -> bytes:
    """Configuration space with a PCI Express capability, and an ACS capability unless it is None."""
    space = bytearray(_SIZE)
    struct.pack_into("<H", space, 0x06, 0x10)  # status: there is a list of capabilities
    space[0x34] = _EXPRESS_AT
    control = (max_read_request // 128).bit_length() - 1 << 12 | (_RELAXED if relaxed else 0)
    struct.pack_into("<BBHIH", space, _EXPRESS_AT, 0x10, 0, 2, 0, control)
    if acs is not None:
        struct.pack_into("<IHH", space, _EXTENDED_AT, 0x0D | 1 << 16, 0x5F, _REDIRECTS if acs else 0)
    return bytes(space)
