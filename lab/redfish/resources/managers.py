"""The BMC itself, the baseboard's controller and the fabric manager; only the BMC can be reset."""

from __future__ import annotations

from lab.redfish import errors
from lab.redfish.documents import OK, ROOT, collection, link, resource
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
        version = {"FirmwareVersion": context.node.firmware.version("HGX_FW_BMC_0")}
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
        DateTime=context.world.clock.now().isoformat(timespec="seconds"),
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
