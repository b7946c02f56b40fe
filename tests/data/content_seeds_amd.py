"""Healthy outputs of AMD's tools: amd-smi 7.0 in JSON, and TransferBench 1.62."""

from __future__ import annotations

import json
from typing import Any

GPUS = 8


def _each(**sections: Any) -> str:
    rows = [{"gpu": gpu, **{name: make(gpu) for name, make in sections.items()}} for gpu in range(GPUS)]
    return json.dumps({"gpu_data": rows}, indent=4) + "\n"


def _unit(value: float, unit: str) -> dict[str, Any]:
    return {"value": value, "unit": unit}


def amd_static() -> str:
    """``amd-smi static --json``, the sections that name a GPU."""
    return _each(
        asic=lambda gpu: {"market_name": "AMD Instinct MI300X", "asic_serial": f"0x66F1C0DE{gpu:08X}", "oam_id": gpu},
        bus=lambda gpu: {
            "bdf": f"0000:{5 + 32 * gpu:02x}:00.0",
            "max_pcie_width": 16,
            "max_pcie_speed": _unit(32, "GT/s"),
        },
        board=lambda gpu: {"product_serial": f"69211200{gpu}"},
        ras=lambda _gpu: {"ecc_block_state": {"UMC": "ENABLED", "GFX": "ENABLED"}},
        partition=lambda _gpu: {"compute_partition": "SPX", "memory_partition": "NPS1", "partition_id": 0},
        vram=lambda _gpu: {"type": "HBM3", "size": _unit(196592, "MB")},
    )


def amd_metric() -> str:
    """``amd-smi metric --json``, the sections that tell of health."""
    return _each(
        power=lambda gpu: {"socket_power": _unit(139 + gpu, "W")},
        temperature=lambda gpu: {"edge": "N/A", "hotspot": _unit(41 + gpu, "C"), "mem": _unit(33, "C")},
        pcie=lambda _gpu: {"width": 16, "speed": _unit(32, "GT/s"), "replay_count": 0},
        ecc=lambda _gpu: {
            "total_correctable_count": 0,
            "total_uncorrectable_count": 0,
            "total_deferred_count": 0,
        },
        throttle=lambda _gpu: {
            "prochot_violation_status": "NOT ACTIVE",
            "socket_thermal_violation_status": "NOT ACTIVE",
        },
    )


def amd_bad_pages() -> str:
    """``amd-smi bad-pages --json`` without a bad page."""
    none = "No bad pages found."
    return _each(retired=lambda _gpu: none, pending=lambda _gpu: none, un_res=lambda _gpu: none)


def amd_xgmi() -> str:
    """``amd-smi xgmi --link-status --json``: two documents."""
    heads = [{"gpu": gpu, "bdf": f"0000:{5 + 32 * gpu:02x}:00.0"} for gpu in range(GPUS)]
    states = [
        {**head, "link_status": ["X" if head["gpu"] == other else "U" for other in range(GPUS)]} for head in heads
    ]
    return "\n".join(json.dumps(document, indent=4) for document in (heads, states)) + "\n"


def _cells(source: int, count: int, base: float) -> list[float]:
    return [base + source * 0.25 + target * 0.5 for target in range(count)]


def peers() -> str:
    """The preset p2p, in one direction, of two processors and eight GPUs."""
    devices = [("CPU", 0), ("CPU", 1), *(("GPU", gpu) for gpu in range(GPUS))]
    table = {
        (one, other): (30.0 if "CPU" in (devices[one][0], devices[other][0]) else 45.0) + one * 0.25 + other * 0.5
        for one in range(len(devices))
        for other in range(len(devices))
    }
    lines = [
        "TransferBench v1.62.00",
        "Bytes Per Direction 67108864",
        "Unidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)",
        " SRC+EXE\\DST" + "".join(f"{kind:>7} {number:02d}" for kind, number in devices),
    ]
    for one, (kind, number) in enumerate(devices):
        row = "".join(f"{table[one, other]:>10.2f}" for other in range(len(devices)))
        lines.append(f"{kind:>5} {number:02d}  ->{row}")
    means = []
    for pair in (("CPU", "CPU"), ("CPU", "GPU"), ("GPU", "CPU"), ("GPU", "GPU")):
        found = [rate for (one, other), rate in table.items()
                 if one != other and (devices[one][0], devices[other][0]) == pair]  # fmt: skip
        means.append(f"{sum(found) / len(found):>10.2f}")
    lines += [f"{'':25}  CPU->CPU  CPU->GPU  GPU->CPU  GPU->GPU", f"Averages (During UniDir):{''.join(means)}"]
    return "\n".join(lines) + "\n"


def all_to_all() -> str:
    """The preset a2a of eight GPUs."""
    rows = [_cells(gpu, GPUS, 30.0) for gpu in range(GPUS)]
    lines = [
        "TransferBench v1.62.00",
        "Summary: [67108864 bytes per Transfer]",
        "=" * 58,
        "SRC\\DST " + "".join(f" GPU {gpu:02d}    " for gpu in range(GPUS)) + "    STotal      Actual",
    ]
    total = 0.0
    for one, row in enumerate(rows):
        cells = [f"{rate:>8.3f}  " if one != other else f"{'N/A':>8}  " for other, rate in enumerate(row)]
        sent = [rate for other, rate in enumerate(row) if other != one]
        total += sum(sent)
        lines.append(f"GPU {one:02d} {' '.join(cells)}    {sum(sent):>8.3f}    {min(sent) * 7:>8.3f}")
    received = [sum(rows[one][other] for one in range(GPUS) if one != other) for other in range(GPUS)]
    lines.append(f"\nRTotal {' '.join(f'{rate:>8.3f}  ' for rate in received)}    {total:>8.3f}    1.000    2.000\n")
    return "\n".join([*lines, f"Average   bandwidth (GPU Timed): {total / 56:8.3f} GB/s",
                      f"Aggregate bandwidth (GPU Timed): {total:8.3f} GB/s"]) + "\n"  # fmt: skip
