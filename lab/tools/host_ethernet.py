"""The Ethernet side of the fabric adapters in the host's /sys, as a pod sees it that mounts it at /host/sys.

Formats: Linux ABI documents sysfs-class-net and sysfs-class-infiniband; MLNX_OFED's files for RoCE.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_PRIORITIES = range(8)


def of_a_pod_with_sys(view: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each adapter's interface, with what RoCE is set to on it."""
    for rail in view.get("rdma", []):
        ethernet = rail.get("ethernet")
        if ethernet is None:
            continue
        adapter = f"host/sys/class/infiniband/{rail['device']}"
        interface = f"host/sys/class/net/{ethernet['interface']}"
        yield f"{adapter}/device/net/{ethernet['interface']}/ifindex", "3\n"
        yield f"{adapter}/fw_ver", "28.43.2026\n"
        yield f"{adapter}/tc/1/traffic_class", f"Global tclass={ethernet['traffic_class']}\n"
        up = rail.get("up", True)
        yield f"{interface}/carrier", f"{int(up)}\n"
        yield f"{interface}/speed", f"{ethernet['speed_mbps'] if up else -1}\n"
        yield f"{interface}/duplex", "full\n" if up else "unknown\n"
        yield f"{interface}/mtu", f"{ethernet['mtu']}\n"
        yield f"{interface}/carrier_down_count", f"{1 + rail.get('link_downed', 0)}\n"
        for side in ("roce_np", "roce_rp"):
            for priority in _PRIORITIES:
                yield f"{interface}/ecn/{side}/enable/{priority}", f"{ethernet['ecn'] if priority == 3 else 0}\n"
