"""Intent, act, prove: what every procedure does around an action on the world.

An effect is written down before it is sent and settled when it is proven. A process may die between any two of these
lines, so a procedure that finds its effect written down looks at the world before it acts. Each effect belongs to an
attempt (`boot_validation/1`): a failed attempt stays in the record, and the next one, which somebody asked for by
clearing the task, gets a number of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from nodeworthy.errors import Transient
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.records import Effect, Lease
from nodeworthy.ports import Work
from nodeworthy.qualification.sku import Sku

CONNECT_ALLOWANCE = timedelta(seconds=10)

INTENDED = "intended"
PROVEN = "proven"
FAILED = "failed"
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Case:
    """What a procedure works with: whose lease, which node of which SKU, through which ports."""

    lease: Lease
    node: FleetNode
    work: Work
    sku: Sku

    def effects(self) -> tuple[Effect, ...]:
        """Return this episode's effects in order."""
        return self.work.ledger.effects(self.node.name, episode=self.lease.episode)

    def newest(self, kind: str, step: str) -> Effect | None:
        """Return the newest effect of a kind that `step` wrote in this episode."""
        return self.newest_by_step(kind).get(step)

    def newest_by_step(self, kind: str) -> Mapping[str, Effect]:
        """Return the newest effect of a kind in this episode, by the step that wrote it."""
        found = [one for one in self.effects() if one.kind == kind]
        found.sort(key=lambda effect: int(effect.key.rsplit("/", 1)[1]))
        return {one.key.rsplit("/", 1)[0]: one for one in found}

    def attempt(self, kind: str, step: str) -> str:
        """Return the key of the attempt that goes on: the newest one, or the next when that one ended badly."""
        newest = self.newest(kind, step)
        if newest is None:
            return f"{step}/1"
        number = int(newest.key.rsplit("/", 1)[1])
        return f"{step}/{number + 1}" if newest.status in (FAILED, UNKNOWN) else newest.key

    def intend(self, kind: str, key: str, detail: Mapping[str, Any]) -> Effect:
        """Write an effect down, or return it as it was written; `fresh` tells the two apart."""
        return self.work.ledger.intend(self.lease, kind, key, detail)

    def in_time(self, asked: datetime, what: str) -> None:
        """Let an action go out only right after the ledger was asked. Transient when this process slept since then.

        Whoever takes the node over counts an effect as never sent when it did not arrive within `settle_time` of being
        written down; a process that was stopped in between and wakes later must not prove them wrong.
        """
        if self.work.clock.now() >= asked + CONNECT_ALLOWANCE:
            raise Transient(
                f"{what} of {self.node.name} was cleared at {asked:%H:%M:%S} UTC and this process slept before it was "
                "sent, so nothing was sent: try again, which looks at the node first."
            )

    def settle(self, effect: Effect, status: str, proof: Mapping[str, Any]) -> Effect:
        """Write an effect's outcome down, once."""
        return self.work.ledger.settle(self.lease, effect, status, proof) if effect.status == INTENDED else effect

    @property
    def bmc_poll(self) -> timedelta:
        """How long to wait between two looks at the BMC, by the pool's policy."""
        poll: timedelta = self.work.library.policy(self.node.pool)["waits"]["bmc_poll"]
        return poll

    @property
    def settle_time(self) -> timedelta:
        """How long a request of a process that died may still be on its way to the BMC."""
        return self.sku.bmc.read_timeout + CONNECT_ALLOWANCE
