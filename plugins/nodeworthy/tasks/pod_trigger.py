"""Waiting for a test pod while its node lives.

A dead node's pod says Running until somebody deletes it, because only its kubelet could say otherwise; the pod
operator's own trigger would wait for its whole time limit. This one also watches the Node and gives up when it was not
Ready for too long.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from airflow.providers.cncf.kubernetes.triggers.pod import KubernetesPodTrigger
from airflow.triggers.base import TriggerEvent

from nodeworthy.tasks.heartbeat import heartbeat

LOOK_EVERY_SECONDS = 10.0
NODE_LOST = "node_lost"


class WatchedPodTrigger(KubernetesPodTrigger):
    """The pod operator's trigger, ended early when the node was not Ready for `lost_after_seconds`.

    Meanwhile the leases of `holder`, the run that waits, are kept alive.
    """

    def __init__(self, *, node: str, lost_after_seconds: float, holder: str = "", **pod: Any) -> None:
        super().__init__(**pod)
        self.holder = holder
        self.node = node
        self.lost_after_seconds = lost_after_seconds

    @classmethod
    def around(
        cls, trigger: KubernetesPodTrigger, *, node: str, lost_after_seconds: float, holder: str
    ) -> WatchedPodTrigger:
        """Return a trigger that waits for the same pod."""
        return cls(node=node, lost_after_seconds=lost_after_seconds, holder=holder, **trigger.serialize()[1])

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what Airflow stores of this trigger."""
        _, arguments = super().serialize()
        own = {"node": self.node, "lost_after_seconds": self.lost_after_seconds, "holder": self.holder}
        return f"{type(self).__module__}.{type(self).__qualname__}", {**arguments, **own}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Fire once: with the pod's end, or when its node is lost."""
        async with heartbeat(self.holder):
            event = await self._wait()
        yield event

    async def _wait(self) -> TriggerEvent:
        pod = asyncio.ensure_future(anext(super().run()))
        lost = asyncio.ensure_future(self._until_lost())
        try:
            done, _ = await asyncio.wait({pod, lost}, return_when=asyncio.FIRST_COMPLETED)
            if pod in done:
                return pod.result()
            self._fired_event = True
            return TriggerEvent(
                {
                    "status": "failed",
                    "namespace": self.pod_namespace,
                    "name": self.pod_name,
                    "message": f"node {self.node} is lost",
                    NODE_LOST: lost.result(),
                }
            )
        finally:
            pod.cancel()
            lost.cancel()

    async def _until_lost(self) -> float:
        """Return how many seconds the node was not Ready, once that is too long."""
        seen_ready = time.monotonic()
        pause = min(LOOK_EVERY_SECONDS, self.lost_after_seconds / 3)
        while True:
            await asyncio.sleep(pause)
            if await asyncio.to_thread(_is_ready, self.node):
                seen_ready = time.monotonic()
            elif time.monotonic() - seen_ready > self.lost_after_seconds:
                return time.monotonic() - seen_ready


def _is_ready(name: str) -> bool:
    """Look once; an API that cannot be read now says nothing against the node."""
    from nodeworthy.errors import NodeworthyError
    from nodeworthy.wiring import wiring

    try:
        seen = wiring().cluster.node(name)
    except NodeworthyError:
        return True
    return seen is not None and seen.ready
