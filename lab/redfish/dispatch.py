"""One request to one BMC: finds the handler, keeps the HGX part closed while the host is off, expands, tags, writes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from lab.redfish import errors
from lab.redfish.bmc import quirk_row
from lab.redfish.routes import Answer, Context, Document, Handler, find

Query = Mapping[str, list[str]]

_HMC_RETRY_SECONDS = 30
# A tag covers what a client may set, so that a boot stage passing by does not break a read-modify-write.
_UNTAGGED = {"BootProgress", "PowerState", "Status", "DateTime", "LastResetTime", "PercentComplete", "ReadingCelsius"}
_DROPPED_BY_EXPAND = ("Name", "@odata.type", "ChassisType")
_NOT_CONFIGURATION = ("SessionService", "AccountService", "EventService")


async def answer(context: Context, method: str, query: Query) -> Answer:
    """The answer to a request below the service root; RedfishError for a refusal."""
    _refuse_hmc(context, context.path)
    handlers, names = find(context.path)
    if not handlers:
        raise errors.not_found("/redfish/v1/" + context.path)
    if method in ("GET", "HEAD"):
        return await _read(context, handlers, names, query)
    handler = handlers.get(method)
    if handler is None:
        raise errors.not_allowed(method, ", ".join(sorted(handlers)))
    _check_if_match(context, method, handlers, names)
    changed: Answer = handler(context, **names)
    return changed


async def _read(context: Context, handlers: Mapping[str, Handler], names: dict[str, str], query: Query) -> Answer:
    if "GET" not in handlers:
        raise errors.not_allowed("GET", ", ".join(sorted(handlers)))
    if context.path.startswith("UpdateService/FirmwareInventory"):
        await _slow_inventory(context)
    result = handlers["GET"](context, **names)
    if isinstance(result, Answer):
        return result
    document = _cleaned(context, result)
    if "$expand" in query:
        document = _expanded(context, document, query["$expand"][0])
    if "$select" in query:
        document = _selected(document, query["$select"][0])
    return Answer(200, document, {"ETag": _shown_tag(context, document)})


def _refuse_hmc(context: Context, path: str) -> None:
    """Quirk 3: what the HGX baseboard's own controller knows cannot be had while the host is off."""
    platform = context.platform
    closed = (f"Systems/{platform.baseboard_system}", f"Managers/{platform.baseboard_manager}", "Fabrics/")
    if not context.has("hmc-off-with-host") or not path.startswith(closed):
        return
    ready = context.node.machine.hmc_ready_at
    if context.node.machine.power != "On" or ready is None or context.world.clock.now() < ready:
        raise errors.unavailable("HMC communication failed: the HGX baseboard is not powered.", _HMC_RETRY_SECONDS)


async def _slow_inventory(context: Context) -> None:
    if not context.has("firmware-inventory-slow"):
        return
    seconds = float(quirk_row("firmware-inventory-slow")["inventory_seconds"])
    context.bmc.inventory_readers += 1
    try:
        await context.world.clock.sleep(timedelta(seconds=seconds * context.bmc.inventory_readers))
    finally:
        context.bmc.inventory_readers -= 1


def _cleaned(context: Context, document: Document) -> Document:
    if not context.has("fields-missing"):
        return document
    gone = {"ChassisType"} if "ChassisType" in document else {"Name"} if "ProcessorType" in document else set()
    if not context.path and not context.bmc.was_reset:
        gone = {"UpdateService", "Tasks"}
    return {key: value for key, value in document.items() if key not in gone}


def _expanded(context: Context, document: Document, how: str) -> Document:
    if not context.platform.supports_expand:
        text = "The query parameter $expand is not supported by this service."
        raise errors.RedfishError(501, "QueryParameterUnsupported", text, arguments=("$expand",))
    if not how.startswith((".", "*", "~")):
        text = f"The value '{how}' for the query parameter $expand is out of range."
        raise errors.RedfishError(400, "QueryParameterValueFormatError", text, arguments=(how, "$expand"))
    if "Members" not in document:
        return document
    members = [_member(context, member["@odata.id"]) for member in document["Members"]]
    return {**document, "Members": members}


def _member(context: Context, reference: str) -> Document:
    path = reference.removeprefix("/redfish/v1/")
    handlers, names = find(path)
    try:
        _refuse_hmc(context, path)
        member = replace(context, path=path)
        body = _cleaned(member, handlers["GET"](member, **names))
    except errors.RedfishError:
        return {"@odata.id": reference}
    if context.has("expand-drops-fields"):
        body = {key: value for key, value in body.items() if key not in _DROPPED_BY_EXPAND}
    return body


def _selected(document: Document, names: str) -> Document:
    wanted = {name.strip().partition("/")[0] for name in names.split(",")}
    return {key: value for key, value in document.items() if key in wanted or key.startswith("@")}


def tag(document: Document) -> str:
    """A strong entity tag over what can be set in a resource."""
    fixed: dict[str, Any] = {key: value for key, value in document.items() if key not in _UNTAGGED}
    return '"' + hashlib.blake2b(json.dumps(fixed, sort_keys=True).encode(), digest_size=8).hexdigest() + '"'


def _shown_tag(context: Context, document: Document) -> str:
    return tag(document) if context.has("etag-strict") else "W/" + tag(document)


def _check_if_match(context: Context, method: str, handlers: Mapping[str, Handler], names: dict[str, str]) -> None:
    """If-Match as HTTP has it; quirk 7 demands a strong one on PATCH and refuses any on an action."""
    given = context.headers.get("if-match")
    strict = context.has("etag-strict") and not context.path.startswith(_NOT_CONFIGURATION)
    if method != "PATCH":
        if strict and given is not None and method == "POST":
            raise _precondition(412, "PreconditionFailed", "An action must not carry the header If-Match.")
        return
    if given is None or given == "*":
        if strict and given is None:
            raise _precondition(
                428, "PreconditionRequired", "The request needs the header If-Match with a strong ETag."
            )
        return
    own = tag(_cleaned(context, handlers["GET"](context, **names)))
    if given != own and (strict or given.removeprefix("W/") != own):
        raise _precondition(412, "PreconditionFailed", "The ETag supplied did not match the ETag of the resource.")


def _precondition(status: int, key: str, text: str) -> errors.RedfishError:
    return errors.RedfishError(status, key, text, resolution="Read the resource again and retry with its ETag.")
