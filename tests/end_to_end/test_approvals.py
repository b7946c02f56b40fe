"""Approvals as an operator gives them: through Airflow's REST API, which is what the UI's buttons call."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from stack.rest import HANDS_SECONDS
from tests.end_to_end.fleet import LATE, PAIR
from tests.end_to_end.running import Running

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

APPROVED, REFUSED, MARKED = "spare-1", "spare-2", "spare-3"
IN_ONE_RUN = (APPROVED, REFUSED, PAIR, LATE)
WHY_NOT = "no hands in the hall today"


@dataclass(frozen=True)
class ByTwo:
    """What was shown and refused while two people answered for one node."""

    listed: str
    guests: str
    second_text: str
    replied: str


@dataclass(frozen=True)
class Answered:
    """Two finished runs: one whose plans were answered, one whose approval was only marked as done."""

    answered: str
    answered_state: str
    marked: str
    effects_before_the_answer: list[dict[str, object]]
    by_two: ByTwo


def park(running: Running, run: str, node: str) -> dict[str, object]:
    """Wait until the run asks about this node, and return the task that asks."""

    def asking() -> dict[str, object] | None:
        found = [task for task in running.tasks(run, "approve") if task["state"] == "awaiting_input"]
        return next((task for task in found if task["rendered_map_index"] == node), None)

    found = running.until(f"the question about {node}", asking)
    assert isinstance(found, dict)
    return found


def answer(running: Running, run: str, task: dict[str, object], option: str, reason: str) -> None:
    """Answer one question."""
    running.api.answer("bring_up", run, task, option, reason)


def answered_by_two(running: Running, run: str, task: dict[str, object]) -> ByTwo:
    """Let a guest, the operator and then the keeper answer for one node; return what they saw."""
    stack = running.stack
    listed = stack.nodeworthy("approve")
    plan = next(line.split()[1] for line in listed.splitlines() if line.startswith(PAIR))
    with pytest.raises(SystemExit) as guests:
        stack.nodeworthy("approve", PAIR, "--plan", plan, "--why", "because I can", user="guest")
    replied = stack.nodeworthy("approve", PAIR, "--plan", plan, "--why", "window 12")

    def asked_again() -> str:
        shown = stack.nodeworthy("approve")
        return shown if "Approved so far by operator: window 12." in shown else ""

    running.until("the second question", asked_again)
    time.sleep(HANDS_SECONDS)
    text = stack.nodeworthy("approve", PAIR, "--plan", plan, user="keeper")
    stack.nodeworthy("approve", PAIR, "--plan", plan, "--why", "read it", user="keeper")
    return ByTwo(listed, str(guests.value), text, replied)


@pytest.fixture(scope="module")
def done(running: Running) -> Answered:
    """Ask about three nodes; approve one, refuse one, and mark the third's approval as a success without answering."""
    run = running.trigger(nodes=list(IN_ONE_RUN), approve_risky_steps=True)
    marked = running.trigger(nodes=[MARKED], approve_risky_steps=True)
    questions = {node: park(running, run, node) for node in (APPROVED, REFUSED)}
    third = park(running, marked, MARKED)
    pair = park(running, run, PAIR)
    time.sleep(HANDS_SECONDS)
    before = [effect for node in (*IN_ONE_RUN, MARKED) for effect in running.effects(node=node)]
    answer(running, run, questions[APPROVED], "Approve", "window 12")
    answer(running, run, questions[REFUSED], "Refuse", WHY_NOT)
    running.api.patch(
        f"/dags/bring_up/dagRuns/{marked}/taskInstances/{third['task_id']}/{third['map_index']}",
        {"new_state": "success"},
    )
    by_two = answered_by_two(running, run, pair)
    running.wait(marked)
    return Answered(run, running.wait(run), marked, before, by_two)


def test_nothing_is_done_before_the_answer(done: Answered) -> None:
    """While a plan waits for its answer the lab counts no effect on its node."""
    assert done.effects_before_the_answer == []


def test_an_approved_node_arrives_and_the_answer_is_kept(running: Running, done: Answered) -> None:
    """The node reaches standby, and its firmware step names who approved and why."""
    assert running.milestones(APPROVED) == {APPROVED: "standby"}
    lines = running.said(done.answered, running.task(done.answered, "firmware", APPROVED))
    assert any("approved by operator: window 12" in line for line in lines)


def test_a_no_is_an_answer_and_fails_nothing(running: Running, done: Answered) -> None:
    """The refused node's squares are skipped, its finish says who refused and why, and the run is a success."""
    assert done.answered_state == "success"
    states = {
        task["task_id"].rsplit(".", 1)[-1]: task["state"]
        for task in running.tasks(done.answered)
        if task["map_index"] == running.task(done.answered, "approve", REFUSED)["map_index"]
    }
    assert states == {
        "inspect": "success",
        **dict.fromkeys(("approve", "firmware", "boot_validation", "burn_in", "provision", "verify"), "skipped"),
        "finish": "skipped",
    }
    assert running.reason(REFUSED) == f"The plan was refused by operator: {WHY_NOT}."
    assert any(
        running.reason(REFUSED) in line
        for line in running.said(done.answered, running.task(done.answered, "finish", REFUSED))
    )
    assert running.effects(node=REFUSED) == []


def test_marking_the_question_a_success_answers_nothing(running: Running, done: Answered) -> None:
    """The step behind looks for the answer in the ledger, finds none, and does nothing."""
    firmware = running.task(done.marked, "firmware", MARKED)
    assert firmware["state"] == "failed"
    assert "has no answer" in running.said(done.marked, firmware)[-1]
    assert running.milestones(MARKED) == {MARKED: "conformant"}
    assert running.effects(node=MARKED) == []


def test_two_people_answer_one_after_the_other(running: Running, done: Answered) -> None:
    """A guest gets no answer in, the second request names the first answer, and the node goes on by both."""
    seen = done.by_two
    assert "keeper, operator may answer" in seen.listed or "operator, keeper may answer" in seen.listed
    assert "guest stands in no row of include/roles.yaml" in seen.guests
    assert seen.replied.endswith(f"of {PAIR}: window 12.\n")
    assert "Approved so far by operator: window 12." in seen.second_text
    assert running.milestones(PAIR) == {PAIR: "standby"}
    lines = running.said(done.answered, running.task(done.answered, "firmware", PAIR))
    assert any("approved by operator and keeper: window 12; read it" in line for line in lines)


def test_a_request_that_nobody_answers_expires_and_fails_nothing(running: Running, done: Answered) -> None:
    """Its node is given back with the reason, its squares are skipped, and nothing was done to it."""
    assert done.answered_state == "success"
    assert running.task(done.answered, "approve", LATE)["state"] == "skipped"
    assert running.reason(LATE).startswith("The request for approval expired at ")
    assert running.effects(node=LATE) == []
