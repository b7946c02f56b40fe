"""Discover: the BMC at the declared address is the declared node's, by pinned system and chassis serial."""

from __future__ import annotations

from nodeworthy.errors import Refused
from nodeworthy.evidence.inventory import Inventory
from nodeworthy.procedures.effect import Case


def discover(case: Case, inventory: Inventory) -> None:
    """Advance a node whose BMC answers with the declared serial. Raises Refused when another one answers."""
    node = case.node
    case.work.say(
        f"The BMC at {node.bmc.address}{node.bmc.root} shows system {inventory.system_id}: {inventory.manufacturer} "
        f"{inventory.model}, serial {inventory.serial or 'unknown'}."
    )
    if inventory.serial != node.serial:
        raise Refused(
            f"The BMC at {node.bmc.address} answers with serial {inventory.serial or 'none'} where the manifest names "
            f"{node.serial} for {node.name}: correct the address or the serial in the manifest; after a swap of the "
            f"chassis run `nodeworthy reidentify {node.serial} {inventory.serial or 'NEW'}`."
        )
    facts = {"system_id": inventory.system_id, "serial": inventory.serial, "model": inventory.model}
    case.work.ledger.advance(case.lease, "discover", facts)
