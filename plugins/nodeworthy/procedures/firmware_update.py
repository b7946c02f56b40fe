"""One firmware update, sent once: start its task, know it again after a crash, wait for its end.

The task's address is written down as soon as the BMC gives it. A process that dies before that leaves a start which is
settled by looking: a task that the BMC did not know before is ours.
"""

from __future__ import annotations

from nodeworthy.errors import OutcomeUnknown, Refused
from nodeworthy.evidence.inventory import FirmwareItem
from nodeworthy.lifecycle.records import Effect
from nodeworthy.ports import Bmc
from nodeworthy.procedures.effect import FAILED, PROVEN, UNKNOWN, Case
from nodeworthy.procedures.outcome import Waiting
from nodeworthy.procedures.reset import until
from nodeworthy.qualification.sku import FirmwareEntry

UPDATE = "firmware-update"
TASK = "firmware-task"
QUIRK_TASKS_VANISH = "task-vanishes"


def update(case: Case, bmc: Bmc, entry: FirmwareEntry, item: FirmwareItem) -> Waiting | None:
    """Return None when this item's image is written, Waiting while its task runs. Refused when the task failed."""
    known = [one.task for one in bmc.updates()]
    detail = {"from": item.version, "to": entry.target, "image": entry.image_uri, "tasks": known}
    effect = case.intend(UPDATE, case.attempt(UPDATE, entry.id), detail)
    task = None if effect.fresh else _known_task(case, bmc, effect)
    if task is None and not effect.fresh:
        waiting = _never_arrived(case, entry, effect)
        if waiting is not None:
            return waiting
        effect = case.intend(UPDATE, case.attempt(UPDATE, entry.id), detail)
    if task is None:
        task = _start(case, bmc, effect, entry, item)
    state = bmc.update_state(task)
    deadline = effect.intended_at + case.sku.bmc.update_deadline
    if state.running and case.work.clock.now() < deadline:
        check = {"kind": "update-ended", "task": task}
        return Waiting(f"the update of {entry.id} to {entry.target}", case.bmc_poll, deadline, check)
    if state.running:
        case.settle(effect, UNKNOWN, {"task": task, "message": state.message})
        raise OutcomeUnknown(
            f"The update of {entry.id} on {case.node.name} still runs after {case.sku.bmc.update_deadline} "
            f"({state.message}): do not reset the node; look at the BMC's task {task}, then clear this task."
        )
    if not state.succeeded and not state.unclear:
        case.settle(effect, FAILED, {"task": task, "message": state.message})
        raise Refused(
            f"The update of {entry.id} on {case.node.name} from {item.version} to {entry.target} failed: "
            f"{state.message}; reset its BMC and clear this task, or hold the node out."
        )
    case.work.say(f"The update task of {entry.id} to {entry.target} has ended ({state.message}); its version decides.")
    return None


def _never_arrived(case: Case, entry: FirmwareEntry, effect: Effect) -> Waiting | None:
    """Give up a start that no task tells of, once any request of a dead process must have arrived."""
    arrived_by = effect.intended_at + case.settle_time
    if case.work.clock.now() < arrived_by:
        return until(arrived_by, f"an update request of {entry.id} that may be on its way", case)
    if QUIRK_TASKS_VANISH in case.sku.bmc.quirks:
        case.settle(effect, UNKNOWN, {})
        raise OutcomeUnknown(
            f"An update of {entry.id} on {case.node.name} was written down and its BMC forgets tasks, so whether it "
            "was started is unknown: look at the BMC's log, then clear this task to send it again."
        )
    case.settle(effect, FAILED, {"sent": False})
    return None


def _start(case: Case, bmc: Bmc, effect: Effect, entry: FirmwareEntry, item: FirmwareItem) -> str:
    case.work.say(f"Updating {entry.id} of {case.node.name}: {item.version} to {entry.target} (effect {effect.id}).")
    case.in_time(effect.intended_at, f"The update of {entry.id}")
    try:
        return _keep(case, effect, bmc.start_update(item, entry.image_uri, effect_id=effect.id))
    except OutcomeUnknown as unknown:
        case.work.say(f"{unknown.sentence} Looking for its task.")
        task = _known_task(case, bmc, effect)
        if task is None:
            raise
        return task


def _known_task(case: Case, bmc: Bmc, effect: Effect) -> str | None:
    """Return the task that was written down, or one that the BMC did not know before the effect was."""
    step = effect.key.rsplit("/", 1)[0]
    kept = case.newest(TASK, step)
    if kept is not None and kept.key == effect.key:
        return str(kept.detail["task"])
    new = [one.task for one in bmc.updates() if one.task not in effect.detail["tasks"]]
    return _keep(case, effect, new[-1]) if new else None


def _keep(case: Case, effect: Effect, task: str) -> str:
    record = case.intend(TASK, effect.key, {"task": task})
    case.settle(record, PROVEN, {"effect": effect.id})
    return task
