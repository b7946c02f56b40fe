"""Requests for an approval: one open at a time, ended by what decides them, and every step of them in the audit."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from nodeworthy.errors import Refused
from nodeworthy.lifecycle.approvals import End, Request
from nodeworthy.lifecycle.policy import Action, Policy
from nodeworthy.lifecycle.records import Lease

from tests.contract.ledger.support import HOUR, LIFECYCLE, START, Bench, node

DAY = timedelta(days=1)


def request(lease: Lease, plan: str = "p", answers: int = 1) -> Request:
    """A request that lives for an hour."""
    return Request(
        node=lease.node,
        episode=lease.episode,
        plan_sha256=plan * 64,
        approval="plan",
        subject="one reset",
        answers=answers,
        may_answer=("ada", "bob"),
        run=lease.run,
        asked_at=START,
        expires_at=START + HOUR,
    )


def told(bench: Bench, *actions: str) -> list[tuple[str, Any]]:
    """The audit's rows of these actions: action, and who or what."""
    rows = [row for row in bench.ledger.history("n1") if row["action"] in actions]
    return [(row["action"], row["detail"].get("who") or row["detail"]["plan_sha256"][0]) for row in rows]


def answer(bench: Bench, lease: Lease, who: str, word: str = "approve", plan: str = "p") -> None:
    """Give an answer."""
    bench.ledger.record_approval(lease, plan_sha256=plan * 64, who=who, answer=word, why="because")


def test_asking_again_returns_the_request_as_it_was_asked_first(bench: Bench) -> None:
    """A killed worker's next try moves no time, and the audit tells of one request."""
    lease = bench.take()
    first = bench.ledger.ask(lease, request(lease))
    bench.clock.pass_(HOUR / 2)
    assert bench.ledger.ask(lease, replace(request(lease), expires_at=START + DAY)) == first
    assert bench.ledger.open_request(lease) == first
    assert bench.ledger.open_requests() == (first,)
    assert told(bench, "approval asked") == [("approval asked", "p")]


def test_two_answers_end_a_request_of_two(bench: Bench) -> None:
    """After the first it waits, also for another process; the second ends it, and nothing waits any more."""
    lease = bench.take()
    bench.ledger.ask(lease, request(lease, answers=2))
    answer(bench, lease, "ada")
    other = bench.another()
    assert [one.end for one in other.open_requests()] == [End.OPEN]
    assert [one.who for one in other.answers("n1", lease.episode, "p" * 64)] == ["ada"]
    other.close()
    answer(bench, lease, "ada")
    assert bench.ledger.open_request(lease) is not None
    answer(bench, lease, "bob")
    assert bench.ledger.open_request(lease) is None
    assert bench.ledger.open_requests() == ()


def test_a_changed_plan_replaces_the_open_request(bench: Bench) -> None:
    """Only one request of an episode waits."""
    lease = bench.take()
    bench.ledger.ask(lease, request(lease))
    second = bench.ledger.ask(lease, request(lease, "c"))
    assert bench.ledger.open_requests() == (second,)
    assert told(bench, "approval asked", "approval replaced") == [
        ("approval asked", "p"),
        ("approval replaced", "p"),
        ("approval asked", "c"),
    ]


def test_a_request_whose_time_is_over_is_expired_and_asked_anew(bench: Bench) -> None:
    """By its own end once, and by whoever asks after its time."""
    lease = bench.take()
    bench.ledger.ask(lease, request(lease))
    for _ in range(2):
        assert "without an answer that decides" in bench.ledger.expire_request("n1", "run-1")
    assert bench.ledger.open_requests() == ()
    lease = bench.take()
    bench.ledger.ask(lease, request(lease))
    bench.clock.pass_(HOUR - timedelta(seconds=1))
    lease = bench.ledger.lease("n1", lease.run)
    bench.clock.pass_(timedelta(seconds=1))
    later = bench.ledger.ask(lease, replace(request(lease), expires_at=START + DAY))
    assert later.expires_at == START + DAY
    assert told(bench, "approval asked", "approval expired") == [
        ("approval asked", "p"),
        ("approval expired", "p"),
        ("approval asked", "p"),
        ("approval expired", "p"),
        ("approval asked", "p"),
    ]


def test_a_refused_request_stands_in_its_run_and_another_run_asks_anew(bench: Bench) -> None:
    """The same run finds the refusal; the next run gets a request of its own."""
    lease = bench.take()
    bench.ledger.ask(lease, request(lease))
    answer(bench, lease, "ada", "refuse")
    assert bench.ledger.ask(lease, request(lease)).end is End.REFUSED
    bench.ledger.release(lease, close=False, reason="")
    lease = bench.take(run="run-2")
    assert bench.ledger.ask(lease, request(lease)).end is End.OPEN


def test_an_answer_that_does_not_count_is_told_and_approves_nothing(bench: Bench) -> None:
    """It stands in the audit under its own name and among no answers."""
    lease = bench.take()
    bench.ledger.ask(lease, request(lease))
    bench.ledger.refuse_answer(lease, plan_sha256="p" * 64, who="eve", answer="approve", why="eve may only read.")
    assert bench.ledger.answers("n1", lease.episode, "p" * 64) == ()
    assert bench.ledger.open_request(lease) is not None
    assert told(bench, "answer refused", "approval") == [("answer refused", "eve")]


def test_a_lease_lives_as_long_as_a_person_is_asked_and_ends_with_the_request(bench: Bench) -> None:
    """Nothing beats while a request waits; when its time is over, node and reason are given back without its run."""
    lease = bench.take()
    asked = bench.ledger.ask(lease, replace(request(lease), expires_at=START + DAY))
    bench.clock.pass_(23 * HOUR)
    assert bench.ledger.expire_requests() == bench.ledger.end_dead_leases() == ()
    assert bench.ledger.lease("n1", "run-1").token == lease.token
    bench.clock.pass_(HOUR)
    assert bench.ledger.expire_requests() == (asked.unanswered,)
    assert bench.ledger.expire_requests() == bench.ledger.end_dead_leases() == bench.ledger.stranded() == ()
    assert bench.reason() == asked.unanswered == bench.ledger.expire_request("n1", "run-1")
    assert told(bench, "approval expired") == [("approval expired", "p")]
    assert bench.ledger.nodes(["n1"])[0].episode == lease.episode
    assert bench.take(run="run-2").episode == lease.episode


def test_a_request_that_closes_ends_its_episode_when_nobody_answers(bench: Bench) -> None:
    """An admission that nobody answered leaves nothing open."""
    lease = bench.take()
    asked = bench.ledger.ask(lease, replace(request(lease), closes=True))
    assert asked.closes
    bench.clock.pass_(HOUR)
    assert [one.endswith("start admit again.") for one in bench.ledger.expire_requests()] == [True]
    assert bench.ledger.nodes(["n1"])[0].episode is None


@pytest.mark.parametrize("end", ["given back", "taken over"])
def test_what_nobody_would_hear_is_asked_no_more(bench: Bench, end: str) -> None:
    """A run that gives its node back, or loses it to another, withdraws its request; a late answer is still told."""
    lease = bench.take()
    bench.ledger.ask(lease, replace(request(lease), expires_at=START + DAY))
    if end == "given back":
        bench.ledger.release(lease, close=False, reason="a disk is full")
    bench.clock.pass_(HOUR)
    bench.take(run="run-2")
    assert bench.ledger.open_requests() == ()
    stale = replace(lease, episode=0, token="")
    bench.ledger.refuse_answer(stale, plan_sha256="", who="ada", answer="approve", why="run-2 holds n1.")
    assert told(bench, "approval withdrawn", "answer refused") == [
        ("approval withdrawn", "p"),
        ("answer refused", "ada"),
    ]
    refused = bench.ledger.history("n1")[-1]["detail"]
    assert (refused["plan_sha256"], refused["episode"]) == ("p" * 64, lease.episode)


def test_a_raised_episode_withdraws_the_request(bench: Bench) -> None:
    """A fault that joins makes the plan anew, so nobody is asked about the old one."""
    lease = bench.take(kind="sweep")
    bench.ledger.ask(lease, request(lease))
    bench.take(kind="fault")
    assert bench.ledger.open_requests() == ()
    assert told(bench, "approval replaced") == [("approval replaced", "p")]


def test_a_closed_episode_waits_for_nobody(bench: Bench) -> None:
    """What its end left unanswered is shown to nobody."""
    lease = bench.take()
    bench.ledger.ask(lease, request(lease))
    bench.ledger.release(lease, close=True, reason="")
    assert bench.ledger.open_requests() == ()


def test_a_move_needs_as_many_answers_as_the_pools_rule(bench: Bench) -> None:
    """The guard counts people by itself, whatever the procedure before it believed."""
    rule = {"default": {"people": ["ada", "bob"], "answers": 2, "expiry": timedelta(days=1)}}
    document = {"pool": "pool-a", "actions": {}, "validity": {"approval": timedelta(days=1)}, "approvals": rule}
    bench.ledger.close()
    bench.ledger = type(bench.ledger)(bench.url, bench.clock, LIFECYCLE, lambda _: Policy.from_document(document))
    lease = bench.take()
    for event, facts in (
        ("discover", {"system_id": "System_0"}),
        ("inventory", {"components": 3}),
        ("conform", {"sku": "h100-sxm-8"}),
    ):
        bench.ledger.advance(lease, event, facts)
    answer(bench, lease, "ada")
    with pytest.raises(Refused, match="2 different people approved, and 1 did"):
        bench.ledger.advance(lease, "firmware", {"firmware_set": "s"})
    answer(bench, lease, "bob")
    assert bench.ledger.advance(lease, "firmware", {"firmware_set": "s"}).to == "firmware_current"


def test_an_old_approval_serves_only_the_lease_under_which_it_was_given(bench: Bench) -> None:
    """A soak of days goes on under it; a try after it has grown old must ask again. A "no" never grows old."""
    document = {"pool": "pool-a", "actions": {}, "validity": {"approval": DAY}}
    bench.ledger.close()
    bench.ledger = type(bench.ledger)(bench.url, bench.clock, LIFECYCLE, lambda _: Policy.from_document(document))
    lease = bench.take()
    answer(bench, lease, "ada")
    answer(bench, lease, "eve", "refuse", "c")
    bench.clock.pass_(2 * DAY)
    assert bench.ledger.lease("n1", "run-1").token == lease.token
    assert [one.who for one in bench.ledger.answers("n1", lease.episode)] == ["ada", "eve"]
    bench.ledger.release(lease, close=False, reason="a pod died")
    lease = bench.take(run="run-2")
    assert [one.who for one in bench.ledger.answers("n1", lease.episode)] == ["eve"]
    answer(bench, lease, "bob")
    bench.ledger.release(lease, close=False, reason="")
    bench.clock.pass_(DAY - timedelta(seconds=1))
    bench.take(run="run-3")
    assert [one.who for one in bench.ledger.answers("n1", lease.episode)] == ["eve", "bob"]


def test_what_would_be_done_is_written_once_and_read_by_time_and_pool(bench: Bench) -> None:
    """Per episode, action and words; the report reads all nodes of a pool from a time on."""
    lease = bench.take()
    bench.ledger.import_fleet([node("n2", pool="pool-b")])
    for _ in range(2):
        bench.ledger.observe(lease, Action.DRAIN, "XID 79")
    bench.ledger.observe(lease, Action.RESET, "XID 79")
    bench.ledger.observe(bench.take("n2"), Action.DRAIN, "XID 48")

    def seen(since: timedelta, pool: str = "") -> list[tuple[str, str]]:
        return [(one.node, one.detail["action"]) for one in bench.ledger.deeds(("observed",), START + since, pool)]

    assert seen(timedelta()) == [("n1", "drain"), ("n1", "reset"), ("n2", "drain")]
    assert seen(timedelta(), "pool-b") == [("n2", "drain")]
    assert seen(timedelta(seconds=1)) == []
