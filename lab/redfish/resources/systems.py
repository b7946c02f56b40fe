"""The two systems of an HGX server: the host, which can be reset and booted, and the baseboard, which cannot."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from lab.redfish import errors
from lab.redfish.bmc import quirk_row
from lab.redfish.documents import OK, ROOT, link, links, resource
from lab.redfish.resources.hardware import manufacturer, pcie_paths
from lab.redfish.resources.unsafe import unsafe
from lab.redfish.routes import Answer, Context, Document, get, patch, post
from lab.truth.machine import BootOverride

_TARGETS = ["None", "Pxe", "Hdd", "BiosSetup", "UefiHttp"]
_ENABLED = ["Disabled", "Once", "Continuous"]
_MODES = ["UEFI", "Legacy"]
_FIELDS = {
    "BootSourceOverrideEnabled": "enabled",
    "BootSourceOverrideTarget": "target",
    "BootSourceOverrideMode": "mode",
    "HttpBootUri": "http_boot_uri",
}


@get("Systems/{system}")
def system(context: Context, system: str) -> Document:
    """A system of the server."""
    if system == context.platform.baseboard_system:
        return _baseboard(context)
    require_host(context, system)
    return {**_host(context), **_host_state(context), "Boot": _boot(context), "Actions": _actions(context)}


def require_host(context: Context, system: str) -> None:
    """404 unless `system` is the host's id."""
    if system != context.host_system:
        raise errors.not_found(ROOT + context.path)


def _host(context: Context) -> Document:
    platform, parts, path = context.platform, context.parts, context.path
    cpu = platform.cpu
    memory_gib = sum(dimm.row["capacity_mib"] for dimm in parts.dimms) / 1024
    bios = next(item.id for item in platform.firmware.values() if item.measured == "bios")
    return resource(
        path,
        "ComputerSystem.v1_22_0",
        "Computer System",
        SystemType="Physical",
        Manufacturer=platform.manufacturer,
        Model=platform.model,
        SerialNumber=parts.serial,
        PartNumber=f"{platform.model}-01",
        UUID=context.node.system_uuid,
        HostName=context.node.name,
        BiosVersion=context.node.firmware.version(bios),
        Status=OK,
        ProcessorSummary={
            "Count": len(parts.cpus),
            "CoreCount": len(parts.cpus) * cpu["cores"],
            "LogicalProcessorCount": len(parts.cpus) * cpu["threads"],
            "Model": cpu["model"],
            "Status": OK,
        },
        MemorySummary={"TotalSystemMemoryGiB": memory_gib, "Status": OK},
        PCIeDevices=links(pcie_paths(context)),
        Links={
            "Chassis": [link(f"Chassis/{platform.host_chassis}")],
            "ManagedBy": [link(f"Managers/{platform.host_manager}")],
        },
        **{
            name: link(f"{path}/{name}")
            for name in ("Processors", "Memory", "EthernetInterfaces", "Storage", "Bios", "SecureBoot", "LogServices")
        },
    )


def _host_state(context: Context) -> Document:
    machine = context.node.machine
    state: Document = {
        "PowerState": machine.power,
        "BootProgress": {"LastState": machine.stage},
    }
    if machine.last_reset is not None:
        state["LastResetTime"] = machine.last_reset.isoformat()
    return state


def _boot(context: Context) -> Document:
    override = context.node.machine.override
    if override.enabled == "Disabled" and unsafe(context, "override"):
        override = BootOverride("Continuous", "Pxe")
    boot = {
        "BootSourceOverrideEnabled": override.enabled,
        "BootSourceOverrideTarget": override.target,
        "BootSourceOverrideTarget@Redfish.AllowableValues": _targets(context),
        "BootSourceOverrideMode": override.mode,
        "BootSourceOverrideMode@Redfish.AllowableValues": _MODES,
        "HttpBootUri": override.http_boot_uri,
        "BootOrder": ["Boot0001", "Boot0002"],
    }
    if context.has("boot-mode-absent"):
        boot = {key: value for key, value in boot.items() if not key.startswith("BootSourceOverrideMode")}
    return boot


def _targets(context: Context) -> list[str]:
    return [target for target in _TARGETS if target != "None" or not context.has("boot-mode-absent")]


def reset_types(context: Context) -> list[str]:
    """What ComputerSystem.Reset takes here."""
    gone = {"PushPowerButton", "GracefulRestart"} if context.has("reset-slow") else set()
    return [name for name in context.platform.reset_types if name not in gone]


def _actions(context: Context) -> Document:
    target = ROOT + context.path + "/Actions/ComputerSystem.Reset"
    return {"#ComputerSystem.Reset": {"target": target, "ResetType@Redfish.AllowableValues": reset_types(context)}}


def _baseboard(context: Context) -> Document:
    path, parts = context.path, context.parts
    name = context.platform.baseboard_system.partition("_")[0]
    document = resource(
        path,
        "ComputerSystem.v1_22_0",
        f"{name} Baseboard",
        SystemType="Physical",
        Manufacturer=manufacturer(context),
        Model=f"{name} {context.platform.gpu['redfish_model'].split()[0]} 8-GPU",
        SerialNumber=f"{name}{(parts.switches[0].serial if parts.switches else parts.gpus[0].serial)[:10]}",
        Status=OK,
        PowerState=context.node.machine.power,
        ProcessorSummary={"Count": sum(gpu.present for gpu in parts.gpus), "Status": OK},
        Processors=link(f"{path}/Processors"),
        Memory=link(f"{path}/Memory"),
        Links={
            "Chassis": [link(f"Chassis/{context.platform.baseboard_chassis}")],
            "ManagedBy": [link(f"Managers/{context.platform.baseboard_manager}")],
        },
    )
    if context.has("baseboard-first"):
        document["Bios"] = link(f"{path}/Bios")
    return document


@patch("Systems/{system}")
def change(context: Context, system: str) -> Answer:
    """Set the boot override; nothing else of a system can be set."""
    require_host(context, system)
    unknown = sorted(set(context.body) - {"Boot", "AssetTag", "IndicatorLED"})
    if unknown:
        raise errors.unknown_property(unknown[0])
    boot = context.body.get("Boot")
    if not isinstance(boot, dict):
        raise errors.missing("Boot")
    override = _override(context, boot)
    context.node.machine.override = override
    context.effect("boot-override", target=override.target, enabled=override.enabled, uri=override.http_boot_uri)
    return Answer()


def _override(context: Context, boot: Mapping[str, Any]) -> BootOverride:
    allowed = {
        "BootSourceOverrideEnabled": _ENABLED,
        "BootSourceOverrideTarget": _targets(context),
        "BootSourceOverrideMode": None if context.has("boot-mode-absent") else _MODES,
        "HttpBootUri": True,
        "BootOrder": True,
    }
    old = context.node.machine.override
    values = {field: getattr(old, field) for field in _FIELDS.values()}
    for name, value in boot.items():
        known = allowed.get(name)
        if known is None:
            raise errors.unknown_property(name)
        if isinstance(known, list) and value not in known:
            raise errors.bad_value(name, value, known)
        if name in _FIELDS:
            values[_FIELDS[name]] = value
    if values["target"] == "None" and "BootSourceOverrideEnabled" not in boot:
        values["enabled"] = "Disabled"
    return BootOverride(**values)


@post("Systems/{system}/Actions/ComputerSystem.Reset")
def reset(context: Context, system: str) -> Answer:
    """Reset the host. Success means that the request was taken, not that anything has happened."""
    require_host(context, system)
    reset_type = context.body.get("ResetType")
    if reset_type is None:
        raise errors.missing("ResetType")
    if reset_type not in reset_types(context):
        raise errors.bad_value("ResetType", reset_type, reset_types(context))
    context.effect("reset", reset_type=reset_type)
    node, boot = context.node, context.world.boot
    if context.has("reset-slow"):
        delay = timedelta(seconds=float(quirk_row("reset-slow")["delay_seconds"]))
        context.world.clock.call_later(delay, lambda: boot.reset(node, str(reset_type)))
    else:
        boot.reset(node, str(reset_type))
    return Answer()
