"""Waiting for a person, whose answer may take longer than a lease lives."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from airflow.providers.standard.triggers.hitl import HITLTrigger
from airflow.triggers.base import TriggerEvent

from nodeworthy.tasks.heartbeat import heartbeat


class HeldHITLTrigger(HITLTrigger):
    """The human-in-the-loop operator's trigger, during which the leases of `holder`, the run that waits, live on."""

    def __init__(self, *, holder: str, **request: Any) -> None:
        super().__init__(**request)
        self.holder = holder

    @classmethod
    def around(cls, trigger: HITLTrigger, *, holder: str) -> HeldHITLTrigger:
        """Return a trigger that waits for the same answer."""
        return cls(holder=holder, **trigger.serialize()[1])

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what Airflow stores of this trigger."""
        _, arguments = super().serialize()
        return f"{type(self).__module__}.{type(self).__qualname__}", {**arguments, "holder": self.holder}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Fire as the operator's own does."""
        async with heartbeat(self.holder):
            event = await anext(super().run())
        yield event
