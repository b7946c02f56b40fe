"""What is the same for every node of a kind: the figures that a suite demands, each joined with its baseline once.

Thousands of nodes of one SKU are judged by the same limits. Everything that depends on suite, SKU, baselines and
firmware set alone is therefore worked out once per kind of node, and each node's rows only add what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.qualification.baselines import Baseline
from nodeworthy.qualification.sku import Sku
from nodeworthy.qualification.suites import MetricSpec, Per, Suite, TestSpec, of_one_node

UNLIMITED = math.inf
_OF_DEVICES = {Per.NIC: Per.NIC, Per.GPU_NIC: Per.NIC, Per.ROCE: Per.NIC, Per.DRIVE: Per.DRIVE, Per.SCRATCH: Per.DRIVE}
"""What a component is called whose names a SKU lists under `devices`."""
NODE = "node"
RANKS = "ranks"
"""The metric that says on how many ranks a collective ran, and the parameter of a baseline for groups of that size."""


@dataclass(frozen=True, slots=True)
class Context:
    """What the rows of one node are joined with."""

    stored: StoredResult
    suite: Suite
    sku: Sku
    baselines: Sequence[Baseline]
    firmware_set: str
    serial: str = ""

    @property
    def ranks(self) -> int | None:
        """Of a group's result, on how many ranks it ran: they belong to its figures' key. None of one node's."""
        return None if of_one_node(self.suite) else ranks_of(self.stored.document)


@dataclass(frozen=True, slots=True)
class Column:
    """One figure of a test with the components that must bring it and the limits that it is judged by."""

    test: TestSpec
    spec: MetricSpec
    demanded: tuple[str, ...]
    parameters: str
    baseline: Baseline | None
    note: str
    named: str | None
    """The baseline's name as the row shows it."""
    limits: tuple[float, float, float, float]
    """Floor, most, ceiling, least."""
    reference_low: float
    transports: tuple[str, ...]
    """What proves the test on this SKU."""

    def expected_transport(self, seen: str) -> str:
        """Return what must have been used. A count (wrong values, ranks) means the same over any transport."""
        counted = self.baseline is not None and self.baseline.equals is not None
        if counted or not self.transports or seen in self.transports:
            return seen
        return " or ".join(self.transports)

    def slot_low(self, centre: float | None) -> float:
        """Return the lowest value that does not stand out in its own node, whose median is `centre`."""
        if self.baseline is None or self.baseline.spread_percent is None or centre is None:
            return -UNLIMITED
        return centre * (1.0 - self.baseline.spread_percent / 100.0)


class Kinds:
    """The columns of each kind of node, worked out when the first of the kind comes."""

    def __init__(self) -> None:
        self._known: list[tuple[Context, bool, tuple[Column, ...]]] = []

    def columns(self, context: Context, *, simulated: bool) -> tuple[Column, ...]:
        """Return the columns of a node, in the order of the suite."""
        for first, was_simulated, columns in self._known:
            if was_simulated == simulated and _alike(first, context):
                return columns
        columns = tuple(_columns(context, simulated))
        self._known.append((context, simulated, columns))
        return columns


def _alike(one: Context, other: Context) -> bool:
    same_files = one.suite is other.suite and one.sku is other.sku and one.baselines is other.baselines
    same_place = (one.firmware_set, one.stored.scope) == (other.firmware_set, other.stored.scope)
    return same_files and same_place and one.ranks == other.ranks


def ranks_of(document: Mapping[str, Any]) -> int | None:
    """Return the number of ranks that all collectives of a result ran on, None when it names none or several."""
    rows = document.get("measurements") or ()
    seen = {row.get("value") for row in rows if isinstance(row, Mapping) and row.get("metric") == RANKS}
    (value,) = seen if len(seen) == 1 else (None,)
    return int(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _columns(context: Context, simulated: bool) -> list[Column]:
    scope: Scope = context.stored.scope
    return [
        _column(context, test, spec, simulated)
        for test in context.suite.for_scope(scope, context.sku)
        for spec in test.metrics
        if spec.judged
    ]


def _column(context: Context, test: TestSpec, spec: MetricSpec, simulated: bool) -> Column:
    found: tuple[Baseline | None, str] = (None, "")
    if context.ranks is not None:
        of_size = replace(spec, parameters={**spec.parameters, RANKS: context.ranks})
        found = baseline_of(context.baselines, context.firmware_set, test, of_size, simulated=simulated)
    if found[0] is None:
        found = baseline_of(context.baselines, context.firmware_set, test, spec, simulated=simulated)
    baseline, note = found
    components_asked = demanded(spec, context.sku)
    reference = baseline.reference if baseline is not None else None
    return Column(
        test=test,
        spec=spec,
        demanded=components_asked,
        parameters=parameters(spec.parameters, spec.parameters),
        baseline=baseline,
        note=note,
        named=f"{baseline.sku} v{baseline.version}" if baseline else None,
        limits=_limits(baseline),
        reference_low=-UNLIMITED if reference is None else reference.low(len(components_asked)),
        transports=tuple(context.sku.transports.get(word, word) for word in test.transport),
    )


def components(per: Per, gpus: int, devices: Mapping[str, Sequence[str]] | None = None) -> tuple[str, ...]:
    """Return the names of all components that a metric has a row for, in order."""
    if per in _OF_DEVICES:
        return tuple(f"{_OF_DEVICES[per]}/{name}" for name in (devices or {}).get(per.value, ()))
    return _of_gpus(per, gpus)


@cache
def _of_gpus(per: Per, gpus: int) -> tuple[str, ...]:
    if per is Per.NODE:
        return (NODE,)
    if per is Per.GPU:
        return tuple(f"gpu/{index}" for index in range(gpus))
    return tuple(f"gpu/{one}-gpu/{other}" for one in range(gpus) for other in range(gpus) if one != other)


def demanded(spec: MetricSpec, sku: Sku) -> tuple[str, ...]:
    """Return the components that must have a row; a kind of which the SKU names none is one row that cannot be met."""
    found = components(spec.per, sku.gpus, sku.devices)
    return found or (f"{spec.per}/none named by the SKU",)


def baseline_of(
    baselines: Iterable[Baseline], firmware_set: str, test: TestSpec, spec: MetricSpec, *, simulated: bool
) -> tuple[Baseline | None, str]:
    """Return the baseline of exactly this key, or why there is none: the virtual fleet's judges no real hardware."""
    for baseline in baselines:
        same = (baseline.test, baseline.metric, baseline.statistic) == (test.test, spec.metric, spec.statistic)
        if not same or dict(baseline.parameters) != dict(spec.parameters) or baseline.unit != spec.unit:
            continue
        if baseline.firmware_set not in ("*", firmware_set):
            continue
        reference = baseline.reference
        if reference is not None and reference.simulated and not simulated:
            return None, "its reference was frozen from the virtual fleet and does not judge real hardware"
        if baseline.simulated and not simulated:
            return None, "its figures were measured on the virtual fleet and do not judge real hardware"
        return baseline, ""
    return None, ""


def _limits(baseline: Baseline | None) -> tuple[float, float, float, float]:
    """Return (floor, most, ceiling, least): outside the first two is bad, outside the last two is impossible."""
    if baseline is None:
        return -UNLIMITED, UNLIMITED, UNLIMITED, -UNLIMITED
    if baseline.equals is not None:
        return baseline.equals, baseline.equals, UNLIMITED, -UNLIMITED
    return (
        -UNLIMITED if baseline.floor is None else baseline.floor,
        UNLIMITED if baseline.most is None else baseline.most,
        UNLIMITED if baseline.ceiling is None else baseline.ceiling,
        -UNLIMITED if baseline.least is None else baseline.least,
    )


def parameters(given: Mapping[str, Any], demanded: Mapping[str, Any]) -> str:
    """Return the demanded parameters as they were given, as one text to compare."""
    return ", ".join(f"{key}={given.get(key, 'not stated')}" for key in sorted(demanded)) if demanded else ""
