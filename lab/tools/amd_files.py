"""The sysfs files of the amdgpu driver, written from the view, and their counters under load.

Formats: Linux, Documentation/gpu/amdgpu/ras and driver-misc; drivers/gpu/drm/amd/include/kgd_pp_interface.h (the table
gpu_metrics_v1_6, 1664 bytes).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_BLOCKS = ("umc", "sdma", "gfx", "mmhub", "pcie_bif", "hdp", "xgmi_wafl")
_SPEEDS = {3: "8.0", 4: "16.0", 5: "32.0", 6: "64.0"}
_TABLE_BYTES, _REVISION, _CYCLES_AT, _SOCKET_AT = 1664, 6, 32, 44
_CYCLES_A_LOOK = 1000
_HOTTEST_CELSIUS, _CLOCK_HERTZ = 110, 2_100_000_000


def place(gpu: Mapping[str, Any]) -> str:
    """The GPU's folder below the root."""
    return f"sys/bus/pci/devices/{gpu['pci_bus_id'][4:].lower()}"


def write(root: Path, view: dict[str, Any]) -> None:
    """Write the files of every GPU that is there; what it counts stands as the view has it."""
    for gpu in view.get("gpus", []):
        if gpu.get("present", True):
            for name, text in _files(gpu):
                path = root / place(gpu) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
            (root / place(gpu) / "gpu_metrics").write_bytes(_table(0, 0))


def _files(gpu: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "vendor", "0x1002\n"
    yield "class", "0x120000\n"
    yield "numa_node", f"{gpu['index'] // 4}\n"
    yield "current_link_speed", f"{_SPEEDS[gpu['pcie_generation']]} GT/s PCIe\n"
    yield "pcie_replay_count", f"{gpu['pcie_replay']}\n"
    for block in _BLOCKS:
        umc = block == "umc"
        yield f"ras/{block}_err_count", _count(gpu["ecc_uncorrected"] * umc, gpu["ecc_corrected"] * umc)
    yield "ras/gpu_vram_bad_pages", "".join(f"{line}\n" for line in bad_pages(gpu))
    yield "hwmon/hwmon3/temp2_label", "junction\n"
    yield "hwmon/hwmon3/temp2_input", f"{gpu['temperature_celsius']}000\n"
    yield "hwmon/hwmon3/temp2_crit", f"{_HOTTEST_CELSIUS}000\n"
    yield "hwmon/hwmon3/freq1_input", f"{_CLOCK_HERTZ}\n"
    yield "hwmon/hwmon3/power1_input", f"{round(gpu['power_watts'] * 1e6)}\n"


def bad_pages(gpu: Mapping[str, Any]) -> list[str]:
    """Page frame, size in bytes, and R for retired, P for pending, F for one that cannot be retired."""
    remap = gpu["remap"]
    marks = ["P"] * bool(remap["pending"]) + ["F"] * bool(remap["failure"])
    return [f"0x{0x1F00A0 + number:08x} : 0x00001000 : {mark}" for number, mark in enumerate(marks)]


def _count(uncorrected: int, corrected: int) -> str:
    return f"ue: {uncorrected}\nce: {corrected}\nde: 0\n"


def _table(cycles: int, socket: int) -> bytes:
    table = bytearray(_TABLE_BYTES)
    struct.pack_into("<HBB", table, 0, _TABLE_BYTES, 1, _REVISION)
    struct.pack_into("<I", table, _CYCLES_AT, cycles)
    struct.pack_into("<I", table, _SOCKET_AT, socket)
    return bytes(table)


def bump(root: Path, gpu: Mapping[str, Any], counters: Mapping[str, int]) -> None:
    """Add what one load adds: `ecc_corrected`, `ecc_uncorrected`, `nvlink_errors`, `pcie_replay`, `slowed_by_heat`."""
    folder = root / place(gpu)
    for counter, by in counters.items():
        if counter == "pcie_replay":
            path = folder / "pcie_replay_count"
            path.write_text(f"{int(path.read_text('utf-8')) + by}\n", "utf-8")
        elif counter == "slowed_by_heat":
            table = (folder / "gpu_metrics").read_bytes()
            cycles, socket = (struct.unpack_from("<I", table, at)[0] for at in (_CYCLES_AT, _SOCKET_AT))
            (folder / "gpu_metrics").write_bytes(_table(cycles + _CYCLES_A_LOOK, socket + _CYCLES_A_LOOK))
        else:
            path = folder / f"ras/{'xgmi_wafl' if counter == 'nvlink_errors' else 'umc'}_err_count"
            words = path.read_text("utf-8").split()
            kind = 3 if counter == "ecc_corrected" else 1
            words[kind] = str(int(words[kind]) + by)
            path.write_text(_count(int(words[1]), int(words[3])), "utf-8")
