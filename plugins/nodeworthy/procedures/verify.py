"""Verify: every node's audit chain is checked once per round, a part of the fleet in each run.

The parts follow the clock, so no state is kept between runs and a run that was missed delays a part by one round. A
broken chain fails the duty each time it is met: it is never quietly known.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from nodeworthy.errors import Permanent
from nodeworthy.lifecycle.upkeep import Notice
from nodeworthy.procedures.upkeep import House

NOTICE = "audit"
CHORE = "audit"
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def verify(house: House, interval: timedelta) -> str:
    """Verify this run's part of the chains; return one line. Raises Permanent when one is broken."""
    records = house.work.ledger.nodes()
    parts = max(1, house.rules.audit_round // interval)
    part = int((house.work.clock.now() - EPOCH) / interval) % parts
    whole = house.upkeep.claim_chore(CHORE, house.rules.audit_whole)
    chosen = [record.node.name for record in records][part::parts]
    checked = len(records) if whole else len(chosen)
    broken = [problem for name in chosen for problem in house.upkeep.verify_audit(name)] if not whole else []
    broken = list(house.upkeep.verify_audit()) if whole else broken
    if broken:
        house.upkeep.raise_notices([Notice(NOTICE, sentence, sentence) for sentence in broken])
        raise Permanent(
            f"The audit is broken in {len(broken)} places, the first: {broken[0]} Stop all automation, keep the "
            "database as it is, and compare it with its last checkpoint and backup."
        )
    if whole:
        house.upkeep.clear_notices(NOTICE, set(), "the whole audit holds")
    return f"The audit of {checked} of {len(records)} nodes holds, part {part + 1} of {parts} of this round."
