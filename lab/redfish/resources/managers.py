"""The BMC itself, the baseboard's controller and the fabric manager; only the BMC can be reset."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from lab.redfish import errors
from lab.redfish.documents import OK, ROOT, collection, link, resource
from lab.redfish.resources.unsafe import unsafe
from lab.redfish.routes import Answer, Context, Document, get, post
from lab.truth import seeded

_RESET_TYPES = ["GracefulRestart", "ForceRestart"]


def _bmc_item(context: Context) -> str:
    return next(item.id for item in context.platform.firmware.values() if item.activation == "self")


@get("Managers/{manager}")
def manager(context: Context, manager: str) -> Document:
    """One manager."""
    platform, path = context.platform, context.path
    if manager == platform.host_manager:
        return _host_manager(context)
    if manager not in (platform.baseboard_manager, *platform.other_managers):
        raise errors.not_found(ROOT + path)
    version = {}
    if manager == platform.baseboard_manager:
        version = {
            "FirmwareVersion": context.node.firmware.version(platform.gpu.get("baseboard_firmware", "HGX_FW_BMC_0"))
        }
    kind = "BMC" if version else "Service"
    return resource(path, "Manager.v1_19_1", manager, ManagerType=kind, Status=OK, **version)


def _host_manager(context: Context) -> Document:
    path, platform = context.path, context.platform
    target = f"{ROOT}{path}/Actions/Manager.Reset"
    return resource(
        path,
        "Manager.v1_19_1",
        "Manager",
        ManagerType="BMC",
        Model=platform.bmc_product,
        UUID=seeded.identity(context.node.seed, context.node.name, "bmc"),
        FirmwareVersion=context.node.firmware.version(_bmc_item(context)),
        DateTime=_now(context).isoformat(timespec="seconds"),
        VirtualMedia=link(f"{path}/VirtualMedia"),
        HostInterfaces=link(f"{path}/HostInterfaces"),
        PowerState="On",
        Status=OK,
        EthernetInterfaces=link(f"{path}/EthernetInterfaces"),
        LogServices=link(f"{path}/LogServices"),
        Links={
            "ManagerForServers": [link(f"Systems/{context.host_system}")],
            "ManagerForChassis": [link(f"Chassis/{platform.host_chassis}")],
        },
        Actions={"#Manager.Reset": {"target": target, "ResetType@Redfish.AllowableValues": _RESET_TYPES}},
    )


def _now(context: Context) -> datetime:
    """The BMC's own clock runs with the clients' and not with the lab's time, which may be faster."""
    fault = unsafe(context, "clock")
    ahead = float(fault.parameters["seconds"]) if fault is not None else 0.0
    return datetime.now(UTC) + timedelta(seconds=ahead)


@get("Managers/{manager}/VirtualMedia")
def media(context: Context, manager: str) -> Document:
    """The one drive for virtual media."""
    _host_manager_only(context, manager)
    return collection(context.path, "VirtualMedia", ["CD1"])


@get("Managers/{manager}/VirtualMedia/{medium}")
def medium(context: Context, manager: str, medium: str) -> Document:
    """The drive, which is empty unless somebody left something in it."""
    _host_manager_only(context, manager)
    if medium != "CD1":
        raise errors.not_found(ROOT + context.path)
    fault = unsafe(context, "medium")
    image = str(fault.parameters["image"]) if fault is not None else None
    return resource(
        context.path,
        "VirtualMedia.v1_6_3",
        "Virtual CD",
        MediaTypes=["CD", "DVD"],
        Image=image,
        Inserted=image is not None,
    )


@get("Managers/{manager}/HostInterfaces")
def host_interfaces(context: Context, manager: str) -> Document:
    """The interface from the host to its BMC."""
    _host_manager_only(context, manager)
    return collection(context.path, "HostInterface", ["Self"])


@get("Managers/{manager}/HostInterfaces/{interface}")
def host_interface(context: Context, manager: str, interface: str) -> Document:
    """It is there, as on most servers, and hands out no credentials."""
    _host_manager_only(context, manager)
    if interface != "Self":
        raise errors.not_found(ROOT + context.path)
    bootstrapping = {"Enabled": False, "EnableAfterReset": False, "RoleId": "Administrator"}
    return resource(
        context.path,
        "HostInterface.v1_3_3",
        "Host Interface",
        HostInterfaceType="NetworkHostInterface",
        InterfaceEnabled=True,
        CredentialBootstrapping=bootstrapping,
        Status=OK,
    )


def _host_manager_only(context: Context, manager: str) -> None:
    if manager != context.platform.host_manager:
        raise errors.not_found(ROOT + context.path)


@post("Managers/{manager}/Actions/Manager.Reset")
def reset(context: Context, manager: str) -> Answer:
    """Restart the BMC: it is gone for a while and forgets every session."""
    if manager != context.platform.host_manager:
        raise errors.not_found(ROOT + context.path)
    reset_type = context.body.get("ResetType", "GracefulRestart")
    if reset_type not in _RESET_TYPES:
        raise errors.bad_value("ResetType", reset_type, _RESET_TYPES)
    context.effect("manager-reset", reset_type=reset_type)
    context.bmc.restart(context.world, context.node)
    return Answer()


@get("Managers/{manager}/EthernetInterfaces")
def interfaces(context: Context, manager: str) -> Document:
    """The BMC's own interface."""
    if manager != context.platform.host_manager:
        raise errors.not_found(ROOT + context.path)
    return collection(context.path, "EthernetInterface", ["eth0"])


@get("Managers/{manager}/EthernetInterfaces/{interface}")
def interface(context: Context, manager: str, interface: str) -> Document:
    """The BMC's own interface and its address."""
    if (manager, interface) != (context.platform.host_manager, "eth0"):
        raise errors.not_found(ROOT + context.path)
    mac = seeded.mac("5C:FF:35", context.node.seed, context.node.name, "bmc")
    return resource(
        context.path,
        "EthernetInterface.v1_12_2",
        "eth0",
        MACAddress=mac,
        SpeedMbps=1000,
        LinkStatus="LinkUp",
        Status=OK,
    )
