"""Repeated runs and the one more try: medians of figures, the worst of counts, and nothing hidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from nodeworthy_probe.plan import TestSpec
from nodeworthy_probe.records import Execution, Measurement, Reading, Status, missing
from nodeworthy_probe.repeats import carried_out
from nodeworthy_probe.suite import Outcome

SPEC = TestSpec("a.b", "tool", (), 60.0, {}, {}, repeats=3)


def outcome(value: float, wrong: float = 0.0, execution: Execution = Execution.COMPLETED) -> Outcome:
    """Return one run with a bandwidth and a count."""
    rows = (Measurement("node", "bandwidth", value, "GB/s"), Measurement("node", "wrong", wrong, "count"))
    reason = None if execution is Execution.COMPLETED else "it broke"
    return Outcome(1, SPEC, ("tool",), execution, 0, 1.0, reason, f"{value}".encode(), Reading(rows))


def run(spec: TestSpec, outcomes: Sequence[Outcome]) -> tuple[Outcome, int]:
    """Carry a test out; return its outcome and how many runs it took."""
    left = list(outcomes)
    done = carried_out(spec, lambda: left.pop(0), lambda: False)
    return done, len(outcomes) - len(left)


def test_a_figure_is_the_median_and_a_count_the_worst() -> None:
    """10, 30, 20 are 20; wrong values in one run of three are not averaged away; all raw outputs are kept."""
    done, runs = run(SPEC, [outcome(10), outcome(30, wrong=5), outcome(20)])
    values = {row.metric: row.value for row in done.reading.measurements}
    assert (values, runs, done.duration_seconds) == ({"bandwidth": 20, "wrong": 5}, 3, 3.0)
    assert done.raw.count(b"--- run") == 3


def test_a_run_without_a_number_leaves_none() -> None:
    """Two good runs do not make up for one in which the device was not there."""
    gone = replace(outcome(0), reading=Reading((missing("node", "bandwidth", "GB/s"),)))
    done, _ = run(SPEC, [outcome(10), gone, outcome(20)])
    row = next(row for row in done.reading.measurements if row.metric == "bandwidth")
    assert (row.value, row.status) == (None, Status.MISSING)


def test_the_first_run_that_breaks_ends_them() -> None:
    """A tool that crashed is a crash, whatever the run before it read."""
    done, runs = run(SPEC, [outcome(10), outcome(0, execution=Execution.CRASHED), outcome(20)])
    assert (done.execution, runs) == (Execution.CRASHED, 2)


def test_a_broken_run_is_tried_once_more_and_says_so() -> None:
    """The second try's figures count; the first one's end stands in the reason and in the raw output."""
    spec = replace(SPEC, repeats=1, retry=("crashed",))
    done, runs = run(spec, [outcome(0, execution=Execution.CRASHED), outcome(10)])
    assert (done.execution, runs) == (Execution.COMPLETED, 2)
    assert done.reason == "second try, the first was crashed: it broke"
    assert done.raw.count(b"--- run") == 2


@pytest.mark.parametrize("first", [Execution.TIMED_OUT, Execution.COMPLETED])
def test_nothing_else_is_tried_again(first: Execution) -> None:
    """What the plan does not name is not retried, and a completed run with a low figure never is."""
    spec = replace(SPEC, repeats=1, retry=("crashed",))
    done, runs = run(spec, [outcome(0.001, execution=first), outcome(10)])
    assert (done.execution, runs) == (first, 1)
