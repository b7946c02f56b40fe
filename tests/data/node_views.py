"""Hand-written node views and plans for the tests of the probe and of the lab's tools.

The figures are those of a healthy 8 x H100 node as published (H100 SXM: 18 links of 26562 MB/s,
700 W, 81559 MiB; all-reduce 478.9 GB/s at 8 GiB, host copies about 55 GB/s).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NONCE = "00112233445566778899aabbccddeeff" * 2
SERIAL = "1660224000001"
BUSES = ("1B", "3B", "4C", "5D", "9B", "BB", "CB", "DB")
EVENTS = [
    {"pcr": 0, "type": "EV_S_CRTM_VERSION", "digest_sha256": "11" * 32, "description": "firmware 1.2.3"},
    {"pcr": 4, "type": "EV_EFI_BOOT_SERVICES_APPLICATION", "digest_sha256": "22" * 32, "description": "image"},
]
L1: list[dict[str, Any]] = [
    {"test": "gpu.identity", "tool": "nvml", "arguments": [], "timeout_seconds": 60, "parameters": {}},
    {"test": "gpu.diag", "tool": "dcgmi", "arguments": ["diag", "-r", "1", "-j"], "timeout_seconds": 60},
    {
        "test": "pcie.bandwidth",
        "tool": "nvbandwidth",
        "arguments": ["-j", "-t", "host_to_device_memcpy_ce", "device_to_host_memcpy_ce"],
        "timeout_seconds": 60,
    },
    {
        "test": "nvlink.bandwidth",
        "tool": "nvbandwidth",
        "arguments": ["-j", "-t", "device_to_device_memcpy_read_ce"],
        "timeout_seconds": 60,
    },
    {
        "test": "collective.all_reduce",
        "tool": "all_reduce_perf",
        "arguments": ["-b", "8G", "-e", "8G", "-f", "2", "-g", "8", "-c", "1", "-n", "20"],
        "environment": {"NCCL_DEBUG": "INFO"},
        "timeout_seconds": 60,
    },
    {"test": "kernel.log", "tool": "kernel-log"},
    {"test": "attest.quote", "tool": "tpm2_quote"},
]


def gpu(index: int, **changes: Any) -> dict[str, Any]:
    """One healthy H100."""
    return {
        "index": index,
        "present": True,
        "name": "NVIDIA H100 80GB HBM3",
        "uuid": f"GPU-0000000{index}-1111-2222-3333-444455556666",
        "serial": f"165302200000{index}",
        "pci_bus_id": f"00000000:{BUSES[index]}:00.0",
        "pci_device_id": "233010DE",
        "memory_total_mib": 81559,
        "vbios": "96.00.74.00.0D",
        "inforom": "G520.0200.00.05",
        "persistence_mode": True,
        "mig": False,
        "temperature_celsius": 31,
        "memory_temperature_celsius": 40,
        "power_watts": 70.1,
        "power_limit_watts": 700.0,
        "pcie_generation": 5,
        "pcie_width": 16,
        "pcie_generation_max": 5,
        "pcie_width_max": 16,
        "pcie_replay": 0,
        "nvlinks": [{"link": link, "up": True, "speed_mb_s": 26562} for link in range(18)],
        "ecc_corrected": 0,
        "ecc_uncorrected": 0,
        "remap": {"correctable": 0, "uncorrectable": 0, "pending": False, "failure": False},
        "throttle_reasons": 0,
        "fabric_state": 3,
        "fabric_status": 0,
        "recovery_action": 0,
        **changes,
    }


def view(**changes: Any) -> dict[str, Any]:
    """A healthy node; ``changes`` replace whole entries."""
    gpus = 8
    return {
        "schema": "lab.node-view/1",
        "simulated": True,
        "node": "gpu-a01",
        "serial": SERIAL,
        "sku": "h100-sxm-8",
        "boot_id": "2f1e6c2a-77aa-4b6e-9d54-2c1a7d3b9e01",
        "machine_id": "0123456789abcdef0123456789abcdef",
        "system_uuid": "4c4c4544-0033-3310-8051-b4c04f4d3132",
        "now": "2026-11-30T10:00:00+00:00",
        "speed": 1000.0,
        "image": {
            "name": "validation-2026.11",
            "kernel": "6.8.0-87-generic",
            "driver": "570.172.08",
            "cuda": "12.8",
            "dcgm": "4.4.2",
            "nccl": "2.27.3",
            "os_image": "Ubuntu 24.04.3 LTS",
        },
        "gpus": [gpu(index) for index in range(gpus)],
        "bandwidth": {
            "host_to_device_gbps": [55.2] * gpus,
            "device_to_host_gbps": [55.0] * gpus,
            "device_to_device_gbps": [[None if one == two else 396.0 for two in range(gpus)] for one in range(gpus)],
            "all_reduce": {
                "transport": "NVLS",
                "wrong": 0,
                "bus_bandwidth_gbps_by_bytes": {"1048576": 43.7, "1073741824": 466.0, "8589934592": 478.9},
            },
        },
        "dcgm": {"problems": []},
        "kernel_log": ["[    0.000000] Linux version 6.8.0-87-generic"],
        "kernel_log_under_load": [],
        "lldp": [{"interface": "eth0", "switch": "leaf-01", "port": "swp1", "nic_serial": "MT2324X00001"}],
        "tool_faults": {},
        "tpm": {"events": EVENTS, "fault": None},
        **changes,
    }  # fmt: skip


def write_node(folder: Path, document: dict[str, Any]) -> Path:
    """The node's folder as the kubelet lays it out; returns the path of the view."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "view.json").write_text(json.dumps(document), "utf-8")
    (folder / "kmsg").write_text("".join(f"{line}\n" for line in document["kernel_log"]), "utf-8")
    return folder / "view.json"


def plan(**changes: Any) -> dict[str, Any]:
    """A plan of suite L1 for that node."""
    return {
        "schema": "nodeworthy.plan/1",
        "node": "gpu-a01",
        "serial": SERIAL,
        "episode": 1,
        "nonce": NONCE,
        "suite": "l1",
        "sku": "h100-sxm-8",
        "expect": {"gpus": 8, "nvlinks_per_gpu": 18},
        "tests": L1,
        **changes,
    }
