"""A figure just beyond its limit: one more try, both values kept; what is really wrong gets none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from nodeworthy_probe.plan import Limit, TestSpec
from nodeworthy_probe.records import Execution, Finding, Measurement, Reading, SecondTry, missing
from nodeworthy_probe.repeats import carried_out
from nodeworthy_probe.suite import Outcome

LIMITS = (
    Limit("bandwidth", "single", "GB/s", beyond="below", limit=48.0, last=47.52),
    Limit("latency", "single", "us", beyond="above", limit=5.0, last=5.05),
    Limit("wrong", "single", "count", equals=0.0),
)
SPEC = TestSpec("a.b", "tool", (), 60.0, {}, {}, limits=LIMITS)


def outcome(bandwidth: float, latency: float = 4.0, wrong: float = 0.0) -> Outcome:
    """Return one run."""
    rows = (
        Measurement("gpu/0", "bandwidth", bandwidth, "GB/s"),
        Measurement("gpu/0", "latency", latency, "us"),
        Measurement("gpu/0", "wrong", wrong, "count"),
    )
    return Outcome(1, SPEC, ("tool",), Execution.COMPLETED, 0, 1.0, None, f"{bandwidth}".encode(), Reading(rows))


def run(outcomes: Sequence[Outcome], spec: TestSpec = SPEC) -> tuple[Outcome, int]:
    """Carry a test out; return its outcome and how many runs it took."""
    left = list(outcomes)
    done = carried_out(spec, lambda: left.pop(0), lambda: False)
    return done, len(outcomes) - len(left)


def values(done: Outcome) -> dict[str, float | None]:
    """Return what the outcome says."""
    return {row.metric: row.value for row in done.reading.measurements}


def test_a_near_miss_is_tried_once_more() -> None:
    """47.9 is below 48 and above 47.52: the second try's 51 counts, and the record holds both."""
    done, runs = run([outcome(47.9), outcome(51.0)])
    assert runs == 2
    assert values(done)["bandwidth"] == 51.0
    assert done.second_try == (SecondTry("gpu/0", "bandwidth", "single", "GB/s", 47.9, 51.0),)
    assert done.reason == "second try after a near miss: gpu/0 bandwidth 47.9 GB/s"
    assert done.raw.count(b"--- run") == 2
    assert done.duration_seconds == 2.0


def test_a_second_miss_is_final() -> None:
    """There is no third try, and no choosing of the better one."""
    done, runs = run([outcome(47.9), outcome(47.6), outcome(51.0)])
    assert (runs, values(done)["bandwidth"]) == (2, 47.6)


def test_what_should_be_low_may_narrowly_be_too_high() -> None:
    """5.04 us is above 5 and below 5.05."""
    done, runs = run([outcome(51.0, latency=5.04), outcome(51.0)])
    assert (runs, values(done)["latency"]) == (2, 4.0)


@pytest.mark.parametrize(
    "first",
    [
        outcome(51.0),
        outcome(47.5),
        outcome(47.9, latency=5.06),
        outcome(47.9, wrong=1.0),
        replace(outcome(47.9), reading=Reading((missing("gpu/0", "bandwidth", "GB/s"),))),
        replace(outcome(47.9), execution=Execution.TIMED_OUT, reason="it hung"),
    ],
    ids=["in order", "far below", "another figure far off", "a wrong value", "a missing figure", "no end"],
)
def test_everything_else_counts_as_it_is(first: Outcome) -> None:
    """In order, beyond a near miss, or wrong in another way too: one run."""
    done, runs = run([first, outcome(51.0)])
    assert (runs, done.second_try) == (1, ())


def test_without_limits_in_the_plan_nothing_is_tried_again() -> None:
    """An older plan, or a suite that does not allow it."""
    assert run([outcome(47.9), outcome(51.0)], replace(SPEC, limits=()))[1] == 1


def test_a_wrong_value_of_the_second_try_stays() -> None:
    """Counts are the worse of both tries, and what either run found is found."""
    bad = outcome(51.0, wrong=3.0)
    seen = Finding("xid/79", "gpu/0", "kernel", "run", "NVRM: Xid")
    first = outcome(47.9)
    first = replace(first, reading=replace(first.reading, findings=(seen,)))
    done, _ = run([first, bad])
    assert values(done) == {"bandwidth": 51.0, "latency": 4.0, "wrong": 3.0}
    assert done.reading.findings == (seen,)


def test_a_second_try_that_breaks_leaves_the_first() -> None:
    """The first was a whole measurement: the node is judged by it, and the record says what was tried."""
    broken = replace(outcome(0.0), execution=Execution.CRASHED, reason="it broke", reading=Reading())
    done, runs = run([outcome(47.9), broken])
    assert (runs, done.execution, values(done)["bandwidth"]) == (2, Execution.COMPLETED, 47.9)
    assert "that try ended crashed: the first counts" in str(done.reason)


def test_the_first_of_several_runs_may_be_the_bad_one() -> None:
    """Wrong values in the first of three runs are furthest from what must be, and so without a plan's word for it."""
    runs = [outcome(51.0, wrong=5.0), outcome(51.0), outcome(51.0)]
    assert values(run(runs, replace(SPEC, repeats=3))[0])["wrong"] == 5.0
    assert values(run(runs, replace(SPEC, repeats=3, limits=()))[0])["wrong"] == 5.0
