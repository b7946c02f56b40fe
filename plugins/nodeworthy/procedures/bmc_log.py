"""The BMC's event log at inspect: what refuses a node goes to `conform`, all else is said in the log of the step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from nodeworthy.evidence.bmc_log import EventLog, judge_log
from nodeworthy.lifecycle.records import Placement
from nodeworthy.procedures.effect import Case


def log_refusals(case: Case, log: EventLog) -> list[str]:
    """Return one phrase per entry that refuses the node. Says what was read, what could not be, and the remarks."""
    work = case.work
    read = ", ".join(f"{name} with {number} entries" for name, number in (log.logs or {}).items())
    work.say(f"Read the BMC's event log: {read or 'none'}.")
    for gap in log.gaps:
        work.say(f"Not checked in the BMC's event log: {gap}.")
    if not log.entries:
        return []
    exchanged = exchanges(work.ledger.components(case.node.name))
    catalogue = work.library.catalogue(case.node.pool)
    judged = judge_log(log, work.library.log_rules(), catalogue, work.clock.now(), exchanged)
    for remark in judged.remarks:
        work.say(f"Remark: {remark}.")
    return list(judged.refusals)


def exchanges(placements: Sequence[Placement]) -> Mapping[str, datetime]:
    """Return when the part in a slot was last another one, by slot.

    The same serial with other firmware or health is the same part, and one that only moved to another slot of the node
    is no exchange: it brought its fault along.
    """
    present = {(one.component.kind, one.component.serial) for one in placements if one.until is None}
    slots = {(one.component.kind, one.component.slot) for one in placements if one.until is None}
    found: dict[str, datetime] = {}
    for one in placements:
        part, until = one.component, one.until
        if until is None or not part.serial or (part.kind, part.serial) in present:
            continue
        if (part.kind, part.slot) in slots:
            found[part.slot] = max(until, found.get(part.slot, until))
    return found
