"""The ledger in memory, on which procedures are tried, keeps the same record as the real one for the same work."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from nodeworthy.adapters.ledger_sql import SqlLedger, upgrade
from nodeworthy.errors import Refused
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import Qualification
from nodeworthy.evidence.verdicts import Judgement, Scope, Verdict
from nodeworthy.procedures.admit import admit
from nodeworthy.procedures.boot_validation import boot_validation
from nodeworthy.procedures.firmware import firmware
from nodeworthy.procedures.inspect import inspect
from nodeworthy.procedures.provision import provision
from nodeworthy.procedures.test_plan import Wanted
from nodeworthy.procedures.test_plan import test_plan as make_plan

from tests.doubles.bench import RUN, Bench, behind, bench, healthy_inventory


def on_sql(one: Bench, folder: Path) -> Bench:
    """Put the bench's node onto the real ledger."""
    url = f"sqlite:///{folder / 'ledger.db'}"
    upgrade(url)
    ledger: Any = SqlLedger(url, one.work.clock, one.work.library.lifecycle())
    ledger.import_fleet([one.node])
    lease = ledger.open_episode(one.node.name, kind="onboarding", run=RUN, lifetime=timedelta(days=9))
    return replace(one, ledger=ledger, lease=lease, work=replace(one.work, ledger=ledger))


def qualify(one: Bench, scope: Scope, event: str) -> None:
    """Let a scope pass."""
    now, name = one.work.clock.now(), one.node.name
    seen = one.work.cluster.node(name)
    assert seen is not None
    dossier = EvidenceReference("dossier", "0" * 64, 1)
    until = now + timedelta(days=30)
    granted = Qualification(name, scope, "l1", one.lease.episode, now, until, dossier, seen.boot_id, "set")
    one.ledger.record_judgement(one.lease, Judgement(name, scope, "l1", Verdict.PASS, (), "passed"), granted)
    one.ledger.advance(one.lease, event, {"nonce": "n"})


def whole_life(one: Bench) -> list[tuple[str, str, str]]:
    """Take a node from the rack into service and return its effects."""
    one.run(inspect)
    one.approve()
    one.run(firmware)
    one.run(boot_validation)
    make_plan(one.lease, one.node, one.work, Wanted(Scope.HARDWARE, "l0"))
    qualify(one, Scope.HARDWARE, "qualify_hardware")
    one.run(provision)
    one.ledger.advance(one.lease, "attest", {"nonce": "n"})
    qualify(one, Scope.PLATFORM, "qualify_platform")
    certificate = EvidenceReference("certificate", "0" * 64, 1)
    one.ledger.record_certificate(one.lease, certificate, one.work.clock.now() + timedelta(days=30))
    one.ledger.advance(one.lease, "enter_standby", {})
    one.approve_admission()
    one.run(admit)
    assert one.ledger.nodes([one.node.name])[0].milestone == "in_service"
    return [(effect.kind, effect.key, effect.status) for effect in one.ledger.effects(one.node.name)]


def racked() -> Bench:
    """A declared node with two firmware items behind."""
    return bench(inventory=behind(healthy_inventory(), HostBIOS_0="1.05.03", NIC_FW_3="28.39.3560"))


def test_both_ledgers_hold_the_same_effects_of_the_same_life(tmp_path: Path) -> None:
    """Kind, key, order and outcome of every effect agree."""
    assert whole_life(racked()) == whole_life(on_sql(racked(), tmp_path))


@pytest.mark.parametrize("real", [False, True], ids=["memory", "sql"])
def test_both_fence_a_lease_that_is_over(real: bool, tmp_path: Path) -> None:
    """After the lease is given back, an intent and a move are refused."""
    one = on_sql(racked(), tmp_path) if real else racked()
    one.ledger.release(one.lease, close=True, reason="over")
    with pytest.raises(Refused):
        one.ledger.intend(one.lease, "reset", "x/1", {})
    with pytest.raises(Refused):
        one.ledger.advance(one.lease, "discover", {"system_id": "DGX"})
