"""Waiting without a worker: a trigger that looks until a procedure can go on.

It only reads, and keeps its run's leases alive. When what is waited for has come, or the deadline has passed, the
procedure is called again and looks at the world itself, so a trigger that fires too early or twice does no harm.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from nodeworthy.tasks.heartbeat import heartbeat

log = logging.getLogger("nodeworthy")


class ReadyTrigger(BaseTrigger):
    """Fires once when `check` holds for the node, or at the deadline (aware UTC, ISO 8601).

    Meanwhile the leases of `holder`, the run that waits, are kept alive.
    """

    def __init__(
        self, node: str, check: Mapping[str, Any], poll_seconds: float, deadline: str, holder: str = ""
    ) -> None:
        super().__init__()
        self.node = node
        self.check = dict(check)
        self.poll = timedelta(seconds=poll_seconds)
        self.deadline = datetime.fromisoformat(deadline)
        self.holder = holder

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what Airflow stores of this trigger."""
        arguments = {
            "node": self.node,
            "check": self.check,
            "poll_seconds": self.poll.total_seconds(),
            "deadline": self.deadline.isoformat(),
            "holder": self.holder,
        }
        return f"{type(self).__module__}.{type(self).__qualname__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look every `poll` and fire once."""
        async with heartbeat(self.holder):
            ready = await self._wait()
        yield TriggerEvent({"schema": 1, "node": self.node, "ready": ready})

    async def _wait(self) -> bool:
        while datetime.now(tz=UTC) < self.deadline:
            if await asyncio.to_thread(_is_ready, self.node, self.check):
                return True
            await asyncio.sleep(self.poll.total_seconds())
        return False


def _is_ready(name: str, check: Mapping[str, Any]) -> bool:
    """Look once. A world that cannot be read now is not ready; the deadline ends the wait."""
    from nodeworthy.errors import NodeworthyError
    from nodeworthy.procedures.ready import ready
    from nodeworthy.wiring import wiring

    work = wiring().work(log.debug)
    try:
        (record,) = work.ledger.nodes([name])
        return ready(check, record.node, work)
    except NodeworthyError as error:
        log.info("%s: not readable yet: %s", name, error.sentence)
        return False


class PodsTrigger(BaseTrigger):
    """Fires once when all pods of these groups have ended or are gone, or at the deadline. As `ReadyTrigger` else."""

    def __init__(self, groups: list[str], poll_seconds: float, deadline: str, holder: str = "") -> None:
        super().__init__()
        self.groups = groups
        self.poll = timedelta(seconds=poll_seconds)
        self.deadline = datetime.fromisoformat(deadline)
        self.holder = holder

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what Airflow stores of this trigger."""
        arguments = {
            "groups": self.groups,
            "poll_seconds": self.poll.total_seconds(),
            "deadline": self.deadline.isoformat(),
            "holder": self.holder,
        }
        return f"{type(self).__module__}.{type(self).__qualname__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look every `poll` and fire once, when no group runs any more."""
        async with heartbeat(self.holder):
            ended = await self._wait()
        yield TriggerEvent({"schema": 1, "ended": ended})

    async def _wait(self) -> bool:
        while datetime.now(tz=UTC) < self.deadline:
            if await asyncio.to_thread(_all_ended, self.groups):
                return True
            await asyncio.sleep(self.poll.total_seconds())
        return False


def _all_ended(groups: list[str]) -> bool:
    """Look once. A pod in trouble ends its group; what cannot be read now has not ended."""
    from nodeworthy.errors import NodeworthyError
    from nodeworthy.wiring import wiring

    try:
        states = [list(wiring().pods.look(group).values()) for group in groups]
    except NodeworthyError as error:
        log.info("The pods are not readable yet: %s", error.sentence)
        return False
    return all(all(one.ended for one in group) or any(one.trouble for one in group) for group in states)
