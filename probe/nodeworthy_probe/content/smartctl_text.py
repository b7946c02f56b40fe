"""The text of ``smartctl -a`` and of ``nvme smart-log``, as the documents that -j gives."""

from __future__ import annotations

import re
from typing import Any

from nodeworthy_probe.parsers.json_document import whole

from .documents import note_duplicates, plain_lines
from .sheet import Sheet

_FIELD = re.compile(r"^([A-Za-z][^:]*?)\s*: ?\s*(.*)$")
_HEAD = re.compile(r"^smartctl (\d+)\.(\d+) ", re.MULTILINE)
_NVME_CLI = re.compile(r"^Smart Log for NVME device:\s*(\S+)", re.MULTILINE)
_SECTION = re.compile(r"^=== START OF .*SECTION ===$", re.MULTILINE)
# -a prints flags as a number, a type and when a value is updated; -x prints them as letters.
_ATTRIBUTE = re.compile(
    r"^\s*(?P<id>\d+) (?P<name>\S+)\s+(?:0x[0-9a-f]{4}|[POSRCK-]{6})\s+\d+\s+\d+\s+(?:\d+|---)\s+"
    r"(?:(?:Pre-fail|Old_age)\s+(?:Always|Offline)\s+)?(?P<failed>-|NOW|Past|FAILING_NOW|In_the_past)\s+(?P<raw>\S+)",
    re.MULTILINE,
)
_FAILED = {"-": "", "NOW": "now", "FAILING_NOW": "now", "Past": "past", "In_the_past": "past"}
_ERROR_ROW = re.compile(r"^(read|write|verify):(?:\s+\S+){5,6}\s+(\S+)\s*$", re.MULTILINE)
_LOG = {
    "critical warning": "critical_warning",
    "temperature": "temperature",
    "available spare": "available_spare",
    "available spare threshold": "available_spare_threshold",
    "percentage used": "percentage_used",
    "data units read": "data_units_read",
    "data units written": "data_units_written",
    "controller busy time": "controller_busy_time",
    "power cycles": "power_cycles",
    "power on hours": "power_on_hours",
    "unsafe shutdowns": "unsafe_shutdowns",
    "media and data integrity errors": "media_errors",
    "media errors": "media_errors",
    "error information log entries": "num_err_log_entries",
    "num err log entries": "num_err_log_entries",
    "warning comp. temperature time": "warning_temp_time",
    "warning temperature time": "warning_temp_time",
    "critical comp. temperature time": "critical_comp_time",
    "critical composite temperature time": "critical_comp_time",
}


def is_text(text: str) -> bool:
    """Whether the file is one of the two texts."""
    return "{" not in text and any(form.search(text) for form in (_HEAD, _NVME_CLI, _SECTION))


def document(text: str, sheet: Sheet) -> dict[str, Any]:
    """The same keys as the JSON forms have; a line that is not there is a key that is not there."""
    lines = plain_lines(text)
    pairs = [(found[1].strip(), found[2].strip()) for line in lines if (found := _FIELD.match(line))]
    log: dict[str, Any] = {}
    for name, value in pairs:
        key = _LOG.get(re.sub(r"[_ ]+", " ", name).lower())
        if key:
            log[key] = _count(value)
    note_duplicates(sheet, [name for name, _ in pairs if name in log or name.lower() in _LOG], "the line")
    if lines[-1]:
        sheet.note("document/cut", "file", "the output stops in the middle of a line")
    return log if _NVME_CLI.search(text) else _smartctl(dict(pairs), text, log, sheet)


def _smartctl(fields: dict[str, str], text: str, log: dict[str, Any], sheet: Sheet) -> dict[str, Any]:
    head = _HEAD.search(text)
    version = [int(head[1]), int(head[2])] if head else []
    found: dict[str, Any] = {"smartctl": {"version": version, "exit_status": 0}}
    for name, key in (("Model Number", "model_name"), ("Device Model", "model_name"), ("Product", "product"),
                      ("Serial Number", "serial_number"), ("Serial number", "serial_number"),
                      ("Firmware Version", "firmware_version"), ("Revision", "revision")):  # fmt: skip
        if fields.get(name):
            found[key] = fields[name]
    if failure := re.search(r"^(?:Smartctl open device.*failed.*|Read .* failed.*|.*Permission denied.*)$", text, re.M):
        found["smartctl"] |= {"exit_status": 2, "messages": [{"string": failure[0], "severity": "error"}]}
    verdict = fields.get("SMART overall-health self-assessment test result", fields.get("SMART Health Status"))
    if verdict is not None:
        found["smart_status"] = {"passed": verdict.rstrip("!") in ("PASSED", "OK")}
    found |= _health(fields, text, log, sheet)
    return found


def _health(fields: dict[str, str], text: str, log: dict[str, Any], sheet: Sheet) -> dict[str, Any]:
    """The log of the drive's protocol."""
    found: dict[str, Any] = {}
    if table := list(_ATTRIBUTE.finditer(text)):
        found["ata_smart_attributes"] = {"table": [_attribute(row) for row in table]}
        if "General SMART Values:" in text and "\nSMART " not in text[table[-1].end() :]:
            sheet.note("document/cut", "file", "the logs behind the attributes are missing")
    elif "Error counter log:" in text:
        found["device"] = {"protocol": "SCSI"}
        found["scsi_grown_defect_list"] = whole(fields.get("Elements in grown defect list"))
        found["scsi_error_counter_log"] = {
            way: {"total_uncorrected_errors": whole(count)} for way, count in _ERROR_ROW.findall(text)
        }
    elif "Critical Warning" in fields:
        found["nvme_smart_health_information_log"] = log
    return found


def _attribute(row: re.Match[str]) -> dict[str, Any]:
    return {
        "id": int(row["id"]),
        "name": row["name"],
        "when_failed": _FAILED[row["failed"]],
        "raw": {"value": whole(row["raw"])},
    }


def _count(value: str) -> object:
    """``0x00``, ``100%``, ``42 Celsius`` and ``1,234 [631 MB]`` as numbers; anything else as it stands."""
    found = re.match(r"^(0x[0-9a-fA-F]+|[\d,]+)(?: ?%| ?Celsius| ?\u00b0?C\b.*| \(\d+ K.*| \[.*\])?\s*$", value)
    if found is None:
        return value
    return int(found[1], 16) if found[1].startswith("0x") else whole(found[1].replace(",", ""))
