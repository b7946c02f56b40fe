"""Second tries stay inside the pod's time; first tries are never cut for them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from nodeworthy_probe.budget import Budget
from nodeworthy_probe.plan import Limit, PlanRefused, TestSpec, read_plan
from nodeworthy_probe.records import Execution, Measurement, Reading
from nodeworthy_probe.repeats import NO_TIME, carried_out
from nodeworthy_probe.suite import Outcome, Suite

from tests.data import node_views

HOUR = 3600.0
DIAG = TestSpec("gpu.diag_deep", "dcgmi", (), 2 * HOUR, {}, {}, retry=("timed-out",))
BURN = TestSpec("gpu.burn", "gpu_burn", (), HOUR / 2, {}, {}, retry=("crashed",), repeats=2)


class Clock:
    """Seconds that pass when a test says so."""

    seconds = 0.0

    def __call__(self) -> float:
        """The time now."""
        return self.seconds


def outcome(spec: TestSpec, execution: Execution, value: float = 10.0) -> Outcome:
    """One run."""
    reading = Reading((Measurement("node", "bandwidth", value, "GB/s"),))
    reason = None if execution is Execution.COMPLETED else "no end"
    return Outcome(1, spec, ("tool",), execution, 0, 1.0, reason, b"", reading)


def test_a_second_try_that_all_others_can_follow_begins() -> None:
    """Six hours: two for the first try, two for the second, one for what comes; a third hour too late it does not."""
    clock = Clock()
    budget = Budget(5 * HOUR, 3 * HOUR, now=clock)
    budget.begin(DIAG)
    assert budget.owed_seconds == HOUR
    clock.seconds = 2 * HOUR
    assert budget.allows(2 * HOUR)
    clock.seconds = 2 * HOUR + 1
    assert not budget.allows(2 * HOUR)
    assert Budget(None, now=clock).allows(1e9)


def test_a_test_that_timed_out_late_keeps_its_first_try() -> None:
    """It stays timed out, with the reason that there was no time; the tool does not start again."""
    runs = [outcome(DIAG, Execution.TIMED_OUT), outcome(DIAG, Execution.COMPLETED)]
    done = carried_out(DIAG, lambda: runs.pop(0), lambda: False, lambda seconds: seconds < 2 * HOUR)
    assert (done.execution, len(runs)) == (Execution.TIMED_OUT, 1)
    assert done.reason == f"no end; {NO_TIME}"


def test_a_retry_of_one_run_leaves_time_for_the_runs_behind_it() -> None:
    """The first of two runs crashed: another try of it and the second run are an hour together."""
    asked: list[float] = []

    def allows(seconds: float) -> bool:
        asked.append(seconds)
        return False

    runs = [outcome(BURN, Execution.CRASHED)]
    carried_out(BURN, lambda: runs.pop(0), lambda: False, allows)
    assert asked == [HOUR]


def test_a_near_miss_without_time_counts_as_it_is() -> None:
    """9.95 where 10 is the limit: nearly, and judged so, since another round of the test does not fit."""
    limit = Limit("bandwidth", "single", "GB/s", beyond="below", limit=10.0, last=9.9)
    spec = replace(DIAG, limits=(limit,))
    runs = [outcome(spec, Execution.COMPLETED, 9.95), outcome(spec, Execution.COMPLETED, 10.5)]
    done = carried_out(spec, lambda: runs.pop(0), lambda: False, lambda seconds: False)
    assert (done.reading.measurements[0].value, len(runs)) == (9.95, 1)
    assert NO_TIME in (done.reason or "")


@pytest.mark.parametrize(("within", "ran"), [(1, 2), (2, 3), (60, 4)])
def test_the_whole_probe_keeps_to_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, within: int, ran: int
) -> None:
    """Two tools crash, of a second each: in one second neither runs again, in two the last one does, in sixty both."""
    tool = tmp_path / "stream"
    tool.write_text(f"#!/bin/sh\necho . >> {tmp_path}/ran\nkill -9 $$\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    test = {"test": "a.b", "tool": "stream", "timeout_seconds": 1, "retry": ["crashed"], "arguments": []}
    plan = node_views.plan(tests=[test, {**test, "test": "a.c"}], within_seconds=within)
    outcomes = Suite(read_plan(json.dumps(plan))).run()
    assert {one.execution for one in outcomes} == {Execution.CRASHED}
    assert (tmp_path / "ran").read_text().count(".") == ran


@pytest.mark.parametrize("value", [0.5, "4 h", True, None])
def test_a_time_that_is_no_whole_number_is_refused(value: object) -> None:
    """In one sentence, before anything runs."""
    with pytest.raises(PlanRefused, match="within_seconds"):
        read_plan(json.dumps({**node_views.plan(), "within_seconds": value}))
