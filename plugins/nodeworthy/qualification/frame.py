"""The long frame that is judged: one row per figure that the suite and the SKU demand, joined with its limits.

What is demanded decides which rows exist, not what was measured: a figure that did not come is a row without a value.
A figure that came twice is two rows, one of a component that the SKU does not have is a row that says so. Every limit
column of every row is filled, with an infinity where nothing is limited, so that no comparison is ever left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from statistics import median
from typing import Any

from nodeworthy.evidence.measurements import Measurement, MeasurementStatus
from nodeworthy.evidence.results import Result, read_result
from nodeworthy.qualification.columns import NODE, UNLIMITED, Column, Context, Kinds, components, parameters
from nodeworthy.qualification.derived import derived
from nodeworthy.qualification.row import COLUMNS, Row
from nodeworthy.qualification.suites import Per
from nodeworthy.qualification.together import seen_together

__all__ = ["ABSENT", "COLUMNS", "NODE", "UNLIMITED", "Context", "Row", "build_rows", "components", "read_contexts"]

ABSENT = "absent"
"""Execution of a test that the result does not mention at all."""
_WORDS = {status: status.value for status in MeasurementStatus}


def build_rows(contexts: Iterable[Context]) -> tuple[Row, ...]:
    """Return the rows of all nodes, numbered from 0."""
    return tuple(row for _, _, rows in read_contexts(contexts) for row in rows)


def read_contexts(contexts: Iterable[Context]) -> Iterator[tuple[Context, Result, tuple[Row, ...]]]:
    """Yield each node's result, read once, with its rows; they are numbered from 0 over all nodes."""
    numbers, kinds = count(), Kinds()
    for context in contexts:
        result = read_result(context.stored.document)
        columns = kinds.columns(context, simulated=result.simulated)
        node = _Node(context, result, _by_key(result.measurements), numbers)
        by_column = [tuple(node.rows(column)) for column in columns]
        yield context, result, seen_together(by_column, columns, result.measurements)


_Key = tuple[str, str, str]


def _by_key(measurements: Iterable[Measurement]) -> dict[_Key, list[Measurement]]:
    found: dict[_Key, list[Measurement]] = {}
    for measurement in measurements:
        found.setdefault((measurement.test, measurement.metric, measurement.statistic), []).append(measurement)
    return found


class _Node:
    """One node's result, sorted by what was measured, and the numbers of the batch's next rows."""

    def __init__(
        self, context: Context, result: Result, measured: Mapping[_Key, Sequence[Measurement]], numbers: Iterator[int]
    ) -> None:
        self._name, self._measured, self._numbers = context.stored.node, measured, numbers
        self._tests, self._driver = result.tests, result.driver or None
        self._identity, self._expected_identity = _identity_seen(context, result), _identity_expected(context)

    def rows(self, column: Column) -> Iterator[Row]:
        """Yield the rows of one figure: what was measured of each component, or that nothing was."""
        came = self._came(column)
        by_component: dict[str, list[Measurement]] = {name: [] for name in column.demanded}
        for measurement in came:
            by_component.setdefault(measurement.component, []).append(measurement)
        centre = _centre(came) if column.spec.per is not Per.NODE else None
        run = self._tests.get(column.test.test)
        shared = _Shared(column, run.execution if run else ABSENT, _tail(column, centre))
        demanded = len(column.demanded)
        for place, (component, found) in enumerate(by_component.items()):
            for measurement in found or [self._absent(column, component)]:
                yield self._row(shared, measurement, "yes" if place < demanded else "no")

    def _came(self, column: Column) -> Sequence[Measurement]:
        test, spec = column.test.test, column.spec
        if not spec.derived_from:
            return self._measured.get((test, spec.metric, spec.statistic), ())
        base = [
            measurement
            for (name, metric, statistic), found in self._measured.items()
            if name == test and metric == spec.derived_from and statistic != spec.statistic
            for measurement in found
        ]
        by_component = {whole: [one for one in base if _belongs(one.component, whole)] for whole in column.demanded}
        return [derived(column, component, found) for component, found in by_component.items() if found]

    def _absent(self, column: Column, component: str) -> Measurement:
        spec, missing = column.spec, MeasurementStatus.MISSING
        return Measurement(
            self._name, component, spec.metric, None, spec.unit, spec.statistic, column.test.test, missing
        )

    def _row(self, shared: _Shared, measurement: Measurement, demanded: str) -> Row:
        column, spec = shared.column, shared.column.spec
        transport = measurement.transport or ""
        # In the order of Row's fields; joining tuples takes half the time of naming thirty fields.
        return Row._make(
            (
                next(self._numbers),
                self._name,
                column.test.test,
                measurement.component,
                spec.metric,
                spec.statistic,
                measurement.value,
                measurement.unit,
                spec.unit,
                _WORDS[measurement.status],
                shared.execution,
                self._identity,
                self._expected_identity,
                self._driver,
                transport,
                column.expected_transport(transport) if column.test.transport else transport,
                parameters(measurement.parameters, spec.parameters) if spec.parameters else "",
                column.parameters,
                demanded,
                *shared.tail,
            )
        )


@dataclass(frozen=True, slots=True)
class _Shared:
    """What the rows of one figure of one node share."""

    column: Column
    execution: str
    tail: tuple[Any, ...]
    """What ends each row: the baseline and its limits, in the order of Row's fields."""


def _tail(column: Column, centre: float | None) -> tuple[Any, ...]:
    peers = (column.reference_low, column.slot_low(centre), centre)
    return (column.named, *column.limits, *peers, 0.0, UNLIMITED, column.note, column.baseline)


def _centre(came: Sequence[Measurement]) -> float | None:
    values = [measurement.value for measurement in came if measurement.value is not None]
    return median(values) if values else None


def _belongs(component: str, whole: str) -> bool:
    return whole == NODE or whole in component.split("-")


def _identity_expected(context: Context) -> str:
    stored = context.stored
    return _identity(stored.node, context.serial, stored.episode, stored.suite, context.sku.name, stored.segment)


def _identity_seen(context: Context, result: Result) -> str:
    if result.problem:
        return f"the result cannot be read: {result.problem}"
    serial = result.serial if context.serial else ""
    # Which segment it is follows from its nonce, which was compared with the plan when the result was taken in.
    return _identity(result.node, serial, result.episode, result.suite, result.sku, context.stored.segment)


def _identity(node: str, serial: str, episode: int, suite: str, sku: str, segment: int) -> str:
    of_serial = f" serial {serial}," if serial else ""
    part = f", segment {segment}" if segment > 1 else ""
    return f"node {node},{of_serial} episode {episode}, suite {suite}, SKU {sku}{part}"
