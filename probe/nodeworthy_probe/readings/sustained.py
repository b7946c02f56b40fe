"""What a long load did to the GPUs: the trace of temperature, power and clock that was taken while one test ran.

The margin is told by each GPU's own limit, in degrees before its hardware slows it down, so that no threshold of a SKU
is needed. Clock and power of the end are their medians over the last fifth of the load; a clock is compared with that
of the first fifth. The rate itself comes from the test that made the load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from nodeworthy_probe.counters import Look
from nodeworthy_probe.parsers.json_document import mapping
from nodeworthy_probe.parsers.numbers import finite
from nodeworthy_probe.records import Measurement, Reading, missing

from .context import Context

_FIFTH = 5
_FIGURES = (
    ("thermal_margin_lowest", "C", "min"),
    ("temperature_highest", "C", "max"),
    ("power_held", "W", "median"),
    ("clock_kept", "%", "median"),
)


def read(looks: Sequence[Look], problem: str | None, context: Context) -> Reading:
    """Rows per expected GPU, of the load of the test that the second argument names."""
    loaded = context.test.arguments[1] if len(context.test.arguments) > 1 else ""
    trace = next((mapping(look.document.get("trace")) for look in looks if look.after == loaded), None)
    lacking = None
    if not problem and trace is None:
        lacking = f"no test {loaded!r} ran in this plan, so there was no load to follow: switch this test off with it"
    rows: list[Measurement] = []
    for index in context.expected_gpus:
        figures = _figures(mapping(mapping((trace or {}).get("gpus")).get(str(index))))
        for metric, unit, statistic in _FIGURES:
            value = figures.get(metric)
            rows.append(
                missing(f"gpu/{index}", metric, unit, statistic=statistic)
                if value is None
                else Measurement(f"gpu/{index}", metric, value, unit, statistic)
            )
    return Reading(tuple(rows), problem=problem, lacking=lacking, lines=_lines(rows, loaded, trace or {}))


def _figures(trace: Mapping[str, Any]) -> dict[str, float | None]:
    seen = {name: _known(trace.get(name)) for name in ("temperature", "thermal_margin", "power", "clock")}
    first, last = _ends(seen["clock"])
    power = _ends(seen["power"])[1]
    return {
        "thermal_margin_lowest": min(seen["thermal_margin"], default=None),
        "temperature_highest": max(seen["temperature"], default=None),
        "power_held": median(power) if power else None,
        "clock_kept": round(100 * median(last) / median(first), 2) if last and median(first) > 0 else None,
    }


def _known(values: object) -> list[float]:
    found = (finite(value) for value in values) if isinstance(values, list) else ()
    return [value for value in found if value is not None]


def _ends(values: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    """The first and the last fifth, one value of each at least."""
    part = max(len(values) // _FIFTH, 1)
    return values[:part], values[-part:]


def _lines(rows: Sequence[Measurement], loaded: str, trace: Mapping[str, Any]) -> tuple[str, ...]:
    margins = [(row.value, row.component) for row in rows if row.metric == _FIGURES[0][0] and row.value is not None]
    if not margins:
        return (f"nothing was seen of the load of {loaded}",)
    taken = len(trace.get("at_seconds") or ())
    low, high = min(margins), max(margins)
    return (
        f"{taken} samples during {loaded}: {low[0]:g} C ({low[1]}) to {high[0]:g} C ({high[1]}) were left before the "
        "hardware slows a GPU down",
    )
