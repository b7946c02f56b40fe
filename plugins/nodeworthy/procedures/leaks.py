"""Leaks: housekeeping's look at the leak detectors of nodes that stand or serve; bring-up looks by itself.

Only nodes whose SKU declares leak detectors cost a session, each once per round, a part of the fleet in each run. A
leak is a notice at once, and by the rules a hold of both scopes; a node in service becomes suspect, so that no new work
comes to it. Nothing is switched. Detectors that cannot be read are a notice too: nobody watches that node.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from nodeworthy.errors import NodeworthyError, Refused
from nodeworthy.evidence.bmc_health import Leaks
from nodeworthy.lifecycle.records import NodeRecord
from nodeworthy.lifecycle.upkeep import Notice, Report
from nodeworthy.procedures.bmc_health import hold_wet
from nodeworthy.procedures.projection import show
from nodeworthy.procedures.upkeep import House
from nodeworthy.qualification.bmc_health import judge_leaks, leak_sentence

KIND = "leak"
SUSPECT = "suspect"
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def leaks(house: House, interval: timedelta) -> str:
    """Look at this run's part of the liquid-cooled nodes; raise and clear notices; return one line. Re-entrant."""
    watched = [record for record in house.work.ledger.nodes() if _watched(house, record)]
    parts = max(1, house.rules.leaks_round // interval)
    part = int((house.work.clock.now() - EPOCH) / interval) % parts
    # A node that a run works on is that run's: a BMC has few sessions, and bring-up looks for itself.
    chosen = [record for record in watched[part::parts] if not record.run]
    found = [notice for record in chosen for notice in _looked(house, record)]
    for new in house.upkeep.raise_notices(found):
        house.work.say(new.sentence)
    _clear(house, {record.node.name for record in chosen}, found)
    wet = sum(notice.key.endswith(":wet") for notice in found)
    return f"Leak detectors of {len(chosen)} of {len(watched)} liquid-cooled nodes looked at: {wet} leak."


def _watched(house: House, record: NodeRecord) -> bool:
    lifecycle = house.work.library.lifecycle()
    standing = record.milestone != lifecycle.milestones[0].name and not lifecycle.milestone(record.milestone).final
    with suppress(NodeworthyError):
        return standing and house.work.library.sku(record.node.sku).environment.leak_detectors > 0
    return False


def _looked(house: House, record: NodeRecord) -> Sequence[Notice]:
    node, work = record.node, house.work
    try:
        sku = work.library.sku(node.sku)
        with work.bmcs.open(node, sku) as bmc:
            seen = bmc.leaks(work.library.health_rules())
    except NodeworthyError as error:
        return [_blind(record, f"they could not be read: {error.sentence}")]
    if seen.wet:
        return [_wet(house, record, seen)]
    return [_blind(record, phrase) for phrase in judge_leaks(seen, sku.environment)[:1]]


def _wet(house: House, record: NodeRecord, seen: Leaks) -> Notice:
    """Keep work off the node and return what a person is told."""
    sentence = leak_sentence(record.node.name, seen)
    if house.rules.leaks_hold:
        hold_wet(record.node.name, sentence, house.work)
    if record.milestone == "in_service":
        _suspect(house, record, sentence)
    return Notice(KIND, f"{record.node.serial}:wet", sentence, record.node.name)


def _suspect(house: House, record: NodeRecord, sentence: str) -> None:
    """Let no new work come to a serving node; whoever was faster, or works on it, has done more than that."""
    assert record.since is not None
    report = Report(
        node=record.node.name,
        event=SUSPECT,
        since=record.since,
        run=house.run,
        facts={"reason": sentence},
        overtakes=True,
    )
    try:
        moved = house.upkeep.signal(report)
    except Refused as refusal:
        house.work.say(refusal.sentence)
        return
    house.work.say(f"{record.node.name} went from {moved.from_} to {moved.to}: no new work comes to it.")
    # Should Kubernetes not answer, the next reconciliation delivers the move.
    with suppress(NodeworthyError):
        show(record.node.name, house.work)


def _blind(record: NodeRecord, phrase: str) -> Notice:
    sentence = f"Nobody watches {record.node.name} for leaks: {phrase.rstrip('.')}."
    return Notice(KIND, f"{record.node.serial}:blind", sentence, record.node.name)


def _clear(house: House, looked: set[str], found: Sequence[Notice]) -> None:
    """Clear what is over, of the nodes that were looked at alone."""
    others = {one.key for one in house.upkeep.notices() if one.kind == KIND and one.node not in looked}
    house.upkeep.clear_notices(KIND, others | {one.key for one in found}, "its leak detectors say that it is dry")
