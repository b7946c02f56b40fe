"""What housekeeping works with: the larger part of the ledger that it alone uses, its rules, and how it speaks.

`Upkeep` is the same ledger that procedures know as `ports.Ledger`, seen by those who look after the whole fleet. Each
of its methods decides in the transaction that writes, so that two runs of housekeeping never act twice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from nodeworthy.lifecycle.machine import Moved
from nodeworthy.lifecycle.records import Effect
from nodeworthy.lifecycle.upkeep import (
    Closed,
    DeadLease,
    Identity,
    Limit,
    Notice,
    Orphan,
    Overdue,
    Report,
    Rules,
    Standing,
)
from nodeworthy.ports import Work
from nodeworthy.qualification.lemons import PartRecord


class Upkeep(Protocol):
    """The ledger, for those who keep house."""

    def standings(self) -> tuple[Standing, ...]:
        """Return every node that has left its first milestone, by name."""

    def pools(self) -> tuple[str, ...]:
        """Return the names of all pools that have a node, ordered."""

    def overdue(self, limits: Sequence[Limit]) -> tuple[Overdue, ...]:
        """Return the nodes beyond these limits, by name."""

    def expire_requests(self) -> tuple[str, ...]:
        """End every request for an approval whose time is over, and the lease that waited; a sentence for each."""

    def end_swaps(self) -> int:
        """End the requests for a chassis swap that nobody answered in time; return how many."""

    def end_dead_leases(self) -> tuple[DeadLease, ...]:
        """End every lease that expired and waits for no person's answer; its episode stays open."""

    def stranded(self) -> tuple[DeadLease, ...]:
        """Return the open episodes whose last lease expired and that nobody took up since."""

    def orphans(self) -> tuple[Orphan, ...]:
        """Return the effects without an outcome that no live lease answers for, oldest first."""

    def undecided(self) -> tuple[Orphan, ...]:
        """Return effects of open episodes whose outcome is unknown and that no later attempt left behind."""

    def settle_orphan(self, effect: Effect, status: str, proof: Mapping[str, Any], *, run: str) -> Effect:
        """Write the outcome of an effect whose lease is dead. Refused when a live lease answers for it again."""

    def signal(self, report: Report) -> Moved:
        """Follow an event that the world or the clock reports. Refused for what needs approval or a live run leads."""

    def bind(self, found: Mapping[str, Identity], why: str) -> None:
        """Know these nodes, by serial, by what was seen now."""

    def raise_notices(self, found: Sequence[Notice]) -> tuple[Notice, ...]:
        """Raise those that are not open yet; return the new ones."""

    def notices(self, node: str = "") -> tuple[Notice, ...]:
        """Return the open notices, of one node or of all, newest first."""

    def clear_notices(self, kind: str, keep: Collection[str], why: str) -> int:
        """Clear the open notices of a kind whose key is not among `keep`; return how many."""

    def claim_chore(self, name: str, every: timedelta) -> bool:
        """Claim a duty that is due once per `every`; False when another run did within that time."""

    def part_record(self, window: timedelta) -> PartRecord:
        """Return the confirmed faults of this time by serial, and how long each part was in service in it."""

    def verify_audit(self, node: str | None = None) -> tuple[str, ...]:
        """Return one sentence per broken place of one node's chain, or of all."""

    def closed_episodes(self, older_than: timedelta) -> Mapping[tuple[str, int], Closed]:
        """Return every episode that closed longer ago than this, by serial and number."""

    def needed_episodes(self) -> frozenset[tuple[str, int]]:
        """Return serial and number of every episode that a valid qualification or certificate rests on."""

    def record_removal(self, serial: str, files: Sequence[Mapping[str, Any]], why: str) -> None:
        """Write into a node's audit which evidence was removed."""


class Shelf(Protocol):
    """The evidence store, for those who may clear it out."""

    def files(self, prefix: str) -> Mapping[str, int]:
        """Return the size in bytes of every file below a folder, by its path."""

    def remove(self, path: str) -> None:
        """Remove one file. Absent already is success."""


@dataclass(frozen=True, slots=True)
class House:
    """What every duty of housekeeping gets."""

    work: Work
    upkeep: Upkeep
    shelf: Shelf
    rules: Rules
    run: str
