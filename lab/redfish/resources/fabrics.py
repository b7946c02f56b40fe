"""The NVLink fabric of the HGX baseboard and its switches (Fabric v1.3, Switch v1.9)."""

from __future__ import annotations

from lab.redfish import errors
from lab.redfish.documents import OK, ROOT, collection, link, resource
from lab.redfish.routes import Context, Document, get
from lab.truth.parts import Part

FABRIC = "HGX_NVLinkFabric_0"


@get("Fabrics")
def fabrics(context: Context) -> Document:
    """The one fabric; without switches there is none."""
    return collection("Fabrics", "Fabric", [FABRIC] if context.parts.switches else [])


@get("Fabrics/{fabric}")
def fabric(context: Context, fabric: str) -> Document:
    """The NVLink fabric."""
    _require(context, fabric)
    return resource(
        context.path,
        "Fabric.v1_3_2",
        "HGX NVLink Fabric",
        FabricType="NVLink",
        Switches=link(f"{context.path}/Switches"),
        Status=OK,
    )


@get("Fabrics/{fabric}/Switches")
def switches(context: Context, fabric: str) -> Document:
    """The NVSwitches of the baseboard."""
    _require(context, fabric)
    return collection(context.path, "Switch", _switches(context))


@get("Fabrics/{fabric}/Switches/{switch}")
def switch(context: Context, fabric: str, switch: str) -> Document:
    """One NVSwitch."""
    _require(context, fabric)
    part = _switches(context).get(switch)
    if part is None:
        raise errors.not_found(ROOT + context.path)
    item = part.row["firmware"].format(index=part.index)
    return resource(
        context.path,
        "Switch.v1_9_3",
        switch,
        SwitchType="NVLink",
        Manufacturer="NVIDIA",
        Model=part.row["model"],
        SerialNumber=part.serial,
        FirmwareVersion=context.node.firmware.version(item),
        Status=OK,
    )


def _require(context: Context, fabric: str) -> None:
    if fabric != FABRIC or not context.parts.switches:
        raise errors.not_found(ROOT + context.path)


def _switches(context: Context) -> dict[str, Part]:
    return {part.row["redfish_id"].format(index=part.index): part for part in context.parts.switches}
