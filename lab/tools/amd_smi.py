"""amd-smi of ROCm 7.0 in JSON, the commands that the probe runs.

Forms: ROCm/amdsmi, amdsmi_cli/amdsmi_commands.py. What MI300X does not tell is N/A, as on the real tool.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from lab.tools.amd_files import bad_pages
from lab.tools.view import NodeView, Output

_SECONDS = 1.0
_NA = "N/A"
_SPEEDS = {3: 8, 4: 16, 5: 32, 6: 64}
_BLOCKS = ("UMC", "SDMA", "GFX", "MMHUB", "PCIE_BIF", "HDP", "XGMI_WAFL")
_HEAT = 0x8 | 0x40  # the view's reasons are NVML's: hardware slowdown, thermal
_KINDS = {"retired": "R", "pending": "P", "un_res": "F"}
_STATUS = {"R": "RESERVED", "P": "PENDING", "F": "UNRESERVABLE"}
Gpu = Mapping[str, Any]
Row = dict[str, Any]


def run(_tool: str, arguments: list[str], view: NodeView) -> Output:
    """Render one command. Other output than JSON is not played."""
    command = arguments[0] if arguments else ""
    if command == "version":
        rocm = view.image.get("rocm", _NA)
        row = {"tool": "AMDSMI Tool", "version": "26.0.2", "amdsmi_library_version": "26.0.2", "rocm_version": rocm}
        return Output(_json([row]), seconds=_SECONDS)
    if "--json" not in arguments or command not in _COMMANDS:
        return Output("", 2, 0.2, f"amd-smi: the lab plays {', '.join(_COMMANDS)} with --json alone\n")
    if not view.gpus:
        return Output("", 1, _SECONDS, "AMD-SMI Command failed: AMDSMI_STATUS_NO_HARDWARE_FOUND\n")
    return Output(_COMMANDS[command](view), seconds=_SECONDS)


def _json(document: Any) -> str:
    return json.dumps(document, indent=4) + "\n"


def _each(render: Callable[[NodeView, Gpu], Row]) -> Callable[[NodeView], str]:
    """A command that prints an entry of every GPU below `gpu_data`."""
    return lambda view: _json(
        {"gpu_data": [{"gpu": index, **render(view, gpu)} for index, gpu in enumerate(view.gpus)]}
    )


def _bdf(gpu: Gpu) -> str:
    return str(gpu["pci_bus_id"][4:].lower())


def _with_unit(value: float, unit: str) -> Row:
    return {"value": value, "unit": unit}


def _static(view: NodeView, gpu: Gpu) -> Row:
    partition = {"compute_partition": "CPX" if gpu.get("mig") else "SPX", "memory_partition": "NPS1", "partition_id": 0}
    ras = {"eeprom_version": "0x30000", "bad_page_threshold": 256, "parity_schema": "DISABLED"}
    return {
        "asic": {
            "market_name": gpu["name"],
            "vendor_id": "0x1002",
            "vendor_name": "Advanced Micro Devices Inc. [AMD/ATI]",
            "device_id": "0x74a1",
            "rev_id": "0x00",
            "asic_serial": f"0x{gpu['uuid'].removeprefix('GPU-').replace('-', '')[:16].upper()}",
            "oam_id": gpu["index"],
            "num_compute_units": 304,
            "target_graphics_version": "gfx942",
        },
        "bus": {
            "bdf": _bdf(gpu),
            "max_pcie_width": gpu["pcie_width_max"],
            "max_pcie_speed": _with_unit(_SPEEDS[gpu["pcie_generation_max"]], "GT/s"),
            "pcie_interface_version": f"Gen {gpu['pcie_generation_max']}",
            "slot_type": "OAM",
        },
        "ifwi": {"name": "AMD MI300X_HW_SRIOV_CVS_1VF", "build_date": _NA, "part_number": _NA, "version": gpu["vbios"]},
        "limit": {
            "max_power": _with_unit(gpu["power_limit_watts"], "W"),
            "min_power": _with_unit(0, "W"),
            "socket_power": _with_unit(gpu["power_limit_watts"], "W"),
        },
        "driver": {"name": "amdgpu", "version": view.image.get("driver", _NA)},
        "board": {"model_number": "102-G30213-0B", "product_serial": gpu["serial"], "manufacturer_name": "AMD"},
        "ras": {**ras, "ecc_block_state": dict.fromkeys(_BLOCKS, "ENABLED")},
        "partition": partition,
        "vram": {
            "type": "HBM3",
            "vendor": "HYNIX",
            "size": _with_unit(gpu["memory_total_mib"], "MB"),
            "bit_width": 8192,
            "max_bandwidth": _with_unit(5324, "GB/s"),
        },
    }


def _metric(_view: NodeView, gpu: Gpu) -> Row:
    hot = {name: "NOT ACTIVE" for name in ("prochot", "ppt", "socket_thermal", "vr_thermal", "hbm_thermal")}
    if gpu["throttle_reasons"] & _HEAT:
        hot["socket_thermal"] = "ACTIVE"
    return {
        "power": {"socket_power": _with_unit(round(gpu["power_watts"]), "W"), "throttle_status": _NA},
        "temperature": {
            "edge": _NA,
            "hotspot": _with_unit(gpu["temperature_celsius"], "C"),
            "mem": _with_unit(gpu["memory_temperature_celsius"], "C"),
        },
        "pcie": {
            "width": gpu["pcie_width"],
            "speed": _with_unit(_SPEEDS[gpu["pcie_generation"]], "GT/s"),
            "bandwidth": _with_unit(7, "Mb/s"),
            "replay_count": gpu["pcie_replay"],
            "l0_to_recovery_count": 0,
            "replay_roll_over_count": 0,
            "nak_sent_count": 0,
            "nak_received_count": 0,
        },
        "ecc": {
            "total_correctable_count": gpu["ecc_corrected"],
            "total_uncorrectable_count": gpu["ecc_uncorrected"],
            "total_deferred_count": 0,
            "cache_correctable_count": 0,
            "cache_uncorrectable_count": 0,
        },
        "xgmi_err": "AMDSMI_XGMI_STATUS_NO_ERRORS",
        "throttle": {
            "accumulation_counter": 8402153,
            **{f"{name}_violation_status": said for name, said in hot.items()},
        },
    }


def _bad_pages(_view: NodeView, gpu: Gpu) -> Row:
    rows = [line.split(" : ") for line in bad_pages(gpu)]
    return {name: _of_kind(rows, mark) for name, mark in _KINDS.items()}


def _of_kind(rows: list[list[str]], mark: str) -> Any:
    """A sentence for none, the one entry alone, or a list: the tool takes the brackets off."""
    found = [
        {"page_address": int(address, 16), "page_size": int(size, 16), "status": _STATUS[mark]}
        for address, size, kind in rows
        if kind == mark
    ]
    return (found[0] if len(found) == 1 else found) or "No bad pages found."


def _xgmi(view: NodeView) -> str:
    """Two documents, as the tool prints them: each GPU and its address, then the state of every link."""
    heads = [{"gpu": index, "bdf": _bdf(gpu)} for index, gpu in enumerate(view.gpus)]
    states = [{**head, "link_status": _link_states(gpu)} for head, gpu in zip(heads, view.gpus, strict=True)]
    return _json(heads) + _json(states)


def _link_states(gpu: Gpu) -> list[str]:
    found = ["U" if link["up"] else "D" for link in gpu["nvlinks"]]
    found.insert(min(int(gpu["index"]), len(found)), "X")
    return found


def _topology(view: NodeView) -> str:
    return _json([
        {
            "gpu": index,
            "bdf": _bdf(gpu),
            "links": [_link(view, index, other) for other in range(len(view.gpus))],
        }
        for index, gpu in enumerate(view.gpus)
    ])  # fmt: skip


def _link(view: NodeView, index: int, other: int) -> Row:
    own = index == other
    up = own or (_joined(view.gpus[index], view.gpus[other]) and _joined(view.gpus[other], view.gpus[index]))
    return {
        "gpu": other,
        "bdf": _bdf(view.gpus[other]),
        "weight": 0 if own else 15,
        "link_status": "ENABLED" if up else "DISABLED",
        "link_type": "SELF" if own else "XGMI" if up else "PCIE",
        "num_hops": 0 if own else 1 if up else 2,
        "bandwidth": _NA if own else "32-64",
    }


def _joined(gpu: Gpu, other: Gpu) -> bool:
    """Whether the GPU's link to the other is up: its links go to the others in their order."""
    place = int(other["index"]) - (int(other["index"]) > int(gpu["index"]))
    return bool(gpu["nvlinks"][place]["up"])


_COMMANDS: Mapping[str, Callable[[NodeView], str]] = {
    "static": _each(_static),
    "metric": _each(_metric),
    "bad-pages": _each(_bad_pages),
    "xgmi": _xgmi,
    "topology": _topology,
}
