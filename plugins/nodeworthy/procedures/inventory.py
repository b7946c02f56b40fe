"""Inventory: every component by serial, stored as evidence and in the ledger, with the firmware that plans build on.

The BMC's event log and what it says of leaks, fans, supplies and temperatures stand in the same evidence.

The reading is kept as a record of the episode (an effect of kind `reading`), so that a plan is made from one known
reading and keeps its hash, whatever is updated afterwards.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from hashlib import sha256
from typing import Any

from nodeworthy.evidence.inventory import FirmwareItem
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.procedures.bmc_reading import BmcReading
from nodeworthy.procedures.effect import PROVEN, Case
from nodeworthy.procedures.swapped import void_if_swapped

READING = "reading"
STEP = "inventory"


def inventory(case: Case, reading: BmcReading) -> EvidenceReference:
    """Store what was read, record the components and advance. Returns the evidence's reference."""
    content, seen = document(case, reading), reading.inventory
    digest = sha256(content).hexdigest()
    path = f"nodes/{case.node.serial}/{case.lease.episode}/inventory-{digest[:12]}.json"
    reference = case.work.store.put(path, content)
    counts = Counter(component.kind.value for component in seen.components)
    listed = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    case.work.say(f"Read {listed}, {len(seen.firmware)} firmware items and {len(seen.neighbours)} LLDP neighbours.")
    for lack in seen.lacks:
        case.work.say(f"Not served by the BMC: {lack}.")
    before = case.work.ledger.components(case.node.name)
    case.work.ledger.record_inventory(case.lease, seen, reference)
    void_if_swapped(case, before, seen.components)
    keep_reading(case, seen.firmware, reference)
    facts = {"components": len(seen.components), "evidence": reference.path}
    case.work.ledger.advance(case.lease, "inventory", facts, reference)
    return reference


def document(case: Case, reading: BmcReading) -> bytes:
    """Return the evidence document: stable JSON, so that the same reading has the same hash."""
    body = {
        "schema": "nodeworthy.inventory/1",
        "node": case.node.name,
        "episode": case.lease.episode,
        **asdict(reading.inventory),
        "raw": dict(reading.inventory.raw),
        "event_log": asdict(reading.log),
        "leaks": asdict(reading.leaks),
        "health": asdict(reading.health),
        "guard": asdict(reading.guard),
    }
    return json.dumps(body, sort_keys=True, separators=(",", ":"), default=datetime.isoformat).encode()


def keep_reading(case: Case, firmware: tuple[FirmwareItem, ...], reference: EvidenceReference | None) -> None:
    """Write the firmware reading into the episode's record as its newest."""
    detail: dict[str, Any] = {"firmware": {item.id: item.version for item in firmware}}
    if reference is not None:
        detail["evidence"] = asdict(reference)
    newest = case.newest(READING, STEP)
    if newest is not None and newest.detail == detail:
        return
    number = int(newest.key.rsplit("/", 1)[1]) + 1 if newest is not None else 1
    case.settle(case.intend(READING, f"{STEP}/{number}", detail), PROVEN, {})


def last_reading(case: Case) -> Mapping[str, str]:
    """Return the firmware versions by id that this episode's plan builds on; read and kept now when there are none."""
    newest = case.newest(READING, STEP)
    if newest is None:
        with case.work.bmcs.open(case.node, case.sku) as bmc:
            keep_reading(case, bmc.firmware(), None)
        newest = case.newest(READING, STEP)
        assert newest is not None
    versions: Mapping[str, str] = newest.detail["firmware"]
    return versions
