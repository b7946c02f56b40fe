"""Firmware: the inventory, and updates as tasks that stage a version which a reset or an AC cycle brings to life.

The version stands in the image's address: `http://firmware.lab/<item>/<version>.bin`. With `Targets` the address's item
is only a name and every target gets the version.
"""

from __future__ import annotations

from urllib.parse import unquote, urlparse

from lab.redfish import errors
from lab.redfish.documents import OK, ROOT, collection, link, resource
from lab.redfish.routes import Answer, Context, Document, get, post
from lab.redfish.tasks import document, start_update

_INVENTORY = "UpdateService/FirmwareInventory"
_PROTOCOLS = ["HTTP", "HTTPS"]
_RETRY_AFTER_SECONDS = 1


@get("UpdateService")
def service(context: Context) -> Document:
    """The update service."""
    target = f"{ROOT}UpdateService/Actions/UpdateService.SimpleUpdate"
    return resource(
        "UpdateService",
        "UpdateService.v1_14_0",
        "Update Service",
        ServiceEnabled=True,
        Status=OK,
        FirmwareInventory=link(_INVENTORY),
        MultipartHttpPushUri=ROOT + "UpdateService/upload",
        Actions={
            "#UpdateService.SimpleUpdate": {
                "target": target,
                "TransferProtocol@Redfish.AllowableValues": _PROTOCOLS,
            }
        },
    )


@get(_INVENTORY)
def inventory(context: Context) -> Document:
    """All firmware items."""
    return collection(_INVENTORY, "SoftwareInventory", context.platform.firmware)


@get(_INVENTORY + "/{item}")
def item(context: Context, item: str) -> Document:
    """One item with the version that runs now."""
    row = context.platform.firmware.get(item)
    if row is None:
        raise errors.not_found(ROOT + context.path)
    return resource(
        f"{_INVENTORY}/{item}",
        "SoftwareInventory.v1_10_1",
        row.name,
        Version=context.node.firmware.version(item),
        SoftwareId=item,
        Updateable=row.updateable,
        Status=OK,
    )


@post("UpdateService/Actions/UpdateService.SimpleUpdate")
def simple_update(context: Context) -> Answer:
    """Begin an update: 202 with the task's monitor."""
    uri = context.body.get("ImageURI")
    if not isinstance(uri, str):
        raise errors.missing("ImageURI")
    name, version = _named(uri)
    targets = context.body.get("Targets") or [ROOT + f"{_INVENTORY}/{name}"]
    return _begin(context, [str(target).rstrip("/").rsplit("/", 1)[-1] for target in targets], version)


@post("UpdateService/upload")
def upload(context: Context) -> Answer:
    """Multipart push: the file's name says what it is (`<item>@<version>.bin`), its content does not matter."""
    raw = context.body.get("", b"").decode("latin-1")
    _, _, rest = raw.partition('filename="')
    name, _, version = rest.partition('"')[0].removesuffix(".bin").partition("@")
    if not version:
        raise errors.missing("UpdateFile")
    return _begin(context, [name], version)


def _named(uri: str) -> tuple[str, str]:
    segments = [unquote(part) for part in urlparse(uri).path.split("/") if part]
    if len(segments) < 2 or not segments[-1].endswith(".bin"):
        raise errors.bad_value("ImageURI", uri, "http://firmware.lab/<item>/<version>.bin")
    return segments[-2], segments[-1].removesuffix(".bin")


def _begin(context: Context, items: list[str], version: str) -> Answer:
    rows = context.platform.firmware
    for item in items:
        if item not in rows:
            raise errors.bad_value("Targets", item, "the ids of the firmware inventory")
        if not rows[item].updateable:
            text = f"The firmware item {item} cannot be updated."
            raise errors.RedfishError(400, "ActionNotSupported", text, arguments=(item,))
    if any(task.running(context.world.clock.now()) for task in context.bmc.tasks.values()):
        raise errors.in_use("Another update is in progress.")
    context.effect("firmware-update", items=items, version=version)
    task = start_update(context.world, context.node, context.bmc, items, version)
    headers = {
        "Location": f"{ROOT}TaskService/TaskMonitors/{task.id}",
        "Retry-After": str(_RETRY_AFTER_SECONDS),
    }
    return Answer(202, document(task, context.world.clock.now(), vanishes=context.has("task-vanishes")), headers)
