"""Kernel settings of the host, compared with what the test's arguments ask for.

Arguments of ``host-state``: ``--governor NAME``, ``--clocksources A,B``, ``--modules A,B,...``, ``--full PERCENT``
(from where on a file system counts as full) and ``--blocks ORDER,COUNT`` (a NUMA node is fragmented unless it has so
many free blocks of memory of one order from this one on, as gcm's check of buddyinfo asks). Of ``kernel-arguments``:
``--demand A,B|C``, where either of B and C will do. Of ``huge-pages``: ``--demand COUNT``. Of ``fabric-state``: the
log's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, sequence, whole
from nodeworthy_probe.parsers.numbers import finite
from nodeworthy_probe.records import Reading, Text

from .context import Context
from .demands import count_of, document, named, nothing, rows, wanted

_PEERMEM = "nvidia_peermem"
_UNITS = {
    "cpus_of_another_governor": "count",
    "modules_missing": "count",
    "numa_balancing": "bool",
    "clocksource_trusted": "bool",
    "gpu_direct_rdma": "bool",
    "swap": "MiB",
    "huge_pages": "count",
    "locked_memory_unlimited": "bool",
    "file_systems_full": "count",
    "numa_nodes_fragmented": "count",
}
_ARGUMENTS = {"kernel_arguments_missing": "count"}
_HUGE = {"huge_pages_missing": "count"}
_FABRIC = {"fabric_manager_differs": "bool"}
_UNREADABLE = "the host's state is not readable"


def read(text: str, context: Context) -> Reading:
    """A row per setting; one that the host does not tell is a missing row."""
    state = document(text)
    if not state:
        return nothing(_UNITS, _UNREADABLE)
    asked = wanted(context.test.arguments)
    arguments = state.get("kernel_arguments")
    texts = (Text("node", "kernel_arguments", arguments),) if isinstance(arguments, str) and arguments else ()
    return Reading(rows(_values(state, asked), _UNITS), texts=texts, lines=_lines(state, asked))


def read_arguments(text: str, context: Context) -> Reading:
    """How many of the demanded arguments the kernel was not started with."""
    state = document(text)
    line = state.get("kernel_arguments")
    if not isinstance(line, str) or not line:
        return nothing(_ARGUMENTS, "the kernel's command line cannot be read")
    given = set(line.split())
    lacking = [one for one in wanted(context.test.arguments).get("demand", []) if given.isdisjoint(one.split("|"))]
    said = named(lacking, "kernel arguments that are missing", "")
    return Reading(rows({"kernel_arguments_missing": float(len(lacking))}, _ARGUMENTS), lines=(said,))


def read_huge_pages(text: str, context: Context) -> Reading:
    """How many of the demanded huge pages the kernel did not set aside."""
    there = whole(document(text).get("huge_pages"))
    asked = _numbers(wanted(context.test.arguments), "demand", 1)
    lacking = float(max(0, asked[0] - there)) if asked and there is not None else None
    line = f"{'an unknown number of' if there is None else there} huge pages, {asked[0] if asked else 'none'} demanded"
    return Reading(rows({"huge_pages_missing": lacking}, _HUGE), lines=(line,))


def read_fabric(text: str, context: Context) -> Reading:
    """Whether Fabric Manager is of another version than the driver; unknown where either is not told."""
    state = document(text)
    driver, manager = state.get("driver"), state.get("fabric_manager")
    if not driver or not manager:
        lacking = "the driver tells no version" if not driver else f"{context.test.arguments[0]} tells no version"
        return Reading(rows({}, _FABRIC), lines=(f"{lacking}; nothing was compared",))
    line = f"driver {driver}, Fabric Manager {manager}"
    return Reading(rows({"fabric_manager_differs": float(driver != manager)}, _FABRIC), lines=(line,))


def _values(state: Mapping[str, Any], asked: Mapping[str, list[str]]) -> dict[str, float | None]:
    governors = mapping(state.get("governors"))
    others = sum(whole(count) or 0 for name, count in governors.items() if name not in asked.get("governor", []))
    clock, locked = state.get("clocksource"), state.get("locked_memory")
    balancing, swap = (whole(state.get(name)) for name in ("numa_balancing", "swap_kib"))
    return {
        "cpus_of_another_governor": float(others),
        "modules_missing": count_of(_lacking(state, asked)),
        "numa_balancing": None if balancing is None else float(bool(balancing)),
        "clocksource_trusted": float(clock in asked.get("clocksources", [])) if isinstance(clock, str) else None,
        "gpu_direct_rdma": _gpu_direct(state),
        "swap": None if swap is None else swap / 1024,
        "huge_pages": finite(whole(state.get("huge_pages"))),
        "locked_memory_unlimited": float(locked == "unlimited") if isinstance(locked, str) else None,
        "file_systems_full": count_of(_full(state, asked)),
        "numa_nodes_fragmented": count_of(_fragmented(state, asked)),
    }


def _lacking(state: Mapping[str, Any], asked: Mapping[str, list[str]]) -> list[str] | None:
    if not isinstance(state.get("modules"), list):
        return None
    loaded = sequence(state.get("modules"))
    return [name for name in asked.get("modules", []) if name not in loaded]


def _gpu_direct(state: Mapping[str, Any]) -> float | None:
    if not isinstance(state.get("modules"), list):
        return None
    return float(_PEERMEM in sequence(state.get("modules")) or state.get("open_driver") is True)


def _full(state: Mapping[str, Any], asked: Mapping[str, list[str]]) -> list[str] | None:
    """The file systems that are used from the asked share on; None when one of them did not tell."""
    limits, used = _numbers(asked, "full", 1), mapping(state.get("used_percent"))
    shares = {name: finite(share) for name, share in used.items()}
    if not limits or not shares or None in shares.values():
        return None
    return [f"{name} ({share:.0f} %)" for name, share in shares.items() if share is not None and share >= limits[0]]


def _fragmented(state: Mapping[str, Any], asked: Mapping[str, list[str]]) -> list[str] | None:
    limits, nodes = _numbers(asked, "blocks", 2), mapping(state.get("free_blocks"))
    if not limits or not nodes:
        return None
    order, least = limits
    return [node for node, blocks in nodes.items() if max(map(_count, sequence(blocks)[order:]), default=0) < least]


def _count(value: object) -> int:
    return whole(value) or 0


def _numbers(asked: Mapping[str, Sequence[str]], name: str, count: int) -> list[int]:
    words = [word for word in asked.get(name, []) if word.isdigit()]
    return [int(word) for word in words] if len(words) == count else []


def _lines(state: Mapping[str, Any], asked: Mapping[str, list[str]]) -> tuple[str, ...]:
    governors = ", ".join(f"{count} x {name}" for name, count in mapping(state.get("governors")).items())
    return (
        f"governors: {governors or 'none, the firmware decides'}; clock source {state.get('clocksource')}; "
        f"NUMA balancing {state.get('numa_balancing')}; swap {state.get('swap_kib')} KiB; "
        f"locked memory {state.get('locked_memory')}",
        named(_lacking(state, asked), "kernel modules that are missing", "the list of kernel modules cannot be read"),
        named(_full(state, asked), "file systems that are full", "how full the file systems are cannot be read"),
        named(_fragmented(state, asked), "NUMA nodes whose free memory is in small pieces", "no buddyinfo"),
    )
