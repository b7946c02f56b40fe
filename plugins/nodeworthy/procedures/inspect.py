"""Inspect: discover, inventory and conform in one session with the BMC.

A host without power hides its GPUs (the baseboard's controller is off with it), so it is switched on first: the one
effect of this procedure. Before that comes the look at the leak detectors: a node that leaks is not switched on.
"""

from __future__ import annotations

from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.records import Lease
from nodeworthy.ports import Power, Work
from nodeworthy.procedures.bmc_health import read_leaks
from nodeworthy.procedures.bmc_reading import BmcReading
from nodeworthy.procedures.conform import conform
from nodeworthy.procedures.discover import discover
from nodeworthy.procedures.effect import Case
from nodeworthy.procedures.inventory import inventory
from nodeworthy.procedures.outcome import Done, Waiting
from nodeworthy.procedures.progress import begin
from nodeworthy.procedures.reset import power_on, settle_power_on

WITHOUT_POWER = {Power.OFF, Power.POWERING_ON, Power.POWERING_OFF}


def inspect(lease: Lease, node: FleetNode, work: Work) -> Done | Waiting:
    """Bring a declared node to conformant. Refused with what differs, Permanent when the BMC is not the node's."""
    done = _proven(node, work)
    if done is not None:
        return done
    case = Case(lease, node, work, work.library.sku(node.sku))
    work.say(f"Reading {node.name} ({node.sku}, rack {node.rack} unit {node.position}) through its BMC.")
    with work.bmcs.open(node, case.sku) as bmc:
        leaks = read_leaks(case, bmc)
        state = bmc.state()
        if state.power in WITHOUT_POWER:
            return power_on(case, bmc, state)
        settle_power_on(case, state)
        seen = bmc.inventory()
        health = bmc.health(work.library.health_rules())
        guard = bmc.guard(work.library.security_rules(), secure_boot=case.sku.secure_boot)
        log = bmc.event_log(work.library.log_rules())
    reading = BmcReading(seen, leaks, health, log, guard)
    discover(case, seen)
    evidence = inventory(case, reading)
    conform(case, reading, evidence)
    summary = (
        f"{node.name} is what was declared: serial {seen.serial}, {len(seen.components)} components of SKU {node.sku}, "
        f"{len(node.cabling)} cables."
    )
    work.say(summary)
    return Done(summary, {"evidence": evidence.path})


def _proven(node: FleetNode, work: Work) -> Done | None:
    """Done when the last of the three is proven; each of the three may already be, after a crash between them."""
    lifecycle = work.library.lifecycle()
    (record,) = work.ledger.nodes([node.name])
    unfinished = [event for event in ("discover", "inventory") if lifecycle.transition(record.milestone, event)]
    return None if unfinished else begin("conform", node, work)
