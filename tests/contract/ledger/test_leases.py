"""Episodes and leases: one open episode, one holder, and a token that stops everybody else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa
from nodeworthy.errors import Refused
from nodeworthy.evidence.inventory import Inventory
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.records import Answer, Effect, Lease

from tests.contract.ledger.support import HOUR, START, Bench, judgement, node, reference, result

FENCED: dict[str, Callable[[Bench, Lease], object]] = {
    "advance": lambda b, lease: b.ledger.advance(lease, "discover", {"system_id": "1"}),
    "intend": lambda b, lease: b.ledger.intend(lease, "reset", "k", {}),
    "settle": lambda b, lease: b.ledger.settle(
        lease, Effect("fx", "n1", lease.episode, "reset", "k", "intended", START, {}, {}), "proven", {}
    ),
    "nonce": lambda b, lease: b.ledger.nonce(lease, "attest"),
    "renew nonce": lambda b, lease: b.ledger.renew_nonce(lease, "attest"),
    "inventory": lambda b, lease: b.ledger.record_inventory(lease, Inventory("S", "", "", "", (), ()), reference("i")),
    "result": lambda b, lease: b.ledger.record_result(lease, result(lease)),
    "judgement": lambda b, lease: b.ledger.record_judgement(lease, judgement(lease, Scope.HARDWARE), None),
    "void": lambda b, lease: b.ledger.void_qualifications(lease, Scope.HARDWARE, "why"),
    "certificate": lambda b, lease: b.ledger.record_certificate(lease, reference("c"), START + HOUR),
    "approval": lambda b, lease: b.ledger.record_approval(lease, plan_sha256="p", who="a", answer="approve", why=""),
    "refuse": lambda b, lease: b.ledger.refuse(lease, "why"),
}


def test_the_same_run_gets_its_lease_again(bench: Bench) -> None:
    """Asked twice, a run holds one lease of one episode, renewed."""
    first = bench.take()
    bench.clock.pass_(timedelta(minutes=30))
    again = bench.take()
    assert again == replace(first, expires=START + timedelta(minutes=90))
    assert bench.ledger.lease("n1", "run-1").token == first.token


def test_another_run_is_refused_by_name_and_time(bench: Bench) -> None:
    """Whoever comes second learns who holds the node until when."""
    bench.take()
    with pytest.raises(Refused, match="n1 is held by run-1 until 2026-12-01 09:00:00 UTC"):
        bench.take(run="run-2")
    assert bench.ledger.nodes(["n1"])[0].run == "run-1"


def test_an_expired_lease_is_taken_over_in_the_open(bench: Bench) -> None:
    """The episode goes on under a new token, and the audit tells who took it from whom."""
    old = bench.take()
    bench.clock.pass_(HOUR)
    new = bench.take(run="run-2")
    assert new.episode == old.episode
    assert new.token != old.token
    taken = [row["detail"] for row in bench.ledger.history("n1") if row["action"] == "lease taken over"]
    assert [(row["from"], row["to"]) for row in taken] == [("run-1", "run-2")]
    with pytest.raises(Refused, match="run-1 does not hold n1, run-2 does"):
        bench.ledger.lease("n1", "run-1")


def test_an_expired_lease_that_nobody_took_is_renewed(bench: Bench) -> None:
    """A task that slept past its lease goes on, if nobody else came."""
    old = bench.take()
    bench.clock.pass_(3 * HOUR)
    assert bench.ledger.lease("n1", "run-1") == replace(old, expires=START + 4 * HOUR)


@pytest.mark.parametrize("write", FENCED.values(), ids=FENCED.keys())
@pytest.mark.parametrize("end", ["taken over", "expired", "given back", "closed", "forged"])
def test_a_stale_lease_writes_nothing(bench: Bench, write: Callable[[Bench, Lease], object], end: str) -> None:
    """Every write is refused, and leaves no trace, when its lease is not the live one of the open episode."""
    lease = bench.take()
    match end:
        case "taken over":
            bench.clock.pass_(HOUR)
            bench.take(run="run-2")
        case "expired":
            bench.clock.pass_(HOUR)
        case "given back":
            bench.ledger.release(lease, close=False, reason="")
        case "closed":
            bench.ledger.release(lease, close=True, reason="")
        case _:
            lease = replace(lease, token="0" * 64)
    before = bench.ledger.history("n1")
    with pytest.raises(Refused, match="n1"):
        write(bench, lease)
    assert bench.ledger.history("n1") == before


def test_a_closed_episode_is_followed_by_a_higher_number(bench: Bench) -> None:
    """Episode numbers only grow, so that an old one never fits a new one."""
    first = bench.take()
    bench.ledger.release(first, close=True, reason="")
    assert bench.ledger.nodes(["n1"])[0].episode is None
    second = bench.take()
    assert second.episode > first.episode


def test_an_open_episode_goes_on_with_the_next_run(bench: Bench) -> None:
    """A lease that was given back without an end leaves the episode to the next run."""
    first = bench.take()
    bench.ledger.release(first, close=False, reason="no firmware for BIOS_0")
    assert bench.reason() == "no firmware for BIOS_0"
    assert bench.take(run="run-2").episode == first.episode


def test_release_is_idempotent_and_harmless_when_late(bench: Bench) -> None:
    """A second release, and one by a run that lost its lease, change nothing."""
    old = bench.take()
    bench.ledger.release(old, close=False, reason="first")
    new = bench.take(run="run-2")
    bench.ledger.release(old, close=True, reason="late")
    assert bench.reason() == "first"
    assert bench.ledger.lease("n1", "run-2").token == new.token


def test_a_higher_class_raises_the_episode_and_voids_its_approvals(bench: Bench) -> None:
    """A fault that joins onboarding voids its approvals, for the plan must be made anew; a sweep changes nothing."""
    lease = bench.take()
    bench.ledger.record_approval(lease, plan_sha256="p1", who="ada", answer="approve", why="")
    bench.take(kind="sweep")
    assert bench.ledger.answers("n1", lease.episode, "p1") == (Answer("p1", "ada", "approve", ""),)
    assert bench.take(kind="fault").episode == lease.episode
    assert bench.ledger.answers("n1", lease.episode, "p1") == ()


def test_unknown_words_are_refused(bench: Bench) -> None:
    """An unknown node and an unknown class are refused with what to do."""
    with pytest.raises(Refused, match="knows no node nx"):
        bench.ledger.open_episode("nx", kind="onboarding", run="r", lifetime=HOUR)
    bench.ledger.import_fleet([node("n1")])
    with pytest.raises(Refused, match=r"no episode of the class party: use one of sweep, .*decommission"):
        bench.take(kind="party")


def test_a_retired_node_gets_no_episode(bench: Bench) -> None:
    """No work is done on a node at its end."""
    lease = bench.take()
    bench.approve(lease)
    bench.ledger.advance(lease, "retire", {"reason": "sold"})
    bench.ledger.release(lease, close=True, reason="")
    with pytest.raises(Refused, match="n1 is retired"):
        bench.take()


def test_a_run_is_remembered_by_its_nodes(bench: Bench) -> None:
    """Which nodes a run ever held is known afterwards, also by the run's id without its DAG."""
    for name in ("n2", "n1"):
        bench.ledger.release(bench.take(name, run="bring_up/manual_1"), close=True, reason="")
    assert bench.ledger.run_nodes("bring_up/manual_1") == ("n1", "n2")
    assert bench.ledger.run_nodes("manual_1") == ("n1", "n2")
    assert bench.ledger.run_nodes("manual_") == ()


def test_a_run_that_beats_keeps_all_of_its_leases(bench: Bench) -> None:
    """Whichever of its tasks waits renews every node of the run, and no other run's; a young heartbeat is enough."""
    first, second, other = bench.take("n1"), bench.take("n2"), bench.take("n3", run="run-2")
    bench.clock.pass_(timedelta(minutes=5))
    assert bench.ledger.beat("run-1") == 0
    for _ in range(6):
        bench.clock.pass_(timedelta(minutes=30))
        assert bench.ledger.beat("run-1") == 2
    for lease in (first, second):
        bench.ledger.advance(lease, "discover", {"system_id": "1"})
    with pytest.raises(Refused, match="the lease of run-2 expired at 09:00:00 UTC"):
        bench.ledger.advance(other, "discover", {"system_id": "1"})


def test_no_heartbeat_brings_an_expired_lease_back(bench: Bench) -> None:
    """What expired may be somebody else's next: it is ended or taken over, never renewed."""
    bench.take()
    bench.clock.pass_(HOUR)
    assert bench.ledger.beat("run-1") == 0
    new = bench.take(run="run-2")
    bench.clock.pass_(timedelta(minutes=30))
    assert bench.ledger.beat("run-1") == 0
    assert bench.ledger.lease("n1", "run-2").token == new.token


def test_a_heartbeat_waits_for_no_transaction(bench: Bench) -> None:
    """A lease that is being written to is left to whoever does that."""
    if bench.url.startswith("sqlite"):
        pytest.skip("on SQLite writers stand in one line")
    bench.take("n1")
    bench.take("n2")
    bench.clock.pass_(timedelta(minutes=30))
    engine = sa.create_engine(bench.url)
    with engine.begin() as connection:
        connection.execute(sa.text("SELECT * FROM leases WHERE node = 'N1' FOR UPDATE"))
        assert bench.ledger.beat("run-1") == 1
    engine.dispose()
