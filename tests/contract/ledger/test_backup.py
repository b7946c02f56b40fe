"""A ledger is backed up as one moment and comes back whole, on the same or the other database; numbers never repeat."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from nodeworthy.adapters.ledger_sql import upgrade
from nodeworthy.adapters.ledger_sql.backup import back_up, restore
from nodeworthy.adapters.ledger_sql.chain import GENESIS, link
from nodeworthy.errors import Permanent, Refused
from nodeworthy.lifecycle.upkeep import Notice

from tests.contract.ledger.support import HOUR, Bench

GAP = 1_000_000


def lived(bench: Bench) -> None:
    """A node half-way through bring-up with an open effect, and one in quarantine."""
    lease = bench.take()
    bench.bring(lease, "burned_in")
    bench.ledger.intend(lease, "reset", "provision/1", {"boot_id": "b1", "last_reset": bench.clock.now()})
    other = bench.take("n2", run="run-2")
    bench.ledger.advance(other, "quarantine", {"reason": "Größe µ\n"})
    bench.ledger.release(other, close=True)
    bench.ledger.raise_notices([Notice("k", "x", "look", "n2")])


def same(one: Bench, other: Bench) -> None:
    """Both tell the same life of every node."""
    for name in ("n1", "n2"):
        assert one.ledger.history(name) == other.ledger.history(name)
        assert one.ledger.effects(name) == other.ledger.effects(name)
        assert one.ledger.nodes([name])[0].milestone == other.ledger.nodes([name])[0].milestone
    assert one.ledger.qualifications("n1") == other.ledger.qualifications("n1")
    assert one.ledger.notices() == other.ledger.notices()


@pytest.mark.parametrize("portable", [False, True])
def test_a_backup_comes_back_whole(bench: Bench, empty_url: str, tmp_path: Path, portable: bool) -> None:
    """From either database into either: the same lives, an audit that holds, and numbers that go on behind them."""
    lived(bench)
    made = back_up(bench.url, tmp_path / "backup", portable=portable)
    if not portable and bench.url.startswith("sqlite") and not empty_url.startswith("sqlite"):
        with pytest.raises(Refused, match="make a backup with --portable"):
            restore(empty_url, tmp_path / "backup")
        return
    assert restore(empty_url, tmp_path / "backup") == made
    again = Bench(empty_url, bench.clock)
    same(bench, again)
    assert again.ledger.verify_audit() == ()
    assert again.take("n3", run="run-3").episode > max(row[0] for row in bench.sql("SELECT id FROM episodes"))
    again.ledger.close()


def test_a_restored_ledger_repeats_no_number_and_keeps_isolation(bench: Bench, empty_url: str, tmp_path: Path) -> None:
    """Leases are dead, episodes and moves go on behind the gap, isolated nodes are told to Kubernetes again."""
    lived(bench)
    serving = bench.take("n3", run="run-3")
    bench.bring(serving, "standby")
    bench.admit(serving, {"boot_id": "b2"})
    for one in bench.ledger.standings():
        bench.ledger.delivered({one.name: one.revision})
    back_up(bench.url, tmp_path / "backup", portable=True)
    restore(empty_url, tmp_path / "backup")
    again = Bench(empty_url, bench.clock)
    assert again.ledger.mark_restored("f" * 64) == 3
    assert [(one.node, one.run) for one in again.ledger.stranded()] == [("n1", "run-1"), ("n3", "run-3")]
    with pytest.raises(Refused, match="nobody holds it"):
        again.ledger.advance(serving, "suspect", {"reason": "late"})
    pending = {one.name: one.revision for one in again.ledger.standings() if one.pending}
    assert set(pending) == {"n1", "n2"}
    assert min(pending.values()) > GAP
    assert again.take("n4").episode > GAP
    assert again.ledger.history("n3")[-1]["action"] == "ledger restored"
    assert again.ledger.verify_audit() == ()
    again.ledger.close()


def test_a_restore_writes_over_nothing(bench: Bench, tmp_path: Path) -> None:
    """A ledger that knows a node is no place for a backup, and a file that is there is no place for one either."""
    bench.take()
    back_up(bench.url, tmp_path / "backup")
    with pytest.raises(Refused, match="knows 1 nodes: restore into a new database"):
        restore(bench.url, tmp_path / "backup")
    with pytest.raises(Refused, match="is there already"):
        back_up(bench.url, tmp_path / "backup")


def test_a_damaged_backup_is_refused(bench: Bench, tmp_path: Path) -> None:
    """Cut off at the end, a changed row, no ledger at all, not there."""
    lived(bench)
    whole = tmp_path / "whole.jsonl"
    back_up(bench.url, whole, portable=True)
    lines = whole.read_text().splitlines(keepends=True)
    target = f"sqlite:///{tmp_path / 'new.db'}"
    for name, text in {
        "cut": "".join(lines[:-1]),
        "changed": "".join(lines).replace("quarantined", "standby____", 1),
        "empty": "",
        "other": "{}\n",
    }.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(Permanent, match="cut off or was changed"):
            restore(target, tmp_path / name)
    with pytest.raises(Permanent, match="no backup"):
        restore(target, tmp_path / "none")


def test_an_older_backup_is_brought_to_this_version(tmp_path: Path) -> None:
    """A dump at an earlier revision is restored at that revision and upgraded then."""
    old = f"sqlite:///{tmp_path / 'old.db'}"
    upgrade(old, "0001")
    back_up(old, tmp_path / "old.jsonl", portable=True)
    new = f"sqlite:///{tmp_path / 'new.db'}"
    assert restore(new, tmp_path / "old.jsonl").revision == "0001"
    bench = Bench(new)
    bench.take()
    bench.ledger.close()


def first_revision(url: str) -> Bench:
    """Give a ledger of the first revision with a life under way: a lease, an answer, an open effect, a proven boot."""
    upgrade(url, "0001")
    bench = Bench(url)
    now = bench.clock.now()
    declared = link("N1", 1, now, "declared", {"milestone": "burned_in"}, GENESIS)
    values = {"now": now.isoformat(sep=" "), "soon": (now + HOUR).isoformat(sep=" "), "plan": "p" * 64, **declared}
    for statement in FIRST_REVISION:
        used = {name: value for name, value in values.items() if f":{name}" in statement}
        bench.sql(statement, **used)
    return bench


def goes_on(bench: Bench) -> None:
    """The run of the first revision renews its lease, finds its answer, moves its node, and the audit holds."""
    assert [one.who for one in bench.ledger.answers("n1", 1, "p" * 64)] == ["ada"]
    bench.clock.pass_(HOUR / 2)
    assert bench.ledger.beat("run-1") == 1
    bench.clock.pass_(HOUR * 3 / 4)
    assert bench.ledger.advance(bench.ledger.lease("n1", "run-1"), "quarantine", {"reason": "odd"}).changed
    assert bench.ledger.verify_audit() == ()


def test_runs_of_an_older_ledger_go_on_in_this_one(empty_url: str) -> None:
    """Upgraded to the newest revision under an open episode, whatever lies between."""
    bench = first_revision(empty_url)
    upgrade(empty_url)
    goes_on(bench)
    bench.ledger.close()


def test_a_backup_of_an_older_ledger_goes_on_in_this_one(tmp_path: Path, empty_url: str) -> None:
    """Restored at its own revision into either database and upgraded then, with its open episode."""
    old = first_revision(f"sqlite:///{tmp_path / 'old.db'}")
    back_up(old.url, tmp_path / "old.jsonl", portable=True)
    old.ledger.close()
    assert restore(empty_url, tmp_path / "old.jsonl").revision == "0001"
    bench = Bench(empty_url)
    goes_on(bench)
    bench.ledger.close()


def test_a_ledger_with_open_episodes_is_upgraded_under_them(empty_url: str) -> None:
    """Written at the first revision with a lease, an open effect and a proven boot: after the upgrade work goes on."""
    bench = first_revision(empty_url)
    upgrade(empty_url)
    (one,) = bench.ledger.standings()
    assert (one.milestone, one.episode, one.pending, one.held, one.booting) == ("burned_in", 1, False, True, True)
    assert one.identity is not None
    assert (one.identity.boot_id, one.identity.uid) == ("b1", "u1")
    lease = bench.ledger.lease("n1", "run-1")
    assert lease.token == "t1"
    (effect,) = bench.ledger.effects("n1")
    again = bench.ledger.intend(lease, "reset", "provision/1", {})
    assert (again.id, again.fresh, again.status) == (effect.id, False, "intended")
    bench.clock.pass_(timedelta(hours=2))
    assert [orphan.effect.id for orphan in bench.ledger.orphans()] == ["fx-1"]
    bench.ledger.close()


FIRST_REVISION = (
    "INSERT INTO nodes (serial, name, sku, pool, rack, position, batch, tenant, fabric_domain, bmc, cabling, milestone,"
    " since, row_version, reason, audit_sequence, audit_head) VALUES ('N1', 'n1', 'h100-sxm-8', 'p', 'r1', 1, '', '',"
    " '', '{\"address\": \"https\"}', '[]', 'burned_in', :now, 1, '', :sequence, :hash)",
    "INSERT INTO audit (node, sequence, at, action, detail, previous, hash) VALUES (:node, :sequence, :at, :action,"
    " :detail, :previous, :hash)",
    "INSERT INTO episodes (node, kind, opened_at) VALUES ('N1', 'onboarding', :now)",
    "INSERT INTO leases (node, episode, token, run, lifetime_seconds, since, heartbeat, expires, ended_why)"
    " VALUES ('N1', 1, 't1', 'run-1', 3600, :now, :now, :soon, '')",
    "INSERT INTO approvals (node, episode, plan_sha256, who, answer, why, at) VALUES ('N1', 1, :plan, 'ada', 'approve',"
    " 'seen', :now)",
    "INSERT INTO transitions (node, episode, event, from_milestone, to_milestone, facts, voids, at) VALUES ('N1', 1,"
    " 'boot_validation', 'firmware_current', 'validation_booted', '{\"boot_id\": \"b1\", \"node_uid\": \"u1\"}', '[]',"
    " :now)",
    "INSERT INTO transitions (node, episode, event, from_milestone, to_milestone, facts, voids, at) VALUES ('N1', 1,"
    " 'qualify_hardware', 'validation_booted', 'burned_in', '{}', '[]', :now)",
    "INSERT INTO effects (id, node, episode, kind, key, status, detail, proof, intended_at) VALUES ('fx-1', 'N1', 1,"
    " 'reset', 'provision/1', 'intended', '{\"boot_id\": \"b1\"}', '{}', :now)",
)
