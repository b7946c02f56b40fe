"""Identity and health of every GPU of an AMD node, from what ``amd-smi`` says (:mod:`nodeworthy_probe.amd_snapshot`).

The rows have the names of an NVIDIA node's where they mean the same: ``nvlinks_up`` counts xGMI links to other GPUs.
Bad pages are AMD's remapped rows: retired ones are gone, pending ones wait for a reset, unreservable ones are in use
and cannot be retired. Sources: amd-smi (ROCm 6.1 to 7.1); Linux, Documentation/gpu/amdgpu/ras.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from nodeworthy_probe.parsers import amd_smi
from nodeworthy_probe.parsers.amd_smi import Gpus, at, figure, generation, pages, word
from nodeworthy_probe.parsers.json_document import mapping, sequence
from nodeworthy_probe.records import Measurement, Reading, Text, missing

from .context import Context

_PARTS = ("static", "metric", "bad_pages", "xgmi")
_HOT = ("prochot", "socket_thermal", "vr_thermal", "hbm_thermal")
_WHOLE = {"SPX", "NPS1"}
Row = Mapping[str, Any]


def read(text: str, context: Context) -> Reading:
    """Rows for every expected GPU; a value that the tool does not tell is a missing row."""
    parts = _parts(text)
    if isinstance(parts, str):
        return _nothing(context, parts)
    static = parts["static"]
    count = len(static)
    if set(static) != set(range(count)):
        return _nothing(context, "amd-smi static leaves out the number of a GPU")
    rows = [Measurement("node", "gpu_count", float(count), "count")]
    for index in context.gpus(count):
        of_gpu = {name: part.get(index, {}) for name, part in parts.items()}
        rows += [_row(index, metric, unit, value(of_gpu)) for metric, (unit, value) in _FIGURES.items()]
    driver = next((found for row in static.values() if (found := word(at(row, "driver", "version")))), None)
    return Reading(
        measurements=tuple(rows),
        texts=tuple(text for index, row in static.items() for text in _texts(index, row)),
        versions={"driver": driver} if driver else {},
        tool_version=driver,
        lines=_lines(context, static),
    )


def _parts(text: str) -> dict[str, Gpus] | str:
    try:
        calls = mapping(mapping(json.loads(text)).get("calls"))
    except (ValueError, RecursionError):
        return "amd-smi gave no readable snapshot"
    found: dict[str, Gpus] = {}
    for name in _PARTS:
        part = amd_smi.by_gpu(str(at(calls, name, "text") or ""))
        if isinstance(part, str) and name == "static":
            return f"amd-smi static: {part}"
        found[name] = {} if isinstance(part, str) else part
    return found


def _nothing(context: Context, problem: str) -> Reading:
    rows = [missing("node", "gpu_count", "count")]
    rows += [missing(f"gpu/{index}", metric, unit) for index in context.expected_gpus
             for metric, (unit, _) in _FIGURES.items()]  # fmt: skip
    return Reading(measurements=tuple(rows), problem=problem)


def _row(index: int, metric: str, unit: str, value: float | None) -> Measurement:
    component = f"gpu/{index}"
    return missing(component, metric, unit) if value is None else Measurement(component, metric, value, unit)


def _links_up(row: Row) -> float | None:
    """Links that are up; a GPU has no link to itself, which is neither up nor down (X)."""
    words = sequence(at(row["xgmi"], "link_status"))
    return float(words.count("U")) if words and set(words) <= {"U", "D", "X"} else None


def _too_hot(row: Row) -> float | None:
    """Whether heat or the board slows it now; the power cap (ppt) is how a loaded GPU runs."""
    said = [word(at(row["metric"], "throttle", f"{name}_violation_status")).upper() for name in _HOT]
    return float("ACTIVE" in said) if all(said) else None


def _partitioned(row: Row) -> float | None:
    modes = {word(at(row["static"], "partition", f"{kind}_partition")) for kind in ("compute", "memory")}
    return None if "" in modes else float(modes != _WHOLE)


def _ecc_mode(row: Row) -> float | None:
    state = word(at(row["static"], "ras", "ecc_block_state", "UMC"))
    return float(state == "ENABLED") if state else None


def _power_limit(row: Row) -> float | None:
    """The limit in force; since ROCm 7.1 it stands by the name of its kind (ppt0)."""
    limit = at(row["static"], "limit")
    newer = figure(at(limit, "ppt0", "socket_power_limit"), "W")
    return figure(at(limit, "socket_power"), "W") if newer is None else newer


_FIGURES: dict[str, tuple[str, Callable[[Row], float | None]]] = {
    "memory_total": ("MiB", lambda row: figure(at(row["static"], "vram", "size"), "MB")),
    "pcie_generation": (
        "count",
        lambda row: generation(figure(at(row["static"], "bus", "max_pcie_speed"), "GT/s")),
    ),
    "pcie_width": ("count", lambda row: figure(at(row["static"], "bus", "max_pcie_width"))),
    "pcie_width_current": ("count", lambda row: figure(at(row["metric"], "pcie", "width"))),
    "nvlinks_up": ("count", _links_up),
    "ecc_uncorrected": ("count", lambda row: figure(at(row["metric"], "ecc", "total_uncorrectable_count"))),
    "ecc_deferred": ("count", lambda row: figure(at(row["metric"], "ecc", "total_deferred_count"))),
    "bad_pages": ("count", lambda row: pages(at(row["bad_pages"], "retired"))),
    "bad_pages_pending": ("count", lambda row: pages(at(row["bad_pages"], "pending"))),
    "bad_pages_unreservable": ("count", lambda row: pages(at(row["bad_pages"], "un_res"))),
    "throttle_hardware": ("bool", _too_hot),
    "temperature": ("C", lambda row: figure(at(row["metric"], "temperature", "hotspot"), "C")),
    "power_limit": ("W", _power_limit),
    "ecc_mode": ("bool", _ecc_mode),
    "partitioned": ("bool", _partitioned),
}


def _texts(index: int, row: Row) -> list[Text]:
    found = {
        "uuid": at(row, "asic", "asic_serial"),
        "serial": at(row, "board", "product_serial"),
        "model": at(row, "asic", "market_name"),
        "vbios": at(row, "ifwi", "version") or at(row, "vbios", "version"),
        "pci": at(row, "bus", "bdf"),
    }
    return [Text(f"gpu/{index}", name, word(value)) for name, value in found.items() if word(value)]


def _lines(context: Context, static: Gpus) -> tuple[str, ...]:
    models = [word(at(row, "asic", "market_name")) or "a GPU without a name" for row in static.values()]
    kinds = ", ".join(f"{models.count(model)} x {model}" for model in dict.fromkeys(models)) or "none"
    return (f"{len(static)} of {context.plan.expected_gpus} GPUs answer: {kinds}",)
