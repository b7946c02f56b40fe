"""Conform: is the node built as its SKU says and cabled as its manifest says, item by item.

What the BMC does not serve is unknown, not zero, and does not conform. The two comparisons are pure; `conform` writes
each difference into the log and refuses with all of them in one sentence.
"""

from __future__ import annotations

from collections.abc import Iterator

from nodeworthy.errors import Refused
from nodeworthy.evidence.inventory import Component, ComponentKind, Inventory, Neighbour
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.procedures.bmc_health import health_refusals
from nodeworthy.procedures.bmc_log import log_refusals
from nodeworthy.procedures.bmc_reading import BmcReading
from nodeworthy.procedures.bmc_security import security_refusals
from nodeworthy.procedures.effect import Case
from nodeworthy.qualification.cabling import INFINIBAND
from nodeworthy.qualification.sku import PartRule, Sku

SHOWN = 4
"""Differences that the refusal itself names; all of them stand in the log."""

CRITICAL = "Critical"
"""Redfish Status.Health of a part that needs attention at once (DSP0268, Resource.Health)."""

NAMES = {
    ComponentKind.CPU: "CPU",
    ComponentKind.DIMM: "DIMM",
    ComponentKind.GPU: "GPU",
    ComponentKind.NIC: "NIC",
    ComponentKind.DPU: "DPU",
    ComponentKind.DRIVE: "drive",
    ComponentKind.PSU: "power supply",
    ComponentKind.SWITCH: "NVSwitch",
}


def conform(case: Case, reading: BmcReading, evidence: EvidenceReference) -> None:
    """Advance a node that is built and cabled as declared and sound. Raises Refused with every difference."""
    inventory = reading.inventory
    found = [
        *part_differences(case.sku, inventory),
        *cabling_differences(case.node, inventory),
        *health_refusals(case, reading.leaks, reading.health),
        *security_refusals(case, reading),
        *log_refusals(case, reading.log),
    ]
    if found:
        for difference in found:
            case.work.say(f"Does not conform: {difference}.")
        more = f"; and {len(found) - SHOWN} more, see the log" if len(found) > SHOWN else ""
        raise Refused(f"{case.node.name} is not what was declared: {'; '.join(found[:SHOWN])}{more}.")
    rules = ", ".join(f"{rule.count} x {rule.models[0]}" for rule in case.sku.parts)
    case.work.say(
        f"Compared {len(inventory.components)} components with SKU {case.sku.name} ({rules}): all as declared."
    )
    case.work.say(f"Compared {len(by_lldp(case.node))} cables with the neighbours seen by LLDP: all as declared.")
    facts = {"sku": case.sku.name, "sku_version": case.sku.version, "cables": len(case.node.cabling)}
    case.work.ledger.advance(case.lease, "conform", facts, evidence)


def part_differences(sku: Sku, inventory: Inventory) -> list[str]:
    """Return one phrase per difference between a SKU and an inventory: what is seen, what is named, what to do."""
    found: list[str] = []
    if inventory.model not in sku.models:
        found.append(
            f"the system reports model {inventory.model or 'none'} where SKU {sku.name} names "
            f"{' or '.join(sku.models)}: correct the manifest's SKU"
        )
    for kind in dict.fromkeys(rule.kind for rule in sku.parts):
        rules = [rule for rule in sku.parts if rule.kind is kind]
        found.extend(_kind_differences(sku, kind, rules, inventory))
        found.extend(
            f"{NAMES[kind]} {part.slot} calls itself critical: read the BMC's event log and replace the part"
            for part in inventory.of_kind(kind)
            if part.health == CRITICAL
        )
    return found


def by_lldp(node: FleetNode) -> list[Neighbour]:
    """Return the cables whose far end LLDP tells: not those of InfiniBand, which the fabric tells as a whole."""
    return [cable for cable in node.cabling if cable.link != INFINIBAND]


def cabling_differences(node: FleetNode, inventory: Inventory) -> list[str]:
    """Return one phrase per cable that is not where the manifest says; an interface that hears nothing is one too."""
    heard = {neighbour.interface: neighbour for neighbour in inventory.neighbours}
    found: list[str] = []
    for cable in by_lldp(node):
        seen = heard.get(cable.interface)
        wanted = f"{cable.switch} port {cable.port}"
        if seen is None:
            found.append(f"{cable.interface} hears no neighbour where the manifest names {wanted}: plug the cable in")
        elif (seen.switch, seen.port) != (cable.switch, cable.port):
            found.append(
                f"{cable.interface} is cabled to {seen.switch} port {seen.port} where the manifest names {wanted}: "
                "move the cable or correct the manifest"
            )
    return found


def _kind_differences(sku: Sku, kind: ComponentKind, rules: list[PartRule], inventory: Inventory) -> Iterator[str]:
    parts = inventory.of_kind(kind)
    if not parts and inventory.lacks:
        lacks = ", ".join(inventory.lacks[:2]) + (" and more" if len(inventory.lacks) > 2 else "")
        yield (
            f"no {NAMES[kind]} could be read, and the BMC does not serve {lacks}: restart or update the BMC, since "
            "unknown is not conformant"
        )
        return
    unmatched = [part for part in parts if not any(part.model in rule.models for rule in rules)]
    wanted = " or ".join(rule.models[0] for rule in rules)
    for part in unmatched:
        yield (
            f"{NAMES[kind]} {part.slot} is {_described(part)} where SKU {sku.name} names {wanted}: "
            "correct the manifest's SKU or return the part"
        )
    for rule in rules:
        yield from _rule_differences(sku, rule, parts, unmatched)


def _rule_differences(
    sku: Sku, rule: PartRule, parts: tuple[Component, ...], unmatched: list[Component]
) -> Iterator[str]:
    matching = [part for part in parts if part.model in rule.models]
    strangers = len(unmatched) if len(matching) < rule.count else 0
    if len(matching) + strangers != rule.count:
        step = "seat or replace the missing part" if len(matching) < rule.count else "correct the manifest's SKU"
        yield (
            f"{len(matching)} x {NAMES[rule.kind]} {rule.models[0]} present where SKU {sku.name} names {rule.count}"
            f"{_slots(matching)}: {step}"
        )
    for part in matching:
        if rule.capacity_mib is not None and not _within(part.capacity_mib, rule):
            seen = "an unknown capacity" if part.capacity_mib is None else f"{part.capacity_mib} MiB"
            yield (
                f"{NAMES[rule.kind]} {part.slot} has {seen} where SKU {sku.name} names {rule.capacity_mib} MiB "
                f"(tolerance {rule.tolerance_percent:g} %): replace the part"
            )
        if rule.speed_mts is not None and part.speed_mts != rule.speed_mts:
            seen = "at an unknown speed" if part.speed_mts is None else f"at {part.speed_mts} MT/s"
            yield (
                f"{NAMES[rule.kind]} {part.slot} runs {seen} where SKU {sku.name} names {rule.speed_mts} MT/s: look at "
                "the BIOS's memory settings and how the channels are filled, then at the module"
            )


def _within(capacity_mib: int | None, rule: PartRule) -> bool:
    assert rule.capacity_mib is not None
    allowed = rule.capacity_mib * rule.tolerance_percent / 100
    return capacity_mib is not None and abs(capacity_mib - rule.capacity_mib) <= allowed


def _described(part: Component) -> str:
    memory = f" with {part.capacity_mib} MiB" if part.kind is ComponentKind.GPU and part.capacity_mib else ""
    return f"{part.model or 'a part without a model'}{memory}"


def _slots(parts: list[Component]) -> str:
    return f" (present: {', '.join(part.slot for part in parts)})" if 0 < len(parts) <= 10 else ""
