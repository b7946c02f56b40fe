"""Advance: the machine decides on what the ledger knows, and a move is written as a whole or not at all."""

from __future__ import annotations

from datetime import timedelta

import pytest
from nodeworthy.errors import Permanent, Refused
from nodeworthy.evidence.verdicts import Scope, Verdict
from nodeworthy.lifecycle.machine import Moved
from nodeworthy.lifecycle.records import Hold

from tests.contract.ledger.support import START, Bench, judgement, reference


def test_a_move_is_written_with_its_evidence(bench: Bench) -> None:
    """The node stands in the new milestone since now, and the audit tells the move, its facts and its evidence."""
    lease = bench.take()
    bench.clock.pass_(timedelta(minutes=5))
    moved = bench.ledger.advance(lease, "discover", {"system_id": "System_0"}, reference("root"))
    assert moved == Moved("declared", "discovered", "discover")
    record = bench.ledger.nodes(["n1"])[0]
    assert (record.milestone, record.since) == ("discovered", START + timedelta(minutes=5))
    last = bench.ledger.history("n1")[-1]
    assert last["action"] == "moved"
    assert last["detail"]["evidence"]["path"] == "evidence/root"
    assert last["detail"]["facts"] == {"system_id": "System_0"}


def test_the_whole_path_leads_to_standby_and_service(bench: Bench) -> None:
    """With approval, both qualifications and a certificate a node reaches standby and is admitted."""
    lease = bench.take()
    bench.bring(lease, "standby")
    assert bench.milestone() == "standby"
    assert bench.admit(lease) == Moved("standby", "in_service", "admit")


def test_what_is_done_writes_nothing(bench: Bench) -> None:
    """Repeating a step of the path moves nothing and leaves no row."""
    lease = bench.take()
    bench.bring(lease, "standby")
    before = bench.ledger.history("n1")
    assert bench.ledger.advance(lease, "firmware", {"firmware_set": "2026.11"}) == Moved(
        "standby", "standby", "firmware"
    )
    assert bench.ledger.history("n1") == before


def test_a_refusal_is_kept_until_progress(bench: Bench) -> None:
    """The reason stands beside the node, word for word, until it moves on."""
    lease = bench.take()
    with pytest.raises(Refused) as refusal:
        bench.ledger.advance(lease, "inventory", {"components": 1})
    assert refusal.value.sentence == f"n1: {bench.reason()}"
    assert bench.reason() == "`inventory` starts from discovered and the node is declared: bring it there first."
    bench.ledger.advance(lease, "discover", {"system_id": "1"})
    assert bench.reason() == ""


def test_a_reason_of_our_own_is_kept_too(bench: Bench) -> None:
    """A procedure that stops writes why."""
    lease = bench.take()
    bench.ledger.refuse(lease, "GPU_SXM_3 is missing: reseat it.")
    assert bench.reason() == "GPU_SXM_3 is missing: reseat it."


def test_quarantine_keeps_its_reason_and_voids_both_scopes(bench: Bench) -> None:
    """A node in quarantine shows why, and nothing that it proved before counts any more."""
    lease = bench.take()
    bench.bring(lease, "verified")
    assert len(bench.ledger.qualifications("n1")) == 2
    bench.ledger.advance(lease, "quarantine", {"reason": "NVLink of gpu/3 at 92 per cent"})
    assert (bench.milestone(), bench.reason()) == ("quarantined", "NVLink of gpu/3 at 92 per cent")
    assert bench.ledger.qualifications("n1") == ()


def test_claims_of_the_caller_are_no_qualification(bench: Bench) -> None:
    """Guards look at the ledger's rows, not at the facts that a caller hands over."""
    lease = bench.take()
    bench.bring(lease, "validation_booted")
    with pytest.raises(Refused, match="needs a hardware qualification"):
        bench.ledger.advance(lease, "qualify_hardware", {"qualifications": ["hardware"], "hardware": True})


@pytest.mark.parametrize("gone", ["hardware", "platform", "certificate", "time"])
def test_admission_needs_everything_in_force(bench: Bench, gone: str) -> None:
    """One voided scope, a revoked certificate or 30 days too many keep a spare out of service."""
    lease = bench.take()
    bench.bring(lease, "standby")
    if gone == "time":
        bench.clock.pass_(timedelta(days=30))
        lease = bench.ledger.lease("n1", "run-1")
    elif gone == "certificate":
        bench.sql("UPDATE certificates SET revoked_at = issued_at")
    else:
        bench.ledger.void_qualifications(lease, Scope(gone), "part was changed")
    with pytest.raises(Refused, match="`admit` needs a"):
        bench.admit(lease)
    assert bench.milestone() == "standby"


def test_an_admission_hold_stops_admission_alone(bench: Bench) -> None:
    """A hold says who and why, stops what it names, and its release lets the node go on."""
    lease = bench.take()
    bench.ledger.hold(Hold("n1", "ada", "cabling work", None, "admission"))
    bench.bring(lease, "standby")
    with pytest.raises(Refused, match="held by ada until it is released: cabling work"):
        bench.admit(lease)
    bench.ledger.release_hold("n1", who="ada")
    assert bench.admit(lease).to == "in_service"


def test_firmware_needs_the_approved_plan(bench: Bench) -> None:
    """Without an answer, and after a no, the firmware milestone is refused."""
    lease = bench.take()
    for event, facts in (("discover", {"system_id": "1"}), ("inventory", {"components": 1}), ("conform", {"sku": "s"})):
        bench.ledger.advance(lease, event, facts)
    with pytest.raises(Refused, match="nobody answered"):
        bench.ledger.advance(lease, "firmware", {"firmware_set": "s"})
    bench.ledger.record_approval(lease, plan_sha256="p", who="bob", answer="refuse", why="not tonight")
    with pytest.raises(Refused, match="bob refused the plan of `firmware`: not tonight"):
        bench.ledger.advance(lease, "firmware", {"firmware_set": "s"})


def test_a_failed_judgement_voids_an_older_pass(bench: Bench) -> None:
    """After a pass and then a fail of the same scope, the pass no longer opens the way."""
    lease = bench.take()
    bench.bring(lease, "validation_booted")
    bench.qualify(lease, Scope.HARDWARE)
    bench.ledger.record_judgement(lease, judgement(lease, Scope.HARDWARE, Verdict.FAIL, "gpu/3 fell off."), None)
    with pytest.raises(Refused, match="needs a hardware qualification"):
        bench.ledger.advance(lease, "qualify_hardware", {})


def test_rma_revokes_the_certificate(bench: Bench) -> None:
    """What leaves for its vendor comes back without anything that it had proven."""
    lease = bench.take()
    bench.bring(lease, "standby")
    bench.ledger.advance(lease, "quarantine", {"reason": "Xid 79"})
    bench.approve(lease)
    bench.ledger.advance(lease, "flag_for_rma", {"reason": "board"})
    assert bench.ledger.certificate("n1") is None


def test_half_a_character_is_refused_as_a_sentence(bench: Bench) -> None:
    """A text from a node that no database can hold is an error with a next step, and nothing is written."""
    lease = bench.take()
    with pytest.raises(Permanent, match="cannot store this"):
        bench.ledger.refuse(lease, "GPU \ud800")
    assert bench.reason() == ""
