"""A process may die at any port call of a procedure: the next one finishes, and nothing is done twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from nodeworthy.errors import Transient
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import Qualification
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.records import Lease
from nodeworthy.ports import Power
from nodeworthy.procedures.admit import admit
from nodeworthy.procedures.boot_validation import boot_validation
from nodeworthy.procedures.firmware import firmware
from nodeworthy.procedures.inspect import inspect
from nodeworthy.procedures.isolate import isolate
from nodeworthy.procedures.outcome import Done
from nodeworthy.procedures.provision import provision

from tests.doubles.bench import Bench, Procedure, behind, bench, healthy_inventory
from tests.doubles.crash import Fuse


def switched_off() -> Bench:
    """A declared node without power."""
    one = bench()
    one.machine.power = Power.OFF
    one.machine.progress = "None"
    return one


def with_old_firmware() -> Bench:
    """A conformant node with two components behind and its plan approved."""
    one = bench("conformant", inventory=behind(healthy_inventory(), HostBIOS_0="1.05.03", NIC_FW_3="28.39.3560"))
    one.approve()
    return one


def with_current_firmware() -> Bench:
    """A node that is ready for the validation image; an older Node object of it is still there."""
    one = bench("firmware_current")
    one.approve()
    one.machine.override = "http://images.lab/service-2026.11.efi"
    one.machine.reset()
    one.machine.pass_time()
    one.machine.sent.clear()
    return one


def qualification(one: Bench, scope: Scope) -> Qualification:
    """A valid qualification of the node on the bench, of the boot that it runs."""
    until = one.machine.now + timedelta(days=30)
    boot_id = one.machine.node.boot_id if one.machine.node else ""
    dossier = EvidenceReference("dossier", "0" * 64, 1)
    return Qualification("gpu-a01", scope, "l1", 1, one.machine.now, until, dossier, boot_id, "h100-sxm-8-2026.11")


def burned_in() -> Bench:
    """A node that runs the validation image and whose hardware is qualified."""
    one = with_current_firmware()
    one.run(boot_validation)
    one.ledger.put("gpu-a01", "burned_in")
    one.ledger._qualifications.append(qualification(one, Scope.HARDWARE))
    one.machine.sent.clear()
    return one


def in_standby() -> Bench:
    """A proven spare."""
    one = burned_in()
    one.run(provision)
    one.ledger.put("gpu-a01", "standby")
    one.ledger._qualifications.append(qualification(one, Scope.PLATFORM))
    one.ledger.record_certificate(
        one.lease, EvidenceReference("certificate", "0" * 64, 1), one.machine.now + timedelta(days=30)
    )
    projection = one.work.library.lifecycle().projection("standby")
    one.work.cluster.project("gpu-a01", taints=projection.taints, labels=projection.labels, episode=1)
    one.approve_admission()
    one.machine.sent.clear()
    return one


def quarantine(lease: Lease, node: object, work: object) -> Done:
    """Isolate with a reason."""
    return isolate(lease, node, work, reason="NVLink 3 is down")  # type: ignore[arg-type]


CASES: dict[str, tuple[Callable[[], Bench], Procedure, str, dict[str, int]]] = {
    "inspect": (switched_off, inspect, "conformant", {"reset": 1}),
    "firmware": (with_old_firmware, firmware, "firmware_current", {"firmware-update": 2, "reset": 1}),
    "boot_validation": (
        with_current_firmware,
        boot_validation,
        "validation_booted",
        {"node-delete": 1, "boot-override": 1, "reset": 1},
    ),
    "provision": (burned_in, provision, "provisioned", {"node-delete": 1, "boot-override": 1, "reset": 1}),
    "admit": (in_standby, admit, "in_service", {"project": 1}),
    "isolate": (in_standby, quarantine, "quarantined", {"project": 1}),
}


@pytest.mark.parametrize("after", [False, True], ids=["before-the-call", "after-the-call"])
@pytest.mark.parametrize("minutes", [0, 3, 60], ids=["at-once", "after-3-min", "after-an-hour"])
@pytest.mark.parametrize("case", CASES)
def test_killed_at_any_call_nothing_is_done_twice(case: str, minutes: float, after: bool) -> None:
    """Whichever port call the process dies at, and however late it returns, each effect is sent exactly once."""
    prepare, procedure, milestone, effects = CASES[case]
    call = 0
    while True:
        call += 1
        one = prepare()
        if not one.killed_at(procedure, Fuse(call, after)):
            break
        if minutes:
            one.machine.pass_time(minutes)
        one.run(procedure)
        assert dict(one.machine.sent) == effects, f"killed at call {call}"
        assert one.ledger.nodes(["gpu-a01"])[0].milestone == milestone
        assert one.work.bmcs.open_sessions == 0  # type: ignore[attr-defined]
    assert call > 5
    assert dict(one.machine.sent) == effects


SLEEPERS = {
    "Sending reset": (switched_off, inspect, "reset"),
    "Updating HostBIOS_0": (with_old_firmware, firmware, "firmware-update"),
    "Deleting Node": (with_current_firmware, boot_validation, "node-delete"),
    "Ordering image": (with_current_firmware, boot_validation, "boot-override"),
}


@pytest.mark.parametrize("line", SLEEPERS)
def test_a_process_that_slept_after_it_was_cleared_sends_nothing(line: str) -> None:
    """Its clearance is an hour old, and others may have sent the same by now. Tried again, it looks and goes on."""
    prepare, procedure, effect = SLEEPERS[line]
    one = prepare()
    awake = one.work
    slept: list[str] = []

    def say(said: str) -> None:
        if said.startswith(line) and not slept:
            slept.append(said)
            one.machine.pass_time(60)

    one.work = replace(awake, say=say)
    with pytest.raises(Transient, match="slept before it was sent"):
        one.run(procedure)
    assert slept
    assert one.machine.sent[effect] == 0
    one.work = awake
    one.run(procedure)
    assert one.machine.sent[effect] >= 1


@pytest.mark.parametrize("case", CASES)
def test_a_second_call_of_a_finished_procedure_does_nothing(case: str) -> None:
    """What is proven is skipped: the same call again sends nothing and says so."""
    prepare, procedure, _, effects = CASES[case]
    one = prepare()
    one.run(procedure)
    one.run(procedure)
    assert dict(one.machine.sent) == effects


@pytest.mark.parametrize("case", [name for name in CASES if name not in ("admit", "isolate")])
def test_every_effect_travels_with_its_own_id(case: str) -> None:
    """The id under which the ledger knows an effect is the one that the BMC is told."""
    prepare, procedure, _, _ = CASES[case]
    one = prepare()
    earlier = len(one.machine.effect_ids)
    one.run(procedure)
    known = {effect.id: effect.kind for effect in one.ledger.effects("gpu-a01")}
    sent = [(kind, name) for kind, name in one.machine.effect_ids[earlier:] if name]
    assert sent
    assert all(known[name] == kind for kind, name in sent)
