"""How many nodes may be out of service by our own will, per pool, rack, tenant and fabric domain at once.

An absence begins when a node stops serving and ends when it is proven back, replaced, or has left the fleet; whoever
took it may die in between, which gives nothing back. Voluntary absences need room in every group of the node.
Involuntary ones are counted as well, need no room and may exceed the limit. A node that does not serve yet (onboarding,
standby) is no absence. The ledger counts; here is what the counts mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from nodeworthy.lifecycle.policy_error import PolicyError

NAMED: Final = 5
"""So many absent nodes are named in a refusal; the rest is a number."""


class Dimension(StrEnum):
    """What groups nodes for budgets; the values are the fields of `FleetNode` and of the ledger's rows."""

    POOL = "pool"
    RACK = "rack"
    TENANT = "tenant"
    FABRIC_DOMAIN = "fabric_domain"

    @property
    def words(self) -> str:
        """How a sentence calls it."""
        return self.value.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `nodes`, or `percent` of the nodes that belong in service, rounded down; exactly one of them is set."""

    nodes: int | None = None
    percent: float | None = None

    def of(self, capacity: int) -> int:
        """Return the limit in nodes for a group of `capacity` nodes."""
        if self.percent is None:
            return self.nodes or 0
        return math.floor(capacity * self.percent / 100 + 1e-9)


@dataclass(frozen=True, slots=True)
class Budgets:
    """The limits by dimension; a dimension without one is unlimited."""

    limits: Mapping[Dimension, Limit] = field(default_factory=lambda: {Dimension.POOL: Limit(nodes=0)})
    """A policy that names no budgets lets nothing out voluntarily."""

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Budgets:
        """Read limits: a whole number of nodes, or a text such as "5%". Raises PolicyError with its place."""
        return cls({_dimension(key): _limit(key, value) for key, value in document.items()})


@dataclass(frozen=True, slots=True)
class Absence:
    """A node that is out of service: since when, why, and whether by our own will."""

    node: str
    episode: int
    voluntary: bool
    why: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Group:
    """One group of a node's: `capacity` counts its nodes that are in service or absent from it."""

    dimension: Dimension
    name: str
    capacity: int
    absences: tuple[Absence, ...]


def no_room(groups: Sequence[Group], budgets: Budgets, now: datetime) -> str:
    """Return why one more node of these groups may not leave voluntarily, for the fullest group; empty when it may."""
    full = [
        (group, limit) for group, limit in _limits(groups, budgets) if len(group.absences) >= limit.of(group.capacity)
    ]
    if not full:
        return ""
    group, limit = max(full, key=lambda pair: len(pair[0].absences) - pair[1].of(pair[0].capacity))
    return _sentence(group, limit, now)


def room(groups: Sequence[Group], budgets: Budgets) -> Mapping[str, int]:
    """Return how many more nodes may leave, by group ("pool h200-a"); what an approval shows. Never below zero."""
    return {
        f"{group.dimension.words} {group.name}": max(0, limit.of(group.capacity) - len(group.absences))
        for group, limit in _limits(groups, budgets)
    }


def _limits(groups: Sequence[Group], budgets: Budgets) -> list[tuple[Group, Limit]]:
    return [(group, budgets.limits[group.dimension]) for group in groups if group.dimension in budgets.limits]


def _sentence(group: Group, limit: Limit, now: datetime) -> str:
    nodes = limit.of(group.capacity)
    share = "" if limit.percent is None else f" ({limit.percent:g} % of {group.capacity})"
    head = f"{group.dimension.words} {group.name} has {len(group.absences)} of {nodes}{share} nodes out of service"
    if not group.absences:
        return f"{head}: its budget lets none out voluntarily"
    ordered = sorted(group.absences, key=lambda absence: (absence.since, absence.node))
    told = [f"{one.node} since {_time(one.since, now)} for {one.why.rstrip('.')}" for one in ordered[:NAMED]]
    rest = len(ordered) - NAMED
    return f"{head} ({', '.join((*told, *((f'and {rest} more',) if rest > 0 else ())))})"


def _time(at: datetime, now: datetime) -> str:
    return f"{at:%H:%M}" if at.date() == now.date() else f"{at:%Y-%m-%d %H:%M}"


def _dimension(key: str) -> Dimension:
    try:
        return Dimension(key)
    except ValueError as error:
        known = ", ".join(Dimension)
        raise PolicyError(f"there is no budget by {key}: use {known}", ("budgets", key)) from error


def _limit(key: str, value: object) -> Limit:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return Limit(nodes=value)
    if isinstance(value, str) and value.endswith("%"):
        try:
            percent = float(value[:-1])
        except ValueError:
            percent = math.nan
        if 0 <= percent <= 100:
            return Limit(percent=percent)
    raise PolicyError(f'the budget `{value}` is no limit: write a number of nodes or "5%"', ("budgets", key))
