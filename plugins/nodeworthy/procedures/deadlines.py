"""Deadlines: a milestone's time that has run out ends in its defined next step, and never only in an alert.

The next step is an event of the table, taken by signal: only from the very stay in the milestone that was overdue, so
two runs never act twice, and never under a run that works on the node or while a person is asked about it, which has an
end of its own. What only a person can lead on, what needs an approval and what a guard refuses becomes a notice that
says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from nodeworthy.errors import Refused
from nodeworthy.lifecycle.document import spoken
from nodeworthy.lifecycle.policy import Policy
from nodeworthy.lifecycle.rows import TELL_OPERATOR, Deadline, Milestone
from nodeworthy.lifecycle.table import Lifecycle
from nodeworthy.lifecycle.upkeep import Limit, Notice, Overdue, Report
from nodeworthy.procedures.upkeep import House

NOTICE = "deadline"
TROUBLE = "trouble"
"""The phase whose next steps isolate further: a question to a person does not keep them waiting."""


def deadlines(house: House) -> str:
    """Lead every overdue node to its next step; return one line. Re-entrant."""
    lifecycle = house.work.library.lifecycle()
    milestones = {row.name: row for row in lifecycle.milestones}
    policies = _policies(house)
    overdue = house.upkeep.overdue(limits(lifecycle, policies, house.work.clock.now()))
    counts: Counter[str] = Counter()
    told: list[Notice] = []
    for one in overdue:
        milestone = milestones[one.milestone]
        row = lifecycle.transition(milestone.name, milestone.at_deadline)
        # A step with guards is voluntary; one without is a fact about the node.
        kind = "sweep" if row is not None and row.guards else "fault"
        sentence = _lead_on(house, _stands(one, milestone, policies), (one, milestone), kind)
        counts["told" if sentence else "led on"] += 1
        if sentence:
            told.append(Notice(NOTICE, f"{one.serial}:{one.milestone}:{one.since:%Y%m%dT%H%M%S}", sentence, one.name))
    new = house.upkeep.raise_notices(told)
    for notice in new:
        house.work.say(notice.sentence)
    house.upkeep.clear_notices(NOTICE, {one.key for one in told}, "the node went on")
    return (
        f"{len(overdue)} nodes are beyond a deadline: {counts['led on']} led to their next step, {counts['told']} wait "
        f"for a person ({len(new)} of them newly)."
    )


def limits(lifecycle: Lifecycle, policies: Mapping[str, Policy], now: datetime) -> tuple[Limit, ...]:
    """Return the limits of every milestone: the lifecycle's, and in their place those of each pool that has its own."""
    found: list[Limit] = []
    for row in lifecycle.milestones:
        own = {pool: policy.deadlines[row.name] for pool, policy in policies.items() if row.name in policy.deadlines}
        every = Limit(row.name, now, other_pools=frozenset(own))
        found.extend(_by_sku(every, row.deadline))
        for pool, deadline in own.items():
            found.extend(_by_sku(Limit(row.name, now, pool=pool), row.deadline.overridden(deadline)))
    return tuple(found)


def _by_sku(limit: Limit, deadline: Deadline) -> Iterator[Limit]:
    """Yield a limit for every SKU with a time of its own, and one for all others."""
    for sku, time in deadline.per_sku.items():
        yield replace(limit, before=limit.before - time, sku=sku)
    if deadline.default is not None:
        yield replace(limit, before=limit.before - deadline.default, other_than=frozenset(deadline.per_sku))


def _policies(house: House) -> Mapping[str, Policy]:
    return {pool: Policy.from_document(house.work.library.policy(pool)) for pool in house.upkeep.pools()}


def _stands(one: Overdue, milestone: Milestone, policies: Mapping[str, Policy]) -> str:
    """Return where an overdue node stands since when, and what it was allowed."""
    policy = policies.get(one.pool)
    limit = milestone.deadline.overridden(policy.deadlines.get(milestone.name) if policy else None).of(one.sku)
    assert limit is not None
    return f"{one.name} has been {one.milestone} since {one.since:%Y-%m-%d %H:%M} UTC, longer than {spoken(limit)}"


def _lead_on(house: House, stands: str, who: tuple[Overdue, Milestone], kind: str) -> str:
    """Take the next step; return what a person must know instead, empty when it was taken."""
    one, milestone = who
    if one.asked_until is not None and milestone.phase != TROUBLE:
        return (
            f"{stands}, and waits for a person until {one.asked_until:%Y-%m-%d %H:%M} UTC: answer the request about it "
            "(Required Actions, or nodeworthy approve)."
        )
    if milestone.at_deadline == TELL_OPERATOR:
        holder = f"{one.holder} works on it" if one.holder else "nobody works on it"
        return f"{stands}, and {holder}: look at its last run, then run it again, repair it or retire it."
    report = Report(
        node=one.name,
        event=milestone.at_deadline,
        since=one.since,
        run=house.run,
        kind=kind,
        facts={"reason": f"{stands}."},
    )
    try:
        moved = house.upkeep.signal(report)
    except Refused as refusal:
        return f"{stands}; its next step did not happen: {refusal.sentence}"
    if moved.changed:
        house.work.say(f"{stands}: {moved.event} led it to {moved.to}.")
    return ""
