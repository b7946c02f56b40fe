"""The server's chassis, the baseboard's, and one per GPU, their PCIe devices, and the AC cycle."""

from __future__ import annotations

from lab.redfish import errors
from lab.redfish.documents import OK, ROOT, collection, link, resource
from lab.redfish.resources.hardware import manufacturer, pcie_devices
from lab.redfish.resources.service import chassis_ids
from lab.redfish.routes import Answer, Context, Document, get, post

_RESET_TYPES = ["On", "ForceOff", "PowerCycle", "FullPowerCycle"]


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
        Manufacturer=manufacturer(context),
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


def server_only(context: Context, chassis: str) -> None:
    """404 unless `chassis` is the server's."""
    if chassis != context.platform.host_chassis:
        raise errors.not_found(ROOT + context.path)


@post("Chassis/{chassis}/Actions/Chassis.Reset")
def reset(context: Context, chassis: str) -> Answer:
    """Reset the chassis; FullPowerCycle removes standby power too, as pulling the cords would."""
    server_only(context, chassis)
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
    server_only(context, chassis)
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
    server_only(context, chassis)
    return collection(context.path, "PCIeDevice", pcie_devices(context))


@get("Chassis/{chassis}/PCIeDevices/{device}")
def device(context: Context, chassis: str, device: str) -> Document:
    """One PCIe device."""
    server_only(context, chassis)
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
    server_only(context, chassis)
    return collection(context.path, "PCIeFunction", [])
