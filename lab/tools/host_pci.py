"""The PCIe devices in /sys: GPUs, fabric adapters and drives below their bridges, with links and configuration space.

Each GPU has an adapter beside it behind one PCIe switch, as on an HGX board; drives sit at root ports. Formats: Linux
ABI documents sysfs-bus-pci, sysfs-class-infiniband and sysfs-class-nvme; PCI Express Base Specification 5.0, 7.5.3
(PCI Express Capability, id 10h) and 7.7.8 (ACS Extended Capability, id 0Dh).
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

_EXPRESS_AT, _EXTENDED_AT = 0x60, 0x100
_SIZE = 0x120
_GPU, _NIC, _DRIVE, _BRIDGE = "0x030200", "0x020700", "0x010802", "0x060400"
_NVIDIA, _MELLANOX, _SAMSUNG, _BROADCOM = "0x10de", "0x15b3", "0x144d", "0x1000"
_FIRST_DRIVE_BUS = 0x02
_SPEEDS = {3: "8.0", 4: "16.0", 5: "32.0", 6: "64.0"}
_RELAXED, _REDIRECTS = 1 << 4, 0b11101
"""Device control bit 4; ACS source validation, request and completion redirect, upstream forwarding."""


def write(root: Path, view: dict[str, Any]) -> None:
    """Write all devices below ``root``, and the links of their classes to them."""
    settings = view.get("pci", {})
    gpus, rails = view.get("gpus", []), view.get("rdma", [])
    for index, gpu in enumerate(gpus):
        down = _switch(root, gpu["pci_bus_id"], acs=bool(settings.get("acs_redirect")))
        if gpu.get("present", True):
            _device(root, f"{down[0]}/{address(gpu['pci_bus_id'])}", _GPU, _NVIDIA, _link(gpu))
        if index < len(rails):
            rail = rails[index]
            place = f"{down[1]}/{_beside(gpu['pci_bus_id'])}"
            _device(root, place, _NIC, _MELLANOX, {**_OWN_LINK, **rail.get("pcie", {})})
            _point(root / "sys/class/infiniband" / rail["device"] / "device", root / place)
    for index, drive in enumerate(view.get("drives", [])):
        bus = f"{_FIRST_DRIVE_BUS + index:02x}"
        port = f"sys/devices/pci0000:00/0000:00:{index:02x}.0"
        _bridge(root, port, acs=False)
        _device(root, f"{port}/0000:{bus}:00.0", _DRIVE, _SAMSUNG, {**_OWN_LINK, "width": 4, "width_max": 4,
                                                                   **drive.get("pcie", {})})  # fmt: skip
        controller = drive["name"].rpartition("n")[0]
        _point(root / "sys/class/nvme" / controller / "device", root / f"{port}/0000:{bus}:00.0")


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


def _switch(root: Path, bus_id: str, *, acs: bool) -> tuple[str, str]:
    """A root port and a switch below it; returns the places of its two downstream ports."""
    bus = _bus(bus_id)
    port = f"sys/devices/pci0000:{bus - 3:02x}/0000:{bus - 3:02x}:01.0"
    upper = f"{port}/0000:{bus - 2:02x}:00.0"
    downs = (f"{upper}/0000:{bus - 1:02x}:00.0", f"{upper}/0000:{bus - 1:02x}:01.0")
    _bridge(root, port, acs=False)
    _bridge(root, upper, acs=None)
    for down in downs:
        _bridge(root, down, acs=acs)
    return downs


def _bridge(root: Path, place: str, *, acs: bool | None) -> None:
    """A bridge; an upstream port has no ACS capability."""
    files = {"class": _BRIDGE, "vendor": _BROADCOM, "max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16"}
    _lay(root, place, files, _config(512, relaxed=True, acs=acs))


def _device(root: Path, place: str, kind: str, vendor: str, link: dict[str, Any]) -> None:
    files = {
        "class": kind,
        "vendor": vendor,
        "current_link_speed": f"{_SPEEDS[link['generation']]} GT/s PCIe",
        "current_link_width": str(link["width"]),
        "max_link_speed": f"{_SPEEDS[link['generation_max']]} GT/s PCIe",
        "max_link_width": str(link["width_max"]),
    }
    relaxed = bool(link.get("relaxed_ordering", True))
    _lay(root, place, files, _config(int(link["max_read_request"]), relaxed=relaxed, acs=None))


def _lay(root: Path, place: str, files: dict[str, str], config: bytes) -> None:
    folder = root / place
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(f"{text}\n", "ascii")
    (folder / "config").write_bytes(config)
    _point(root / "sys/bus/pci/devices" / folder.name, folder)


def _point(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(os.path.relpath(target, link.parent))


def _config(max_read_request: int, *, relaxed: bool, acs: bool | None) -> bytes:
    """Configuration space with a PCI Express capability, and an ACS capability unless it is None."""
    space = bytearray(_SIZE)
    struct.pack_into("<H", space, 0x06, 0x10)  # status: there is a list of capabilities
    space[0x34] = _EXPRESS_AT
    control = (max_read_request // 128).bit_length() - 1 << 12 | (_RELAXED if relaxed else 0)
    struct.pack_into("<BBHIH", space, _EXPRESS_AT, 0x10, 0, 2, 0, control)
    if acs is not None:
        struct.pack_into("<IHH", space, _EXTENDED_AT, 0x0D | 1 << 16, 0x5F, _REDIRECTS if acs else 0)
    return bytes(space)
