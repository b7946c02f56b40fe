"""What policy `observe` would have done, held against what happened to the node afterwards.

Same: within the time that is looked at, the node made a move which the action leads to. Otherwise: a person did
something else to it. Nothing: neither. Whoever weighs to let an action run by itself reads the rows that differ.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from nodeworthy.lifecycle.approvals import POLICY
from nodeworthy.lifecycle.policy import CLASSES, Action
from nodeworthy.lifecycle.table import Lifecycle

OBSERVED: Final = "observed"
MOVED: Final = "moved"
PERSONAL: Final = ("approval", "answer refused", "hold", "hold released")
"""Actions of the audit that a person alone causes, under `who`; moves name a run."""
ACTIONS: Final = (OBSERVED, MOVED, *PERSONAL)
"""What the report reads of the audit."""


class Agreement(StrEnum):
    """What became of an observation."""

    SAME = "same"
    OTHERWISE = "otherwise"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Deed:
    """One row of a node's audit."""

    node: str
    at: datetime
    action: str
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Compared:
    """One observation and what followed it; `deeds` are sentences, oldest first."""

    node: str
    at: datetime
    action: str
    what: str
    agreement: Agreement
    deeds: tuple[str, ...]


def compare(deeds: Sequence[Deed], lifecycle: Lifecycle, within: timedelta) -> tuple[Compared, ...]:
    """Return each observation among the deeds with what followed it within that time, in order."""
    of_node: dict[str, list[Deed]] = defaultdict(list)
    for one in deeds:
        of_node[one.node].append(one)
    return tuple(_compared(one, of_node[one.node], lifecycle, within) for one in deeds if one.action == OBSERVED)


def counts(compared: Sequence[Compared]) -> Mapping[str, Mapping[str, int]]:
    """Return, by action in order, how many observations ended as what."""
    actions = sorted({row.action for row in compared})
    tally = Counter((row.action, row.agreement) for row in compared)
    return {action: {end.value: tally[action, end] for end in Agreement} for action in actions}


def events_of(action: Action, lifecycle: Lifecycle) -> frozenset[str]:
    """Return the events that an action leads to: those of the procedures that make use of it."""
    procedures = {name for name, actions in CLASSES.items() if action in actions} | {action.value}
    return frozenset(row.event for row in lifecycle.transitions if row.procedure in procedures)


def _compared(seen: Deed, deeds: Sequence[Deed], lifecycle: Lifecycle, within: timedelta) -> Compared:
    action = Action(seen.detail["action"])
    after = [one for one in deeds if one is not seen and seen.at <= one.at <= seen.at + within]
    events = events_of(action, lifecycle)
    same = [one for one in after if one.action == MOVED and one.detail["event"] in events]
    people = [one for one in after if one.action in PERSONAL and one.detail.get("who") != POLICY]
    agreement = Agreement.SAME if same else Agreement.OTHERWISE if people else Agreement.NOTHING
    told = tuple(_sentences(sorted([*same, *people], key=lambda one: one.at)))
    return Compared(seen.node, seen.at, action.value, str(seen.detail["what"]), agreement, told)


def _sentences(deeds: Sequence[Deed]) -> Iterator[str]:
    for one in deeds:
        at, told = f"{one.at:%Y-%m-%d %H:%M} UTC", one.detail
        if one.action == MOVED:
            yield f"{at}: {told['from']} -> {told['to']} by {told['event']} ({told['run']})"
        elif one.action == "hold":
            yield f"{at}: held ({told['scope']}) by {told['who']}: {told['why']}"
        elif one.action == "hold released":
            yield f"{at}: hold released by {told['who']}"
        else:
            word = "answered" if one.action == "approval" else "gave an answer that did not count,"
            yield f"{at}: {told['who']} {word} {told['answer']}: {told['why']}"
