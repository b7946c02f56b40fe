"""Swapped: a part whose serial differs from what stood in its slot makes the node another piece of hardware.

The hardware scope was proven with the old part, so it is void, whoever changed it and whatever the new part can do.
"""

from __future__ import annotations

from collections.abc import Sequence

from nodeworthy.evidence.inventory import Component
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.records import Placement
from nodeworthy.procedures.effect import Case


def swapped(before: Sequence[Placement], seen: Sequence[Component]) -> tuple[str, ...]:
    """Return one sentence per slot that holds another serial than it did; slots that tell none are not compared."""
    held = {(one.component.kind, one.component.slot): one.component for one in before if one.until is None}
    found = []
    for part in seen:
        was = held.get((part.kind, part.slot))
        if was is not None and was.serial and part.serial and was.serial != part.serial:
            found.append(f"{part.kind.value} {part.slot} has serial {part.serial} where {was.serial} was")
    return tuple(found)


def void_if_swapped(case: Case, before: Sequence[Placement], seen: Sequence[Component]) -> None:
    """Void the hardware scope of a node in which a part was swapped since its last inventory, and say which."""
    found = swapped(before, seen)
    if not found or not any(one.scope is Scope.HARDWARE for one in case.work.ledger.qualifications(case.node.name)):
        return
    why = f"{case.node.name}: {'; '.join(found)}"
    case.work.ledger.void_qualifications(case.lease, Scope.HARDWARE, why)
    case.work.say(f"{why}: what was proven about the hardware is void.")
