"""The long frame that is judged: one row per figure that the suite and the SKU demand, joined with its limits.

What is demanded decides which rows exist, not what was measured: a figure that did not come is a row without a value.
A figure that came twice is two rows, one of a component that the SKU does not have is a row that says so. Every limit
column of every row is filled, with an infinity where nothing is limited, so that no comparison is ever left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import count
from statistics import median
from typing import Any

from nodeworthy.evidence.measurements import Measurement, MeasurementStatus
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.results import Result, read_result
from nodeworthy.qualification.baselines import Baseline
from nodeworthy.qualification.sku import Sku
from nodeworthy.qualification.suites import MetricSpec, Per, Suite, TestSpec

UNLIMITED = math.inf
ABSENT = "absent"
"""Execution of a test that the result does not mention at all."""
NODE = "node"


@dataclass(frozen=True, slots=True)
class Row:
    """One figure with everything it is judged by. Numbers are in `expected_unit`."""

    row: int
    node: str
    test: str
    component: str
    metric: str
    statistic: str
    value: float | None
    unit: str
    expected_unit: str
    status: str
    execution: str
    identity: str
    expected_identity: str
    driver: str | None
    transport: str
    expected_transport: str
    parameters: str
    expected_parameters: str
    demanded: str
    baseline: str | None
    floor: float
    most: float
    ceiling: float
    least: float
    reference_low: float
    slot_low: float
    slot_median: float | None
    note: str
    limits: Baseline | None

    def cells(self) -> dict[str, Any]:
        """Return the columns of the frame: everything but the baseline itself."""
        return {name: getattr(self, name) for name in COLUMNS}


COLUMNS = tuple(field.name for field in fields(Row) if field.name != "limits")


@dataclass(frozen=True, slots=True)
class Context:
    """What the rows of one node are joined with."""

    stored: StoredResult
    suite: Suite
    sku: Sku
    baselines: Sequence[Baseline]
    firmware_set: str
    serial: str = ""


def build_rows(contexts: Iterable[Context]) -> tuple[Row, ...]:
    """Return the rows of all nodes, numbered from 0."""
    numbers = count()
    return tuple(row for context in contexts for row in _rows_of(context, numbers))


def components(per: Per, gpus: int, devices: Mapping[str, Sequence[str]] | None = None) -> tuple[str, ...]:
    """Return the names of all components that a metric has a row for, in order."""
    if per is Per.NODE:
        return (NODE,)
    if per in (Per.NIC, Per.DRIVE):
        return tuple(f"{per}/{name}" for name in (devices or {}).get(per.value, ()))
    if per is Per.GPU:
        return tuple(f"gpu/{index}" for index in range(gpus))
    return tuple(f"gpu/{one}-gpu/{other}" for one in range(gpus) for other in range(gpus) if one != other)


@dataclass(frozen=True, slots=True)
class _Node:
    """One node's result, sorted by what was measured, and the numbers of the batch's next rows."""

    context: Context
    result: Result
    measured: Mapping[tuple[str, str, str], Sequence[Measurement]]
    numbers: Iterator[int]


def _rows_of(context: Context, numbers: Iterator[int]) -> Iterator[Row]:
    result = read_result(context.stored.document)
    measured: dict[tuple[str, str, str], list[Measurement]] = {}
    for measurement in result.measurements:
        key = (measurement.test, measurement.metric, measurement.statistic)
        measured.setdefault(key, []).append(measurement)
    node = _Node(context, result, measured, numbers)
    for test in context.suite.for_scope(context.stored.scope):
        for spec in test.metrics:
            if spec.judged:
                yield from _rows_of_metric(node, test, spec)


def _rows_of_metric(node: _Node, test: TestSpec, spec: MetricSpec) -> Iterator[Row]:
    demanded = _demanded(spec, node.context.sku)
    came = _derived(node, test, spec, demanded) if spec.derived_from else _measured(node, test, spec)
    by_component: dict[str, list[Measurement]] = {name: [] for name in demanded}
    for measurement in came:
        by_component.setdefault(measurement.component, []).append(measurement)
    baseline, note = _baseline(node, test, spec)
    centre = _centre(came) if spec.per is not Per.NODE else None
    join = _Join(node, test, spec, _Limits(baseline, note, centre))
    for component, found in by_component.items():
        for measurement in found or [_absent(node.context, test, spec, component)]:
            yield join.row(measurement, demanded=component in demanded)


def _demanded(spec: MetricSpec, sku: Sku) -> tuple[str, ...]:
    """Return the components that must have a row; a kind of which the SKU names none is one row that cannot be met."""
    found = components(spec.per, sku.gpus, sku.devices)
    return found or (f"{spec.per}/none named by the SKU",)


def _measured(node: _Node, test: TestSpec, spec: MetricSpec) -> Sequence[Measurement]:
    return node.measured.get((test.test, spec.metric, spec.statistic), ())


def _absent(context: Context, test: TestSpec, spec: MetricSpec, component: str) -> Measurement:
    return Measurement(
        context.stored.node,
        component,
        spec.metric,
        None,
        spec.unit,
        spec.statistic,
        test.test,
        MeasurementStatus.MISSING,
    )


def _baseline(node: _Node, test: TestSpec, spec: MetricSpec) -> tuple[Baseline | None, str]:
    """Return the baseline of exactly this key, or why there is none: the virtual fleet's judges no real hardware."""
    for baseline in node.context.baselines:
        same = (baseline.test, baseline.metric, baseline.statistic) == (test.test, spec.metric, spec.statistic)
        if not same or dict(baseline.parameters) != dict(spec.parameters) or baseline.unit != spec.unit:
            continue
        if baseline.firmware_set not in ("*", node.context.firmware_set):
            continue
        reference = baseline.reference
        if reference is not None and reference.simulated and not node.result.simulated:
            return None, "its reference was frozen from the virtual fleet and does not judge real hardware"
        if baseline.simulated and not node.result.simulated:
            return None, "its figures were measured on the virtual fleet and do not judge real hardware"
        return baseline, ""
    return None, ""


def _centre(came: Sequence[Measurement]) -> float | None:
    values = [measurement.value for measurement in came if measurement.value is not None]
    return median(values) if values else None


def _derived(node: _Node, test: TestSpec, spec: MetricSpec, demanded: Sequence[str]) -> list[Measurement]:
    base = [
        measurement
        for (name, metric, statistic), found in node.measured.items()
        if name == test.test and metric == spec.derived_from and statistic != spec.statistic
        for measurement in found
    ]
    by_component = {component: [m for m in base if _belongs(m.component, component)] for component in demanded}
    return [_median_of(spec, component, found) for component, found in by_component.items() if found]


def _belongs(component: str, whole: str) -> bool:
    return whole == NODE or whole in component.split("-")


def _median_of(spec: MetricSpec, component: str, found: Sequence[Measurement]) -> Measurement:
    values = [measurement.value for measurement in found if measurement.value is not None]
    whole = len(values) == len(found)
    return replace(
        found[0],
        component=component,
        metric=spec.metric,
        statistic=spec.statistic,
        value=median(values) if whole else None,
        unit=found[0].unit if len({measurement.unit for measurement in found}) == 1 else "mixed",
        status=next((measurement.status for measurement in found if measurement.value is None), MeasurementStatus.OK),
    )


@dataclass(frozen=True, slots=True)
class _Limits:
    baseline: Baseline | None
    note: str
    centre: float | None


@dataclass(frozen=True, slots=True)
class _Join:
    """Joins the measurements of one metric of one node with what they must be."""

    node: _Node
    test: TestSpec
    spec: MetricSpec
    limits: _Limits

    def row(self, measurement: Measurement, *, demanded: bool) -> Row:
        """Return the row; its number is given later."""
        context, result = self.node.context, self.node.result
        run, baseline = result.tests.get(self.test.test), self.limits.baseline
        floor, most, ceiling, least = _limits(baseline)
        transport = measurement.transport or ""
        return Row(
            row=next(self.node.numbers),
            node=context.stored.node,
            test=self.test.test,
            component=measurement.component,
            metric=self.spec.metric,
            statistic=self.spec.statistic,
            value=measurement.value,
            unit=measurement.unit,
            expected_unit=self.spec.unit,
            status=measurement.status.value,
            execution=run.execution if run else ABSENT,
            identity=_identity_seen(context, result),
            expected_identity=_identity_expected(context),
            driver=result.driver or None,
            transport=transport,
            expected_transport=_expected_transport(self.test, baseline, transport),
            parameters=_parameters(measurement.parameters, self.spec.parameters),
            expected_parameters=_parameters(self.spec.parameters, self.spec.parameters),
            demanded="yes" if demanded else "no",
            baseline=f"{baseline.sku} v{baseline.version}" if baseline else None,
            floor=floor,
            most=most,
            ceiling=ceiling,
            least=least,
            reference_low=self._reference_low(),
            slot_low=self._slot_low(),
            slot_median=self.limits.centre,
            note=self.limits.note,
            limits=baseline,
        )

    def _reference_low(self) -> float:
        baseline = self.limits.baseline
        if baseline is None or baseline.reference is None:
            return -UNLIMITED
        return baseline.reference.low(len(_demanded(self.spec, self.node.context.sku)))

    def _slot_low(self) -> float:
        baseline, centre = self.limits.baseline, self.limits.centre
        if baseline is None or baseline.spread_percent is None or centre is None:
            return -UNLIMITED
        return centre * (1.0 - baseline.spread_percent / 100.0)


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


def _expected_transport(test: TestSpec, baseline: Baseline | None, seen: str) -> str:
    """Return what must have been used. A count (wrong values, ranks) means the same over any transport."""
    counted = baseline is not None and baseline.equals is not None
    if counted or not test.transport or seen in test.transport:
        return seen
    return " or ".join(test.transport)


def _parameters(given: Mapping[str, Any], demanded: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={given.get(key, 'not stated')}" for key in sorted(demanded))


def _identity_expected(context: Context) -> str:
    stored = context.stored
    return _identity(stored.node, context.serial, stored.episode, stored.suite, context.sku.name)


def _identity_seen(context: Context, result: Result) -> str:
    if result.problem:
        return f"the result cannot be read: {result.problem}"
    serial = result.serial if context.serial else ""
    return _identity(result.node, serial, result.episode, result.suite, result.sku)


def _identity(node: str, serial: str, episode: int, suite: str, sku: str) -> str:
    of_serial = f" serial {serial}," if serial else ""
    return f"node {node},{of_serial} episode {episode}, suite {suite}, SKU {sku}"
