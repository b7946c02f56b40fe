"""Absences and budgets in the ledger: taken with the intent, counted in every group, given back only by proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest
from nodeworthy.adapters.ledger_sql import SqlLedger, upgrade
from nodeworthy.errors import Refused
from nodeworthy.lifecycle.brake import BrakeRules
from nodeworthy.lifecycle.policy import Action, Policy
from nodeworthy.lifecycle.records import Hold, Lease
from nodeworthy.procedures.watch import watch

from benchmarks.budget_fight import arena, fight
from tests.contract.ledger.support import HOUR, LIFECYCLE, Bench, node

ACTIONS = {"drain": "auto", "reset": "auto", "firmware": "auto", "reimage": "auto", "admit": "approve"}
DRAIN = (Action.DRAIN, "maintenance")


def opened(bench: Bench, **sections: Any) -> SqlLedger:
    """Open the bench's ledger with one policy for all pools."""
    document = {"pool": "pool-a", "actions": ACTIONS, **sections}
    bench.ledger.close()
    bench.ledger = SqlLedger(bench.url, bench.clock, LIFECYCLE, lambda pool: Policy.from_document(document))
    return bench.ledger


def serving(bench: Bench, *names: str, **more: Any) -> Mapping[str, Lease]:
    """Bring nodes into service and return their leases."""
    bench.ledger.import_fleet([node(name, **more) for name in names])
    leases = {name: bench.take(name) for name in names}
    for lease in leases.values():
        bench.bring(lease, "standby")
        bench.admit(lease)
    return leases


def test_the_third_of_two_is_refused_with_who_is_out(bench: Bench) -> None:
    """A fault and a maintenance fill a budget of two; the third learns why, word for word, and nothing is intended."""
    ledger = opened(bench, budgets={"pool": 2})
    leases = serving(bench, "node-3", "node-7", "node-9")
    ledger.advance(leases["node-3"], "suspect", {"reason": "Xid 79"})
    bench.clock.pass_(timedelta(minutes=38))
    assert ledger.intend(leases["node-7"], "drain", "drain/1", {}, absence=DRAIN).fresh
    with pytest.raises(Refused) as refused:
        ledger.intend(leases["node-9"], "drain", "drain/1", {}, absence=DRAIN)
    reason = (
        "not drained: pool pool-a has 2 of 2 nodes out of service "
        "(node-3 since 08:00 for Xid 79, node-7 since 08:38 for maintenance)."
    )
    assert refused.value.sentence == f"node-9: {reason}"
    assert bench.reason("node-9") == reason
    assert [effect.kind for effect in ledger.effects("node-9")] == []
    assert [(one.node, one.voluntary) for one in ledger.absences("pool-a")] == [("node-3", False), ("node-7", True)]
    assert ledger.verify_audit() == ()


def test_the_same_refusal_again_is_not_told_again(bench: Bench) -> None:
    """A procedure that asks every minute leaves one audit row per reason."""
    ledger = opened(bench, budgets={"pool": 0})
    lease = serving(bench, "n1")["n1"]
    for _ in range(3):
        with pytest.raises(Refused, match="lets none out voluntarily"):
            ledger.take_absence(lease, *DRAIN)
    assert [row["action"] for row in ledger.history("n1")].count("refused") == 1


@pytest.mark.parametrize(
    ("dimension", "shared"),
    [("rack", {"rack": "r1"}), ("tenant", {"tenant": "t"}), ("fabric_domain", {"fabric_domain": "f"})],
)
def test_every_group_has_its_own_budget(bench: Bench, dimension: str, shared: dict[str, str]) -> None:
    """Room in the pool does not help a full rack, tenant or fabric domain."""
    ledger = opened(bench, budgets={"pool": 9, dimension: 1})
    leases = serving(bench, "n1", "n2", **shared)
    ledger.take_absence(leases["n1"], *DRAIN)
    with pytest.raises(Refused, match=f"{dimension.replace('_', ' ')} {next(iter(shared.values()))} has 1 of 1"):
        ledger.take_absence(leases["n2"], *DRAIN)


def test_onboarding_and_standby_take_nothing(bench: Bench) -> None:
    """A node that does not serve yet is no absence, whatever is done to it."""
    ledger = opened(bench, budgets={"pool": 0})
    lease = bench.take("n1")
    assert ledger.take_absence(lease, Action.FIRMWARE, "bring-up") is None
    bench.bring(lease, "standby")
    assert ledger.intend(lease, "reset", "x/1", {}, absence=(Action.RESET, "bring-up")).fresh
    assert ledger.absences() == ()


def test_isolation_needs_no_budget_and_counts(bench: Bench) -> None:
    """Three faults in a budget of none isolate, drain as faults do, and stand as three of none."""
    ledger = opened(bench, budgets={"pool": 0})
    leases = serving(bench, "n1", "n2", "n3")
    for lease in leases.values():
        ledger.advance(lease, "suspect", {"reason": "Xid 79"})
        ledger.advance(lease, "isolate", {"reason": "Xid 79"})
    assert ledger.take_absence(leases["n1"], *DRAIN) == ledger.absences()[0]
    ledger.record_approval(leases["n1"], plan_sha256="d" * 64, who="ada", answer="approve", why="")
    assert ledger.advance(leases["n1"], "drain", {"reason": "Xid 79"}).to == "drained"
    assert len(ledger.absences()) == 3
    assert ledger.room("n1") == {"pool pool-a": 0}


def test_a_lease_that_dies_gives_nothing_back(bench: Bench) -> None:
    """The node stays absent when its run expires; whoever comes next finds the same absence."""
    ledger = opened(bench, budgets={"pool": 1})
    leases = serving(bench, "n1", "n2")
    first = ledger.take_absence(leases["n1"], *DRAIN)
    bench.clock.pass_(HOUR * 2)
    second = ledger.open_episode("n2", kind="maintenance", run="run-2", lifetime=HOUR)
    with pytest.raises(Refused, match="n1 since 08:00 for maintenance"):
        ledger.take_absence(second, *DRAIN)
    heir = ledger.open_episode("n1", kind="maintenance", run="run-3", lifetime=HOUR)
    assert ledger.take_absence(heir, *DRAIN) == first


def test_only_proof_or_service_ends_an_absence(bench: Bench) -> None:
    """A node that never left is given back with proof; a node in maintenance when it is admitted again."""
    ledger = opened(bench, budgets={"pool": 1})
    lease = serving(bench, "n1")["n1"]
    ledger.take_absence(lease, *DRAIN)
    with pytest.raises(Refused, match="with a proof"):
        ledger.return_absence(lease, {})
    ledger.return_absence(lease, {"ready": True, "taints": []})
    assert ledger.absences() == ()
    ledger.take_absence(lease, *DRAIN)
    ledger.advance(lease, "begin_maintenance", {"reason": "new PSU"})
    with pytest.raises(Refused, match="in_maintenance: its absence ends when"):
        ledger.return_absence(lease, {"ready": True})
    ledger.advance(lease, "end_maintenance", {})
    assert [one.why for one in ledger.absences()] == ["maintenance"]
    bench.approve(lease)
    ledger.advance(lease, "admit", {})
    assert ledger.absences() == ()
    ended = [row["detail"] for row in ledger.history("n1") if row["action"] == "absence ended"]
    assert [row["how"] for row in ended] == ["back", "back"]


def test_a_replacement_makes_room_once(bench: Bench) -> None:
    """A spare that was admitted ends one absence, not two, and only a serving one of the same pool does."""
    ledger = opened(bench, budgets={"pool": 5})
    leases = serving(bench, "n1", "n2")
    spare = bench.take("n3")
    for lease in leases.values():
        ledger.take_absence(lease, *DRAIN)
    with pytest.raises(Refused, match="n3 is declared and replaces nobody"):
        ledger.replace_absence("n1", by="n3", who="ada", why="the spare serves")
    bench.bring(spare, "standby")
    bench.approve(spare)
    ledger.advance(spare, "admit", {})
    ledger.replace_absence("n1", by="n3", who="ada", why="the spare serves")
    assert [one.node for one in ledger.absences()] == ["n2"]
    with pytest.raises(Refused, match="replaces the node with the serial N1 already"):
        ledger.replace_absence("n2", by="n3", who="ada", why="the spare serves")
    with pytest.raises(Refused, match="n1 has no absence"):
        ledger.replace_absence("n1", by="n3", who="ada", why="the spare serves")


def test_a_move_without_a_taken_absence_asks_and_takes(bench: Bench) -> None:
    """`begin_maintenance` is refused without room, and takes its absence itself where there is room."""
    ledger = opened(bench, budgets={"pool": 1})
    leases = serving(bench, "n1", "n2")
    assert ledger.advance(leases["n1"], "begin_maintenance", {"reason": "recabling"}).to == "in_maintenance"
    assert [(one.node, one.voluntary, one.why) for one in ledger.absences()] == [("n1", True, "recabling")]
    with pytest.raises(Refused, match=r"n2: not drained: pool pool-a has 1 of 1 nodes out of service \(n1 since 08:00"):
        ledger.advance(leases["n2"], "begin_maintenance", {"reason": "recabling"})


def _observe(bench: Bench, _: Lease) -> None:
    opened(bench, actions={**ACTIONS, "drain": "observe"}, budgets={"pool": 9})


def _hold(bench: Bench, lease: Lease) -> None:
    bench.ledger.hold(Hold(lease.node, "ada", "cabling", None, "automation"))


def _close(bench: Bench, _: Lease) -> None:
    row = {"rule": "FREQ=WEEKLY;BYDAY=SU", "from": "2026-12-06T02:00", "lasts": "PT4H"}
    opened(bench, budgets={"pool": 9}, windows={"time_zone": "UTC", "open": [row]})


def _close_soon(bench: Bench, _: Lease) -> None:
    row = {"rule": "FREQ=DAILY", "from": "2026-12-01T07:00", "lasts": "PT1H20M"}
    windows = {"time_zone": "UTC", "open": [row], "takes": {"drain": "PT30M"}}
    opened(bench, budgets={"pool": 9}, windows=windows)


@pytest.mark.parametrize(
    ("hinder", "words"),
    [
        (_observe, "only observes drain"),
        (_hold, "held by ada"),
        (_close, "no maintenance window is open: the next window opens at 2026-12-06 02:00 UTC"),
        (_close_soon, "take 30 minutes and the time for it ends at 2026-12-01 08:20 UTC: the next .* 2026-12-02 07:00"),
    ],
    ids=["observed", "held", "closed", "closing"],
)
def test_policy_hold_and_calendar_are_asked_first(
    bench: Bench, hinder: Callable[[Bench, Lease], None], words: str
) -> None:
    """Room alone is not enough; each hindrance has its words."""
    opened(bench, budgets={"pool": 9})
    lease = serving(bench, "n1")["n1"]
    hinder(bench, lease)
    with pytest.raises(Refused, match=words):
        bench.ledger.take_absence(lease, *DRAIN)
    assert bench.ledger.absences() == ()


def test_without_policies_nothing_voluntary_begins(bench: Bench) -> None:
    """A ledger that was opened without policies isolates, and refuses the rest."""
    lease = serving(bench, "n1")["n1"]
    with pytest.raises(Refused, match="no policy is known"):
        bench.ledger.take_absence(lease, *DRAIN)
    assert bench.ledger.advance(lease, "suspect", {"reason": "Xid 79"}).changed


def test_a_ledger_that_is_upgraded_knows_who_is_out(empty_url: str) -> None:
    """Nodes that left service before there were absences are counted as involuntary; who is back or retired is not."""
    upgrade(empty_url, "0001")
    bench = Bench(empty_url)
    lives = {
        "out": ("cordoned", [("standby", "in_service"), ("in_service", "suspect"), ("suspect", "cordoned")]),
        "back": ("in_service", [("in_service", "suspect"), ("suspect", "in_service")]),
        "young": ("quarantined", [("standby", "quarantined")]),
        "old": ("retired", [("in_service", "in_maintenance"), ("in_maintenance", "retired")]),
    }
    for number, (name, (milestone, moves)) in enumerate(lives.items(), 1):
        bench.sql(
            "INSERT INTO nodes (serial, name, sku, pool, rack, position, batch, tenant, fabric_domain, bmc, cabling,"
            " milestone, since, row_version, reason, audit_sequence, audit_head) VALUES (:n, :n, 's', 'pool-a', 'r', 1,"
            " '', '', '', '{\"address\": \"a\"}', '[]', :m, '2026-12-01 08:00:00', 1, '', 0, '')",
            n=name,
            m=milestone,
        )
        bench.sql(
            "INSERT INTO episodes (id, node, kind, opened_at) VALUES (:i, :n, 'fault', '2026-12-01 08:00:00')",
            i=number,
            n=name,
        )
        for from_, to in moves:
            bench.sql(
                "INSERT INTO transitions (node, episode, event, from_milestone, to_milestone, facts, voids, at)"
                " VALUES (:n, :i, 'moved', :f, :t, '{}', '[]', '2026-12-01 08:00:00')",
                n=name,
                i=number,
                f=from_,
                t=to,
            )
    upgrade(empty_url)
    assert [(one.node, one.voluntary) for one in bench.ledger.absences()] == [("out", False)]
    bench.ledger.close()


BRAKE = {
    "window": "PT1H",
    "together": "PT2M",
    "gpu_days_per_fault": 2111,
    "gpus_per_node": 8,
    "tolerated_factor": 4,
    "false_trips_per_month": 0.01,
    "at_least": 3,
    "clear_after": "PT4H",
}


def _rack_fails(bench: Bench) -> Mapping[str, Lease]:
    """Put four racks of 16 into service, past the ledger because it is quicker, and let four nodes of one rack fail."""
    racked = {f"r{rack}-{place:02}": f"r{rack}" for rack in range(6, 10) for place in range(16)}
    bench.ledger.import_fleet([node(name, rack=rack) for name, rack in racked.items()])
    bench.sql("UPDATE nodes SET milestone = 'in_service'")
    leases = {name: bench.take(name) for name in ("r7-00", "r7-01", "r7-02", "r7-03", "r7-04", "r8-00")}
    for name in ("r7-00", "r7-01", "r7-02", "r7-03"):
        bench.ledger.advance(leases[name], "suspect", {"reason": "power"})
        bench.clock.pass_(timedelta(minutes=5))
    return leases


def test_a_rack_that_fails_holds_all_voluntary_work(bench: Bench) -> None:
    """Even before an evaluation wrote the incident down, a drain elsewhere is refused and names the rack."""
    ledger = opened(bench, budgets={"pool": "100%"}, brake=BRAKE)
    leases = _rack_fails(bench)
    with pytest.raises(Refused, match=r"r8-00: not drained: the brake is on since .* 4 of 16 nodes of rack r7 became"):
        ledger.take_absence(leases["r8-00"], *DRAIN)
    said: list[str] = []
    assert watch(ledger, said.append) == "The brake is on for rack r7 (incident 1): voluntary work waits."
    assert said[0].startswith("Incident 1 opened: 4 of 16 nodes of rack r7 became suspect")
    (incident,) = ledger.brake_state()
    assert (incident.cause.words, incident.nodes) == ("rack r7", ("r7-00", "r7-01", "r7-02", "r7-03"))
    assert ledger.evaluate_brake() == ledger.brake_state() == (incident,)
    assert ledger.advance(leases["r7-04"], "suspect", {"reason": "power"}).changed
    assert ledger.evaluate_brake()[0].nodes[-1] == "r7-04"
    told = [row["detail"]["incident"] for row in ledger.history("r7-04") if row["action"] == "incident extended"]
    assert told == [incident.number]


def test_an_incident_ends_by_itself(bench: Bench) -> None:
    """After four quiet hours the brake lets go; nobody has to remember it."""
    ledger = opened(bench, budgets={"pool": "100%"}, brake=BRAKE)
    _rack_fails(bench)
    assert len(ledger.evaluate_brake()) == 1
    bench.clock.pass_(HOUR * 5)
    said: list[str] = []
    assert watch(ledger, said.append).startswith("The brake is off")
    assert said == ["Incident 1 (rack r7) has ended."]
    told = [row["detail"] for row in ledger.history("r7-00") if row["action"] == "incident cleared"]
    assert [(row["who"], row["why"]) for row in told] == [("brake", "no new suspect since 2026-12-01 08:15 UTC")]


def test_a_person_ends_an_incident_and_it_stays_ended(bench: Bench) -> None:
    """The suspects that a person has looked at trip nothing again; a new one alone does not either."""
    ledger = opened(bench, budgets={"pool": "100%"}, brake=BRAKE)
    leases = _rack_fails(bench)
    (incident,) = ledger.evaluate_brake()
    ledger.clear_incident(incident.number, who="ada", why="the PDU was switched off by hand")
    assert ledger.evaluate_brake() == ()
    assert ledger.take_absence(leases["r8-00"], *DRAIN) is not None
    with pytest.raises(Refused, match="no incident 99"):
        ledger.clear_incident(99, who="ada", why="")


def test_the_rules_of_the_bench_are_the_shipped_ones() -> None:
    """The brake's figures here are read by the product's own reader."""
    assert BrakeRules.from_document(BRAKE).node_days_per_fault == pytest.approx(65.96875)


@pytest.mark.parametrize("seconds", [6.0, pytest.param(60.0, marks=pytest.mark.long)], ids=["seconds", "a minute"])
def test_sixteen_processes_never_take_more_than_three(bench: Bench, seconds: float) -> None:
    """Over 200 nodes with a budget of three: never more out at once, nobody stuck, the audit holds."""
    arena(bench.url, 200, 3)
    found = fight(bench.url, seconds=seconds)
    assert found.most_out <= 3
    assert found.busy == 0
    assert found.taken > 3
    assert found.refused > 0
    assert bench.ledger.absences() == ()
    assert [problem for problem in bench.ledger.verify_audit() if "moved past the ledger" not in problem] == []
