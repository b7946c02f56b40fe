"""Which reader reads which kind of file. A kind is named as people name the tool's output."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from .guards import guard, without_noise
from .sheet import Sheet

Reader = Callable[[str, Sheet], None]

_MODULES = {
    "active-suite": "active_suite",
    "amd-smi": "amd_smi",
    "dcgm-diag-json": "dcgm_diag",
    "dcgm-diag-text": "dcgm_diag",
    "dcgm-health": "dcgm_health",
    "dmesg": "dmesg",
    "fabric-manager": "fabric_manager",
    "fio": "fio",
    "gpu-burn": "gpu_burn",
    "gpu-copy": "gpu_copy",
    "gpu-metrics": "gpu_metrics",
    "host-inventory": "host_inventory",
    "hpl": "hpl",
    "ibnetdiscover": "ibnetdiscover",
    "ibstat": "ibstat",
    "k8s": "k8s",
    "lldp": "lldp_file",
    "lsblk": "lsblk",
    "mlxlink": "mlxlink",
    "nccl-tests": "nccl",
    "nvbandwidth": "nvbandwidth_file",
    "nvidia-smi": "nvidia_smi",
    "perftest": "perftest",
    "redfish": "redfish",
    "smartctl": "smartctl",
    "stream": "stream",
    "stress-ng": "stress_ng",
    "time-sync": "time_sync",
    "tpm": "tpm",
    "transferbench": "transferbench_file",
}
KINDS = tuple(_MODULES)
_ERASING = str.maketrans({"\x00": None, "\ufeff": None})


def read(kind: str, text: str) -> Sheet:
    """Everything that the file says. KeyError for an unknown kind; nothing else is raised."""
    module = importlib.import_module(f"nodeworthy_probe.content.{_MODULES[kind]}")
    sheet = Sheet(kind, module.TOOL)
    if not text.strip():
        sheet.note("document/empty", "file", "the file is empty")
        return sheet
    reader: Reader = module.read
    text = without_noise(kind, text.translate(_ERASING))
    reader(text, sheet)
    guard(kind, text, sheet)
    return sheet
