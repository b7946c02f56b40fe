"""What a request can get wrong, and nodes that are not free: one clear sentence, and the rest goes on."""

from __future__ import annotations

import time

import pytest

from stack.rest import HANDS_SECONDS
from tests.end_to_end.running import Running
from tests.end_to_end.test_approvals import answer, park

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

HELD_BY_A_RUN, FREE, ON_HOLD, NO_ROOM = "spare-4", "spare-5", "spare-6", "spare-7"


UNCLEAR: dict[str, tuple[dict[str, object], str]] = {
    "twice": (
        {"nodes": ["spare-4", "spare-5", "spare-4"]},
        "The list names spare-4 more than once: name each node once.",
    ),
    "empty-batch": (
        {"batch": "nowhere"},
        "The fleet manifest has no node in batch nowhere: check the spelling or the manifest.",
    ),
    "nothing": ({}, "The form must name exactly one of nodes, rack, batch or retry_of, and none was given."),
    "two-ways": (
        {"rack": "A1", "batch": "demo"},
        "The form must name exactly one of nodes, rack, batch or retry_of, and rack and batch was given.",
    ),
    "unknown-run": (
        {"retry_of": "never-was"},
        "The run bring_up/never-was held no node: look up the run id in the list of runs of this DAG.",
    ),
}


@pytest.fixture(scope="module")
def unclear(running: Running) -> dict[str, str]:
    """All unclear requests, sent at once: the run of each."""
    return {name: running.trigger(**conf) for name, (conf, _) in UNCLEAR.items()}


@pytest.mark.parametrize("name", UNCLEAR)
def test_an_unclear_request_is_refused_as_a_whole(running: Running, unclear: dict[str, str], name: str) -> None:
    """The first task fails with one sentence as its last line and no node is touched."""
    run = unclear[name]
    assert running.wait(run) == "failed"
    (first,) = running.tasks(run, "open_wave")
    assert running.said(run, first)[-1] == UNCLEAR[name][1]


def test_a_node_that_another_run_works_on_is_left_out_and_the_rest_goes_on(running: Running) -> None:
    """While one run waits for an approval, another leaves its node out by name; what it has no room for goes on."""
    holder = running.trigger(nodes=[HELD_BY_A_RUN], approve_risky_steps=True)
    question = park(running, holder, HELD_BY_A_RUN)
    run, state = running.bring_up(nodes=[HELD_BY_A_RUN, FREE, NO_ROOM], wave_size=1)
    assert state == "success"
    assert running.wait(f"{run}-wave-2") == "success"
    assert running.milestones(FREE, NO_ROOM) == {FREE: "standby", NO_ROOM: "standby"}
    (first,) = running.tasks(run, "open_wave")
    said = next(line for line in running.said(run, first) if "left out" in line)
    assert said.startswith(f"{HELD_BY_A_RUN} was left out: ")
    assert holder in said
    time.sleep(HANDS_SECONDS)
    answer(running, holder, question, "Refuse", "the test is over")
    assert running.wait(holder) == "success"


def test_a_hold_keeps_automation_off_and_says_who_and_why(running: Running) -> None:
    """A held node is left out with the hold's own words; the release moves nothing."""
    running.stack.nodeworthy("hold", ON_HOLD, "--why", "cable work in its rack", "--scope", "automation")
    run, state = running.bring_up(nodes=[ON_HOLD])
    running.stack.nodeworthy("release", ON_HOLD)
    assert state == "failed"
    (first,) = running.tasks(run, "open_wave")
    assert "cable work in its rack" in running.said(run, first)[-1]
    assert running.milestones(ON_HOLD) == {ON_HOLD: "declared"}
    assert running.effects(node=ON_HOLD) == []
