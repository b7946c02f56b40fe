"""How far each counter rose while the plan ran, during which tests, and what the GPUs reached under load.

A counter that went back was reset by somebody: what it counted before is unknown, and so is the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from nodeworthy_probe.counters import Look, devices_of
from nodeworthy_probe.parsers.json_document import mapping
from nodeworthy_probe.parsers.numbers import finite
from nodeworthy_probe.plan import AMD
from nodeworthy_probe.records import Measurement, Reading, missing

from . import sustained
from .context import Context

GPU, NVLINK, HOST, NETWORK, LOAD, SUSTAINED = "gpu", "nvlink", "host", "network", "load", "sustained"
PARTS = (GPU, NVLINK, HOST, NETWORK, LOAD, SUSTAINED)
_MOST_LINES = 20
_Value = Callable[[Mapping[str, Any]], float | None]


@dataclass(frozen=True)
class Counter:
    """One counter: where it stands in a look, how the row is called, in which unit."""

    place: str
    name: str
    metric: str
    unit: str = "count"


_OF_GPU = (
    Counter("gpus", "ecc_corrected", "ecc_corrected_new"),
    Counter("gpus", "ecc_uncorrected", "ecc_uncorrected_new"),
    Counter("gpus", "rows_remapped", "rows_remapped_new"),
    Counter("gpus", "pcie_replay", "pcie_replay_rate", "1/min"),
    Counter("gpus", "slowed_by_heat", "slowed_by_heat", "ms"),
)
_OF_AMD = (*(counter for counter in _OF_GPU if counter.name != "rows_remapped"),
           Counter("gpus", "bad_pages", "bad_pages_new"))  # fmt: skip
_OF_NVLINK = (Counter("gpus", "nvlink_errors", "nvlink_errors_new"),)
_OF_HOST = (
    Counter("host", "memory_corrected", "memory_corrected_new"),
    Counter("host", "memory_uncorrected", "memory_uncorrected_new"),
    Counter("host", "pcie_corrected", "pcie_corrected_new"),
    Counter("host", "pcie_uncorrected", "pcie_uncorrected_new"),
)
_OF_NIC = (
    Counter("nics", "link_downed", "link_downed_new"),
    Counter("nics", "port_errors", "port_errors_new"),
    Counter("nics", "symbol_errors", "symbol_errors_new"),
    Counter("nics", "discards", "discards_new"),
    Counter("nics", "retransmits", "retransmits_new"),
    Counter("nics", "xmit_wait", "xmit_wait_new"),
    Counter("nics", "congestion_notices", "congestion_notices_new"),
)
_REACHED = (
    Counter("peaks", "pcie_generation", "pcie_generation_reached"),
    Counter("peaks", "temperature", "temperature_reached", "C"),
    Counter("peaks", "power", "power_reached", "W"),
)


def read(looks: Sequence[Look], problem: str | None, context: Context) -> Reading:
    """Rows of the test's part: ``gpu``, ``nvlink``, ``host``, ``network`` (and its adapters), ``load``, ``sustained``
    (and the test whose load it means).
    """
    part = context.test.arguments[0] if context.test.arguments else ""
    if part not in PARTS:
        return Reading(problem=f"no counters are called {part!r}; there are {', '.join(PARTS)}")
    if not problem and len(looks) < 2:
        problem = "the counters were not read before and after a test"
    usable = [] if problem else looks
    if part == SUSTAINED:
        return sustained.read(usable, problem, context)
    rows: list[Measurement] = []
    lines: list[str] = []
    for component, key, counter in _wanted(part, context):
        place = _value(counter, key)
        if part == LOAD:
            value = place(usable[-1].document) if usable else None
        else:
            place = _none_without_links(place, part, context)
            value = (_rate if counter.unit == "1/min" else _risen)(usable, place)
            lines += _during(component, counter, usable, place) if value else []
        row = missing(component, counter.metric, counter.unit)
        rows.append(row if value is None else Measurement(component, counter.metric, value, counter.unit))
    return Reading(tuple(rows), problem=problem, lines=tuple(lines[:_MOST_LINES] or [_summary(part, rows)]))


def shown(looks: Sequence[Look], arguments: Sequence[str]) -> list[dict[str, Any]]:
    """What a test's raw file holds: all looks without their traces, or the one look at the end of the load it means."""
    if arguments[:1] == (SUSTAINED,):
        return [{"after": look.after, **look.document} for look in looks if look.after in arguments[1:]]
    plain = ({name: value for name, value in look.document.items() if name != "trace"} for look in looks)
    return [{"after": look.after, **document} for look, document in zip(looks, plain, strict=True)]


def _wanted(part: str, context: Context) -> list[tuple[str, str, Counter]]:
    if part == HOST:
        return [("node", "", counter) for counter in _OF_HOST]
    if part == NETWORK:
        return [(f"nic/{name}", name, counter) for name in devices_of(context.test.arguments) for counter in _OF_NIC]
    of_gpu = _OF_AMD if context.plan.vendor == AMD else _OF_GPU
    counters = {GPU: of_gpu, NVLINK: _OF_NVLINK, LOAD: _REACHED}[part]
    return [(f"gpu/{index}", str(index), counter) for index in context.expected_gpus for counter in counters]


def _value(counter: Counter, key: str) -> _Value:
    def value(document: Mapping[str, Any]) -> float | None:
        found = mapping(document.get(counter.place))
        return finite((mapping(found.get(key)) if key else found).get(counter.name))

    return value


def _none_without_links(value: _Value, part: str, context: Context) -> _Value:
    """On a SKU without NVLink the driver counts nothing there: none rose."""
    if part != NVLINK or context.plan.expected_nvlinks:
        return value
    return lambda document: value(document) or 0.0


def _risen(looks: Sequence[Look], value: _Value) -> float | None:
    """The difference over all looks; None when one is missing or the counter went back."""
    values = [value(look.document) for look in looks]
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values) or any(later < earlier for earlier, later in pairwise(known)):
        return None
    return known[-1] - known[0]


def _rate(looks: Sequence[Look], value: _Value) -> float | None:
    """The highest rise per minute around any test; a shorter test counts as one minute."""
    rates = []
    for before, later in pairwise(looks):
        risen = _risen((before, later), value)
        seconds = [finite(look.document.get("at_seconds")) for look in (before, later)]
        if risen is None or seconds[0] is None or seconds[1] is None:
            return None
        rates.append(risen / max((seconds[1] - seconds[0]) / 60.0, 1.0))
    return max(rates, default=None)


def _during(component: str, counter: Counter, looks: Sequence[Look], value: _Value) -> list[str]:
    lines = []
    for before, later in pairwise(looks):
        old, new = value(before.document), value(later.document)
        if old is not None and new is not None and new > old:
            where = _devices(counter, before.document, later.document)
            unit = counter.unit.partition("/")[0].replace("1", "count")
            lines.append(f"{component} {counter.name}: {new - old:g} {unit} more during {later.after}{where}")
    return lines


def _devices(counter: Counter, before: Mapping[str, Any], later: Mapping[str, Any]) -> str:
    """Which PCIe devices an AER sum rose by."""
    if not counter.name.startswith("pcie_") or counter.place != "host":
        return ""
    kind = counter.name.removeprefix("pcie_")
    old, new = mapping(before.get("aer")), mapping(later.get("aer"))
    risen = [name for name in new if mapping(new[name]).get(kind) != mapping(old.get(name)).get(kind)]
    return f" ({', '.join(risen[:3])})" if risen else ""


def _summary(part: str, rows: Sequence[Measurement]) -> str:
    known = [row for row in rows if row.value is not None]
    if part == LOAD:
        return (
            ", ".join(f"{row.component} {row.metric} {row.value:g} {row.unit}" for row in known[:6]) or "nothing seen"
        )
    return f"{len(known)} of {len(rows)} counters of {part} were read around every test; none of them rose"
