"""One look at the Ethernet side of fabric adapters, and at what RoCE is set to on them, as the JSON document of a test.

A pod has network interfaces of its own, so those of the host are seen in its /sys, mounted read-only at /host/sys. Flow
control by priority (PFC) is told by netlink alone, in the host's network namespace, and is not looked at here.

Sources: Linux ABI documents sysfs-class-net (carrier, speed in Mb/s, duplex, mtu in bytes) and sysfs-class-infiniband
(fw_ver); NVIDIA MLNX_OFED user manual, RoCE: ecn/roce_np and roce_rp per priority, tc/1/traffic_class.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import pci_tree
from .pci_state import devices_of

PLACE = "host/sys"


def look(root: Path, arguments: Sequence[str]) -> dict[str, Any]:
    """Facts of each adapter; ``arguments`` are the adapters and the priority of RoCE's traffic: ``mlx5_0,mlx5_1 3``."""
    host = root / PLACE
    return {name: _of_adapter(host, host / "class/infiniband" / name, arguments[1]) for name in devices_of(arguments)}


def _of_adapter(host: Path, adapter: Path, priority: str) -> dict[str, Any]:
    interfaces = sorted(place.name for place in (adapter / "device/net").glob("*"))
    interface = host / "class/net" / interfaces[0] if len(interfaces) == 1 else None
    found: dict[str, Any] = {"interfaces": interfaces, "firmware": pci_tree.text(adapter / "fw_ver")}
    tos = re.search(r"(?:^|=)\s*(\d+)\s*$", pci_tree.text(adapter / "tc/1/traffic_class") or "")
    found["traffic_class"] = int(tos[1]) if tos else None
    if interface is None:
        return found
    speed = _number(interface / "speed")
    return {
        **found,
        "driver": _link(adapter / "device/driver"),
        "carrier": _number(interface / "carrier"),
        "speed_mbps": speed if speed and speed > 0 else None,
        "full_duplex": {"full": 1, "half": 0}.get(pci_tree.text(interface / "duplex") or ""),
        "mtu": _number(interface / "mtu"),
        "falls": _number(interface / "carrier_down_count"),
        "ecn": [_number(interface / f"ecn/{side}/enable/{priority}") for side in ("roce_np", "roce_rp")],
    }


def _link(path: Path) -> str | None:
    try:
        return path.resolve(strict=True).name
    except OSError:
        return None


def _number(path: Path) -> int | None:
    text = pci_tree.text(path) or ""
    return int(text) if re.fullmatch(r"-?\d+", text) else None
