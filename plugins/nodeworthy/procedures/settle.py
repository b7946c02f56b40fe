"""Settle: what dead runs left open is decided by looking at the world, with the eyes that the procedures use.

Each kind of effect has one reader. It answers with an outcome and its proof, or that the world needs more time. What no
reader can prove becomes `unknown`: a person decides, and nothing is sent again meanwhile. Nothing here acts on a node.
"""

from __future__ import annotations

from collections import Counter

from nodeworthy.errors import NodeworthyError, Refused, Transient
from nodeworthy.lifecycle.records import Lease
from nodeworthy.lifecycle.upkeep import DeadLease, Notice, Orphan
from nodeworthy.procedures.effect import UNKNOWN, Case
from nodeworthy.procedures.settle_readers import READERS, Found, unread
from nodeworthy.procedures.upkeep import House

STRANDED = "stranded"
UNDECIDED = "undecided"


def settle(house: House) -> str:
    """End dead leases and requests whose time is over, settle what they left open; return one line. Re-entrant."""
    for sentence in house.upkeep.expire_requests():
        house.work.say(sentence)
    house.upkeep.end_swaps()
    for dead in house.upkeep.end_dead_leases():
        house.work.say(
            f"{dead.node}: the lease of {dead.run} expired at {dead.expired:%Y-%m-%d %H:%M} UTC and was ended."
        )
    _notify(house, STRANDED, [_stranded(one) for one in house.upkeep.stranded()], "somebody took the node up")
    counts: Counter[str] = Counter()
    for orphan in house.upkeep.orphans():
        counts[_settle_one(house, orphan)] += 1
    _notify(house, UNDECIDED, [_undecided(one) for one in house.upkeep.undecided()], "decided")
    told = ", ".join(f"{number} {word}" for word, number in sorted(counts.items())) or "none was open"
    return f"Effects that dead runs left open: {told}."


def _settle_one(house: House, orphan: Orphan) -> str:
    """Settle one effect; return the word under which it is counted."""
    effect = orphan.effect
    named = f"{effect.node}: {effect.kind} {effect.key} ({effect.id})"
    try:
        found = _look(house, orphan)
        if found is None:
            house.work.say(f"{named} is not decided yet: the world still has time.")
            return "waiting"
        house.upkeep.settle_orphan(effect, found.status, found.proof, run=house.run)
    except (Transient, Refused) as error:
        house.work.say(f"{named} stays open: {error.sentence}")
        return "not readable"
    except NodeworthyError as error:
        # The world refuses to be read: that proves nothing, and time will not change it.
        house.work.say(f"{named}: {error.sentence}")
        found = Found(UNKNOWN, {"read": error.sentence})
        house.upkeep.settle_orphan(effect, found.status, found.proof, run=house.run)
    house.work.say(f"{named} is {found.status}: {dict(found.proof)}.")
    return found.status


def _look(house: House, orphan: Orphan) -> Found | None:
    work, effect = house.work, orphan.effect
    # A lease without a token: this case can read what the procedures read, and every write through it would be refused.
    lease = Lease(effect.node, effect.episode, "", house.run, work.clock.now())
    case = Case(lease, orphan.node, work, work.library.sku(orphan.node.sku))
    return READERS.get(effect.kind, unread)(case, orphan)


def _notify(house: House, kind: str, notices: list[Notice], why: str) -> None:
    for notice in house.upkeep.raise_notices(notices):
        house.work.say(notice.sentence)
    house.upkeep.clear_notices(kind, {one.key for one in notices}, why)


def _stranded(one: DeadLease) -> Notice:
    sentence = (
        f"{one.node} stands at {one.milestone} since the run {one.run} died (its lease ended "
        f"{one.expired:%Y-%m-%d %H:%M} UTC): clear that run's failed tasks, or start a run with retry_of."
    )
    return Notice(STRANDED, f"{one.node}:{one.episode}:{one.expired:%Y%m%dT%H%M%S}", sentence, one.node)


def _undecided(one: Orphan) -> Notice:
    effect = one.effect
    sentence = (
        f"{effect.node}: nobody can tell whether {effect.kind} {effect.key} of {effect.intended_at:%Y-%m-%d %H:%M} UTC "
        "happened: look at the node and its console, then clear the task that ordered it, or hold the node."
    )
    return Notice(UNDECIDED, effect.id, sentence, effect.node)
