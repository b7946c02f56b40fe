"""What the ledger keeps about a node's life: its place, who works on it, what was done to it, who holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any

from nodeworthy.evidence.inventory import Component
from nodeworthy.lifecycle.fleet import FleetNode


class EpisodeKind(IntEnum):
    """Classes of episodes in order: a new signal joins the open episode and may only raise its class."""

    SWEEP = 1
    MAINTENANCE = 2
    ONBOARDING = 3
    FAULT = 4
    DECOMMISSION = 5


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """A node as the ledger knows it now."""

    node: FleetNode
    milestone: str
    row_version: int
    episode: int | None
    reason: str
    """Why the last step refused, word for word; empty when nothing did."""
    since: datetime | None = None
    """When the node reached its milestone."""
    run: str = ""
    """The run that holds the open episode's lease; empty when it is free."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Who works on an open episode: the fencing of every effect."""

    node: str
    episode: int
    token: str
    run: str
    expires: datetime


@dataclass(frozen=True, slots=True)
class Effect:
    """One action on the outside world. `status`: intended, proven, failed or unknown."""

    id: str
    node: str
    episode: int
    kind: str
    key: str
    status: str
    intended_at: datetime
    detail: Mapping[str, Any]
    proof: Mapping[str, Any]
    fresh: bool = False
    """True only in the answer of the very call that wrote it down: otherwise look at the world before acting."""


@dataclass(frozen=True, slots=True)
class Hold:
    """An operator's overlay on a node. `scope`: automation, admission or both."""

    node: str
    who: str
    why: str
    until: datetime | None
    scope: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to an approval request: `approve` or `refuse`, for exactly one plan."""

    plan_sha256: str
    who: str
    answer: str
    why: str


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a component was from when until when; `until` is None while it is there."""

    node: str
    component: Component
    since: datetime
    until: datetime | None
