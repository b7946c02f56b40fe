"""Segments: a long soak in pods of at most four hours, so that an interruption costs one of them and not the soak.

Which segments are home is read from the plans that were handed out in the node's episode: each names its number, and
is proven once its result is in the ledger. A plan of the first segment begins the soak anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nodeworthy.evidence.records import Qualification
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.records import Effect, NodeRecord
from nodeworthy.lifecycle.table import Lifecycle
from nodeworthy.ports import Work
from nodeworthy.procedures.effect import PROVEN

PLAN = "test-plan"
TEST_AGAIN = "quarantine"
"""The event that a test in place may end in; a milestone without it is none where a node is tested in place."""


def number_of(plan: dict[str, Any]) -> int:
    """Return which segment a plan asks for; 1 for a suite that is one pod."""
    return int(plan.get("segment", {}).get("number", 1))


def home(effects: Iterable[Effect], scope: Scope, suite: str) -> dict[int, Effect]:
    """Return the plans of the present soak whose results are in the ledger, by segment."""
    found: dict[int, Effect] = {}
    for effect in effects:
        asked = effect.kind == PLAN and effect.key.startswith(f"{scope.value}/")
        if not asked or effect.status != PROVEN or effect.detail["plan"]["suite"] != suite:
            continue
        number = number_of(effect.detail["plan"])
        found = {number: effect} if number == 1 else {**found, number: effect}
    return found


def stands_to_be_tested(lifecycle: Lifecycle, milestone: str, reached: str) -> bool:
    """Tell whether a node is tested where it stands: from `reached` on up to standby, never serving."""
    beyond = lifecycle.has_reached(milestone, reached) and not lifecycle.milestone(milestone).schedulable
    return beyond and lifecycle.transition(milestone, TEST_AGAIN) is not None


def soaked(record: NodeRecord, suite: str, work: Work) -> Qualification | None:
    """Return what a node's soak granted in its open episode, or, when none is open, in the newest; None for nothing."""
    granted = [one for one in work.ledger.qualifications(record.node.name) if one.scope is Scope.HARDWARE]
    newest = granted[-1] if granted else None
    if newest is None or newest.suite != suite or record.episode not in (None, newest.episode):
        return None
    return newest
