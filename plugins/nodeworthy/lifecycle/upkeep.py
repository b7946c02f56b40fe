"""What housekeeping reads and writes about nodes: how their running system is known, what Kubernetes still has to be
told, what waits for a person.

All are facts of the ledger. An `Identity` is what a boot was proven by; anything else seen later was not ordered by us.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.records import Effect


@dataclass(frozen=True, slots=True)
class Identity:
    """How the running system of a node is known. Empty fields were never read."""

    boot_id: str = ""
    machine_id: str = ""
    uid: str = ""
    """Of the Node object."""
    system_uuid: str = ""


@dataclass(frozen=True, slots=True)
class Due:
    """What Kubernetes must show of a node: its milestone, under the number of the move that led there."""

    milestone: str
    episode: int
    revision: int
    """Grows with every move of any node; a write under a smaller one is stale."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A node as reconciliation needs it."""

    name: str
    serial: str
    milestone: str
    since: datetime
    episode: int
    """Its newest episode, open or not; 0 before its first."""
    revision: int
    pending: bool
    """A move of it was not told to Kubernetes yet."""
    held: bool
    """A run with a live lease works on it."""
    booting: bool
    """Its open episode ordered a boot whose outcome is not settled, or took its Node object away."""
    identity: Identity | None = None
    ordered_boots: frozenset[str] = frozenset()
    """Boot ids that resets of its open episode were proven by."""


@dataclass(frozen=True, slots=True)
class Limit:
    """All nodes of a milestone, or those of one SKU or pool, that reached it at or before `before`."""

    milestone: str
    before: datetime
    sku: str = ""
    other_than: frozenset[str] = frozenset()
    """SKUs that have limits of their own."""
    pool: str = ""
    other_pools: frozenset[str] = frozenset()
    """Pools that have limits of their own."""


@dataclass(frozen=True, slots=True)
class Overdue:
    """A node whose milestone's deadline has passed."""

    name: str
    serial: str
    sku: str
    pool: str
    milestone: str
    since: datetime
    holder: str
    """The run with a live lease on it; empty when nobody works on it."""
    asked_until: datetime | None = None
    """Until when a person's answer about it is waited for."""


@dataclass(frozen=True, slots=True)
class DeadLease:
    """A lease that expired and was ended."""

    node: str
    episode: int
    run: str
    expired: datetime
    milestone: str


@dataclass(frozen=True, slots=True)
class Orphan:
    """An effect without an outcome whose lease is dead, on its node."""

    effect: Effect
    node: FleetNode
    milestone: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that waits for a person, or that somebody else did and that was put right.

    One notice is open per (kind, key); it is cleared when its cause is gone.
    """

    kind: str
    key: str
    sentence: str
    node: str = ""
    """Name; empty for what concerns the whole fleet."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    raised_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """An event that the world or the clock reports about a node that reached its milestone at `since`.

    `kind` is the class of its episode. `overtakes`: follow a row without guards even while a run works on the node.
    """

    node: str
    event: str
    since: datetime
    run: str
    kind: str = "fault"
    facts: Mapping[str, Any] = field(default_factory=dict)
    overtakes: bool = False


@dataclass(frozen=True, slots=True)
class Closed:
    """An episode that is over: how long ago it closed, and what it ended with (rma, fail, pass, other)."""

    age: timedelta
    outcome: str


@dataclass(frozen=True, slots=True)
class Swap:
    """A chassis that stands where another stood: both serials, who asks, and why."""

    old: str
    new: str
    who: str
    why: str


@dataclass(frozen=True, slots=True)
class SwapAnswer:
    """What another person answers to the swap of a chassis that was asked for."""

    old: str
    who: str
    approved: bool
    why: str


@dataclass(frozen=True, slots=True)
class Kept:
    """One class of evidence: files whose name matches `pattern` are kept this long after their episode closed."""

    name: str
    pattern: str
    keep: timedelta | None
    outcome: str = ""
    """What the episode must have ended with: rma, fail, pass or other; empty for any."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The operator's rules of housekeeping, from `include/housekeeping.yaml`."""

    absent_limit_percent: float
    """More of the known nodes than this gone at once is a mistake in reading, not a fact about each of them."""
    absent_limit_nodes: int
    """Fewer than this are believed whatever their share."""
    silent_after: timedelta
    """A kubelet that is not Ready for so long is lost."""
    writes_per_run: int
    audit_round: timedelta
    """Within this time every chain is verified once."""
    audit_whole: timedelta
    """So often the whole ledger is verified at once."""
    checkpoint_every: timedelta
    lemons_every: timedelta
    leaks_round: timedelta
    """Within this time every node whose SKU declares leak detectors is looked at once."""
    leaks_hold: bool
    """Whether a leak keeps automation and admission off the node until a person releases it."""
    retention_every: timedelta
    remove: bool
    """False only says what would be removed."""
    evidence: tuple[Kept, ...]
