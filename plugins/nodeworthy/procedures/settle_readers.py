"""One reader per kind of effect: what the world says about an effect whose process is dead. Reads only.

A reader waits until any request of the dead process must have arrived, and then for as long as what it started may
take. A kind without a reader is `unknown` after the first of the two: whoever adds an effect adds its reader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from nodeworthy.lifecycle.records import Effect
from nodeworthy.lifecycle.upkeep import Orphan
from nodeworthy.ports import Bmc, ClusterNode, Power, SystemState
from nodeworthy.procedures.admit import ADMISSION, shows
from nodeworthy.procedures.again import REFUSAL
from nodeworthy.procedures.boot import BOOT_OVERRIDE, NODE_DELETE, is_new, proof_of
from nodeworthy.procedures.effect import FAILED, PROVEN, UNKNOWN, Case
from nodeworthy.procedures.firmware_update import QUIRK_TASKS_VANISH, TASK, UPDATE
from nodeworthy.procedures.inventory import READING
from nodeworthy.procedures.offer import IN_SERVICE
from nodeworthy.procedures.ready import AFTER_POST
from nodeworthy.procedures.reset import ANSWER, RESET, has_happened, was_answered
from nodeworthy.procedures.segments import PLAN
from nodeworthy.procedures.trial import TRIAL
from nodeworthy.qualification.plans import group_limit, pod_limit


@dataclass(frozen=True, slots=True)
class Found:
    """What the world says: an outcome and its proof."""

    status: str
    proof: Mapping[str, Any] = field(default_factory=dict)


Reader = Callable[[Case, Orphan], Found | None]


def unread(case: Case, orphan: Orphan) -> Found | None:
    """No reader knows this kind, so nobody can tell."""
    return None if _may_arrive(case, orphan.effect) else Found(UNKNOWN, {"reader": "none"})


def reset(case: Case, orphan: Orphan) -> Found | None:
    """A reset: its boot is proven, it never came, it led nowhere in its time, or nobody can tell."""
    effect = orphan.effect
    if _may_arrive(case, effect):
        return None
    with case.work.bmcs.open(case.node, case.sku) as bmc:
        state = bmc.state()
    happened, answered = has_happened(case, effect, state), was_answered(case, effect)
    if happened is None and not answered:
        return Found(UNKNOWN, {"power": state.power.value, "boot_progress": state.boot_progress})
    if happened is False:
        return _nothing_happened(case, effect, state, answered=answered)
    is_boot = "uid" in effect.detail
    return _booted(case, effect, state) if is_boot else _self_test(case, effect, state)


def boot_override(case: Case, orphan: Orphan) -> Found | None:
    """An order for the next boot stands in the BMC, or it does not; it may be given again."""
    if _may_arrive(case, orphan.effect):
        return None
    with case.work.bmcs.open(case.node, case.sku) as bmc:
        state = bmc.state()
    same = state.boot_override_uri == orphan.effect.detail["uri"]
    return Found(PROVEN if same else FAILED, {"uri": state.boot_override_uri})


def node_delete(case: Case, orphan: Orphan) -> Found | None:
    """The Node object of that uid is gone, or it never was deleted."""
    uid = str(orphan.effect.detail["uid"])
    seen = case.work.cluster.node(case.node.name)
    if seen is None or seen.uid != uid:
        return Found(PROVEN, {"gone": uid})
    return None if _may_arrive(case, orphan.effect) else Found(FAILED, {"sent": False})


def firmware_update(case: Case, orphan: Orphan) -> Found | None:
    """The version decides; a task that ended well waits for the reset that wakes it, which the next run sends."""
    effect = orphan.effect
    component = effect.key.rsplit("/", 1)[0]
    if _may_arrive(case, effect):
        return None
    with case.work.bmcs.open(case.node, case.sku) as bmc:
        version = next((item.version for item in bmc.firmware() if item.id == component), "")
        if version == effect.detail["to"]:
            return Found(PROVEN, {"version": version})
        return _update_task(case, bmc, effect, component)


def record(_case: Case, orphan: Orphan) -> Found | None:
    """The effect is a fact that was written down; nothing was sent that could be missing."""
    return Found(PROVEN, {"record": dict(orphan.effect.detail)} if orphan.effect.kind == TASK else {})


def test_plan(case: Case, orphan: Orphan) -> Found | None:
    """A plan whose pod brought no result in the time of all its tests; the next run hands out another."""
    plan = orphan.effect.detail["plan"]
    start: timedelta = case.work.library.policy(case.node.pool)["waits"]["node_ready"]
    end = orphan.effect.intended_at + start + pod_limit(plan)
    return None if _before(case, end) else Found(FAILED, {"taken_in": False})


def group_trial(case: Case, orphan: Orphan) -> Found | None:
    """A group whose screening died: it has no answer once its pods have ended, and is tried again by who goes on."""
    end = orphan.effect.intended_at + group_limit(case.work.library.suite(str(orphan.effect.detail["suite"])))
    return None if _before(case, end) else Found(FAILED, {"answered": False})


def admission(case: Case, orphan: Orphan) -> Found | None:
    """The node is in service and shows it; one that is in service is shown by reconciliation first."""
    if orphan.milestone != IN_SERVICE:
        return None if _may_arrive(case, orphan.effect) else Found(FAILED, {"milestone": orphan.milestone})
    seen = case.work.cluster.node(case.node.name)
    projection = case.work.library.lifecycle().projection(IN_SERVICE)
    if seen is None or not shows(seen, projection, case.work):
        return None
    return Found(PROVEN, {"uid": seen.uid, "resource_version": seen.resource_version})


READERS: Mapping[str, Reader] = {
    RESET: reset,
    BOOT_OVERRIDE: boot_override,
    NODE_DELETE: node_delete,
    UPDATE: firmware_update,
    TASK: record,
    ANSWER: record,
    READING: record,
    REFUSAL: record,
    PLAN: test_plan,
    TRIAL: group_trial,
    ADMISSION: admission,
}


def _nothing_happened(case: Case, effect: Effect, state: SystemState, *, answered: bool) -> Found | None:
    if not answered:
        return Found(FAILED, {"sent": False})
    patience: timedelta = case.work.library.policy(case.node.pool)["waits"]["power"]
    if _before(case, effect.intended_at + patience):
        return None
    return Found(FAILED, {"power": state.power.value, "boot_progress": state.boot_progress, "moved": False})


def _booted(case: Case, effect: Effect, state: SystemState) -> Found | None:
    """A boot is proven by a new Ready Node that runs the image that was ordered."""
    seen = case.work.cluster.node(case.node.name)
    if seen is not None and is_new(seen, effect):
        return Found(PROVEN if _is_ordered_image(case, effect, seen) else FAILED, proof_of(seen))
    ready: timedelta = case.work.library.policy(case.node.pool)["waits"]["node_ready"]
    if _before(case, effect.intended_at + case.sku.bmc.boot_deadline + ready):
        return None
    return Found(FAILED, {"power": state.power.value, "boot_progress": state.boot_progress, "moved": True})


def _is_ordered_image(case: Case, effect: Effect, seen: ClusterNode) -> bool:
    step = effect.key.rsplit("/", 1)[0]
    ordered = [one for one in case.effects() if one.kind == BOOT_OVERRIDE and one.key.rsplit("/", 1)[0] == step]
    images = case.work.library.policy(case.node.pool)["images"].values()
    names = {image["uri"]: image["name"] for image in images}
    return bool(ordered) and seen.image == names.get(ordered[-1].detail["uri"], "")


def _self_test(case: Case, effect: Effect, state: SystemState) -> Found | None:
    """Power on, or a reset that wakes firmware: over when the self test is."""
    proof = {"power": state.power.value, "boot_progress": state.boot_progress}
    if state.power is Power.ON and state.boot_progress in AFTER_POST:
        return Found(PROVEN, proof)
    return None if _before(case, effect.intended_at + case.sku.bmc.boot_deadline) else Found(FAILED, proof)


def _update_task(case: Case, bmc: Bmc, effect: Effect, component: str) -> Found | None:
    kept = case.newest(TASK, component)
    known = str(kept.detail["task"]) if kept is not None and kept.key == effect.key else ""
    new = [one.task for one in bmc.updates() if one.task not in effect.detail["tasks"]]
    task = known or (new[-1] if new else "")
    if not task:
        forgets = QUIRK_TASKS_VANISH in case.sku.bmc.quirks
        return Found(UNKNOWN, {}) if forgets else Found(FAILED, {"sent": False})
    state = bmc.update_state(task)
    if state.running:
        over = not _before(case, effect.intended_at + case.sku.bmc.update_deadline)
        return Found(UNKNOWN, {"task": task, "message": state.message}) if over else None
    if state.succeeded or state.unclear:
        return None
    return Found(FAILED, {"task": task, "message": state.message})


def _may_arrive(case: Case, effect: Effect) -> bool:
    """Whether a request of the dead process may still be on its way."""
    return _before(case, effect.intended_at + case.settle_time)


def _before(case: Case, moment: datetime) -> bool:
    return case.work.clock.now() < moment
