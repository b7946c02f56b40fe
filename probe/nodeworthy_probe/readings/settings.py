"""Kernel settings of the host, compared with what the test's arguments ask for.

Arguments: ``--governor NAME``, ``--clocksources A,B``, ``--modules A,B,...``, as the suite wants them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, sequence, whole
from nodeworthy_probe.records import Measurement, Reading, Text, missing

from .context import Context

_PEERMEM = "nvidia_peermem"
_UNITS = {
    "cpus_of_another_governor": "count",
    "modules_missing": "count",
    "numa_balancing": "bool",
    "clocksource_trusted": "bool",
    "gpu_direct_rdma": "bool",
    "swap": "MiB",
    "memory": "MiB",
    "huge_pages": "count",
}


def read(text: str, context: Context) -> Reading:
    """A row per setting; one that the host does not tell is a missing row."""
    try:
        state = mapping(json.loads(text))
    except (ValueError, RecursionError):
        state = {}
    if not state:
        rows = tuple(missing("node", name, unit) for name, unit in _UNITS.items())
        return Reading(rows, problem="the host's state is not readable")
    wanted = _wanted(context.test.arguments)
    values = _values(state, wanted)
    rows = tuple(
        missing("node", name, unit) if values[name] is None else Measurement("node", name, values[name], unit)
        for name, unit in _UNITS.items()
    )
    arguments = state.get("kernel_arguments")
    texts = (Text("node", "kernel_arguments", arguments),) if isinstance(arguments, str) and arguments else ()
    return Reading(rows, texts=texts, lines=_lines(state, wanted))


def _wanted(arguments: Sequence[str]) -> dict[str, list[str]]:
    pairs = zip(arguments[::2], arguments[1::2], strict=False)
    return {name.removeprefix("--"): [word for word in words.split(",") if word] for name, words in pairs}


def _values(state: Mapping[str, Any], wanted: Mapping[str, list[str]]) -> dict[str, float | None]:
    governors = mapping(state.get("governors"))
    others = sum(whole(count) or 0 for name, count in governors.items() if name not in wanted.get("governor", []))
    clock = state.get("clocksource")
    balancing, swap, memory = (whole(state.get(name)) for name in ("numa_balancing", "swap_kib", "memory_kib"))
    lacking = _lacking(state, wanted)
    return {
        "cpus_of_another_governor": float(others),
        "modules_missing": None if lacking is None else float(len(lacking)),
        "numa_balancing": None if balancing is None else float(bool(balancing)),
        "clocksource_trusted": float(clock in wanted.get("clocksources", [])) if isinstance(clock, str) else None,
        "gpu_direct_rdma": _gpu_direct(state),
        "swap": None if swap is None else swap / 1024,
        "memory": None if memory is None else memory / 1024,
        "huge_pages": _float(whole(state.get("huge_pages"))),
    }


def _lacking(state: Mapping[str, Any], wanted: Mapping[str, list[str]]) -> list[str] | None:
    if not isinstance(state.get("modules"), list):
        return None
    loaded = sequence(state.get("modules"))
    return [name for name in wanted.get("modules", []) if name not in loaded]


def _gpu_direct(state: Mapping[str, Any]) -> float | None:
    if not isinstance(state.get("modules"), list):
        return None
    return float(_PEERMEM in sequence(state.get("modules")) or state.get("open_driver") is True)


def _float(value: int | None) -> float | None:
    return None if value is None else float(value)


def _lines(state: Mapping[str, Any], wanted: Mapping[str, list[str]]) -> tuple[str, ...]:
    governors = ", ".join(f"{count} x {name}" for name, count in mapping(state.get("governors")).items())
    lacking = _lacking(state, wanted)
    return (
        f"governors: {governors or 'none, the firmware decides'}; clock source {state.get('clocksource')}; "
        f"NUMA balancing {state.get('numa_balancing')}; swap {state.get('swap_kib')} KiB",
        f"kernel modules that are missing: {', '.join(lacking) if lacking else 'none'}"
        if lacking is not None
        else "the list of kernel modules cannot be read",
    )
