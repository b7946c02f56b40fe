"""Several runs of one test as one outcome, and the one more try after a tool that broke or a narrow miss.

A figure of several runs is their median. A count or truth value is the one that lies furthest from what the plan says
it must be, so that one bad run of many is not averaged away; where the plan does not say, furthest from the middle of
all runs. A run that brought no number leaves the row without one.

A figure just beyond its limit gets its test one more try, if the plan says how narrow that is and nothing else is wrong
with the test. The second try's figures count, its counts are the worse of both, and both values are kept. What was
tried before a success stands in the reason and in the raw output. Nothing is tried again for which the pod's time would
not suffice: the first try then counts, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from .plan import Limit, TestSpec
from .records import Execution, Measurement, SecondTry

if TYPE_CHECKING:
    from .suite import Outcome

_Allows = Callable[[float], bool]
"""Whether so many more seconds of this test fit into the pod's time."""
NO_TIME = "there was no second try: it no longer fits into this pod's time"
_COUNTED = frozenset({"count", "bool", "bits"})
_NAMED = 3
_Key = tuple[str, str, str]


def always(_seconds: float) -> bool:
    """The budget of a plan without one."""
    return True


def carried_out(
    spec: TestSpec, run: Callable[[], Outcome], stopping: Callable[[], bool], allows: _Allows = always
) -> Outcome:
    """The outcome of all runs that the plan asks for, and of the same once more after a near miss."""
    first = _runs(spec, run, stopping, allows)
    near = _near_misses(spec, first) if first.execution is Execution.COMPLETED else []
    if not near or stopping():
        return first
    if not allows(spec.timeout_seconds * spec.repeats):
        return replace(first, reason=f"{first.reason}; {NO_TIME}" if first.reason else f"a near miss; {NO_TIME}")
    second = _runs(spec, run, stopping, allows)
    words = ", ".join(f"{row.component} {row.metric} {row.value:g} {row.unit}" for row in near[:_NAMED])
    seconds, raw = round(first.duration_seconds + second.duration_seconds, 3), _raw([first, second])
    if second.execution is not Execution.COMPLETED:
        reason = f"a near miss ({words}) was to be tried again and that try ended {second.execution}: the first counts"
        return replace(first, reason=reason, raw=raw, duration_seconds=seconds)
    counted = [row for row in first.reading.measurements if row.unit in _COUNTED]
    rows = tuple(_worse(row, counted, spec) for row in second.reading.measurements)
    findings = tuple(dict.fromkeys((*first.reading.findings, *second.reading.findings)))
    return replace(
        second,
        reading=replace(second.reading, measurements=rows, findings=findings),
        reason=f"second try after a near miss: {words}",
        raw=raw,
        duration_seconds=seconds,
        second_try=_both(near, rows),
    )


def _runs(spec: TestSpec, run: Callable[[], Outcome], stopping: Callable[[], bool], allows: _Allows) -> Outcome:
    """The outcome of all runs that the plan asks for; the first run that does not complete ends them."""
    outcomes: list[Outcome] = []
    for left in reversed(range(spec.repeats)):
        outcome = _with_retry(spec, run, stopping, partial(allows, spec.timeout_seconds * (1 + left)))
        outcomes.append(outcome)
        if outcome.execution is not Execution.COMPLETED:
            return replace(outcome, raw=_raw(outcomes))
    return _merged(outcomes, spec)


def _near_misses(spec: TestSpec, outcome: Outcome) -> list[Measurement]:
    """The figures just beyond a limit; none when anything of the test is missing, or wrong by more than that."""
    near = []
    for row in outcome.reading.measurements:
        for limit in (one for one in spec.limits if _is_of(one, row)):
            if row.value is None or _beyond(row.value, limit.last, limit):
                return []
            if limit.equals is None and _beyond(row.value, limit.limit, limit):
                near.append(row)
    return near


def _is_of(limit: Limit, row: Measurement) -> bool:
    return (limit.metric, limit.statistic, limit.unit) == (row.metric, row.statistic, row.unit)


def _beyond(value: float, edge: float, limit: Limit) -> bool:
    if limit.equals is not None:
        return value != limit.equals
    return value < edge if limit.beyond == "below" else value > edge


def _worse(row: Measurement, before: Sequence[Measurement], spec: TestSpec) -> Measurement:
    """A count with the worse of both tries; any other row as the second try read it."""
    same = [one for one in before if _place(one) == _place(row)]
    return _one([*same, row], len(same) + 1, spec) if same and row.unit in _COUNTED else row


def _both(near: Sequence[Measurement], rows: Sequence[Measurement]) -> tuple[SecondTry, ...]:
    now = {_place(row): row.value for row in rows}
    pairs = ((row, row.value, now.get(_place(row))) for row in near)
    return tuple(
        SecondTry(row.component, row.metric, row.statistic, row.unit, first, second)
        for row, first, second in pairs
        if first is not None and second is not None
    )


def _place(row: Measurement) -> _Key:
    return (row.component, row.metric, row.statistic)


def _with_retry(
    spec: TestSpec, run: Callable[[], Outcome], stopping: Callable[[], bool], fits: Callable[[], bool]
) -> Outcome:
    first = run()
    if str(first.execution) not in spec.retry or stopping():
        return first
    if not fits():
        return replace(first, reason=f"{first.reason or 'no reason given'}; {NO_TIME}")
    second = run()
    reason = f"second try, the first was {first.execution}: {first.reason or 'no reason given'}"
    told = f"{reason}; {second.reason}" if second.reason else reason
    return replace(second, reason=told, raw=_raw([first, second]))


def _raw(outcomes: Sequence[Outcome]) -> bytes:
    if len(outcomes) == 1:
        return outcomes[0].raw
    parts = [f"--- run {number} ---\n".encode() + one.raw for number, one in enumerate(outcomes, start=1)]
    return b"\n".join(parts)


def _merged(outcomes: Sequence[Outcome], spec: TestSpec) -> Outcome:
    last = outcomes[-1]
    if len(outcomes) == 1:
        return last
    found: dict[tuple[str, str, str], list[Measurement]] = {}
    for outcome in outcomes:
        for row in outcome.reading.measurements:
            found.setdefault((row.component, row.metric, row.statistic), []).append(row)
    rows = tuple(_one(rows, len(outcomes), spec) for rows in found.values())
    findings = tuple(dict.fromkeys(finding for one in outcomes for finding in one.reading.findings))
    lines = tuple(line for one in outcomes for line in one.reading.lines)
    reading = replace(last.reading, measurements=rows, findings=findings, lines=lines)
    seconds = round(sum(one.duration_seconds for one in outcomes), 3)
    return replace(last, reading=reading, raw=_raw(outcomes), duration_seconds=seconds)


def _one(rows: Sequence[Measurement], runs: int, spec: TestSpec) -> Measurement:
    first = rows[0]
    absent = next((row for row in rows if row.value is None), None)
    if absent is not None:
        return absent
    values = [row.value for row in rows if row.value is not None]
    if len(values) < runs:
        return replace(first, value=None, status=type(first.status).MISSING)
    if first.unit in _COUNTED:
        right = next((one.equals for one in spec.limits if _is_of(one, first)), None)
        middle = median(values) if right is None else right
        return replace(first, value=max(values, key=lambda value: (abs(value - middle), value)))
    samples = tuple(sample for row in rows for sample in row.samples)
    parameters = {**first.parameters, "runs": runs}
    return replace(first, value=median(values), parameters=parameters, runs=tuple(values), samples=samples)
