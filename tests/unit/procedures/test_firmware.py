"""Firmware ends with proven versions, or says why it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from nodeworthy.errors import OutcomeUnknown, Refused
from nodeworthy.procedures.firmware import firmware
from nodeworthy.procedures.plan import plan

from tests.doubles.bench import Bench, behind, bench, healthy_inventory
from tests.doubles.crash import Fuse


def conformant(*, misbehaves: Sequence[str] = (), **versions: str) -> Bench:
    """A conformant node with these versions and an approved plan."""
    one = bench("conformant", inventory=behind(healthy_inventory(), **versions), misbehaves=misbehaves)
    one.approve()
    return one


def test_current_firmware_needs_no_effect() -> None:
    """A node whose versions are all allowed passes without an update or a reset."""
    one = conformant()
    done = one.run(firmware)
    assert done.facts["firmware_set"] == "h100-sxm-8-2026.11"
    assert dict(one.machine.sent) == {}


def test_an_update_is_proven_by_its_version() -> None:
    """The BIOS is updated, activated by one reset, and settled with the version that was read."""
    one = conformant(HostBIOS_0="1.05.03")
    done = one.run(firmware)
    assert done.summary == "gpu-a01 runs firmware set h100-sxm-8-2026.11: 59 components compared, 1 updated."
    (effect,) = [effect for effect in one.ledger.effects("gpu-a01") if effect.kind == "firmware-update"]
    assert (effect.status, effect.proof) == ("proven", {"version": "1.06.07"})


def test_a_version_that_does_not_move_is_refused_as_stuck() -> None:
    """The task says Completed and the version stays: success is judged by the version, the effect is failed."""
    one = conformant(HostBIOS_0="1.05.03", misbehaves=["stuck"])
    with pytest.raises(Refused) as refused:
        one.run(firmware)
    assert refused.value.sentence == (
        "Firmware of gpu-a01 will not update: HostBIOS_0 still runs 1.05.03, not 1.06.07, although its update task "
        "ended well and the host was reset: reset its BMC and clear this task, or hold the node out and have the part "
        "exchanged."
    )
    assert dict(one.machine.sent) == {"firmware-update": 1, "reset": 1}
    assert one.ledger.nodes(["gpu-a01"])[0].milestone == "conformant"


def test_a_cleared_stuck_update_is_a_new_attempt() -> None:
    """After a person had the BMC reset, the next attempt updates again with an effect of its own."""
    one = conformant(HostBIOS_0="1.05.03", misbehaves=["stuck"])
    with pytest.raises(Refused):
        one.run(firmware)
    one.machine.misbehaves = frozenset()
    one.run(firmware)
    assert dict(one.machine.sent) == {"firmware-update": 2, "reset": 2}
    updates = [effect for effect in one.ledger.effects("gpu-a01") if effect.kind == "firmware-update"]
    assert [(effect.key, effect.status) for effect in updates] == [
        ("HostBIOS_0/1", "failed"),
        ("HostBIOS_0/2", "proven"),
    ]


def test_a_failed_task_is_refused_with_the_bmcs_words() -> None:
    """Nothing is reset for an image that was never written."""
    one = conformant(HostBIOS_0="1.05.03", misbehaves=["task-fails"])
    with pytest.raises(Refused, match=r"from 1.05.03 to 1.06.07 failed: Exception: bad image"):
        one.run(firmware)
    assert dict(one.machine.sent) == {"firmware-update": 1}


def test_a_vanished_task_is_judged_by_the_version() -> None:
    """A BMC that forgets its task after it ended is no failure."""
    one = conformant(HostBIOS_0="1.05.03", misbehaves=["task-vanishes"])
    one.run(firmware)
    assert dict(one.machine.sent) == {"firmware-update": 1, "reset": 1}


def test_what_needs_an_ac_cycle_is_held_out_for_a_person() -> None:
    """A CPLD is written, and the sentence says that its cords must be pulled; no reset is sent."""
    one = conformant(CPLDMB_0="0.2.1.6")
    with pytest.raises(Refused, match="CPLDMB_0 of gpu-a01 is written and comes to life only without standby power"):
        one.run(firmware)
    assert dict(one.machine.sent) == {"firmware-update": 1}


def test_what_cannot_be_updated_is_held_out_before_anything_is_sent() -> None:
    """A component that the BMC calls not updateable stops the procedure."""
    inventory = behind(healthy_inventory(), HostBIOS_0="1.05.03")
    fixed = tuple(replace(item, updateable=False) for item in inventory.firmware)
    one = bench("conformant", inventory=replace(inventory, firmware=fixed))
    one.approve()
    with pytest.raises(Refused, match=r"HostBIOS_0 of gpu-a01 differs .* and its BMC cannot update it"):
        one.run(firmware)
    assert dict(one.machine.sent) == {}


def test_a_component_without_version_is_unknown_and_refused() -> None:
    """What the set names and the BMC does not show is not current."""
    inventory = healthy_inventory()
    one = bench("conformant", inventory=replace(inventory, firmware=inventory.firmware[1:]))
    one.approve()
    with pytest.raises(Refused, match="shows no version of HostBIOS_0"):
        one.run(firmware)


def test_without_an_answer_nothing_is_sent() -> None:
    """A plan that nobody approved is not carried out."""
    one = bench("conformant", inventory=behind(healthy_inventory(), HostBIOS_0="1.05.03"))
    with pytest.raises(Refused, match="has no answer"):
        one.run(firmware)
    assert dict(one.machine.sent) == {}


def test_a_refused_plan_is_refused_with_who_and_why() -> None:
    """A no is an answer."""
    one = bench("conformant", inventory=behind(healthy_inventory(), HostBIOS_0="1.05.03"))
    proposal = plan(one.lease, one.node, one.work)
    one.ledger.record_approval(one.lease, plan_sha256=proposal.sha256, who="bob", answer="refuse", why="not today")
    with pytest.raises(Refused, match=r"^The plan was refused by bob: not today\.$"):
        one.run(firmware)


def test_a_component_that_changed_since_the_plan_is_not_touched() -> None:
    """The plan names exact versions; what differs from it needs another plan."""
    one = conformant()
    one.machine.inventory = behind(one.machine.inventory, HostBIOS_0="1.04.02")
    with pytest.raises(Refused, match="differs from the reading that the approved plan was made from"):
        one.run(firmware)
    assert dict(one.machine.sent) == {}


def test_an_unanswered_reset_that_took_effect_is_not_sent_again() -> None:
    """The answer is lost, the BMC's last reset has moved: the procedure goes on."""
    one = conformant(HostBIOS_0="1.05.03", misbehaves=["reset-unanswered"])
    one.run(firmware)
    assert one.machine.sent["reset"] == 1


def test_an_unanswered_reset_that_nobody_can_prove_is_left_to_a_person() -> None:
    """Without LastResetTime and without a new boot id the effect is unknown; the person who clears the task goes on."""
    one = conformant(HostBIOS_0="1.05.03", misbehaves=["reset-unanswered", "no-last-reset", "stuck"])
    with pytest.raises(OutcomeUnknown):
        one.run(firmware)
    assert one.machine.sent["reset"] == 1
    (reset,) = [effect for effect in one.ledger.effects("gpu-a01") if effect.kind == "reset"]
    assert reset.status == "unknown"
    one.machine.misbehaves = frozenset({"stuck", "no-last-reset"})
    with pytest.raises(Refused, match="will not update"):
        one.run(firmware)
    assert one.machine.sent["reset"] == 2


def test_a_process_killed_around_a_reset_that_nobody_can_prove_leaves_it_to_a_person() -> None:
    """Without any trace the next process does not send it again by itself."""
    one = conformant(HostBIOS_0="1.05.03", misbehaves=["no-last-reset", "stuck"])
    call = next(n for n in range(1, 99) if _sends_reset_at(n))
    assert one.killed_at(firmware, Fuse(call, after=True))
    with pytest.raises(OutcomeUnknown, match="neither its BMC nor its Node can tell"):
        one.run(firmware)
    assert one.machine.sent["reset"] == 1


def _sends_reset_at(call: int) -> bool:
    """Tell whether this is the port call that sends the reset."""
    one = conformant(HostBIOS_0="1.05.03", misbehaves=["no-last-reset", "stuck"])
    one.killed_at(firmware, Fuse(call, after=True))
    return one.machine.sent["reset"] == 1


def test_the_plan_keeps_its_hash_while_it_is_carried_out() -> None:
    """An approval stays valid from the first update to the last boot."""
    one = conformant(HostBIOS_0="1.05.03")
    before = plan(one.lease, one.node, one.work)
    one.run(firmware)
    assert plan(one.lease, one.node, one.work).sha256 == before.sha256
    assert before.document["steps"][0]["what"] == "update HostBIOS_0 from 1.05.03 to 1.06.07"
