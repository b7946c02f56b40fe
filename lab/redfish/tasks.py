"""Update tasks: how far one is follows from the lab's clock; what it leaves behind happens once, when it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from lab.redfish.bmc import Bmc, quirk_row
from lab.redfish.documents import ROOT, Document
from lab.truth.node import LabNode
from lab.truth.world import World

# Message keys of the Update registry (DSP8011).
_MESSAGES: Mapping[str, tuple[str, str]] = {
    "staged": ("Update.1.2.AwaitToActivate", "Awaiting for an action to proceed with activating image {version}."),
    "done": ("Update.1.2.UpdateSuccessful", "Device {items} successfully updated with image {version}."),
    "failed": ("Update.1.2.VerificationFailed", "Verification of image {version} at {items} failed."),
}


@dataclass(slots=True)
class Task:
    """One update. `fails_at` is the share of its run after which it ends in Exception."""

    id: str
    items: tuple[str, ...]
    version: str
    started: datetime
    duration: timedelta
    fails_at: float | None = None
    ended: datetime | None = None
    message: str | None = None

    def running(self, now: datetime) -> bool:
        """Whether it still works at `now`."""
        return self.ended is None and now < self.started + self.duration * 2

    def percent(self, now: datetime) -> int:
        """How far it is, 0 to 100."""
        if self.message is not None:
            return round(100 * (self.fails_at or 1.0))
        return min(99, int(100 * ((now - self.started) / self.duration)))


def start_update(world: World, node: LabNode, bmc: Bmc, items: list[str], version: str) -> Task:
    """Begin to write `version` to the items; the task stages it when its time is over."""
    seconds = sum(node.platform.firmware[item].seconds for item in items)
    fails = any(world.faults.concerns(node.name, "firmware-task-fails", "component", item) for item in items)
    task = Task(
        bmc.next_number(), tuple(items), version, world.clock.now(), timedelta(seconds=seconds), 0.6 if fails else None
    )
    bmc.tasks[task.id] = task
    world.clock.call_later(task.duration * (task.fails_at or 1.0), lambda: _end(world, node, bmc, task))
    if "bmc-restarts-in-update" in node.quirks:
        world.clock.call_later(task.duration / 2, lambda: bmc.restart(world, node))
    return task


def _end(world: World, node: LabNode, bmc: Bmc, task: Task) -> None:
    task.ended = world.clock.now()
    if task.fails_at is not None:
        task.message = "failed"
        return
    task.message = "staged"
    for item in task.items:
        _land(world, node, bmc, task, item)


def _land(world: World, node: LabNode, bmc: Bmc, task: Task, item: str) -> None:
    activation = node.platform.firmware[item].activation
    ac_cycle = "ac-cycle-activation" in node.quirks and activation == "reset"
    if ac_cycle or world.faults.concerns(node.name, "firmware-needs-ac-cycle", "component", item):
        activation = "ac-cycle"
    if activation != "self":
        node.firmware.stage(item, task.version, activation)
        return
    task.message = "done"
    if not world.faults.concerns(node.name, "firmware-stuck", "component", item):
        node.firmware.stage(item, task.version, "self")
        node.firmware.activate("self")
    bmc.restart(world, node)


def document(task: Task, now: datetime, *, vanishes: bool = False) -> Document:
    """The Task resource; quirk 13 shows 100 % too early and ends Completed with status Critical."""
    state = {None: "Running", "failed": "Exception"}.get(task.message, "Completed")
    percent = 100 if vanishes and task.percent(now) > 90 else task.percent(now)
    status = "Critical" if state == "Exception" or (vanishes and state == "Completed") else "OK"
    body: Document = {
        "@odata.id": f"{ROOT}TaskService/Tasks/{task.id}",
        "@odata.type": "#Task.v1_7_4.Task",
        "Id": task.id,
        "Name": f"Update of {', '.join(task.items)}",
        "TaskState": state,
        "TaskStatus": status,
        "PercentComplete": percent,
        "StartTime": task.started.isoformat(timespec="seconds"),
        "TaskMonitor": f"{ROOT}TaskService/TaskMonitors/{task.id}",
        "Messages": [_message(task)] if task.message else [],
    }
    if task.ended is not None:
        body["EndTime"] = task.ended.isoformat(timespec="seconds")
    return body


def _message(task: Task) -> dict[str, Any]:
    key, text = _MESSAGES[str(task.message)]
    items = ", ".join(task.items)
    return {
        "@odata.type": "#Message.v1_2_0.Message",
        "MessageId": key,
        "Message": text.format(items=items, version=task.version),
        "MessageArgs": [items, task.version],
        "MessageSeverity": "Critical" if task.message == "failed" else "OK",
    }


def hidden(task: Task, node: LabNode, now: datetime) -> bool:
    """Quirks 13 and 14: a task that is gone soon after its end, or not yet there just after its creation."""
    if "task-vanishes" in node.quirks and task.ended is not None:
        return now - task.ended > timedelta(seconds=float(quirk_row("task-vanishes")["gone_seconds"]))
    if "bmc-restarts-in-update" in node.quirks:
        return now - task.started < timedelta(seconds=float(quirk_row("bmc-restarts-in-update")["hidden_seconds"]))
    return False
