"""Power supplies, fans, temperatures and leak detectors of the server's chassis, in the current and the old schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lab.redfish import errors
from lab.redfish.documents import OK, ROOT, collection, link, links, resource
from lab.redfish.resources.chassis import server_only
from lab.redfish.routes import Context, Document, get
from lab.truth import seeded

_CRITICAL = {"State": "Enabled", "Health": "Critical", "HealthRollup": "Critical"}


@get("Chassis/{chassis}/Power")
def power(context: Context, chassis: str) -> Document:
    """Power supplies in the old schema, which sushy reads."""
    server_only(context, chassis)
    row = context.platform.psu
    supplies = [
        {
            "@odata.id": f"{ROOT}{context.path}#/PowerSupplies/{psu.index}",
            "MemberId": str(psu.index),
            "Name": f"PSU_{psu.index}",
            "Model": row["model"],
            "Manufacturer": row["manufacturer"],
            "SerialNumber": psu.serial,
            "FirmwareVersion": context.node.firmware.version(f"PSU_{psu.index}"),
            "PowerCapacityWatts": row["capacity_watts"],
            "LineInputVoltage": 0 if _fails(context, "supply", psu.index) else 230,
            "Status": OK,
        }
        for psu in context.parts.psus
    ]
    return resource(context.path, "Power.v1_7_3", "Power", PowerSupplies=supplies)


@get("Chassis/{chassis}/PowerSubsystem")
def power_subsystem(context: Context, chassis: str) -> Document:
    """Power supplies in the current schema."""
    server_only(context, chassis)
    path = context.path + "/PowerSupplies"
    group = _group(
        [f"{path}/PSU_{psu.index}" for psu in context.parts.psus], context.platform.cooling["supplies_needed"]
    )
    return resource(
        context.path,
        "PowerSubsystem.v1_1_2",
        "Power Subsystem",
        PowerSupplies=link(path),
        PowerSupplyRedundancy=[group],
        Status=OK,
    )


@get("Chassis/{chassis}/PowerSubsystem/PowerSupplies")
def power_supplies(context: Context, chassis: str) -> Document:
    """The power supplies' collection."""
    server_only(context, chassis)
    return collection(context.path, "PowerSupply", [f"PSU_{psu.index}" for psu in context.parts.psus])


@get("Chassis/{chassis}/PowerSubsystem/PowerSupplies/{supply}")
def power_supply(context: Context, chassis: str, supply: str) -> Document:
    """One power supply."""
    server_only(context, chassis)
    found = next((psu for psu in context.parts.psus if f"PSU_{psu.index}" == supply), None)
    if found is None:
        raise errors.not_found(ROOT + context.path)
    lost = _fails(context, "supply", found.index)
    return resource(
        context.path,
        "PowerSupply.v1_6_0",
        supply,
        Model=found.row["model"],
        Manufacturer=found.row["manufacturer"],
        SerialNumber=found.serial,
        FirmwareVersion=context.node.firmware.version(supply),
        PowerCapacityWatts=found.row["capacity_watts"],
        LineInputStatus="OutOfRange" if lost else "Normal",
        Status={**OK, "Health": "Warning"} if lost else OK,
    )


@get("Chassis/{chassis}/Thermal")
def thermal(context: Context, chassis: str) -> Document:
    """Temperatures and fans in the old schema, which sushy reads."""
    server_only(context, chassis)
    rows = [
        {
            "@odata.id": f"{ROOT}{context.path}#/Temperatures/{number}",
            "MemberId": str(number),
            "Name": name,
            "ReadingCelsius": _reading(context, name),
            "UpperThresholdNonCritical": row["caution"],
            "UpperThresholdCritical": row["critical"],
            "Status": OK,
        }
        for number, (name, row) in enumerate(context.platform.cooling["sensors"].items())
    ]
    fans = [
        {
            "@odata.id": f"{ROOT}{context.path}#/Fans/{number}",
            "MemberId": str(number),
            "Name": f"FAN_{number}",
            "Reading": 0 if _fails(context, "fan", number) else context.platform.cooling["fans"]["speed_percent"],
            "ReadingUnits": "Percent",
            "Status": _fan_status(context, number),
        }
        for number in range(context.platform.cooling["fans"]["count"])
    ]
    return resource(context.path, "Thermal.v1_7_3", "Thermal", Temperatures=rows, Fans=fans)


@get("Chassis/{chassis}/ThermalSubsystem")
def thermal_subsystem(context: Context, chassis: str) -> Document:
    """The current thermal schema; leak detection stands here where the platform is cooled by liquid."""
    server_only(context, chassis)
    cooling, path = context.platform.cooling, context.path
    liquid = {"LeakDetection": link(f"{path}/LeakDetection")} if cooling["leak_detectors"] else {}
    fans = [f"{path}/Fans/FAN_{number}" for number in range(cooling["fans"]["count"])]
    return resource(
        path,
        "ThermalSubsystem.v1_3_3",
        "Thermal Subsystem",
        Fans=link(f"{path}/Fans"),
        FanRedundancy=[_group(fans, cooling["fans"]["needed"])],
        Status=OK,
        **liquid,
    )


@get("Chassis/{chassis}/ThermalSubsystem/Fans")
def fans(context: Context, chassis: str) -> Document:
    """The fans' collection."""
    server_only(context, chassis)
    count = context.platform.cooling["fans"]["count"]
    return collection(context.path, "Fan", [f"FAN_{number}" for number in range(count)])


@get("Chassis/{chassis}/ThermalSubsystem/Fans/{fan}")
def fan(context: Context, chassis: str, fan: str) -> Document:
    """One fan."""
    server_only(context, chassis)
    row = context.platform.cooling["fans"]
    number = next((number for number in range(row["count"]) if fan == f"FAN_{number}"), None)
    if number is None:
        raise errors.not_found(ROOT + context.path)
    speed = 0 if _fails(context, "fan", number) else row["speed_percent"]
    speeds = {"Reading": speed, "SpeedRPM": 180 * speed}
    return resource(
        context.path, "Fan.v1_5_0", fan, Model=row["model"], SpeedPercent=speeds, Status=_fan_status(context, number)
    )


@get("Chassis/{chassis}/ThermalSubsystem/LeakDetection")
def leak_detection(context: Context, chassis: str) -> Document:
    """What watches for liquid."""
    _liquid_only(context, chassis)
    return resource(
        context.path,
        "LeakDetection.v1_0_0",
        "Leak Detection Systems",
        LeakDetectors=link(f"{context.path}/LeakDetectors"),
        Status=_CRITICAL if context.world.faults.find(context.node.name, "leak") else OK,
    )


@get("Chassis/{chassis}/ThermalSubsystem/LeakDetection/LeakDetectors")
def leak_detectors(context: Context, chassis: str) -> Document:
    """The detectors' collection."""
    _liquid_only(context, chassis)
    return collection(context.path, "LeakDetector", _detectors(context))


@get("Chassis/{chassis}/ThermalSubsystem/LeakDetection/LeakDetectors/{detector}")
def leak_detector(context: Context, chassis: str, detector: str) -> Document:
    """One detector; the fault's state may be a vendor's own word, as LeakDetected is."""
    _liquid_only(context, chassis)
    if detector not in _detectors(context):
        raise errors.not_found(ROOT + context.path)
    fault = context.world.faults.find(context.node.name, "leak")
    wet = fault is not None and detector == f"Leak_Detector_{fault.parameters['detector']}"
    state = str(fault.parameters["state"]) if fault is not None and wet else "OK"
    return resource(
        context.path,
        "LeakDetector.v1_1_0",
        detector,
        LeakDetectorType="Moisture",
        DetectorState=state,
        Status=OK if state in ("OK", "Unavailable") else _CRITICAL,
    )


@get("Chassis/{chassis}/Sensors")
def sensors(context: Context, chassis: str) -> Document:
    """The temperature sensors."""
    server_only(context, chassis)
    return collection(context.path, "Sensor", context.platform.cooling["sensors"])


@get("Chassis/{chassis}/Sensors/{sensor}")
def sensor(context: Context, chassis: str, sensor: str) -> Document:
    """One sensor with the thresholds at which its BMC cautions and calls it critical."""
    server_only(context, chassis)
    row: Mapping[str, Any] | None = context.platform.cooling["sensors"].get(sensor)
    if row is None:
        raise errors.not_found(ROOT + context.path)
    return resource(
        context.path,
        "Sensor.v1_9_1",
        sensor,
        ReadingType="Temperature",
        ReadingUnits="Cel",
        Reading=_reading(context, sensor),
        Thresholds={"UpperCaution": {"Reading": row["caution"]}, "UpperCritical": {"Reading": row["critical"]}},
        Status=OK,
    )


def _reading(context: Context, name: str) -> float:
    fault = context.world.faults.find(context.node.name, "chassis-failing")
    if fault is not None and fault.parameters["what"] == "heat" and name == "Inlet_Temp":
        return float(fault.parameters["celsius"])
    figure = context.platform.cooling["sensors"][name]["celsius"]
    return round(seeded.noisy(figure, 0.05, context.node.seed, context.node.name, name), 1)


def _fan_status(context: Context, number: int) -> Document:
    return _CRITICAL if _fails(context, "fan", number) else OK


def _fails(context: Context, what: str, number: int) -> bool:
    fault = context.world.faults.find(context.node.name, "chassis-failing")
    return fault is not None and fault.parameters["what"] == what and int(fault.parameters[what]) == number


def _group(members: list[str], needed: int) -> Document:
    return {
        "RedundancyType": "NPlusM",
        "MaxSupportedInGroup": len(members),
        "MinNeededInGroup": needed,
        "RedundancyGroup": links(members),
        "Status": OK,
    }


def _detectors(context: Context) -> list[str]:
    return [f"Leak_Detector_{number}" for number in range(context.platform.cooling["leak_detectors"])]


def _liquid_only(context: Context, chassis: str) -> None:
    server_only(context, chassis)
    if not context.platform.cooling["leak_detectors"]:
        raise errors.not_found(ROOT + context.path)
