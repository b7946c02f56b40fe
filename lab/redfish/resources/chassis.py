"""The server's chassis, the baseboard's, and one per GPU; power supplies, temperatures, and the AC cycle."""

from __future__ import annotations

from lab.redfish import errors
from lab.redfish.documents import OK, ROOT, collection, link, resource
from lab.redfish.resources.hardware import pcie_devices
from lab.redfish.resources.service import chassis_ids
from lab.redfish.routes import Answer, Context, Document, get, post
from lab.truth import seeded

_RESET_TYPES = ["On", "ForceOff", "PowerCycle", "FullPowerCycle"]
_SENSORS = {"Inlet_Temp": 24.0, "Outlet_Temp": 38.0, "CPU_0_Temp": 46.0, "CPU_1_Temp": 47.0}


@get("Chassis/{chassis}")
def chassis(context: Context, chassis: str) -> Document:
    """One chassis."""
    if chassis not in chassis_ids(context):
        raise errors.not_found(ROOT + context.path)
    if chassis == context.platform.host_chassis:
        return _server(context)
    gpus = {context.platform.gpu_chassis.format(number=gpu.index + 1): gpu for gpu in context.parts.gpus if gpu.present}
    parent = link(f"Chassis/{context.platform.host_chassis}")
    if chassis not in gpus:
        kind = "Module" if chassis == context.platform.baseboard_chassis else "Zone"
        return resource(
            context.path, "Chassis.v1_25_0", chassis, ChassisType=kind, Status=OK, Links={"ContainedBy": parent}
        )
    gpu = gpus[chassis]
    return resource(
        context.path,
        "Chassis.v1_25_0",
        chassis,
        ChassisType="Module",
        Manufacturer="NVIDIA",
        Model=gpu.redfish_model,
        PartNumber=context.platform.gpu["part_number"],
        SerialNumber=gpu.serial,
        Status=OK,
        Links={"ContainedBy": parent},
    )


def _server(context: Context) -> Document:
    path, platform = context.path, context.platform
    power = "On" if context.node.machine.power in ("On", "PoweringOn") else "Off"
    parts = ("NetworkAdapters", "PCIeDevices", "Sensors", "Power", "Thermal", "PowerSubsystem", "ThermalSubsystem")
    return resource(
        path,
        "Chassis.v1_25_0",
        "Chassis",
        ChassisType="RackMount",
        Manufacturer=platform.manufacturer,
        Model=platform.model,
        SerialNumber=context.parts.serial,
        PartNumber=f"{platform.model}-01",
        PowerState=power,
        Status=OK,
        Location={"Placement": {"Rack": context.node.rack, "RackOffset": context.node.position}},
        Links={
            "ComputerSystems": [link(f"Systems/{context.host_system}")],
            "ManagedBy": [link(f"Managers/{platform.host_manager}")],
        },
        Actions={
            "#Chassis.Reset": {
                "target": f"{ROOT}{path}/Actions/Chassis.Reset",
                "ResetType@Redfish.AllowableValues": _RESET_TYPES,
            },
            "Oem": {
                "#NvidiaChassis.AuxPowerReset": {
                    "target": f"{ROOT}{path}/Actions/Oem/NvidiaChassis.AuxPowerReset",
                    "ResetType@Redfish.AllowableValues": ["AuxPowerCycle"],
                }
            },
        },
        **{name: link(f"{path}/{name}") for name in parts},
    )


def _server_only(context: Context, chassis: str) -> None:
    if chassis != context.platform.host_chassis:
        raise errors.not_found(ROOT + context.path)


@post("Chassis/{chassis}/Actions/Chassis.Reset")
def reset(context: Context, chassis: str) -> Answer:
    """Reset the chassis; FullPowerCycle removes standby power too, as pulling the cords would."""
    _server_only(context, chassis)
    reset_type = context.body.get("ResetType")
    if reset_type not in _RESET_TYPES:
        raise errors.bad_value("ResetType", reset_type, _RESET_TYPES)
    if reset_type == "FullPowerCycle":
        return _ac_cycle(context)
    context.effect("reset", reset_type=reset_type, chassis=True)
    context.world.boot.reset(context.node, str(reset_type))
    return Answer()


@post("Chassis/{chassis}/Actions/Oem/NvidiaChassis.AuxPowerReset")
def aux_power_reset(context: Context, chassis: str) -> Answer:
    """NVIDIA's own name for an AC cycle."""
    _server_only(context, chassis)
    if context.body.get("ResetType") != "AuxPowerCycle":
        raise errors.bad_value("ResetType", context.body.get("ResetType"), ["AuxPowerCycle"])
    return _ac_cycle(context)


def _ac_cycle(context: Context) -> Answer:
    if context.has("ac-cycle-activation") and context.node.machine.power != "Off":
        text = "The chassis must be powered off before its auxiliary power can be cycled."
        raise errors.RedfishError(400, "ActionNotSupported", text, resolution="Power the chassis off and retry.")
    context.effect("ac-cycle")
    context.world.boot.ac_cycle(context.node)
    context.bmc.restart(context.world, context.node)
    return Answer()


@get("Chassis/{chassis}/PCIeDevices")
def devices(context: Context, chassis: str) -> Document:
    """All PCIe devices of the server."""
    _server_only(context, chassis)
    return collection(context.path, "PCIeDevice", pcie_devices(context))


@get("Chassis/{chassis}/PCIeDevices/{device}")
def device(context: Context, chassis: str, device: str) -> Document:
    """One PCIe device."""
    _server_only(context, chassis)
    found = pcie_devices(context).get(device)
    if found is None:
        raise errors.not_found(ROOT + context.path)
    functions = link(context.path + "/PCIeFunctions")
    return resource(
        context.path,
        "PCIeDevice.v1_16_0",
        device,
        DeviceType="SingleFunction",
        PCIeFunctions=functions,
        Status=OK,
        **found,
    )


@get("Chassis/{chassis}/PCIeDevices/{device}/PCIeFunctions")
def device_functions(context: Context, chassis: str, device: str) -> Document:
    """Functions are not modelled."""
    _server_only(context, chassis)
    return collection(context.path, "PCIeFunction", [])


@get("Chassis/{chassis}/Power")
def power(context: Context, chassis: str) -> Document:
    """Power supplies in the old schema, which sushy reads."""
    _server_only(context, chassis)
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
            "LineInputVoltage": 230,
            "Status": OK,
        }
        for psu in context.parts.psus
    ]
    return resource(context.path, "Power.v1_7_3", "Power", PowerSupplies=supplies)


@get("Chassis/{chassis}/PowerSubsystem")
def power_subsystem(context: Context, chassis: str) -> Document:
    """Power supplies in the current schema."""
    _server_only(context, chassis)
    supplies = link(context.path + "/PowerSupplies")
    return resource(context.path, "PowerSubsystem.v1_1_2", "Power Subsystem", PowerSupplies=supplies, Status=OK)


@get("Chassis/{chassis}/PowerSubsystem/PowerSupplies")
def power_supplies(context: Context, chassis: str) -> Document:
    """The power supplies' collection."""
    _server_only(context, chassis)
    return collection(context.path, "PowerSupply", [f"PSU_{psu.index}" for psu in context.parts.psus])


@get("Chassis/{chassis}/PowerSubsystem/PowerSupplies/{supply}")
def power_supply(context: Context, chassis: str, supply: str) -> Document:
    """One power supply."""
    _server_only(context, chassis)
    found = next((psu for psu in context.parts.psus if f"PSU_{psu.index}" == supply), None)
    if found is None:
        raise errors.not_found(ROOT + context.path)
    return resource(
        context.path,
        "PowerSupply.v1_6_0",
        supply,
        Model=found.row["model"],
        Manufacturer=found.row["manufacturer"],
        SerialNumber=found.serial,
        FirmwareVersion=context.node.firmware.version(supply),
        PowerCapacityWatts=found.row["capacity_watts"],
        LineInputStatus="Normal",
        Status=OK,
    )


@get("Chassis/{chassis}/Thermal")
def thermal(context: Context, chassis: str) -> Document:
    """Temperatures in the old schema, which sushy reads."""
    _server_only(context, chassis)
    rows = [
        {
            "@odata.id": f"{ROOT}{context.path}#/Temperatures/{number}",
            "MemberId": str(number),
            "Name": name,
            "ReadingCelsius": _reading(context, name),
            "Status": OK,
        }
        for number, name in enumerate(_SENSORS)
    ]
    return resource(context.path, "Thermal.v1_7_3", "Thermal", Temperatures=rows, Fans=[])


@get("Chassis/{chassis}/ThermalSubsystem")
def thermal_subsystem(context: Context, chassis: str) -> Document:
    """The current thermal schema."""
    _server_only(context, chassis)
    return resource(context.path, "ThermalSubsystem.v1_3_3", "Thermal Subsystem", Status=OK)


@get("Chassis/{chassis}/Sensors")
def sensors(context: Context, chassis: str) -> Document:
    """The temperature sensors."""
    _server_only(context, chassis)
    return collection(context.path, "Sensor", _SENSORS)


@get("Chassis/{chassis}/Sensors/{sensor}")
def sensor(context: Context, chassis: str, sensor: str) -> Document:
    """One sensor."""
    _server_only(context, chassis)
    if sensor not in _SENSORS:
        raise errors.not_found(ROOT + context.path)
    return resource(
        context.path,
        "Sensor.v1_9_1",
        sensor,
        ReadingType="Temperature",
        ReadingUnits="Cel",
        Reading=_reading(context, sensor),
        Status=OK,
    )


def _reading(context: Context, name: str) -> float:
    return round(seeded.noisy(_SENSORS[name], 0.05, context.node.seed, context.node.name, name), 1)
