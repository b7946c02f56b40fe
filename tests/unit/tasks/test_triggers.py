"""Triggers are stored as a path and arguments, come back the same, and end at their deadline whatever happens."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

from airflow.providers.cncf.kubernetes.triggers.pod import KubernetesPodTrigger
from airflow.triggers.base import BaseTrigger, TriggerEvent
from nodeworthy.tasks.pod_trigger import WatchedPodTrigger
from nodeworthy.tasks.triggers import LookingTrigger, PodsTrigger, ReadyTrigger

CHECK = {"kind": "update-ended", "task": "/redfish/v1/TaskService/Tasks/7"}


class Never(LookingTrigger):
    """Waits for what never comes."""

    def about(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def look(self) -> bool:
        """It is not there."""
        return False


class Always(Never):
    """Waits for what is there."""

    def look(self) -> bool:
        """It is there."""
        return True


def restored(trigger: BaseTrigger) -> Any:
    """Do what the triggerer does with a stored trigger."""
    path, arguments = trigger.serialize()
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)(**json.loads(json.dumps(arguments, default=str)))


def test_a_ready_trigger_survives_its_storage() -> None:
    """Node, check, pause and deadline are the same after a round trip through JSON."""
    deadline = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    again = restored(ReadyTrigger("n1", CHECK, 3.5, deadline.isoformat(), "bring_up/1"))
    assert (again.node, again.check, again.poll, again.deadline) == ("n1", CHECK, timedelta(seconds=3.5), deadline)
    assert again.holder == "bring_up/1"


def test_a_deadline_that_has_passed_fires_at_once_and_says_so() -> None:
    """A triggerer that was down for an hour does not wait another hour; the procedure is called and decides."""
    past = datetime.now(tz=UTC) - timedelta(hours=1)

    async def first() -> TriggerEvent:
        return await anext(ReadyTrigger("n1", CHECK, 3600.0, past.isoformat()).run())

    assert asyncio.run(asyncio.wait_for(first(), 5)).payload == {
        "schema": 1, "node": "n1", "check": CHECK, "came": False,
    }  # fmt: skip


def test_a_trigger_does_not_sleep_through_its_deadline() -> None:
    """One that looks every hour still fires when its time is over, not at its next look."""
    soon = datetime.now(tz=UTC) + timedelta(seconds=0.2)

    async def first() -> TriggerEvent:
        return await anext(Never(3600.0, soon.isoformat()).run())

    assert asyncio.run(asyncio.wait_for(first(), 5)).payload == {"schema": 1, "came": False}
    assert datetime.now(tz=UTC) >= soon


def test_what_is_waited_for_is_seen_at_the_first_look() -> None:
    """No pause before the first look."""
    later = datetime.now(tz=UTC) + timedelta(hours=1)

    async def first() -> TriggerEvent:
        return await anext(Always(3600.0, later.isoformat()).run())

    assert asyncio.run(asyncio.wait_for(first(), 5)).payload == {"schema": 1, "came": True}


def test_a_pods_trigger_survives_its_storage() -> None:
    """Groups, pause and deadline are the same after a round trip through JSON."""
    deadline = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    again = restored(PodsTrigger(["m1-ab-1"], 3.5, deadline.isoformat(), "group_test/1"))
    assert (again.groups, again.poll, again.deadline) == (["m1-ab-1"], timedelta(seconds=3.5), deadline)
    assert again.holder == "group_test/1"


def test_a_watched_pod_trigger_waits_for_the_same_pod() -> None:
    """All of the pod operator's own arguments are kept, and ours are added."""
    own = KubernetesPodTrigger(
        pod_name="p", pod_namespace="ns", trigger_start_time=datetime(2026, 11, 30, tzinfo=UTC),
        base_container_name="base", poll_interval=7.0, trigger_kwargs={"_execution_deadline": 12},
    )  # fmt: skip
    watched = WatchedPodTrigger.around(own, node="n1", lost_after_seconds=30.0, holder="bring_up/1")
    path, arguments = watched.serialize()
    assert path == "nodeworthy.tasks.pod_trigger.WatchedPodTrigger"
    assert arguments == {**own.serialize()[1], "node": "n1", "lost_after_seconds": 30.0, "holder": "bring_up/1"}
    again = restored(watched)
    assert (again.node, again.pod_name, again.poll_interval) == ("n1", "p", 7.0)


def test_a_watched_pod_trigger_hands_on_what_the_pod_operators_own_says() -> None:
    """A time limit that has passed before the trigger began ends it at once, as it would without us."""
    watched = WatchedPodTrigger(
        node="n1", lost_after_seconds=30.0, pod_name="p", pod_namespace="ns", base_container_name="base",
        trigger_start_time=datetime(2026, 11, 30, tzinfo=UTC), trigger_kwargs={"_execution_deadline": 12},
    )  # fmt: skip

    async def first() -> TriggerEvent:
        return await anext(watched.run())

    event = asyncio.run(asyncio.wait_for(first(), 5))
    assert (event.payload["status"], event.payload["name"]) == ("timeout", "p")
