"""The node view `lab.node-view/1`: what software that runs on the node would see of it.

The fake tools and the fake NVML render this document; nothing else of the ground truth reaches the node.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from lab.truth import data, measured_boot, seeded
from lab.truth.images import Image
from lab.truth.node import LabNode
from lab.truth.parts import Gpu, Parts

SCHEMA = "lab.node-view/1"
_FABRIC_COMPLETED = 3  # NVML GPU fabric state: registration completed
_SETTINGS = {
    "governor": "performance",
    "numa_balancing": "0",
    "clocksource": "tsc",
    "swap_kib": 0,
    "kernel_arguments": "iommu=pt pci=realloc=off amd_iommu=on",
    "locked_memory": "unlimited",
    "cpu_mhz": 3000,
    # Free blocks of memory of the three largest sizes, and how full the file systems are.
    "free_blocks": 4096,
    "used_percent": 12,
    "mounts": ["/", "/raid"],
    "read_only": [],
    "stuck": [],
    "zombies": [],
    # Other versions than the image's.
    "fabric_manager": "",
    "kubelet_version": "",
    "runtime": "",
}
_MODULES = {
    "nvidia": ["nvidia", "nvidia_uvm", "nvidia_peermem", "ib_core", "mlx5_ib"],
    "amd": ["amdgpu", "amdkcl", "ib_core", "mlx5_ib"],
}
_SERVICES = {
    "nvidia": ["nvidia-persistenced", "nv-fabricmanager", "nv-hostengine", "containerd", "kubelet"],
    "amd": ["containerd", "kubelet"],
}
_SIZES = [1 << power for power in range(20, 35)]


def base_view(node: LabNode, parts: Parts, image: Image | None, now: datetime, speed: float) -> dict[str, Any]:
    """The view of a node whose parts are `parts`, before the faults of figures and tools."""
    machine, replay = node.machine, node.spec.replay
    return {
        "schema": SCHEMA,
        "simulated": True,
        "node": node.name,
        "serial": parts.serial,
        "sku": node.sku,
        "rack": node.spec.rack,
        "boot_id": machine.boot_id,
        "machine_id": machine.machine_id,
        "system_uuid": node.system_uuid,
        "now": now.isoformat(),
        "speed": speed,
        "vendor": node.platform.vendor,
        "image": _image(node, image),
        "gpus": [_gpu(node, gpu) for gpu in parts.gpus],
        "bandwidth": _bandwidth(node, parts),
        "clock": {"synchronised": True, "offset_seconds": 2.1e-05},
        "rdma": _rails(node),
        **_ways_out(),
        "drives": _drives(node, parts),
        "dcgm": {"problems": []},
        "kernel_log": _kernel_log(node, image),
        "kernel_log_under_load": [],
        # What each load on the GPUs adds to a counter: by place ("gpu/3", "nic/mlx5_0", "host") and counter.
        "rises_under_load": {},
        "settings": _settings(node),
        "host": _host(node, parts),
        # A capture does not say when its lines came. They come while the node is tested, so that they are judged.
        "kernel_log_captured": _captured_log(node),
        "lldp": [
            {"interface": nic.interface, "switch": nic.switch, "port": nic.port, "nic_serial": nic.serial}
            for nic in parts.nics
        ],
        "tool_faults": {},
        "tpm": {"events": measured_boot.events(node), "fault": None},
        **({"replay_tools": str(replay.tools)} if replay and replay.tools else {}),
    }


def _ways_out() -> dict[str, Any]:
    """What a sound node's traffic meets on its way to another node."""
    return {
        # What of the rails' rate leaves the rack.
        "uplink_share": 1.0,
        "pci": {"acs_redirect": False},
        # What the host moves over TCP to another one, 100 Gb/s Ethernet less headers; made up.
        "tcp_gbps": 94.0,
        # How much of an adapter's rate is left when it reads GPU memory beside it.
        "gpu_direct_share": 1.0,
    }


def _settings(node: LabNode) -> dict[str, Any]:
    vendor = node.platform.vendor
    return {**_SETTINGS, "modules": list(_MODULES[vendor]), "services": list(_SERVICES[vendor])}


def _image(node: LabNode, image: Image | None) -> dict[str, Any] | None:
    if image is None:
        return None
    names = ("name", "kernel", "driver", "cuda", "dcgm", "nccl", "os_image", "fabric_manager")
    return {**{name: getattr(image, name) for name in names}, **node.platform.software}


def _host(node: LabNode, parts: Parts) -> dict[str, Any]:
    """What the kernel finds of processors and memory; of the modules it keeps a sixtieth for itself."""
    row = node.platform.cpu
    installed = sum(dimm.row["capacity_mib"] for dimm in parts.dimms)
    return {
        "sockets": row["count"],
        "cores": row["cores"],
        "threads": row["threads"],
        "memory_kib": installed * 1024 * 59 // 60,
    }


def _gpu(node: LabNode, gpu: Gpu) -> dict[str, Any]:
    row, figures = node.platform.gpu, node.platform.figures
    key = (node.seed, node.name, gpu.index)
    number = gpu.index + 1
    return {
        "index": gpu.index,
        "vendor": node.platform.vendor,
        "present": gpu.present,
        "name": gpu.model,
        "uuid": gpu.uuid,
        "serial": gpu.serial,
        "pci_bus_id": gpu.pci_bus_id,
        "pci_device_id": gpu.pci_device_id,
        "memory_total_mib": gpu.memory_mib,
        "vbios": node.firmware.version(row["firmware"].format(number=number)),
        "inforom": node.firmware.version(row["inforom"].format(number=number)) if "inforom" in row else "",
        "persistence_mode": True,
        "mig": False,
        "temperature_celsius": round(figures["temperature_celsius"] + 6 * seeded.fraction(*key, "temperature") - 3),
        "memory_temperature_celsius": round(
            figures["memory_temperature_celsius"] + 6 * seeded.fraction(*key, "memory temperature") - 3
        ),
        "power_watts": round(seeded.noisy(row["idle_power_watts"], 0.05, *key, "power"), 1),
        "power_limit_watts": row["power_limit_watts"],
        **_pcie(row),
        "nvlinks": [
            {"link": link, "up": True, "speed_mb_s": row["nvlink_speed_mb_s"]} for link in range(row["nvlinks"])
        ],
        "ecc_corrected": 0,
        "ecc_uncorrected": 0,
        "remap": {"correctable": 0, "uncorrectable": 0, "pending": False, "failure": False},
        "throttle_reasons": 0,
        "fabric_state": _FABRIC_COMPLETED,
        "fabric_status": 0,
        "recovery_action": 0,
        "memory_used_mib": 1,
        "inforom_valid": True,
    }


def _pcie(row: Mapping[str, Any]) -> dict[str, Any]:
    generation, width = row["pcie_generation"], row["pcie_width"]
    best = {"pcie_generation_max": generation, "pcie_width_max": width}
    return {"pcie_generation": generation, "pcie_width": width, **best, "pcie_replay": 0}


def _bandwidth(node: LabNode, parts: Parts) -> dict[str, Any]:
    figures, gpus = node.platform.figures, parts.gpus

    def figure(name: str, *gpus: Gpu) -> float | None:
        if not all(gpu.present for gpu in gpus):
            return None
        places = [gpu.index for gpu in gpus]
        return round(seeded.noisy(figures[name], figures["noise"], node.seed, node.name, name, *places), 2)

    curve = figures["all_reduce_gbps_by_bytes"]
    ends = {
        str(size): round(seeded.noisy(between(curve, size), figures["noise"], node.seed, node.name, size), 2)
        for size in _SIZES
    }
    return {
        "host_to_device_gbps": [figure("host_to_device_gbps", gpu) for gpu in gpus],
        "device_to_host_gbps": [figure("device_to_host_gbps", gpu) for gpu in gpus],
        "device_to_device_gbps": [
            [None if one is other else figure("device_to_device_gbps", one, other) for other in gpus] for one in gpus
        ],
        "host_device_latency_ns": [figure("host_device_latency_ns", gpu) for gpu in gpus],
        "device_local_copy_gbps": [figure("device_local_copy_gbps", gpu) for gpu in gpus],
        "burn_gflops": figures["burn_gflops"],
        **{name: dict(figures[name]) for name in ("gemm_tflops", "gpu_stream", "host_stream")},
        "collectives": dict(figures["collectives"]),
        "by_adapters_gbps_by_bytes": _by_adapters(node, figures),
        "groups": dict(figures["groups"]),
        "all_reduce": {"transport": figures["transport"], "wrong": 0, "bus_bandwidth_gbps_by_bytes": ends},
    }


def _rails(node: LabNode) -> list[dict[str, Any]]:
    figures, count = node.platform.figures, sum(row["count"] for row in node.platform.nics if row["role"] == "fabric")

    def figure(name: str, rail: int) -> float:
        return round(seeded.noisy(figures[name], figures["noise"], node.seed, node.name, name, rail), 2)

    return [
        {
            "device": f"mlx5_{rail}",
            "up": True,
            "port_rate_gbps": next(row["speed_gbps"] for row in node.platform.nics if row["role"] == "fabric"),
            "write_gbps": figure("rail_gbps", rail),
            "latency_us": figure("rail_us", rail),
            # What comes through the adapter's cable and its port of the leaf switch; no test of one node sees it.
            "port_gbps": figure("rail_gbps", rail),
            # What the same port is as Ethernet, for SKUs that declare RoCE.
            "ethernet": {
                "interface": f"eth{rail}",
                "speed_mbps": 1000 * next(row["speed_gbps"] for row in node.platform.nics if row["role"] == "fabric"),
                "mtu": 9000,
                "traffic_class": 106,
                "ecn": 1,
            },
        }
        for rail in range(count)
    ]


def _drives(node: LabNode, parts: Parts) -> list[dict[str, Any]]:
    figures = node.platform.figures
    return [
        {
            "name": f"nvme{drive.index}n1",
            "model": drive.row["model"],
            "serial": drive.serial,
            "revision": drive.row["revision"],
            "capacity_bytes": drive.row["capacity_bytes"],
            "read_gbps": round(
                seeded.noisy(figures["drive_read_gbps"], figures["noise"], node.seed, node.name, "drive", drive.index),
                2,
            ),
            "critical_warning": 0,
            "spare_percent": 100,
            "used_percent": 0,
            "media_errors": 0,
        }
        for drive in parts.drives
    ]


def _by_adapters(node: LabNode, figures: Mapping[str, Any]) -> dict[str, float]:
    """The ring without NVLink: full speed from 1 GiB on, a quarter of it at 1 MiB."""
    full = round(seeded.noisy(figures["by_adapters_gbps"], figures["noise"], node.seed, node.name, "by adapters"), 2)
    return {str(1 << 20): round(full / 4, 2), str(1 << 30): full, str(_SIZES[-1]): full}


def between(curve: Mapping[int, float], size: int) -> float:
    """The curve's value at `size` bytes, straight between two known sizes on a logarithmic axis."""
    known = sorted(curve)
    upper = next((position for position, point in enumerate(known) if point >= size), len(known) - 1)
    if known[upper] <= size or upper == 0:
        return float(curve[known[upper]])
    low, high = known[upper - 1], known[upper]
    share = (math.log2(size) - math.log2(low)) / (math.log2(high) - math.log2(low))
    return float(curve[low] + share * (curve[high] - curve[low]))


def _captured_log(node: LabNode) -> list[str]:
    replay = node.spec.replay
    if not replay or not replay.kernel_log:
        return []
    return replay.kernel_log.read_text(encoding="utf-8", errors="replace").splitlines()


def _kernel_log(node: LabNode, image: Image | None) -> list[str]:
    if image is None:
        return []
    bios = next(item.id for item in node.platform.firmware.values() if item.measured == "bios")
    words = {
        "kernel": image.kernel,
        "image": image.name,
        "driver": node.platform.software.get("driver", image.driver),
        "manufacturer": node.platform.manufacturer,
        "model": node.platform.model,
        "bios": node.firmware.version(bios),
    }
    texts = data.load("kernel_log.yaml")
    return [line.format(**words) for line in (*texts["boot"], *texts["driver"][node.platform.vendor])]


def xid_line(gpu: Mapping[str, Any], code: int, at: float) -> str:
    """The driver's kernel log line for an Xid of this GPU, or what AMD's says; `at` is seconds since boot."""
    texts = data.load("kernel_log.yaml")
    if gpu.get("vendor") == "amd":
        text = texts["amd_texts"].get(code, texts["amd_text_otherwise"])
        return str(texts["amd"]).format(at=at, bus=gpu["pci_bus_id"][4:].lower(), text=text)
    bus = gpu["pci_bus_id"][4:].lower().rpartition(".")[0]
    text = texts["xid_texts"].get(code, texts["xid_text_otherwise"])
    return str(texts["xid"]).format(at=at, bus=bus, code=code, text=text)
