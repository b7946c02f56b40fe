"""The files of /proc and /sys that software on the node reads, written from the view, and their counters under load.

Formats: Linux ABI documents sysfs-bus-pci-devices-aer_stats, sysfs-class-infiniband and sysfs-devices-edac; proc(5).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lab.tools import amd_files, host_ethernet, host_pci, host_system

_AER = {"correctable": "TOTAL_ERR_COR", "fatal": "TOTAL_ERR_FATAL", "nonfatal": "TOTAL_ERR_NONFATAL"}
_PORT = ("link_downed", "link_error_recovery", "port_rcv_errors", "local_link_integrity_errors",
         "excessive_buffer_overrun_errors", "symbol_error", "port_xmit_discards", "port_xmit_wait")  # fmt: skip
_HARDWARE = ("out_of_sequence", "packet_seq_err", "local_ack_timeout_err")
PROC, LOGS, SYS = "/host/proc", "/host/log", "/host/sys"
_CPUS = 4  # as many as show what is to be seen
_HOST_COUNTERS = {
    "memory_corrected": "sys/devices/system/edac/mc/mc0/ce_count",
    "memory_uncorrected": "sys/devices/system/edac/mc/mc0/ue_count",
}


def write(root: Path, view: dict[str, Any], mounted: frozenset[str] = frozenset()) -> None:
    """Write all files below ``root``; every counter is 0. ``mounted`` are the host's folders that the pod mounts."""
    host_pci.write(root, view)
    system = [*host_system.of_every_pod(view)]
    system += host_system.of_a_pod_with_proc(view) if PROC in mounted else ()
    system += host_system.of_a_pod_with_logs(view) if LOGS in mounted else ()
    system += host_ethernet.of_a_pod_with_sys(view) if SYS in mounted else ()
    for name, text in (*_settings(view), *_counters(view), *system):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    if view.get("vendor") == "amd":
        amd_files.write(root, view)


def bump(root: Path, rises: dict[str, dict[str, int]], view: dict[str, Any]) -> None:
    """Add what one load adds to the counters of adapters, memory and PCIe, and of AMD's GPUs; others' are NVML's."""
    for where, counters in rises.items():
        if view.get("vendor") == "amd" and where.startswith("gpu/"):
            amd_files.bump(root, view["gpus"][int(where[4:])], counters)
            continue
        for counter, by in counters.items():
            path = root / _place(where, counter, view)
            if path.is_file():
                words = path.read_text("utf-8").split()
                path.write_text(" ".join([*words[:-1], str(int(words[-1]) + by)]) + "\n", "utf-8")


def _place(where: str, counter: str, view: dict[str, Any]) -> str:
    if where.startswith("nic/"):
        folder = "hw_counters" if counter in _HARDWARE else "counters"
        return f"sys/class/infiniband/{where[4:]}/ports/1/{folder}/{counter}"
    if counter in ("pcie_corrected", "pcie_uncorrected"):
        kind = "correctable" if counter == "pcie_corrected" else "nonfatal"
        return f"{_pci(view['gpus'][0]['pci_bus_id'])}/aer_dev_{kind}"
    return _HOST_COUNTERS.get(counter, "none")


def _pci(bus_id: str) -> str:
    return f"sys/bus/pci/devices/{host_pci.address(bus_id)}"


def _settings(view: dict[str, Any]) -> Iterator[tuple[str, str]]:
    settings = view.get("settings", {})
    modules = settings.get("modules", [])
    arguments = settings.get("kernel_arguments", "iommu=pt pci=realloc=off")
    yield "proc/cmdline", f"BOOT_IMAGE=/vmlinuz root=LABEL=root ro {arguments}\n"
    yield "proc/modules", "".join(f"{name} 16384 0 - Live 0x0000000000000000\n" for name in modules)
    if view.get("vendor", "nvidia") == "nvidia":
        yield "proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module {_driver(view)}\n"
    yield "proc/sys/kernel/numa_balancing", f"{settings.get('numa_balancing', 0)}\n"
    yield (
        "proc/meminfo",
        (
            f"MemTotal:       {(view.get('host') or {}).get('memory_kib', 2113389304)} kB\nHugePages_Total:       0\n"
            f"SwapTotal:      {settings.get('swap_kib', 0):>10} kB\n"
        ),
    )
    yield "sys/devices/system/clocksource/clocksource0/current_clocksource", f"{settings.get('clocksource', 'tsc')}\n"
    for cpu in range(_CPUS):
        place = f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"
        yield place, f"{settings.get('governor', 'performance')}\n"


def _driver(view: dict[str, Any]) -> str:
    return str((view.get("image") or {}).get("driver") or "")


def _counters(view: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for gpu in view.get("gpus", []):
        for kind, total in _AER.items():
            if gpu.get("present", True):
                yield f"{_pci(gpu['pci_bus_id'])}/aer_dev_{kind}", f"{total} 0\n"
    for controller in range(2):
        for name in ("ce_count", "ue_count"):
            yield f"sys/devices/system/edac/mc/mc{controller}/{name}", "0\n"
    for rail in view.get("rdma", []):
        port = f"sys/class/infiniband/{rail['device']}/ports/1"
        yield from ((f"{port}/counters/{name}", f"{rail.get(name, 0)}\n") for name in _PORT)
        yield from ((f"{port}/hw_counters/{name}", "0\n") for name in _HARDWARE)
