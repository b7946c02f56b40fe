"""Firmware updates: where one is posted, and what its task says (TaskService v1.2, UpdateService v1.14).

Three habits of real BMCs decide the form: a task may answer 404 as soon as it has ended, whether well or not; a task
may be "Completed" with status Critical; and 100 per cent may come before the end. So a vanished task has ended
without an outcome of its own, only the version proves success, and a task ends by its state alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from nodeworthy.adapters.bmc_redfish_state import moment
from nodeworthy.adapters.bmc_redfish_tree import Resource, Tree, identity, part, text
from nodeworthy.errors import Permanent
from nodeworthy.ports import UpdateState

ENDED = {"Completed", "Exception", "Killed", "Cancelled", "Interrupted"}
HTTP_NOT_FOUND = 404
HTTP_ACCEPTED = 202


def update_target(tree: Tree, root: Resource, node: str) -> str:
    """Return where SimpleUpdate is posted. Permanent when the BMC has none."""
    service = tree.follow(root, "UpdateService")
    target = text(service, "Actions", "#UpdateService.SimpleUpdate", "target")
    if not target:
        raise Permanent(
            f"A firmware update of {node} was not started: its BMC offers no SimpleUpdate; update it by hand."
        )
    return target


def task_of(body: Resource, headers: Mapping[str, str]) -> str:
    """Return the task's URI: the Location header, which alone the specification promises, before the body's own id."""
    location = headers.get("Location") or headers.get("location") or ""
    return location or (identity(body) if "Task" in text(body, "@odata.type") else "")


def read_update(task: str, status: int, body: Resource) -> UpdateState:
    """Say whether a task still runs and whether it claims success."""
    if status == HTTP_NOT_FOUND:
        return UpdateState(
            task, running=False, succeeded=False, message="the BMC no longer knows the task", unclear=True
        )
    state = text(body, "TaskState")
    running = state not in ENDED if state else status == HTTP_ACCEPTED
    sound = text(body, "TaskStatus") in {"OK", ""}
    return UpdateState(
        task=task,
        running=running,
        succeeded=not running and sound and state in {"Completed", ""},
        message=_message(body, state),
        started=moment(body, "StartTime"),
        unclear=state == "Completed" and not sound,
    )


def list_updates(tree: Tree, root: Resource) -> tuple[UpdateState, ...]:
    """Read the tasks of the task service, in its order."""
    service = tree.follow(root, "Tasks")
    return tuple(read_update(identity(task), 200, task) for task in tree.members(service, "Tasks"))


def _message(body: Resource, state: str) -> str:
    messages = part(body, "Messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    return text(last, "Message").rstrip(".") or " ".join(filter(None, (state, text(body, "TaskStatus"))))
