"""Redfish resources beyond inventory: metrics of processors, memory and ports, and entries of event logs.

Counters for a lifetime are history; those of the current period, alarms and flags are faults. An
event that the BMC itself calls resolved is told and not judged again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping

from .sheet import Sheet

_METRICS = ("ProcessorMetrics", "MemoryMetrics", "PortMetrics")
_LOGS = ("LogEntry", "LogEntryCollection", "LogService", "LogServiceCollection")
_MOST_DEPTH = 8
_COUNTERS: tuple[tuple[re.Pattern[str], str, str | None], ...] = tuple(
    (re.compile(pattern), metric, code)
    for pattern, metric, code in (
        (r"CurrentPeriod/UncorrectableECCErrorCount$", "ecc_period_uncorrected", "hardware/ecc-uncorrected"),
        (r"LifeTime/UncorrectableECCErrorCount$", "ecc_lifetime_uncorrected", "note/ecc-history"),
        (r"(?:CurrentPeriod|LifeTime)/CorrectableECCErrorCount$", "ecc_corrected", None),
        (r"UncorrectableCoreErrorCount$", "core_uncorrected", "counter/nonzero"),
        (r"PCIeErrors/FatalErrorCount$", "pcie_fatal", "counter/nonzero"),
        (r"PCIeErrors/NonFatalErrorCount$", "pcie_nonfatal", "counter/nonzero"),
        (r"PCIeErrors/(?:Correctable|Replay)\w*Count$", "pcie_corrected", None),
        (r"RowRemapping/UncorrectableRowRemappingCount$", "rows_remapped_uncorrectable", "note/rows-remapped"),
        (r"RowRemapping/NoAvailabilityBankCount$", "remap_banks_exhausted", "counter/nonzero"),
        (r"(?:SymbolErrors|EffectiveError|UnintentionalLinkDownCount|RXErrors)$", "port_errors", "counter/nonzero"),
    )
)
_FLAGS = re.compile(r"(?:AlarmTrips/\w+|DataLossDetected|RowRemapping(?:Failed|Failure|Pending)|RuntimeError|"
                    r"TrainingError|ThrottleReasons/\w*Hw\w*)$")  # fmt: skip


def read(resources: dict[str, dict[str, Any]], sheet: Sheet) -> None:
    """All metrics and events of a file; in a whole tree they are history beside the state that it shows."""
    kinds = {identity: str(one.get("@odata.type", "")).lstrip("#").split(".")[0] for identity, one in resources.items()}
    history = any(kind not in (*_METRICS, *_LOGS) for kind in kinds.values())
    for identity, kind in kinds.items():
        if kind in _METRICS:
            _metrics(identity, resources[identity], history, sheet)
        elif kind == "LogEntry":
            _log_entry(identity, resources[identity], history, sheet)


def _metrics(identity: str, resource: dict[str, Any], history: bool, sheet: Sheet) -> None:
    for path, value in _leaves(resource, "", 0):
        if isinstance(value, bool):
            if _FLAGS.search(path):
                sheet.number(identity, path, float(value), "bool")
            if value and _FLAGS.search(path):
                sheet.note("hardware/flag", identity, f"{path} is set")
            continue
        metric, code = next((row[1:] for row in _COUNTERS if row[0].search(path)), ("reading", None))
        if metric == "reading" and not isinstance(value, int | float):
            continue
        count = sheet.number(identity, metric, value, "count", parameters={"property": path})
        if count and code:
            code = "note/counter" if history and code.startswith("counter/") else code
            sheet.note(code, identity, f"{path} is {count:g}")


def _leaves(value: object, path: str, depth: int) -> Iterator[tuple[str, object]]:
    if depth > _MOST_DEPTH:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}/{name}" if path else name, depth + 1)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _leaves(inner, f"{path}/{place}", depth + 1)
    else:
        yield path, value


def _log_entry(identity: str, entry: dict[str, Any], history: bool, sheet: Sheet) -> None:
    """One event: its registry's message, its own severity, and what it is about."""
    message = str(entry.get("MessageId") or "")
    severity = str(entry.get("Severity") or "")
    origin = mapping(mapping(entry.get("Links")).get("OriginOfCondition")).get("@odata.id")
    component = str(origin or identity)
    sheet.number(identity, "resolved", float(entry.get("Resolved") is True), "bool")
    words = f"{message or 'no MessageId'}: {entry.get('Message') or ''}"
    if entry.get("Resolved") is True:
        sheet.note("note/event-resolved", component, words, severity=severity)
    elif history:
        sheet.note("note/event", component, words, severity=severity)
    elif message:
        sheet.note(f"redfish/{message}", component, words, severity=severity)
    elif severity != "OK":
        sheet.note("row/missing", component, f"an event of severity {severity or 'unknown'} names no message")


def inner_members(bundle: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The members of collections that were read with $expand: resources of their own."""
    found: dict[str, dict[str, Any]] = {}
    for resource in bundle.values():
        members = resource.get("Members")
        for member in map(mapping, members if isinstance(members, list) else []):
            if "@odata.type" in member and "@odata.id" in member:
                found[str(member["@odata.id"])] = member
    return found
