"""Redfish: one resource or a bundle of them, counted by identity and not by path.

A bundle may show one resource under several paths, and copies may differ: the copy at the
resource's own path is taken. Health Critical and a leak are faults; Warning is told and not
judged. A baseboard may carry the name of an older sibling, and GPUs of one board share a serial.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, sequence, whole

from . import redfish_parts, redfish_state
from .documents import load_json
from .families import family
from .sheet import Sheet

TOOL = "redfish"
_MOST_DEPTH = 12
_PARTS = ("Systems", "Chassis", "Managers", "Processors", "Memory", "Drives", "EthernetInterfaces", "NetworkAdapters",
          "PCIeDevices", "LeakDetectors", "Ports", "Sensors")  # fmt: skip


def read(text: str, sheet: Sheet) -> None:
    """Read a resource or a bundle."""
    document = mapping(load_json(text, sheet))
    if not document:
        return
    if refusal := mapping(document.get("error")):
        sheet.note("tool/failed", "bmc", f"the BMC answers {refusal.get('code')}: {refusal.get('message')}")
        return
    bundle = _bundle(document)
    if not bundle:
        sheet.note("document/unreadable", "file", "the document is no Redfish resource and no bundle of them")
        return
    resources = _by_identity({**redfish_parts.inner_members(bundle), **bundle}, sheet)
    root = mapping(resources.get("/redfish/v1"))
    sheet.version = str(root.get("RedfishVersion", "")) or None
    for identity, resource in resources.items():
        _resource(identity, resource, resources, sheet)
    redfish_parts.read(resources, sheet)
    redfish_state.read(resources, sheet)
    if len(bundle) > 1:
        _counts(bundle, resources, sheet)


def _bundle(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    if "@odata.id" in document or "@odata.type" in document:
        return {str(document.get("@odata.id", "resource")): document}
    return {
        path: mapping(value)
        for path, value in document.items()
        if path.startswith("/redfish") and isinstance(value, dict)
    }


def _by_identity(bundle: dict[str, dict[str, Any]], sheet: Sheet) -> dict[str, dict[str, Any]]:
    resources: dict[str, dict[str, Any]] = {}
    for path, resource in bundle.items():
        identity = str(resource.get("@odata.id") or path).rstrip("/")
        if identity in resources and resources[identity] != resource:
            sheet.note("note/copies-differ", identity, f"{identity} is shown with two contents")
        if identity not in resources or path.rstrip("/") == identity:
            resources[identity] = resource
    return resources


def _resource(identity: str, resource: dict[str, Any], resources: dict[str, dict[str, Any]], sheet: Sheet) -> None:
    kind = str(resource.get("@odata.type", "")).lstrip("#").split(".")[0]
    _health(identity, resource, sheet)
    if "Members" in resource:
        _collection(identity, resource, resources, sheet)
    if kind == "Processor":
        _processor(identity, resource, sheet)
    elif kind in ("ComputerSystem", "SoftwareInventory", "Chassis", "Manager"):
        for name in ("Model", "SerialNumber", "BiosVersion", "PowerState", "Version", "FirmwareVersion"):
            sheet.text(identity, name, resource.get(name))
    elif kind == "Sensor":
        _sensor(identity, resource, sheet)
    if not kind:
        sheet.note("row/missing", identity, "@odata.type is missing")


def _health(identity: str, resource: dict[str, Any], sheet: Sheet) -> None:
    for place, status in _statuses(resource, "", 0):
        health = str(status.get("Health") or "OK")
        if not place and "Health" in status:
            sheet.number(identity, "healthy", float(health == "OK"), "bool")
        if health == "OK" and status.get("HealthRollup") == "Critical":
            sheet.note("hardware/health", identity + place, "a part below is critical", severity="Critical")
        if health != "OK":
            code = "hardware/health" if health == "Critical" else "note/health"
            seen = f"health is {health}, state {status.get('State')}"
            sheet.note(code, identity + place, seen, severity=health)
    for place, leak in redfish_state.leaks(resource):
        component = identity + (f"#{place[1:]}" if place else "")
        sheet.number(component, "leak", float(leak != "OK"), "bool")
        if leak in ("Unavailable", "Absent"):
            sheet.note("row/missing", component, f"detector state {leak}: nobody watches for a leak")
        elif leak != "OK":
            sheet.note("hardware/leak", component, f"detector state {leak}")


def _statuses(value: object, place: str, depth: int) -> Iterator[tuple[str, dict[str, Any]]]:
    if depth > _MOST_DEPTH:
        return
    if isinstance(value, dict):
        if isinstance(value.get("Status"), dict):
            yield place, value["Status"]
        for name, inner in value.items():
            if name != "Status":
                yield from _statuses(inner, f"{place}#{name}" if not place else f"{place}/{name}", depth + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _statuses(inner, f"{place}/{index}", depth + 1)


def _collection(identity: str, resource: dict[str, Any], resources: dict[str, dict[str, Any]], sheet: Sheet) -> None:
    members = [str(mapping(member).get("@odata.id", "")).rstrip("/") for member in sequence(resource["Members"])]
    announced = whole(resource.get("Members@odata.count"))
    sheet.number(identity, "members", len(members), "count")
    if announced != len(members):
        # Mock-ups and some BMCs miscount certificates and firmware; parts of the machine are another matter.
        code = "row/missing" if identity.rsplit("/", 1)[-1] in _PARTS else "note/member-count"
        sheet.note(code, identity, f"{len(members)} members where {announced} are announced")
    if len(set(members)) != len(members):
        sheet.note("document/duplicate", identity, "a member is listed twice")
    if identity.endswith("/Processors"):
        absent = [member for member in members if member not in resources]
        for member in absent if len(absent) < len(members) else []:
            sheet.note("row/missing", member, f"{member} is listed and its resource is not there")


def _processor(identity: str, resource: dict[str, Any], sheet: Sheet) -> None:
    for name in ("Model", "SerialNumber", "FirmwareVersion", "ProcessorType"):
        sheet.text(identity, name, resource.get(name))
    if mapping(resource.get("Status")).get("State") == "Absent":
        return
    if not resource.get("ProcessorType"):
        sheet.note("row/missing", identity, "the type of the processor is missing")
    if resource.get("ProcessorType") == "GPU" and not resource.get("Model"):
        sheet.note("row/missing", identity, "the model of the GPU is missing")


def _sensor(identity: str, resource: dict[str, Any], sheet: Sheet) -> None:
    reading = resource.get("Reading")
    if reading is None:
        return
    value = sheet.number(identity, "reading", reading, str(resource.get("ReadingUnits", "")))
    limits = mapping(resource.get("Thresholds"))
    upper, lower = (mapping(limits.get(f"{side}Critical")).get("Reading") for side in ("Upper", "Lower"))
    if value is not None and isinstance(upper, int | float) and value >= upper > 0:
        sheet.note("hardware/sensor-critical", identity, f"{value:g} reaches the upper critical limit {upper:g}")
    if value is not None and isinstance(lower, int | float) and value <= lower and lower > 0:
        sheet.note("hardware/sensor-critical", identity, f"{value:g} reaches the lower critical limit {lower:g}")


def _counts(bundle: dict[str, dict[str, Any]], resources: dict[str, dict[str, Any]], sheet: Sheet) -> None:
    processors = [resource for resource in resources.values() if "#Processor." in str(resource.get("@odata.type"))
                  and mapping(resource.get("Status")).get("State") != "Absent"]  # fmt: skip
    gpus = [gpu for gpu in processors if gpu.get("ProcessorType") == "GPU"]
    sheet.number("node", "resources", len(bundle), "count")
    sheet.number("node", "distinct_resources", len(resources), "count")
    sheet.number("node", "gpus", len(gpus), "count")
    sheet.number("node", "cpus", sum(one.get("ProcessorType") == "CPU" for one in processors), "count")
    sheet.number(
        "node", "systems", sum("#ComputerSystem." in str(one.get("@odata.type")) for one in resources.values()), "count"
    )
    sheet.number("node", "firmware_entries", sum("#SoftwareInventory." in str(one.get("@odata.type"))
                                                 for one in resources.values()), "count")  # fmt: skip
    serials = [str(gpu.get("SerialNumber")) for gpu in gpus]
    if len(set(serials)) < len(serials):
        sheet.note(
            "note/shared-serial", "node", "GPUs share a serial: it belongs to their board and is no key of a GPU"
        )
    models = {family(str(gpu.get("Model"))) for gpu in gpus} - {None}
    for identity, resource in resources.items():
        if "#ComputerSystem." in str(resource.get("@odata.type")):
            label = family(str(resource.get("Model")))
            if label and models and label not in models:
                sheet.note(
                    "note/baseboard-label",
                    identity,
                    f"the board is called {label}, its GPUs are {sorted(map(str, models))}",
                )
