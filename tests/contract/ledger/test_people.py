"""Holds and approvals: what people said, who, why and until when."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from nodeworthy.errors import Refused
from nodeworthy.lifecycle.records import Answer, Hold

from tests.contract.ledger.support import HOUR, START, Bench, node


def hold(scope: str, hours: float | None = None) -> Hold:
    """Return a hold of ada's."""
    return Hold("n1", "ada", "cabling work", None if hours is None else START + timedelta(hours=hours), scope)


@pytest.mark.parametrize("scope", ["automation", "both"])
def test_a_hold_keeps_automation_out(bench: Bench, scope: str) -> None:
    """No run takes a held node, and the refusal names who and why."""
    bench.ledger.import_fleet([node("n1")])
    bench.ledger.hold(hold(scope))
    with pytest.raises(Refused, match="n1 is held by ada until it is released: cabling work"):
        bench.take()


def test_a_hold_on_admission_lets_a_run_work(bench: Bench) -> None:
    """A hold that names admission alone does not stop bring-up."""
    bench.ledger.import_fleet([node("n1")])
    bench.ledger.hold(hold("admission"))
    assert bench.take().episode == 1


def test_a_hold_in_mid_run_stops_new_effects(bench: Bench) -> None:
    """An effect that was intended before the hold can still be settled; a new one is refused."""
    lease = bench.take()
    begun = bench.ledger.intend(lease, "reset", "k1", {})
    bench.ledger.hold(hold("automation"))
    assert bench.ledger.intend(lease, "reset", "k1", {}).id == begun.id
    assert bench.ledger.settle(lease, begun, "proven", {"boot_id": "b1"}).status == "proven"
    with pytest.raises(Refused, match="held by ada"):
        bench.ledger.intend(lease, "reset", "k2", {})


def test_a_hold_ends_with_its_time(bench: Bench) -> None:
    """At its end a hold is over, without anybody releasing it."""
    bench.ledger.import_fleet([node("n1")])
    bench.ledger.hold(hold("both", hours=1))
    assert bench.ledger.holds("n1") == (hold("both", hours=1),)
    bench.clock.pass_(HOUR)
    assert bench.ledger.holds("n1") == ()
    assert bench.take().run == "run-1"


def test_release_ends_all_holds_and_moves_nothing(bench: Bench) -> None:
    """Releasing is recorded once, with who did it."""
    bench.ledger.import_fleet([node("n1")])
    for scope in ("automation", "admission"):
        bench.ledger.hold(hold(scope))
    for _ in range(2):
        bench.ledger.release_hold("n1", who="bob")
    assert bench.ledger.holds("n1") == ()
    assert bench.milestone() == "declared"
    told = [row["detail"] for row in bench.ledger.history("n1") if row["action"] == "hold released"]
    assert told == [{"who": "bob", "holds": 2}]


def test_unknown_words_are_refused(bench: Bench) -> None:
    """A scope or an answer that does not exist is refused with those that do."""
    lease = bench.take()
    with pytest.raises(Refused, match="automation, admission, both"):
        bench.ledger.hold(hold("everything"))
    with pytest.raises(Refused, match="needs a reason"):
        bench.ledger.hold(replace(hold("both"), why=" "))
    with pytest.raises(Refused, match="2026-12-01 08:00 UTC has passed"):
        bench.ledger.hold(hold("both", hours=0))
    with pytest.raises(Refused, match="approve, refuse"):
        bench.ledger.record_approval(lease, plan_sha256="p", who="bob", answer="perhaps", why="")


def test_an_answer_is_for_one_plan_of_one_episode(bench: Bench) -> None:
    """Another plan and another episode have no answer; answers come oldest first."""
    lease = bench.take()
    for who, answer in (("ada", "approve"), ("bob", "refuse")):
        bench.ledger.record_approval(lease, plan_sha256="p1", who=who, answer=answer, why="because")
    assert bench.ledger.answers("n1", lease.episode, "p1") == (
        Answer("p1", "ada", "approve", "because"),
        Answer("p1", "bob", "refuse", "because"),
    )
    assert bench.ledger.answers("n1", lease.episode, "p2") == ()
    assert bench.ledger.answers("n1", lease.episode + 1, "p1") == ()
