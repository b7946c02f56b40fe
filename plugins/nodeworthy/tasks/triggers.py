"""Waiting without a worker: a trigger that looks until a procedure can go on.

It only reads, and keeps its run's leases alive. When what is waited for has come, or the deadline has passed, the
procedure is called again and looks at the world itself, so a trigger that fires too early or twice does no harm.
"""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from nodeworthy.tasks.heartbeat import heartbeat

log = logging.getLogger("nodeworthy")


class LookingTrigger(BaseTrigger):
    """Looks every `poll_seconds` and fires once: when it saw what is waited for, or at the deadline (ISO 8601, aware).

    Meanwhile the leases of `holder`, the run that waits, are kept alive. Subclasses say what is looked at.
    """

    def __init__(self, poll_seconds: float, deadline: str, holder: str = "") -> None:
        super().__init__()
        self.poll = timedelta(seconds=poll_seconds)
        self.deadline = datetime.fromisoformat(deadline)
        self.holder = holder

    @abstractmethod
    def about(self) -> dict[str, Any]:
        """Return the arguments that say what is looked at, as Airflow stores them."""

    @abstractmethod
    def look(self) -> bool:
        """Look once, in a thread of its own. What cannot be read now has not come; the deadline ends the wait."""

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what Airflow stores of this trigger."""
        arguments = {
            **self.about(),
            "poll_seconds": self.poll.total_seconds(),
            "deadline": self.deadline.isoformat(),
            "holder": self.holder,
        }
        return f"{type(self).__module__}.{type(self).__qualname__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait and fire once; the event says whether it came."""
        async with heartbeat(self.holder):
            came = await self._wait()
        yield TriggerEvent({"schema": 1, **self.about(), "came": came})

    async def _wait(self) -> bool:
        while (left := (self.deadline - datetime.now(tz=UTC)).total_seconds()) > 0:
            if await asyncio.to_thread(self.look):
                return True
            await asyncio.sleep(min(self.poll.total_seconds(), left))
        return False


class ReadyTrigger(LookingTrigger):
    """Waits until `check` holds for the node."""

    def __init__(
        self, node: str, check: Mapping[str, Any], poll_seconds: float, deadline: str, holder: str = ""
    ) -> None:
        super().__init__(poll_seconds, deadline, holder)
        self.node = node
        self.check = dict(check)

    def about(self) -> dict[str, Any]:
        """Return the node and the check."""
        return {"node": self.node, "check": self.check}

    def look(self) -> bool:
        """Tell whether the check holds now."""
        from nodeworthy.errors import NodeworthyError
        from nodeworthy.procedures.ready import ready
        from nodeworthy.wiring import wiring

        work = wiring().work(log.debug)
        try:
            (record,) = work.ledger.nodes([self.node])
            return ready(self.check, record.node, work)
        except NodeworthyError as error:
            log.info("%s: not readable yet: %s", self.node, error.sentence)
            return False


class PodsTrigger(LookingTrigger):
    """Waits until all pods of these groups have ended or are gone; a pod in trouble ends its group."""

    def __init__(self, groups: list[str], poll_seconds: float, deadline: str, holder: str = "") -> None:
        super().__init__(poll_seconds, deadline, holder)
        self.groups = groups

    def about(self) -> dict[str, Any]:
        """Return the groups."""
        return {"groups": self.groups}

    def look(self) -> bool:
        """Tell whether no group runs any more."""
        from nodeworthy.errors import NodeworthyError
        from nodeworthy.wiring import wiring

        try:
            states = [list(wiring().pods.look(group).values()) for group in self.groups]
        except NodeworthyError as error:
            log.info("The pods are not readable yet: %s", error.sentence)
            return False
        return all(all(one.ended for one in group) or any(one.trouble for one in group) for group in states)
