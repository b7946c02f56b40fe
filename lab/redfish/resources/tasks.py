"""The task service: a Task always answers 200, a monitor 202 while its task runs (DSP0266, asynchronous operations)."""

from __future__ import annotations

from lab.redfish import errors
from lab.redfish.documents import OK, ROOT, collection, link, resource
from lab.redfish.routes import Answer, Context, Document, get
from lab.redfish.tasks import Task, document, hidden

_RETRY_AFTER = {"Retry-After": "1"}


@get("TaskService")
def service(context: Context) -> Document:
    """The task service."""
    return resource(
        "TaskService",
        "TaskService.v1_2_1",
        "Task Service",
        ServiceEnabled=True,
        DateTime=context.world.clock.now().isoformat(timespec="seconds"),
        Tasks=link("TaskService/Tasks"),
        Status=OK,
    )


def _task(context: Context, name: str) -> Task:
    found = context.bmc.tasks.get(name)
    if found is None or hidden(found, context.node, context.world.clock.now()):
        raise errors.not_found(ROOT + context.path)
    return found


@get("TaskService/Tasks")
def tasks(context: Context) -> Document:
    """All tasks that can be seen."""
    now = context.world.clock.now()
    seen = [name for name, task in context.bmc.tasks.items() if not hidden(task, context.node, now)]
    return collection("TaskService/Tasks", "Task", seen)


@get("TaskService/Tasks/{task}")
def task(context: Context, task: str) -> Document:
    """One task."""
    found = _task(context, task)
    return document(found, context.world.clock.now(), vanishes=context.has("task-vanishes"))


@get("TaskService/TaskMonitors/{task}")
def monitor(context: Context, task: str) -> Answer:
    """202 while the task runs, 200 with the task when it has ended."""
    found, now = _task(context, task), context.world.clock.now()
    body = document(found, now, vanishes=context.has("task-vanishes"))
    if found.message is not None:
        return Answer(200, body)
    return Answer(202, body, {**_RETRY_AFTER, "Location": ROOT + context.path})
