"""Verify: every node's audit chain is checked once per round, a part of the fleet in each run.

The parts follow the clock, so no state is kept between runs and a run that was missed delays a part by one round. Once
per the rules' longer time the whole audit is checked at once, against the signed checkpoints: only they show a chain
that was rewritten or cut off together with its head. What is broken fails the duty each time it is met: it is never
quietly known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from nodeworthy.errors import Permanent
from nodeworthy.evidence.canonical import sha256_hex
from nodeworthy.evidence.checkpoint import KeyRing
from nodeworthy.lifecycle.upkeep import Notice
from nodeworthy.procedures import checkpoint
from nodeworthy.procedures.checkpoint import AuditTrail
from nodeworthy.procedures.upkeep import House

NOTICE = "audit"
CHORE = "audit"
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
LOOKS = 2
"""How often each checkpoint's signature is looked at by itself: one whole look may be missed. Linear for ever."""


@dataclass(frozen=True, slots=True)
class Proofs:
    """What the audit is held against: its checkpoints, and the public keys that are trusted (asked for when needed)."""

    trail: AuditTrail
    keys: Callable[[], KeyRing | None]


def verify(house: House, interval: timedelta, proofs: Proofs) -> str:
    """Verify this run's part of the chains, or all of it; return one line. Raises Permanent when something is broken.

    What a whole look found broken stays a notice until another one holds.
    """
    records = house.work.ledger.nodes()
    parts = max(1, house.rules.audit_round // interval)
    part = int((house.work.clock.now() - EPOCH) / interval) % parts
    whole = house.upkeep.claim_chore(CHORE, house.rules.audit_whole)
    chosen = [record.node.name for record in records][part::parts]
    if whole:
        broken = _whole(house, proofs)
    else:
        broken = [problem for name in chosen for problem in house.upkeep.verify_audit(name)]
    if broken:
        house.upkeep.raise_notices([Notice(NOTICE, sha256_hex(one.encode()), one) for one in broken])
        raise Permanent(
            f"The audit is broken in {len(broken)} places, the first: {broken[0]} Stop all automation, keep the "
            "database as it is, and compare it with its last checkpoint and backup."
        )
    if whole:
        house.upkeep.clear_notices(NOTICE, set(), "the whole audit holds")
        kept = len(proofs.trail.checkpoints())
        return (
            f"The audit of {len(records)} of {len(records)} nodes holds, also against the last of {kept} checkpoints."
        )
    return f"The audit of {len(chosen)} of {len(records)} nodes holds, part {part + 1} of {parts} of this round."


def _whole(house: House, proofs: Proofs) -> list[str]:
    """Return what is wrong with all chains, the last checkpoint and those that were written since the looks before."""
    since = house.work.clock.now() - LOOKS * house.rules.audit_whole
    return list(checkpoint.verify(proofs.trail, house.work.store, proofs.keys(), since=since))
