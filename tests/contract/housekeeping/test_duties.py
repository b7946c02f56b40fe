"""Deadlines act, dead runs are settled and told, the audit is verified, evidence leaves only when nothing needs it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.adapters.signer_ed25519 import Ed25519Keys
from nodeworthy.errors import Permanent
from nodeworthy.evidence.verdicts import Scope, Verdict
from nodeworthy.lifecycle.records import Hold
from nodeworthy.procedures.checkpoint import checkpoint
from nodeworthy.procedures.deadlines import deadlines
from nodeworthy.procedures.lemons import lemons
from nodeworthy.procedures.retention import retention
from nodeworthy.procedures.settle import settle
from nodeworthy.procedures.verify import verify

from tests.contract.housekeeping.conftest import Keeper
from tests.contract.ledger.support import judgement, node, qualification
from tests.contract.ledger.test_approvals import request
from tests.contract.ledger.test_checkpoints import BOTH, NEXT, SIGNER, cut_off
from tests.contract.ledger.test_parts import fails
from tests.doubles.bench import INCLUDE

FIVE_MINUTES = timedelta(minutes=5)


def free(keeper: Keeper, milestone: str, name: str = "n1") -> None:
    """Bring a node to a milestone and let go of it."""
    lease = keeper.bench.take(name)
    keeper.bench.bring(lease, milestone)
    keeper.bench.ledger.release(lease, close=False)


def test_a_deadline_takes_its_next_step_once(keeper: Keeper) -> None:
    """`validation_booted` has two days, then `quarantine`; the second run finds nothing to do."""
    free(keeper, "validation_booted")
    keeper.pass_(hours=47)
    assert deadlines(keeper.house()).startswith("0 nodes")
    keeper.pass_(hours=1)
    assert "1 led to their next step" in deadlines(keeper.house())
    assert keeper.bench.milestone() == "quarantined"
    assert "longer than 2 days" in keeper.bench.reason()
    assert deadlines(keeper.house(run="housekeeping/2")).startswith("0 nodes")


def test_a_pools_own_deadline_acts_in_place_of_the_lifecycles(keeper: Keeper, tmp_path: Path) -> None:
    """Pool `pool-a` gives `validation_booted` six hours, its big SKU three days; other pools keep two days."""
    include = Path(shutil.copytree(INCLUDE, tmp_path / "include"))
    text = (include / "policies" / "default.yaml").read_text().replace("pool: default", "pool: pool-a")
    own = "  validation_booted: {default: PT6H, skus: {h200-sxm-8: P3D}}\n"
    (include / "policies" / "pool-a.yaml").write_text(text + own)
    keeper.library = YamlLibrary(include)
    keeper.bench.ledger.import_fleet([node("n2", sku="h200-sxm-8"), node("n3", pool="pool-b")])
    for name in ("n1", "n2", "n3"):
        free(keeper, "validation_booted", name)
    keeper.pass_(hours=6)
    assert deadlines(keeper.house()).startswith("1 nodes are beyond a deadline: 1 led to their next step")
    assert "longer than 6 hours" in keeper.bench.reason("n1")
    keeper.pass_(hours=42)
    deadlines(keeper.house())
    assert [keeper.bench.milestone(name) for name in ("n1", "n2", "n3")] == [
        "quarantined",
        "validation_booted",
        "quarantined",
    ]
    keeper.pass_(days=1)
    deadlines(keeper.house())
    assert "longer than 3 days" in keeper.bench.reason("n2")


def test_a_deadline_that_only_a_person_can_answer_is_told_once(keeper: Keeper) -> None:
    """`conformant` tells the operator after a day; when the node went on the notice is cleared."""
    free(keeper, "conformant")
    keeper.pass_(days=1)
    deadlines(keeper.house())
    deadlines(keeper.house(run="housekeeping/2"))
    assert keeper.notices("deadline") == [
        "n1 has been conformant since 2026-12-01 08:00 UTC, longer than 24 hours, and nobody works on it: look at its "
        "last run, then run it again, repair it or retire it."
    ]
    lease = keeper.bench.take(run="run-2")
    keeper.bench.ledger.advance(lease, "quarantine", {"reason": "broken"})
    deadlines(keeper.house())
    assert keeper.notices("deadline") == []


def test_a_deadline_waits_for_the_run_that_works_on_the_node(keeper: Keeper) -> None:
    """The holder is named and nothing is taken from it; once it is gone the step is taken."""
    free(keeper, "validation_booted")
    keeper.pass_(days=2)
    lease = keeper.bench.take(run="run-2")
    deadlines(keeper.house())
    assert keeper.bench.milestone() == "validation_booted"
    assert "held by run-2" in keeper.notices("deadline")[0]
    keeper.bench.ledger.release(lease, close=False)
    deadlines(keeper.house())
    assert keeper.bench.milestone() == "quarantined"
    assert keeper.notices("deadline") == []


def test_a_held_spare_is_not_sent_to_requalification(keeper: Keeper) -> None:
    """`requalify` is voluntary: its guard refuses while a person holds the node, and says who."""
    free(keeper, "standby")
    keeper.bench.ledger.hold(Hold("n1", "ada", "vendor visit", None, "automation"))
    keeper.pass_(days=30)
    deadlines(keeper.house())
    assert keeper.bench.milestone() == "standby"
    assert "held by ada until it is released: vendor visit" in keeper.notices("deadline")[0]
    keeper.bench.ledger.release_hold("n1", who="ada")
    deadlines(keeper.house())
    assert keeper.bench.milestone() == "firmware_current"
    assert keeper.bench.sql("SELECT kind FROM episodes WHERE closed_at IS NULL") == [("onboarding",)]


def test_a_dead_run_is_told_until_somebody_takes_the_node_up(keeper: Keeper) -> None:
    """Its lease is ended and the notice says what to do."""
    keeper.bench.bring(keeper.bench.take(), "conformant")
    keeper.pass_(hours=1)
    settle(keeper.house())
    assert keeper.notices("stranded") == [
        "n1 stands at conformant since the run run-1 died (its lease ended 2026-12-01 09:00 UTC): clear that run's "
        "failed tasks, or start a run with retry_of."
    ]
    keeper.bench.take(run="run-2")
    settle(keeper.house())
    assert keeper.notices("stranded") == []


def test_a_run_that_waits_longer_than_a_lease_lives_is_not_stranded(keeper: Keeper) -> None:
    """A soak of a day whose trigger beats: no notice. When nothing of the run beats any more there is one."""
    keeper.bench.bring(keeper.bench.take(), "conformant")
    for _ in range(48):
        keeper.pass_(minutes=30)
        keeper.bench.ledger.beat("run-1")
        settle(keeper.house())
        assert keeper.notices("stranded") == []
    keeper.pass_(hours=1)
    settle(keeper.house())
    assert "since the run run-1 died" in keeper.notices("stranded")[0]


def test_a_node_about_which_a_person_is_asked_belongs_to_him_until_the_request_ends(keeper: Keeper) -> None:
    """No stranded notice and no next step while the request waits; then both defined ends come, with no run alive."""
    lease = keeper.bench.take()
    keeper.bench.bring(lease, "validation_booted")
    until = keeper.bench.clock.now() + timedelta(days=3)
    keeper.bench.ledger.ask(lease, replace(request(lease), expires_at=until))
    keeper.pass_(days=2, hours=12)
    settle(keeper.house())
    deadlines(keeper.house())
    assert keeper.notices("stranded") == []
    assert keeper.bench.milestone() == "validation_booted"
    (told,) = keeper.notices("deadline")
    assert "waits for a person until 2026-12-04 08:00 UTC: answer the request about it" in told
    keeper.pass_(hours=12)
    settle(keeper.house())
    assert keeper.notices("stranded") == []
    assert keeper.bench.reason().startswith("The request for approval expired at 2026-12-04 08:00 UTC")
    deadlines(keeper.house())
    assert keeper.bench.milestone() == "quarantined"
    assert keeper.notices("deadline") == []


def test_a_question_to_a_person_keeps_no_isolation_waiting(keeper: Keeper) -> None:
    """A suspect is isolated at its deadline though somebody is asked about it, and the question is void by that."""
    lease = keeper.bench.take()
    keeper.bench.bring(lease, "standby")
    keeper.bench.admit(lease)
    keeper.bench.ledger.advance(lease, "suspect", {"reason": "Xid 79"})
    keeper.bench.ledger.ask(lease, replace(request(lease), expires_at=keeper.bench.clock.now() + timedelta(days=1)))
    keeper.pass_(hours=4)
    deadlines(keeper.house())
    assert keeper.bench.milestone() == "cordoned"
    assert keeper.bench.ledger.open_requests() == ()


def test_what_nobody_can_tell_waits_for_a_person_and_is_never_sent_again(keeper: Keeper) -> None:
    """No reader can prove this effect: unknown, told, and still told by the next run."""
    lease = keeper.bench.take()
    keeper.bench.ledger.intend(lease, "teleport", "x/1", {})
    keeper.pass_(hours=1)
    assert settle(keeper.house()) == "Effects that dead runs left open: 1 unknown."
    assert settle(keeper.house()) == "Effects that dead runs left open: none was open."
    assert len(keeper.notices("undecided")) == 1
    assert "nobody can tell whether teleport x/1" in keeper.notices("undecided")[0]


def test_a_world_that_does_not_answer_settles_nothing(keeper: Keeper) -> None:
    """A silent BMC is no proof: the effect stays open for the next run."""
    lease = keeper.bench.take()
    keeper.bench.ledger.intend(lease, "reset", "provision/1", {"boot_id": "b1", "uid": "u1", "last_reset": None})
    keeper.pass_(hours=1)
    assert settle(keeper.house()) == "Effects that dead runs left open: 1 not readable."
    assert keeper.bench.ledger.effects("n1")[0].status == "intended"


def test_every_chain_is_verified_once_a_round(keeper: Keeper) -> None:
    """Twelve runs of five minutes make an hour's round; the first one of a day takes the whole ledger."""
    keeper.bench.ledger.import_fleet([node(f"n{number:02}") for number in range(30)])
    assert verify(keeper.house(), FIVE_MINUTES, keeper.proofs).startswith("The audit of 30 of 30 nodes holds")
    checked = 0
    for _ in range(12):
        keeper.pass_(minutes=5)
        checked += int(verify(keeper.house(), FIVE_MINUTES, keeper.proofs).split()[3])
    assert checked == 30


def test_a_changed_row_fails_the_duty_and_stays_told(keeper: Keeper) -> None:
    """It is met again in each round, and told with the next step."""
    keeper.bench.take()
    keeper.bench.sql("UPDATE audit SET detail = '{}' WHERE sequence = 2")
    for _ in range(2):
        with pytest.raises(Permanent, match="Stop all automation"):
            verify(keeper.house(), FIVE_MINUTES, keeper.proofs)
        keeper.pass_(days=1)
    assert "was changed after it was written" in keeper.notices("audit")[0]


def test_a_chain_that_was_cut_off_with_its_head_is_found_by_the_days_whole_look(keeper: Keeper) -> None:
    """The rounds of an hour cannot see it; the signed checkpoint does, also under a key that was rotated since."""
    keeper.bench.bring(keeper.bench.take(), "conformant")
    checkpoint(keeper.bench.ledger, keeper.store, SIGNER, keeper.said.append)
    keeper.proofs = replace(keeper.proofs, keys=lambda: BOTH)
    assert verify(keeper.house(), FIVE_MINUTES, keeper.proofs).endswith("against the last of 1 checkpoints.")
    cut_off(keeper.bench)
    for _ in range(12):
        keeper.pass_(minutes=5)
        verify(keeper.house(), FIVE_MINUTES, keeper.proofs)
    keeper.pass_(days=1)
    with pytest.raises(Permanent, match="does not reach them: its end was cut off"):
        verify(keeper.house(), FIVE_MINUTES, keeper.proofs)
    assert "its end was cut off" in keeper.notices("audit")[0]


def test_a_checkpoint_by_a_key_that_nobody_trusts_fails_the_whole_look(keeper: Keeper) -> None:
    """An earlier checkpoint too, within the time that its signature is looked at; after that only `--all` does."""
    keeper.bench.take()
    for signer in (SIGNER, NEXT):
        checkpoint(keeper.bench.ledger, keeper.store, signer, keeper.said.append)
    keeper.proofs = replace(keeper.proofs, keys=lambda: Ed25519Keys({"key-2": NEXT.public_key()}))
    with pytest.raises(Permanent, match="checkpoint 1 proves nothing: the key key-1 is unknown"):
        verify(keeper.house(), FIVE_MINUTES, keeper.proofs)
    keeper.pass_(days=3)
    assert verify(keeper.house(), FIVE_MINUTES, keeper.proofs).endswith("against the last of 2 checkpoints.")
    assert keeper.notices("audit") == []


def old_evidence(keeper: Keeper) -> None:
    """An episode with a raw output, an inventory and a certificate, closed and qualified for thirty days."""
    free(keeper, "standby")
    for name in ("hardware-l1/bundle.tar.gz", "inventory-1.json", "certificate-1.json", "notes.txt"):
        keeper.store.put(f"nodes/N1/1/{name}", name.encode())
    keeper.bench.ledger.release(keeper.bench.take(run="run-2"), close=True)


def test_evidence_is_only_named_until_the_rules_say_remove(keeper: Keeper) -> None:
    """The shipped rules remove nothing."""
    old_evidence(keeper)
    keeper.pass_(days=401)
    assert "1 files with 25 bytes would be removed" in retention(keeper.house())
    assert len(keeper.store.files("nodes/N1")) == 4


def test_evidence_leaves_by_its_class_and_its_audit_tells(keeper: Keeper) -> None:
    """After 400 days the raw output, after 1095 the inventory; certificate and what no class names stay."""
    keeper.rules = replace(keeper.rules, remove=True)
    old_evidence(keeper)
    keeper.pass_(days=400)
    retention(keeper.house())
    assert len(keeper.store.files("nodes/N1")) == 4
    keeper.pass_(days=1)
    retention(keeper.house())
    assert sorted(keeper.store.files("nodes/N1")) == [
        "nodes/N1/1/certificate-1.json",
        "nodes/N1/1/inventory-1.json",
        "nodes/N1/1/notes.txt",
    ]
    last = keeper.bench.ledger.history("n1")[-1]
    assert last["action"] == "evidence removed"
    assert last["detail"]["files"] == [{"path": "nodes/N1/1/hardware-l1/bundle.tar.gz", "size_bytes": 25}]
    assert keeper.bench.ledger.verify_audit() == ()
    keeper.pass_(days=695)
    retention(keeper.house())
    assert "nodes/N1/1/inventory-1.json" not in keeper.store.files("nodes/N1")


def test_evidence_that_a_valid_qualification_rests_on_stays(keeper: Keeper) -> None:
    """Whatever its age; and so does that of an open episode."""
    keeper.rules = replace(keeper.rules, remove=True)
    free(keeper, "validation_booted")
    lease = keeper.bench.take(run="run-2")
    long = qualification(lease, Scope.HARDWARE, keeper.bench.clock.now(), timedelta(days=5000))
    keeper.bench.ledger.record_judgement(lease, judgement(lease, Scope.HARDWARE), long)
    keeper.store.put("nodes/N1/1/bundle.tar.gz", b"raw")
    keeper.bench.ledger.release(lease, close=True)
    keeper.bench.take(run="run-3")
    keeper.store.put("nodes/N1/2/bundle.tar.gz", b"raw")
    keeper.pass_(days=4000)
    retention(keeper.house())
    assert sorted(keeper.store.files("nodes/N1")) == ["nodes/N1/1/bundle.tar.gz", "nodes/N1/2/bundle.tar.gz"]
    keeper.pass_(days=1001)
    retention(keeper.house())
    assert sorted(keeper.store.files("nodes/N1")) == ["nodes/N1/2/bundle.tar.gz"]


def test_evidence_is_looked_through_once_a_day(keeper: Keeper) -> None:
    """Two runs, one look."""
    retention(keeper.house())
    assert "already" in retention(keeper.house(run="housekeeping/2"))


def test_a_lemon_is_told_once_and_where_it_is_now(keeper: Keeper) -> None:
    """Three faults of one GPU in three nodes: one notice, at the node that it is in; moved, it is told there."""
    for name in ("n1", "n2", "n3"):
        fails(keeper.bench, name, "LEMON", others=300)
    assert lemons(keeper.house()).endswith("1 stand out.")
    assert [one.node for one in keeper.bench.ledger.notices() if one.kind == "lemons"] == ["n3"]
    assert "replace it and do not use it again. It is in n3 now." in keeper.notices("lemons")[0]
    assert "already" in lemons(keeper.house(run="housekeeping/2"))
    fails(keeper.bench, "n1", "LEMON", others=300)
    lemons(keeper.house())
    assert [one.node for one in keeper.bench.ledger.notices() if one.kind == "lemons"] == ["n1"]
    keeper.pass_(days=400)
    lemons(keeper.house())
    assert keeper.notices("lemons") == []


def test_raw_outputs_of_a_failure_stay_longer(keeper: Keeper) -> None:
    """After 401 days those of a pass leave and those of a failure stay; after 731 they leave too."""
    keeper.rules = replace(keeper.rules, remove=True)
    for name, verdict in (("n1", Verdict.PASS), ("n2", Verdict.FAIL)):
        lease = keeper.bench.take(name, run=f"run-{name}")
        keeper.bench.ledger.record_judgement(lease, judgement(lease, Scope.HARDWARE, verdict), None)
        keeper.store.put(f"nodes/{name.upper()}/{lease.episode}/bundle.tar.gz", b"raw")
        keeper.bench.ledger.release(lease, close=True, reason="done")
    keeper.pass_(days=401)
    retention(keeper.house())
    assert list(keeper.store.files("nodes")) == ["nodes/N2/2/bundle.tar.gz"]
    keeper.pass_(days=330)
    retention(keeper.house())
    assert list(keeper.store.files("nodes")) == []
