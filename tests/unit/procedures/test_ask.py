"""Asking about a node's plan: who is asked, whose answer counts, and what a crash between two answers leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from nodeworthy.errors import Refused
from nodeworthy.lifecycle.approvals import POLICY, Decision, End
from nodeworthy.lifecycle.roles import Roles
from nodeworthy.procedures.ask import Asked, Asking, Given, NotYet, ask, stop, take_answer, unheard
from nodeworthy.procedures.finish import refused_by_person
from nodeworthy.procedures.firmware import firmware
from nodeworthy.procedures.plan import plan

from tests.doubles.bench import Bench, behind, bench, healthy_inventory, library

ROLES = Roles.from_document(
    {
        "roles": {"reader": ["read"], "operator": ["read", "approve"]},
        "people": [
            {"name": "ada", "id": "1", "roles": ["operator"]},
            {"name": "bob", "id": "2", "roles": ["operator"]},
            {"name": "eve", "id": "3", "roles": ["reader"]},
        ],
    }
)
ADA, BOB = Given("1", "ada", "approve", "window 12"), Given("2", "bob", "approve", "read it")
EVE, STRANGER = Given("3", "eve", "approve", "why not"), Given("9", "mallory", "approve", "")


@dataclass(frozen=True)
class Rules:
    """The shipped library under other roles and approval rules."""

    answers: int
    roles_in_force: Roles = ROLES
    asks: bool = True

    def roles(self) -> Roles:
        """Return the test's people."""
        return self.roles_in_force

    def policy(self, pool: str) -> Any:
        """Return the policy that asks before firmware, by a rule of so many people."""
        shipped = library().policy(pool)
        rule = {"default": {"roles": ["operator"], "answers": self.answers, "expiry": "PT2H"}}
        actions = {**shipped["actions"], "firmware": "approve" if self.asks else "auto"}
        return {**shipped, "actions": actions, "approvals": rule}

    def __getattr__(self, name: str) -> Any:
        return getattr(library(), name)


def racked(answers: int = 1, **more: Any) -> Bench:
    """A conformant node with firmware behind, whose pool wants so many answers."""
    one = bench("conformant", inventory=behind(healthy_inventory(), HostBIOS_0="1.05.03"))
    return replace(one, work=replace(one.work, library=Rules(answers, **more)))


def asking(one: Bench) -> Asking:
    """The node's plan as a question, made anew as each process does."""
    return Asking(one.lease, one.node, one.work, plan(one.lease, one.node, one.work).question)


def asked(one: Bench) -> Asked:
    """Ask, and return the request."""
    found = ask(asking(one))
    assert isinstance(found, Asked)
    return found


def test_a_request_says_what_why_at_what_risk_with_which_evidence_and_until_when() -> None:
    """Each part stands in the text, and those who may answer are asked."""
    found = asked(racked())
    assert [one.name for one in found.people] == ["ada", "bob"]
    assert found.left == timedelta(hours=2)
    for words in (
        "update HostBIOS_0 from 1.05.03 to",
        "the pool's policy asks before them",
        "**Risk:** high",
        "(/nodeworthy/nodes/gpu-a01)",
        "it takes no serving node out",
        "one person must approve",
        "may be answered by `ada`, `bob`; expires ",
    ):
        assert words in found.body


def test_one_answer_of_somebody_who_may_decides() -> None:
    """The step behind finds it by the plan's hash and goes on."""
    one = racked()
    asked(one)
    assert take_answer(asking(one), ADA) == Decision(True, "ada", "window 12")
    one.run(firmware)


@pytest.mark.parametrize(("given", "words"), [(EVE, "lets ada, bob answer"), (STRANGER, "mallory stands in no row")])
def test_an_answer_of_somebody_who_may_not_is_kept_and_does_not_count(given: Given, words: str) -> None:
    """The request is asked again, the step behind refuses, and the audit is told why."""
    one = racked()
    asked(one)
    found = take_answer(asking(one), given)
    assert isinstance(found, NotYet)
    assert words in found.sentence
    ((who, answer, why),) = one.ledger.refused_answers
    assert (who, answer) == (given.name, "approve")
    assert words in why
    asked(one)
    with pytest.raises(Refused, match="no answer that decides"):
        one.run(firmware)


def test_two_people_must_answer_and_the_second_request_names_the_first() -> None:
    """After the first the plan is not approved, whichever process looks; the same person again is not counted."""
    one = racked(answers=2)
    asked(one)
    assert isinstance(take_answer(asking(one), ADA), NotYet)
    second = asked(one)
    assert "[who did so far](/nodeworthy/nodes/gpu-a01)" in second.body
    assert "ada approved: window 12." in second.body
    assert [person.name for person in second.people] == ["bob"]
    with pytest.raises(Refused, match="no answer that decides"):
        one.run(firmware)
    again = take_answer(asking(one), ADA)
    assert isinstance(again, NotYet)
    assert "ada answered this plan already" in again.sentence
    assert take_answer(asking(one), BOB) == Decision(True, "ada and bob", "window 12; read it")
    one.run(firmware)


def test_an_answer_to_a_plan_that_changed_since_does_not_count() -> None:
    """The policy changed while the request waited: the answer is about what was shown, and a new request follows."""
    one = racked()
    asked(one)
    changed = replace(one, work=replace(one.work, library=Changed(1)))
    found = take_answer(asking(changed), ADA)
    assert isinstance(found, NotYet)
    assert "the plan has changed since" in found.sentence
    assert asked(changed).body != asked(one).body


@pytest.mark.parametrize("now", [Rules(1), Rules(2, asks=False)], ids=["one is enough", "nobody is asked"])
def test_a_rule_that_was_relaxed_meanwhile_leaves_no_request_open(now: Rules) -> None:
    """Two were asked for; by the rule of now the run goes on, and nothing is left that could expire under its work."""
    one = racked(answers=2)
    asked(one)
    relaxed = replace(one, work=replace(one.work, library=now))
    made = take_answer(asking(relaxed), ADA) if now.asks else ask(asking(relaxed))
    assert isinstance(made, Decision)
    assert made.approved
    assert one.ledger.open_request(one.lease) is None


class Changed(Rules):
    """The same rules with another image to be installed."""

    def policy(self, pool: str) -> Any:
        """Return a policy with another approved image."""
        policy = super().policy(pool)
        return {**policy, "images": {**policy["images"], "approved": {"name": "next", "uri": "http://i/next.efi"}}}


def test_a_refusal_stops_the_node_in_its_run_and_another_run_asks_again() -> None:
    """A process that died before it gave the lease back finds the refusal; a later run asks anew."""
    one = racked()
    asked(one)
    made = take_answer(asking(one), replace(ADA, answer="refuse", why="not today"))
    assert made == Decision(False, "ada", "not today")
    assert ask(asking(one)) == made
    stop(asking(one), made)
    (record,) = one.ledger.nodes([one.node.name])
    assert record.reason == "The plan was refused by ada: not today."
    assert refused_by_person(record)
    request = one.ledger._requests[one.lease.episode]
    assert request.end is End.REFUSED
    one.ledger._requests[one.lease.episode] = replace(request, run="bring_up/earlier")
    one.ledger._leases[one.node.name] = one.lease
    asked(one)


def test_a_request_that_expires_gives_the_node_back_with_the_reason_and_fails_nothing() -> None:
    """An answer that comes after its time does not count either."""
    one = racked()
    asked(one)
    one.machine.now += timedelta(hours=2)
    late = take_answer(asking(one), ADA)
    assert isinstance(late, NotYet)
    assert "the request expired at" in late.sentence
    sentence = one.ledger.expire_request(one.node.name, one.lease.run)
    assert sentence.endswith("so nothing was done to gpu-a01: a new run with retry_of asks again.")
    (record,) = one.ledger.nodes([one.node.name])
    assert (record.reason, record.run) == (sentence, "")
    assert refused_by_person(record)
    assert one.ledger._requests[one.lease.episode].end is End.EXPIRED


def test_an_answer_that_its_run_cannot_hear_any_more_is_written_down() -> None:
    """The node was taken up by another run: what the person said and why it did not count is kept under his name."""
    one = racked()
    asked(one)
    stale = replace(one.lease, episode=0, token="")
    unheard(stale, ADA, one.work, "gpu-a01 is held by another run.")
    assert one.ledger.refused_answers == [("ada", "approve", "gpu-a01 is held by another run.")]


def test_policy_answers_alone_where_nothing_needs_approval_unless_the_run_asks() -> None:
    """An answer by policy does not stand for the person whom a later run wants."""
    one = racked(asks=False)
    assert ask(asking(one)) == Decision(True, POLICY, "no step of it needs approval")
    assert isinstance(ask(asking(one), must=True), Asked)


def test_a_rule_that_too_few_people_can_meet_is_refused_before_anybody_waits() -> None:
    """Two must answer and one may."""
    one = racked(answers=2, roles_in_force=replace(ROLES, people=ROLES.people[:1]))
    with pytest.raises(Refused, match="needs 2 different people and ada may answer"):
        ask(asking(one))


def test_what_policy_only_observes_is_written_down_once() -> None:
    """The step is refused and the ledger knows what it would have done."""
    one = racked()
    shut = replace(one, work=replace(one.work, library=Shut(1)))
    for _ in range(2):
        with pytest.raises(Refused, match="only observes firmware"):
            shut.run(firmware)
    ((action, what),) = one.ledger.observed
    assert action == "firmware"
    assert what.startswith("update HostBIOS_0 from 1.05.03 to")


class Shut(Rules):
    """Firmware is observed."""

    def policy(self, pool: str) -> Any:
        """Return a policy that only observes firmware."""
        policy = super().policy(pool)
        return {**policy, "actions": {**policy["actions"], "firmware": "observe"}}
