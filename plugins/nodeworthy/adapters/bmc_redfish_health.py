"""Reads leak detectors, fans, power supplies, redundancy and temperatures of the chassis that hold a host.

The current schemas where a chassis has them (ThermalSubsystem, PowerSubsystem, Sensors), the deprecated ones (Thermal,
Power) where it has not, or where a BMC that cannot expand would need a request per sensor. What the inventory read is
not read again. Sources: DMTF DSP0268 (ThermalSubsystem 1.3, LeakDetection 1.0, Fan 1.5, Sensor 1.9, Thermal 1.7,
Power 1.7).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from nodeworthy.adapters.bmc_redfish_soft import SoftReader
from nodeworthy.adapters.bmc_redfish_tree import Resource, Tree, identity, link, number, part, present, rows, text
from nodeworthy.evidence.bmc_health import Detector, Group, Health, Leaks, Machinery, Temperature
from nodeworthy.qualification.bmc_health import HealthRules

CELSIUS = {"Cel", "C", "°C"}
INNER = {"", "Card", "Cartridge", "Component", "Expansion", "Module", "Other", "Zone"}
"""Kinds of chassis (Chassis 1.25 ChassisType) that stand inside of another one."""


@dataclass(slots=True)
class HealthReader:
    """One reading of one host's chassis."""

    tree: Tree
    soft: SoftReader
    rules: HealthRules
    root: Resource
    gaps: list[str] = field(default_factory=list)

    def leaks(self, host: Resource) -> Leaks:
        """Read every leak detector that is announced."""
        found: dict[str, Detector] = {}
        gaps: list[str] = []
        for chassis in self._enclosing(host):
            thermal = self.soft.resource(link(chassis, "ThermalSubsystem"), self.gaps)
            for path in filter(None, (link(thermal, "LeakDetection"), link(chassis, "LeakDetection"))):
                for row in self._detectors(path, gaps):
                    # An excerpt inside of a group names the detector that it is of, or stands for itself.
                    key = text(row, "DataSourceUri") or identity(row) or f"{path}#{len(found)}"
                    found.setdefault(key, _detector(row))
        return Leaks(tuple(found.values()), tuple(gaps))

    def health(self, host: Resource) -> Health:
        """Read the rest."""
        fans: list[Machinery] = []
        supplies: list[Machinery] = []
        groups: list[Group] = []
        temperatures: list[Temperature] = []
        for chassis in self._enclosing(host):
            thermal = self.soft.resource(link(chassis, "ThermalSubsystem"), self.gaps)
            listed = self._members(link(thermal, "Fans"))
            # The deprecated resource tells all in one request: only where the current ones tell nothing, or need many.
            old = self._old_thermal(chassis, listed)
            fans += [_fan(row) for row in listed or rows(old, "Fans") if present(row)]
            groups += _redundancy(chassis, "fans", thermal, "FanRedundancy", old)
            temperatures += self._temperatures(chassis, old)
            power = self.tree.follow(chassis, "PowerSubsystem")
            known = self.tree.members(power, "PowerSupplies")
            deprecated = None if known else self.tree.follow(chassis, "Power")
            supplies += [_supply(row) for row in known or rows(deprecated, "PowerSupplies") if present(row)]
            groups += _redundancy(chassis, "power supplies", power or {}, "PowerSupplyRedundancy", deprecated or {})
        return Health(tuple(fans), tuple(supplies), tuple(groups), tuple(temperatures), tuple(self.gaps))

    def _enclosing(self, host: Resource) -> tuple[Resource, ...]:
        """Return the chassis that the host links to and those that contain them: what is cooled and fed together."""
        waiting = [identity(one) for one in rows(host, "Links", "Chassis")]
        found: dict[str, Resource] = {}
        while waiting:
            path = waiting.pop(0)
            resource = self.tree.get(path) if path and path not in found else None
            if resource is not None:
                found[path] = resource
                waiting.append(link(resource, "Links", "ContainedBy"))
        if all(text(one, "ChassisType") in INNER for one in found.values()):
            found |= self._holding(host, set(found))
        return tuple(found.values())

    def _holding(self, host: Resource, inner: set[str]) -> dict[str, Resource]:
        """Look for the box itself where the host links only to what is inside of it (GB300 trays link to their BMC)."""
        found = {}
        for one in self._members(link(self.root, "Chassis")):
            systems = {identity(each) for each in rows(one, "Links", "ComputerSystems")}
            contains = {identity(each) for each in rows(one, "Links", "Contains")}
            if identity(host) in systems or contains & inner:
                found[identity(one)] = one
        return found

    def _detectors(self, path: str, gaps: list[str]) -> Iterator[Resource]:
        """Yield detectors: linked, given inside of groups, or (a vendor's own way) listed by the resource itself."""
        detection = self.soft.resource(path, gaps)
        yield from self._members(link(detection, "LeakDetectors"), gaps)
        if isinstance(detection.get("Members"), list):
            yield from self._members(path, gaps)
        for group in rows(detection, "LeakDetectorGroups"):
            yield from (row for row in rows(group, "Detectors") if isinstance(row, Mapping))

    def _members(self, path: str, gaps: list[str] | None = None) -> list[Resource]:
        told = self.gaps if gaps is None else gaps
        limits = {"most_single_reads": self.rules.most_single_reads, "most_pages": self.rules.most_pages}
        return self.soft.members(path, told, **limits)

    def _old_thermal(self, chassis: Resource, fans: list[Resource]) -> Resource:
        needed = not fans or not link(chassis, "Sensors") or not self.soft.expands
        return self.soft.resource(link(chassis, "Thermal"), self.gaps) if needed else {}

    def _temperatures(self, chassis: Resource, old: Resource) -> Iterator[Temperature]:
        listed = rows(old, "Temperatures")
        if listed:
            yield from (_old_temperature(row) for row in listed if present(row))
            return
        for row in self._members(link(chassis, "Sensors")):
            if (text(row, "ReadingType") == "Temperature" or text(row, "ReadingUnits") in CELSIUS) and present(row):
                yield _temperature(row)


def _detector(row: Resource) -> Detector:
    state = text(row, "DetectorState") or text(row, "Status", "Health")
    name = text(row, "DeviceName") or text(row, "Id") or text(row, "Name") or identity(row)
    if text(row, "Status", "State") in {"Absent", "UnavailableOffline", "Disabled"}:
        state = "Unavailable"
    return Detector(name, text(row, "LeakDetectorType"), state)


def _machinery(row: Resource, speed: float | None = None, line: str = "") -> Machinery:
    name = text(row, "Id") or text(row, "Name") or text(row, "FanName") or text(row, "MemberId")
    return Machinery(name, identity(row), text(row, "Status", "State"), text(row, "Status", "Health"), speed, line)


def _fan(row: Resource) -> Machinery:
    readings = (_figure(row, "SpeedPercent", "SpeedRPM"), _figure(row, "SpeedPercent", "Reading"))
    speed = next((one for one in (*readings, _figure(row, "Reading")) if one is not None), None)
    return _machinery(row, speed)


def _supply(row: Resource) -> Machinery:
    line = text(row, "LineInputStatus")
    if not line and part(row, "LineInputVoltage") == 0:
        line = "0 V"
    return _machinery(row, line=line)


def _redundancy(chassis: Resource, what: str, current: Resource, name: str, old: Resource) -> Iterator[Group]:
    found = [(row, "RedundancyGroup", "MinNeededInGroup") for row in rows(current, name)]
    if not found:
        found = [(row, "RedundancySet", "MinNumNeeded") for row in rows(old, "Redundancy")]
    for row, members, needed in found:
        uris = tuple(filter(None, (identity(one) for one in rows(row, members))))
        state, health = text(row, "Status", "State"), text(row, "Status", "Health")
        yield Group(f"{what} of {text(chassis, 'Id')}", uris, number(row, needed) or 0, state, health)


def _temperature(row: Resource) -> Temperature:
    headroom = text(row, "ReadingBasis") == "Headroom"
    upper = _figure(row, "Thresholds", "UpperCritical", "Reading")
    return Temperature(
        name=text(row, "Id") or text(row, "Name"),
        celsius=_figure(row, "Reading") if headroom else _celsius(row, "Reading"),
        state=text(row, "Status", "State"),
        health=text(row, "Status", "Health"),
        upper_critical=_stated(upper if upper is not None else _figure(row, "Thresholds", "UpperFatal", "Reading")),
        upper_caution=_stated(_figure(row, "Thresholds", "UpperCaution", "Reading")),
        lower_critical=_figure(row, "Thresholds", "LowerCritical", "Reading"),
    )


def _old_temperature(row: Resource) -> Temperature:
    upper = _figure(row, "UpperThresholdCritical")
    return Temperature(
        name=text(row, "Name") or text(row, "MemberId"),
        celsius=_celsius(row, "ReadingCelsius"),
        state=text(row, "Status", "State"),
        health=text(row, "Status", "Health"),
        upper_critical=_stated(upper if upper is not None else _figure(row, "UpperThresholdFatal")),
        upper_caution=_stated(_figure(row, "UpperThresholdNonCritical")),
        lower_critical=_figure(row, "LowerThresholdCritical"),
    )


def _figure(resource: Resource, *names: str) -> float | None:
    value = part(resource, *names)
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if known else None


def _celsius(resource: Resource, name: str) -> float | None:
    """Return a reading; 0 is what BMCs say of a sensor that they cannot read."""
    return _figure(resource, name) or None


def _stated(limit: float | None) -> float | None:
    """Return an upper limit; 0 and less is what BMCs say where none is set."""
    return limit if limit is not None and limit > 0 else None
