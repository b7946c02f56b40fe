"""What housekeeping relies on in the ledger: signals, dead leases, orphans, outbox, notices, on both databases."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from nodeworthy.errors import Refused
from nodeworthy.evidence.verdicts import Scope, Verdict
from nodeworthy.lifecycle.upkeep import Closed, Identity, Limit, Notice, Report

from tests.contract.ledger.support import HOUR, START, Bench, judgement, node

REASON = {"reason": "seen by a test"}


def report(bench: Bench, event: str, name: str = "n1", **more: object) -> Report:
    """A report about where the node stands now."""
    since = bench.ledger.nodes([name])[0].since
    assert since is not None
    return Report(name, event, since, "housekeeping/1", facts=REASON, **more)  # type: ignore[arg-type]


def in_service(bench: Bench) -> None:
    """Bring n1 into service and close its episode."""
    lease = bench.take()
    bench.bring(lease, "standby")
    bench.admit(lease, {"boot_id": "b2"})
    bench.ledger.release(lease, close=True)


def test_every_move_is_queued_for_kubernetes(bench: Bench) -> None:
    """The newest row of the outbox names milestone and episode, and is delivered once."""
    lease = bench.take()
    assert bench.ledger.due("n1") is None
    bench.bring(lease, "conformant")
    due = bench.ledger.due("n1")
    assert due is not None
    assert (due.milestone, due.episode) == ("conformant", lease.episode)
    assert bench.ledger.standings()[0].pending
    bench.ledger.delivered({"n1": due.revision})
    assert not bench.ledger.standings()[0].pending


def test_a_boot_that_was_proven_is_the_nodes_identity(bench: Bench) -> None:
    """`provision` proves boot, machine and Node object; the validation boot before it leaves nothing behind."""
    bench.bring(bench.take(), "provisioned")
    assert bench.ledger.standings()[0].identity == Identity("b2", "m1", "u1")


def test_a_signal_opens_a_fault_episode_and_moves_the_node(bench: Bench) -> None:
    """A boot that nobody ordered, in service: suspect, both scopes void, audit whole."""
    in_service(bench)
    bench.clock.pass_(HOUR)
    moved = bench.ledger.signal(report(bench, "interrupt"))
    assert (moved.from_, moved.to) == ("in_service", "suspect")
    assert bench.ledger.qualifications("n1") == ()
    assert bench.sql("SELECT kind FROM episodes WHERE closed_at IS NULL") == [("fault",)]
    assert bench.ledger.verify_audit() == ()


def test_a_report_about_an_earlier_stay_does_nothing(bench: Bench) -> None:
    """The node went on since: the second of two runs finds its step done."""
    in_service(bench)
    bench.clock.pass_(HOUR)
    stale = report(bench, "interrupt")
    bench.ledger.signal(stale)
    assert not bench.ledger.signal(stale).changed
    assert bench.milestone() == "suspect"


def test_two_runs_that_report_at_once_move_the_node_once(bench: Bench) -> None:
    """Whatever the order, there is one transition."""
    in_service(bench)
    bench.clock.pass_(HOUR)
    said = report(bench, "interrupt")
    ledgers = [bench.another() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        moves = list(pool.map(lambda ledger: ledger.signal(said).changed, ledgers))
    for ledger in ledgers:
        ledger.close()
    assert sorted(moves) == [False, False, False, True]
    assert bench.sql("SELECT count(*) FROM transitions WHERE event = 'interrupt'") == [(1,)]


def test_a_signal_waits_for_a_live_run_unless_it_may_overtake(bench: Bench) -> None:
    """A deadline waits; a lost boot in service does not."""
    in_service(bench)
    bench.take(run="run-2")
    bench.clock.pass_(timedelta(minutes=1))
    with pytest.raises(Refused, match=r"held by run-2 .* waits for that run"):
        bench.ledger.signal(report(bench, "interrupt"))
    assert bench.ledger.signal(report(bench, "interrupt", overtakes=True)).to == "suspect"


def test_a_signal_does_nothing_that_needs_approval(bench: Bench) -> None:
    """`retire` cannot be undone: no clock and no reading starts it. No episode is left behind."""
    bench.take()
    bench.ledger.release(bench.take(), close=True)
    with pytest.raises(Refused, match="needs the approval `retire`"):
        bench.ledger.signal(report(bench, "retire"))
    assert bench.sql("SELECT count(*) FROM episodes WHERE closed_at IS NULL") == [(0,)]


def test_a_refused_signal_leaves_no_episode(bench: Bench) -> None:
    """An event that leads nowhere from here opens nothing."""
    in_service(bench)
    with pytest.raises(Refused, match="starts from"):
        bench.ledger.signal(report(bench, "retest"))
    assert bench.sql("SELECT count(*) FROM episodes WHERE closed_at IS NULL") == [(0,)]


def test_overdue_nodes_are_found_by_sku(bench: Bench) -> None:
    """A SKU with its own limit is measured by that alone; at the limit counts as beyond."""
    for name, sku in (("a1", "h100-sxm-8"), ("b1", "big-memory")):
        bench.ledger.import_fleet([node(name, sku=sku)])
    limits = [
        Limit("declared", START - HOUR, "big-memory"),
        Limit("declared", START, other_than=frozenset({"big-memory"})),
    ]
    assert [one.name for one in bench.ledger.overdue(limits)] == ["a1"]
    assert [one.name for one in bench.ledger.overdue([Limit("declared", START)])] == ["a1", "b1"]
    assert [one.name for one in bench.ledger.overdue([Limit("declared", START, pool="pool-a")])] == ["a1", "b1"]
    elsewhere = [
        Limit("declared", START, pool="pool-b"),
        Limit("declared", START, other_pools=frozenset({"pool-a"})),
    ]
    assert bench.ledger.overdue(elsewhere) == ()
    assert bench.ledger.pools() == ("pool-a",)


def test_a_dead_lease_is_ended_once_and_a_living_one_never(bench: Bench) -> None:
    """An hour of silence; the node stays in its episode until somebody takes it up."""
    bench.take()
    assert bench.ledger.end_dead_leases() == ()
    bench.clock.pass_(HOUR)
    (dead,) = bench.ledger.end_dead_leases()
    assert (dead.node, dead.run) == ("n1", "run-1")
    assert bench.ledger.end_dead_leases() == ()
    assert [one.run for one in bench.ledger.stranded()] == ["run-1"]
    bench.take(run="run-2")
    assert bench.ledger.stranded() == ()
    assert bench.ledger.verify_audit() == ()


def test_an_orphan_is_settled_once_and_never_under_a_live_lease(bench: Bench) -> None:
    """While the lease lives its effects are the holder's; afterwards the first outcome stands."""
    lease = bench.take()
    effect = bench.ledger.intend(lease, "reset", "provision/1", {"boot_id": "b1"})
    assert bench.ledger.orphans() == ()
    with pytest.raises(Refused, match="run-1's to settle"):
        bench.ledger.settle_orphan(effect, "failed", {}, run="housekeeping/1")
    bench.clock.pass_(HOUR)
    (orphan,) = bench.ledger.orphans()
    assert (orphan.effect.id, orphan.node.name, orphan.milestone) == (effect.id, "n1", "declared")
    bench.ledger.settle_orphan(effect, "proven", {"boot_id": "b2"}, run="housekeeping/1")
    bench.ledger.settle_orphan(effect, "proven", {"boot_id": "b2"}, run="housekeeping/2")
    with pytest.raises(Refused, match="proven already and cannot become failed"):
        bench.ledger.settle_orphan(effect, "failed", {}, run="housekeeping/2")
    assert bench.ledger.orphans() == ()
    assert bench.ledger.standings() == ()
    assert bench.ledger.verify_audit() == ()


def test_an_unknown_outcome_waits_for_a_person_until_the_work_went_on(bench: Bench) -> None:
    """A later attempt of the same step is that person's decision."""
    lease = bench.take()
    effect = bench.ledger.intend(lease, "reset", "provision/1", {})
    bench.ledger.settle(lease, effect, "unknown", {})
    assert [one.effect.id for one in bench.ledger.undecided()] == [effect.id]
    bench.ledger.intend(lease, "reset", "firmware/1", {})
    assert len(bench.ledger.undecided()) == 1
    bench.ledger.intend(lease, "reset", "provision/2", {})
    assert bench.ledger.undecided() == ()


def test_a_boot_under_way_and_a_boot_that_was_ordered_are_told_apart(bench: Bench) -> None:
    """Deleted object: booting. Proven reset: its boot id is ours, and the deletion is explained."""
    lease = bench.take()
    bench.bring(lease, "validation_booted")
    deleted = bench.ledger.intend(lease, "node-delete", "provision/1", {"uid": "u1"})
    bench.ledger.settle(lease, deleted, "proven", {"gone": "u1"})
    assert bench.ledger.standings()[0].booting
    reset = bench.ledger.intend(lease, "reset", "provision/1", {"boot_id": "b1"})
    bench.ledger.settle(lease, reset, "proven", {"boot_id": "b9"})
    one = bench.ledger.standings()[0]
    assert not one.booting
    assert one.ordered_boots == {"b9"}


def test_a_node_object_that_is_new_is_told_its_milestone_again(bench: Bench) -> None:
    """The same boot under another uid: bound, queued and audited; learning a field for the first time is not."""
    in_service(bench)
    due = bench.ledger.due("n1")
    assert due is not None
    bench.ledger.delivered({"n1": due.revision})
    bench.ledger.bind({"N1": Identity("b2", "m1", "u1", "uuid-1")}, "first seen")
    assert not bench.ledger.standings()[0].pending
    bench.ledger.bind({"N1": Identity("b2", "m1", "u2", "uuid-1")}, "recreated")
    one = bench.ledger.standings()[0]
    assert one.pending
    assert one.identity == Identity("b2", "m1", "u2", "uuid-1")
    assert bench.ledger.history("n1")[-1]["action"] == "identity"
    assert bench.ledger.verify_audit() == ()


def test_a_reading_older_than_a_proven_boot_changes_nothing(bench: Bench) -> None:
    """A run proved another boot between the look and the write."""
    in_service(bench)
    bench.ledger.bind({"N1": Identity("b1", "m0", "u0", "")}, "late")
    assert bench.ledger.standings()[0].identity == Identity("b2", "m1", "u1")


def test_a_notice_is_raised_once_and_cleared_with_its_cause(bench: Bench) -> None:
    """The second run finds it open; after it was cleared it may come again."""
    bench.take()
    one = Notice("drift", "N1:isolation-undone", "put right", "n1")
    fleet = Notice("drift", "fleet:node-gone", "nobody is there")
    assert len(bench.ledger.raise_notices([one, fleet, one])) == 2
    assert bench.ledger.raise_notices([one, fleet]) == ()
    assert [notice.key for notice in bench.ledger.notices("n1")] == ["N1:isolation-undone"]
    assert bench.ledger.clear_notices("drift", {"fleet:node-gone"}, "gone") == 1
    assert bench.ledger.clear_notices("deadline", (), "gone") == 0
    assert [notice.key for notice in bench.ledger.notices()] == ["fleet:node-gone"]
    assert len(bench.ledger.raise_notices([one])) == 1
    assert bench.ledger.verify_audit() == ()


def test_notices_from_many_runs_at_once_are_raised_once(bench: Bench) -> None:
    """Four runs find the same: one notice, one audit row."""
    bench.take()
    ledgers = [bench.another() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        raised = list(pool.map(lambda each: len(each.raise_notices([Notice("k", "x", "s", "n1")])), ledgers))
    for ledger in ledgers:
        ledger.close()
    assert sum(raised) == 1
    assert bench.ledger.verify_audit() == ()


def test_a_duty_is_claimed_once_per_period(bench: Bench) -> None:
    """The first claims; within the period nobody else does."""
    assert bench.ledger.claim_chore("retention", HOUR)
    assert not bench.another().claim_chore("retention", HOUR)
    assert bench.ledger.claim_chore("audit", HOUR)
    bench.clock.pass_(HOUR)
    assert bench.ledger.claim_chore("retention", HOUR)


def test_what_a_valid_qualification_rests_on_is_needed(bench: Bench) -> None:
    """Until it expires, its episode's evidence is; afterwards only its age counts."""
    lease = bench.take()
    bench.bring(lease, "standby")
    bench.ledger.release(lease, close=True)
    bench.clock.pass_(timedelta(days=29))
    assert bench.ledger.needed_episodes() == {("N1", lease.episode)}
    bench.clock.pass_(timedelta(days=2))
    assert bench.ledger.needed_episodes() == frozenset()
    assert bench.ledger.closed_episodes(timedelta(days=32)) == {}
    closed = {("N1", lease.episode): Closed(timedelta(days=31), "pass")}
    assert bench.ledger.closed_episodes(timedelta(days=30)) == closed


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [((Verdict.PASS,), "pass"), ((Verdict.FAIL, Verdict.PASS), "fail"), ((Verdict.INCOMPLETE,), "other")],
)
def test_an_episode_is_known_by_what_it_ended_with(bench: Bench, verdicts: Sequence[Verdict], outcome: str) -> None:
    """One failing verdict makes it an episode of a failure, whatever passed after it."""
    lease = bench.take()
    for verdict in verdicts:
        bench.ledger.record_judgement(lease, judgement(lease, Scope.HARDWARE, verdict), None)
    bench.ledger.release(lease, close=True, reason="done")
    bench.clock.pass_(timedelta(days=2))
    (closed,) = bench.ledger.closed_episodes(timedelta(days=1)).values()
    assert closed.outcome == outcome


def test_an_episode_that_sent_a_node_to_its_vendor_is_an_rma(bench: Bench) -> None:
    """The lifecycle says which moves those are: the ones that need the approval `rma`."""
    lease = bench.take()
    bench.bring(lease, "validation_booted")
    bench.ledger.record_judgement(lease, judgement(lease, Scope.HARDWARE, Verdict.FAIL), None)
    bench.ledger.advance(lease, "quarantine", {"reason": "slow"})
    bench.ledger.record_approval(lease, plan_sha256="r", who="ada", answer="approve", why="broken")
    bench.approve(lease)
    bench.ledger.advance(lease, "flag_for_rma", {"reason": "broken"})
    bench.ledger.release(lease, close=True, reason="sent")
    bench.clock.pass_(timedelta(days=2))
    assert [one.outcome for one in bench.ledger.closed_episodes(timedelta(days=1)).values()] == ["rma"]
