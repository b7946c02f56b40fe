"""What Redfish resources say beside their health: readings with their limits, predictions, links, sizes.

Thermal and Power hold their parts as lists (DSP2046, the older schema); the newer subsystems have a resource each. A
part that is absent or has no reading says nothing.
"""

from __future__ import annotations

import re
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, sequence
from nodeworthy_probe.parsers.numbers import finite

from .sheet import Sheet

_LISTS = (
    ("Temperatures", ("ReadingCelsius",), "C"),
    ("Fans", ("Reading", "ReadingRPM"), ""),
    ("Voltages", ("ReadingVolts",), "V"),
    ("PowerSupplies", ("LastPowerOutputWatts", "PowerOutputWatts"), "W"),
    ("PowerControl", ("PowerConsumedWatts",), "W"),
)
_FACTS = (
    ("CapacityBytes", "capacity", "B"),
    ("CapacityMiB", "capacity", "MiB"),
    ("PredictedMediaLifeLeftPercent", "life_left", "%"),
    ("TotalCores", "cores", "count"),
    ("OperatingSpeedMhz", "speed", "MHz"),
    ("OperatingSpeedMHz", "speed", "MHz"),
    ("MaxSpeedMHz", "speed_max", "MHz"),
    ("MemorySummary/TotalMemorySizeMiB", "memory", "MiB"),
    ("Oem/Nvidia/TotalNumberNVLinks", "nvlinks", "count"),
    ("MemorySummary/TotalSystemMemoryGiB", "memory", "GiB"),
    ("ProcessorSummary/Count", "processors", "count"),
    ("PowerWatts/Reading", "power", "W"),
    ("TemperatureCelsius/Reading", "temperature", "C"),
    ("SystemInterface/PCIe/LanesInUse", "pcie_width", "lanes"),
    ("CurrentSpeedGbps", "rate", "Gb/s"),
)
_LINKS = ("Port", "NetworkPort", "EthernetInterface")


def read(resources: dict[str, dict[str, Any]], sheet: Sheet) -> None:
    """All resources of a file; in a whole tree a port without a link may be one that nobody uses."""
    for identity, resource in resources.items():
        kind = str(resource.get("@odata.type", "")).lstrip("#").split(".")[0]
        _facts(identity, resource, sheet)
        for name, readings, unit in _LISTS:
            for place, part in enumerate(map(mapping, sequence(resource.get(name)))):
                _part(f"{identity}#{name}/{place}", part, readings, unit, sheet)
        if kind in _LINKS and resource.get("LinkStatus") in ("LinkDown", "Down", "NoLink"):
            code = "hardware/port-down" if len(resources) == 1 else "note/link-down"
            sheet.note(code, identity, f"the link status is {resource['LinkStatus']}")


def _facts(identity: str, resource: dict[str, Any], sheet: Sheet) -> None:
    for path, metric, unit in _FACTS:
        value = _at(resource, path)
        if finite(value) is not None:
            sheet.number(identity, metric, value, unit)
    if isinstance(resource.get("SecureBootEnable"), bool):
        sheet.number(identity, "secure_boot", float(resource["SecureBootEnable"]), "bool")
    if resource.get("FailurePredicted") is True:
        sheet.note("hardware/failure-predicted", identity, "the drive predicts its failure")
    if finite(resource.get("PredictedMediaLifeLeftPercent")) == 0:
        sheet.note("hardware/worn-out", identity, "0 % of the media's life is left")
    lanes, most = (finite(_at(resource, f"SystemInterface/PCIe/{name}")) for name in ("LanesInUse", "MaxLanes"))
    if lanes is not None and most is not None and lanes < most:
        sheet.note("note/pcie-width", identity, f"{lanes:g} of {most:g} PCIe lanes are in use")


def _at(resource: dict[str, Any], path: str) -> object:
    *folders, name = path.split("/")
    inner: dict[str, Any] = resource
    for folder in folders:
        inner = mapping(inner.get(folder))
    return inner.get(name)


def _part(component: str, part: dict[str, Any], readings: tuple[str, ...], unit: str, sheet: Sheet) -> None:
    sheet.text(component, "name", part.get("Name"))
    raw = next((part[name] for name in readings if part.get(name) is not None), None)
    if raw is None or mapping(part.get("Status")).get("State") == "Absent":
        return
    value = sheet.number(component, "reading", raw, unit or str(part.get("ReadingUnits", "RPM")))
    if value is None:
        return
    for side, beyond in (("Upper", 1.0), ("Lower", -1.0)):
        for grade in ("Critical", "Fatal"):
            limit = finite(part.get(f"{side}Threshold{grade}"))
            if limit is not None and limit > 0 and beyond * value >= beyond * limit:
                sheet.note(
                    "hardware/sensor-critical",
                    component,
                    f"{part.get('Name')}: {value:g} reaches the {side.lower()} {grade.lower()} limit {limit:g}",
                )
                return


def leaks(value: object, place: str = "") -> list[tuple[str, str]]:
    """Every detector's state in a resource and where it stands; some BMCs list the detectors inside of it."""
    if isinstance(value, list):
        return [found for index, inner in enumerate(value) for found in leaks(inner, f"{place}/{index}")]
    if not isinstance(value, dict) or len(re.findall("/", place)) > 16:
        return []
    own = [(place, str(value["DetectorState"]))] if "DetectorState" in value else []
    return own + [found for name, inner in value.items() for found in leaks(inner, f"{place}/{name}")]
