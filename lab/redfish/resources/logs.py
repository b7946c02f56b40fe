"""The event log of the host: an entry per active fault that a BMC would write down; the BMC itself keeps none."""

from __future__ import annotations

from lab.redfish import errors
from lab.redfish.documents import ROOT, collection, link, resource
from lab.redfish.resources.unsafe import unsafe
from lab.redfish.routes import Answer, Context, Document, get, post
from lab.truth import data
from lab.truth.faults import ActiveFault

CLEARED = "sel-critical"
"""The fault that is nothing but its entry; the entries of all others come again as long as they last."""


@get("Managers/{manager}/LogServices")
def manager_logs(context: Context, manager: str) -> Document:
    """The lab's BMCs keep no log of their own."""
    if manager != context.platform.host_manager:
        raise errors.not_found(ROOT + context.path)
    return collection(context.path, "LogService", [])


@get("Systems/{system}/LogServices")
def log_services(context: Context, system: str) -> Document:
    """The system event log."""
    _host_only(context, system)
    return collection(context.path, "LogService", ["EventLog"])


@get("Systems/{system}/LogServices/EventLog")
def event_log(context: Context, system: str) -> Document:
    """The system event log's description, and how it is cleared."""
    _host_only(context, system)
    target = f"{ROOT}{context.path}/Actions/LogService.ClearLog"
    return resource(
        context.path,
        "LogService.v1_7_0",
        "System Event Log",
        DateTime=context.world.clock.now().isoformat(timespec="seconds"),
        LogEntryType="Event",
        **_room(context),
        ServiceEnabled=True,
        Entries=link(context.path + "/Entries"),
        Actions={"#LogService.ClearLog": {"target": target}},
    )


@get("Systems/{system}/LogServices/EventLog/Entries")
def entries(context: Context, system: str) -> Document:
    """Its entries in full, as BMCs serve this collection, oldest first."""
    _host_only(context, system)
    rows = _entries(context)
    return {**collection(context.path, "LogEntry", []), "Members@odata.count": len(rows), "Members": rows}


@get("Systems/{system}/LogServices/EventLog/Entries/{entry}")
def entry(context: Context, system: str, entry: str) -> Document:
    """One entry."""
    _host_only(context, system)
    found = next((row for row in _entries(context) if row["Id"] == entry), None)
    if found is None:
        raise errors.not_found(ROOT + context.path)
    return found


@post("Systems/{system}/LogServices/EventLog/Actions/LogService.ClearLog")
def clear(context: Context, system: str) -> Answer:
    """Empty the log."""
    _host_only(context, system)
    context.effect("log-cleared")
    context.world.faults.heal(context.node.name, CLEARED)
    return Answer()


def _room(context: Context) -> Document:
    """A log that wraps, or one that is full and keeps what it has."""
    full = unsafe(context, "log") is not None
    return {
        "MaxNumberOfRecords": len(_entries(context)) if full else 3639,
        "OverWritePolicy": "NeverOverWrites" if full else "WrapsWhenFull",
    }


def _host_only(context: Context, system: str) -> None:
    if system != context.host_system:
        raise errors.not_found(ROOT + context.path)


def _entries(context: Context) -> list[Document]:
    known = data.load("bmc_log.yaml")["entries"]
    faults = [fault for fault in context.world.faults.active(context.node.name) if _key(fault) in known]
    return [_entry(context, number, fault) for number, fault in enumerate(faults, 1)]


def _key(fault: ActiveFault) -> str:
    """A fault of several kinds has an entry for each that a BMC writes down."""
    what = fault.parameters.get("what")
    return f"{fault.name}-{what}" if what else fault.name


def _entry(context: Context, number: int, fault: ActiveFault) -> Document:
    row = data.load("bmc_log.yaml")["entries"][_key(fault)]
    words = {**fault.parameters, "system": context.host_system}
    origin = row.get("origin")
    links = {"Links": {"OriginOfCondition": link(origin.format(**words))}} if origin else {}
    return resource(
        f"Systems/{context.host_system}/LogServices/EventLog/Entries/{number}",
        "LogEntry.v1_16_0",
        f"Log Entry {number}",
        EntryType="Event",
        Created=fault.since.isoformat(timespec="seconds"),
        Severity=row["severity"],
        MessageId=row["message_id"],
        Message=row["message"].format(**words),
        MessageArgs=[argument.format(**words) for argument in row["arguments"]],
        Resolved=bool(fault.parameters.get("resolved", False)),
        **links,
    )
