"""Firmware: every component of the SKU's set runs a version that was qualified together with the others.

One update at a time, because BMCs take no more. An update is proven by its version alone: a task may say Completed for
an image that never comes to life, and may vanish when it ends well. What does not activate by a reset of the host is
held out with a sentence for the person who can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nodeworthy.errors import Permanent, Refused
from nodeworthy.evidence.inventory import FirmwareItem
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.records import Effect, Lease
from nodeworthy.ports import Bmc, Power, Work
from nodeworthy.procedures.attest_components import attest_components
from nodeworthy.procedures.effect import FAILED, INTENDED, PROVEN, Case
from nodeworthy.procedures.firmware_update import UPDATE, update
from nodeworthy.procedures.outcome import Done, Waiting
from nodeworthy.procedures.plan import require_approved
from nodeworthy.procedures.progress import begin
from nodeworthy.procedures.ready import AFTER_POST
from nodeworthy.procedures.reset import RESET, has_happened, send_reset, until, was_answered
from nodeworthy.qualification.sku import FirmwareEntry, FirmwareSet

EVENT = "firmware"
SELF = "self"
AC_CYCLE = "ac-cycle"
RESTART = "ForceRestart"

Versions = Mapping[str, FirmwareItem]


def firmware(lease: Lease, node: FleetNode, work: Work) -> Done | Waiting:
    """Update what differs from the baseline set, activate it by one reset and prove the versions."""
    done = begin(EVENT, node, work)
    if done is not None:
        return done
    proposal = require_approved(lease, node, work, "firmware")
    case = Case(lease, node, work, work.library.sku(node.sku))
    wanted = work.library.firmware_set(case.sku.firmware_set)
    planned = {str(step.get("component")): str(step["to"]) for step in proposal.document["steps"] if "to" in step}
    with work.bmcs.open(node, case.sku) as bmc:
        versions = {item.id: item for item in bmc.firmware()}
        pending = _pending(case, wanted, versions)
        waiting = _bring_up(case, bmc, pending, versions, planned) if pending else attest_components(case, bmc, wanted)
    if waiting is not None:
        return waiting
    return _proven(case, wanted, versions, proposal.sha256)


def _pending(case: Case, wanted: FirmwareSet, versions: Versions) -> list[FirmwareEntry]:
    """Return the entries whose version is not allowed. Raises Refused for what is unknown or cannot be updated."""
    unknown = [entry.id for entry in wanted.entries if entry.id not in versions]
    if unknown:
        raise Refused(
            f"{case.node.name} shows no version of {', '.join(unknown)}, which firmware set {wanted.name} names: "
            "restart the BMC and try again, or correct the set."
        )
    pending = [entry for entry in wanted.entries if versions[entry.id].version not in entry.allowed]
    for entry in pending:
        version = versions[entry.id].version or "no version"
        case.work.say(f"{entry.id} runs {version}, the set {wanted.name} allows {' or '.join(entry.allowed)}.")
    fixed = [entry.id for entry in pending if not versions[entry.id].updateable]
    if fixed:
        raise Refused(
            f"{', '.join(fixed)} of {case.node.name} differs from firmware set {wanted.name} and its BMC cannot "
            "update it: update it by the vendor's tool or exchange the part."
        )
    return pending


def _bring_up(
    case: Case, bmc: Bmc, pending: Sequence[FirmwareEntry], versions: Versions, planned: Mapping[str, str]
) -> Waiting | None:
    """Write every pending image, then activate them together. Waiting until the world has followed."""
    for entry in pending:
        if planned.get(entry.id) != entry.target:
            raise Refused(
                f"{entry.id} of {case.node.name} runs {versions[entry.id].version}, which differs from the reading "
                "that the approved plan was made from: somebody changed it since; begin a new episode to plan again."
            )
        waiting = update(case, bmc, entry, versions[entry.id])
        if waiting is not None:
            return waiting
    by_hand = [entry.id for entry in pending if entry.activation == AC_CYCLE]
    if by_hand:
        raise Refused(
            f"{', '.join(by_hand)} of {case.node.name} is written and comes to life only without standby power: pull "
            "and plug its power cords, then clear this task."
        )
    if all(entry.activation == SELF for entry in pending):
        _refuse_stuck(case, pending, versions, after="its task ended")
    return _activate(case, bmc, pending, versions)


def _activate(case: Case, bmc: Bmc, pending: Sequence[FirmwareEntry], versions: Versions) -> Waiting:
    """Reset the host once for all images; judge an unchanged version only after its self test."""
    seen = case.work.cluster.node(case.node.name)
    state = bmc.state()
    newest = case.newest(RESET, EVENT)
    number = int(newest.key.rsplit("/", 1)[1]) if newest is not None else 1
    key = f"{EVENT}/{number + 1 if newest is not None and newest.status != INTENDED else number}"
    kind = "On" if state.power is Power.OFF else RESTART
    sent = send_reset(case, bmc, kind, key, {"boot_id": seen.boot_id if seen else ""})
    if isinstance(sent, Waiting):
        return sent
    now = case.work.clock.now()
    deadline = sent.intended_at + case.sku.bmc.boot_deadline
    happened = has_happened(case, sent, state)
    taken = was_answered(case, sent) if happened is None else happened
    if not sent.fresh and taken and state.boot_progress in AFTER_POST:
        # A BMC may show the stage of before the reset for a moment.
        settled_at = sent.intended_at + 2 * case.bmc_poll
        if now < settled_at:
            return until(settled_at, f"the BMC of {case.node.name} to show what the reset did", case)
        case.settle(sent, PROVEN, {"boot_progress": state.boot_progress})
        _refuse_stuck(case, pending, versions, after="its update task ended well and the host was reset")
    if now >= deadline:
        case.settle(sent, FAILED, {"power": state.power.value, "boot_progress": state.boot_progress})
        raise Permanent(
            f"{case.node.name} was reset to activate firmware and did not pass its self test by {deadline:%H:%M} UTC "
            f"(power {state.power}, boot progress {state.boot_progress or 'unknown'}): look at the console, then "
            "clear this task."
        )
    return Waiting(
        f"the self test of {case.node.name} to activate firmware", case.bmc_poll, deadline, {"kind": "post-ended"}
    )


def _refuse_stuck(case: Case, pending: Sequence[FirmwareEntry], versions: Versions, *, after: str) -> None:
    """Settle what did not come to life as failed and refuse with every item."""
    updates = case.newest_by_step(UPDATE)
    for entry in pending:
        effect = updates.get(entry.id)
        if effect is not None:
            case.settle(effect, FAILED, {"version": versions[entry.id].version})
    items = "; ".join(f"{entry.id} still runs {versions[entry.id].version}, not {entry.target}" for entry in pending)
    raise Refused(
        f"Firmware of {case.node.name} will not update: {items}, although {after}: reset its BMC and clear this task, "
        "or hold the node out and have the part exchanged."
    )


def _proven(case: Case, wanted: FirmwareSet, versions: Versions, plan_sha256: str) -> Done:
    """Every version is allowed: settle the effects by what is read now, and advance."""
    updated: list[str] = []
    updates = case.newest_by_step(UPDATE)
    for entry in wanted.entries:
        effect = updates.get(entry.id)
        if effect is not None:
            case.settle(effect, PROVEN, {"version": versions[entry.id].version})
            updated.append(_sentence(effect, versions[entry.id]))
    reset = case.newest(RESET, EVENT)
    if reset is not None:
        case.settle(reset, PROVEN, {"activated": len(updated)})
    for line in updated:
        case.work.say(line)
    case.work.ledger.advance(case.lease, EVENT, {"firmware_set": wanted.name, "plan_sha256": plan_sha256})
    summary = (
        f"{case.node.name} runs firmware set {wanted.name}: {len(wanted.entries)} components compared, "
        f"{len(updated)} updated."
    )
    case.work.say(summary)
    return Done(summary, {"firmware_set": wanted.name})


def _sentence(effect: Effect, item: FirmwareItem) -> str:
    return f"{item.id} went from {effect.detail['from']} to {item.version} (effect {effect.id})."
