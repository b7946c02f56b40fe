"""Several runs of one test as one outcome, and the one more try after a tool that broke.

A figure of several runs is their median. A count or truth value is the one that lies furthest from what the first run
said, so that one bad run of many is not averaged away. A run that brought no number leaves the row without one. What
was tried before a success stands in the reason and in the raw output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from .plan import TestSpec
from .records import Execution, Measurement

if TYPE_CHECKING:
    from .suite import Outcome

_COUNTED = frozenset({"count", "bool", "bits"})


def carried_out(spec: TestSpec, run: Callable[[], Outcome], stopping: Callable[[], bool]) -> Outcome:
    """The outcome of all runs that the plan asks for; the first run that does not complete ends them."""
    outcomes: list[Outcome] = []
    for _ in range(spec.repeats):
        outcome = _with_retry(spec, run, stopping)
        outcomes.append(outcome)
        if outcome.execution is not Execution.COMPLETED:
            return replace(outcome, raw=_raw(outcomes))
    return _merged(outcomes)


def _with_retry(spec: TestSpec, run: Callable[[], Outcome], stopping: Callable[[], bool]) -> Outcome:
    first = run()
    if str(first.execution) not in spec.retry or stopping():
        return first
    second = run()
    reason = f"second try, the first was {first.execution}: {first.reason or 'no reason given'}"
    told = f"{reason}; {second.reason}" if second.reason else reason
    return replace(second, reason=told, raw=_raw([first, second]))


def _raw(outcomes: Sequence[Outcome]) -> bytes:
    if len(outcomes) == 1:
        return outcomes[0].raw
    parts = [f"--- run {number} ---\n".encode() + one.raw for number, one in enumerate(outcomes, start=1)]
    return b"\n".join(parts)


def _merged(outcomes: Sequence[Outcome]) -> Outcome:
    last = outcomes[-1]
    if len(outcomes) == 1:
        return last
    found: dict[tuple[str, str, str], list[Measurement]] = {}
    for outcome in outcomes:
        for row in outcome.reading.measurements:
            found.setdefault((row.component, row.metric, row.statistic), []).append(row)
    rows = tuple(_one(rows, len(outcomes)) for rows in found.values())
    findings = tuple(dict.fromkeys(finding for one in outcomes for finding in one.reading.findings))
    lines = tuple(line for one in outcomes for line in one.reading.lines)
    reading = replace(last.reading, measurements=rows, findings=findings, lines=lines)
    seconds = round(sum(one.duration_seconds for one in outcomes), 3)
    return replace(last, reading=reading, raw=_raw(outcomes), duration_seconds=seconds)


def _one(rows: Sequence[Measurement], runs: int) -> Measurement:
    first = rows[0]
    absent = next((row for row in rows if row.value is None), None)
    if absent is not None:
        return absent
    values = [row.value for row in rows if row.value is not None]
    if len(values) < runs:
        return replace(first, value=None, status=type(first.status).MISSING)
    if first.unit in _COUNTED:
        return replace(first, value=max(values, key=lambda value: abs(value - values[0])))
    return replace(first, value=median(values), parameters={**first.parameters, "runs": runs}, runs=tuple(values))
