"""Turns checked documents into the frozen values of floor 0: SKUs, firmware sets, policies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from nodeworthy.evidence.inventory import ComponentKind
from nodeworthy.qualification.fault_model import FaultModel
from nodeworthy.qualification.learning import LearningRule
from nodeworthy.qualification.references import CombinedRule
from nodeworthy.qualification.sku import (
    AttestedComponent,
    BmcProfile,
    Environment,
    FirmwareEntry,
    FirmwareSet,
    PartRule,
    Sku,
    Vendor,
    Waiver,
)

_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")

Document = Mapping[str, Any]


def duration(text: str) -> timedelta:
    """Return an ISO 8601 duration of days, hours, minutes and seconds (the schema has checked its form)."""
    match = _DURATION.fullmatch(text)
    assert match is not None, text
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def sku(document: Document) -> Sku:
    """Return a SKU."""
    return Sku(
        name=document["name"],
        version=document["version"],
        models=tuple(document["models"]),
        parts=tuple(_part(row) for row in document["parts"]),
        bmc=_profile(document["bmc"]),
        firmware_set=document["firmware_set"],
        gpus=document["gpus"],
        nvlinks_per_gpu=document["nvlinks_per_gpu"],
        offers=tuple(document.get("offers", ())),
        devices=MappingProxyType(_named(document)),
        transports=MappingProxyType(dict(document.get("transports", {}))),
        secure_boot=document.get("security", {}).get("secure_boot", False),
        attested=tuple(one for row in document.get("attestation", ()) for one in _attested(row)),
        environment=Environment(**{name: row["count"] for name, row in document.get("environment", {}).items()}),
        vendor=Vendor(document.get("vendor", Vendor.NVIDIA)),
        waives=tuple(Waiver(row["test"], row["why"]) for row in document.get("waives", ())),
    )


def firmware_set(document: Document) -> FirmwareSet:
    """Return a firmware set, each range written out."""
    entries = tuple(entry for row in document["entries"] for entry in _entries(row, document["images"]))
    return FirmwareSet(document["name"], document["sku"], entries)


def policy(document: Document) -> Document:
    """Return a policy whose durations are `timedelta` and whose times are aware; read-only."""
    durations = {
        group: MappingProxyType({name: duration(text) for name, text in document[group].items()})
        for group in ("validity", "waits")
    }
    lease = document.get("deadlines", {}).get("lease")
    if isinstance(lease, str):
        durations["deadlines"] = MappingProxyType({**document["deadlines"], "lease": duration(lease)})
    off = tuple({**row, "until": datetime.fromisoformat(row["until"])} for row in document.get("checks_off", ()))
    return MappingProxyType({**document, **durations, "checks_off": off})


def learning_rule(document: Document, model: FaultModel) -> LearningRule:
    """Return how baselines are learnt; where figures are looked at together it is for the faults of `model`."""
    reference = dict(document["reference"])
    together = model if reference.pop("together") else None
    plain = ("date", "source", "minimum_population", "floor_percent", "ceiling_percent", "most_percent")
    return LearningRule(
        **{key: document[key] for key in (*plain, "least_percent", "spread_percent")},
        low_is_good=frozenset(document["low_is_good"]),
        reference=CombinedRule(**reference, together=together),
    )


def _part(row: Document) -> PartRule:
    return PartRule(
        kind=ComponentKind(row["kind"]),
        count=row["count"],
        models=tuple(row["models"]),
        capacity_mib=row.get("capacity_mib"),
        tolerance_percent=float(row.get("tolerance_percent", 0.0)),
        firmware=tuple(row.get("firmware", ())),
        speed_mts=row.get("speed_mts"),
    )


def _named(document: Document) -> dict[str, tuple[str, ...]]:
    """Return what a SKU names by kind: devices, what its host must have, and the parts that the kernel tells of."""
    named = {kind: tuple(names) for kind, names in document.get("devices", {}).items()}
    named |= {kind: tuple(row["demand"]) for kind, row in document.get("host", {}).items()}
    for kind in ("cpu", "drive"):
        parts = tuple(json.dumps(_told(row), sort_keys=True) for row in document["parts"] if row["kind"] == kind)
        if parts:
            named[f"{kind}_parts"] = parts
    return named


def _told(row: Document) -> Document:
    """Return of a part what the probe compares."""
    kept = ("count", "models", "capacity_mib", "tolerance_percent", "firmware")
    return {key: row[key] for key in kept if key in row}


def _attested(row: Document) -> Iterator[AttestedComponent]:
    first, last = row.get("range", (0, 0))
    for number in range(first, last + 1):
        yield AttestedComponent(row["id"].replace("{}", str(number)), row["firmware"].replace("{}", str(number)))


def _profile(row: Document) -> BmcProfile:
    timings = {
        name: duration(row[name]) for name in ("read_timeout", "update_deadline", "boot_deadline") if name in row
    }
    return BmcProfile(
        system_id=row["system_id"],
        baseboard_id=row.get("baseboard_id", ""),
        quirks=tuple(row.get("quirks", ())),
        **timings,
    )


def _entries(row: Document, images: str) -> Iterator[FirmwareEntry]:
    first, last = row.get("range", (0, 0))
    for number in range(first, last + 1):
        name = row["id"].replace("{}", str(number)) if "range" in row else row["id"]
        address = row.get("image", images)
        yield FirmwareEntry(
            id=name,
            allowed=(row["target"], *row.get("also_allowed", ())),
            target=row["target"],
            image_uri=address.format(id=quote(name), version=quote(row["target"])),
            activation=row.get("activation", "reset"),
        )
