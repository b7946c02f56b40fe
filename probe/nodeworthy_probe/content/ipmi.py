"""ipmitool: sdr, sensor and the system event log.

A discrete sensor has a mask instead of a state and is told, not judged. An event that was asserted
and not taken back stands; which events are grave is told by their words (IPMI 2.0, tables 42-1 to
42-3).
"""

from __future__ import annotations

import re

from nodeworthy_probe.parsers.numbers import finite

from .documents import plain_lines
from .guards import torn_end
from .sheet import Sheet

_STATES = "ok|ns|nc|cr|nr|na|lnc|lcr|lnr|unc|ucr|unr"
_SDR = re.compile(rf"^([^|]+?)\s*\|\s*([^|]*?)\s*\|\s*({_STATES})\s*(?:\|.*)?$")
_SENSOR = re.compile(rf"^([^|]+?)\s*\|\s*([^|]*?)\s*\|\s*([^|]*?)\s*\|\s*({_STATES}|0x[0-9a-fA-F]+)\s*\|")
_EVENT = re.compile(
    r"^\s*[0-9a-f]+\s*\|\s*[^|]+?\s*\|(?:\s*[\d:]+(?: \w+)?\s*\|)?\s*(?P<sensor>[^|]+?)\s*\|"
    r"\s*(?P<event>[^|]+?)\s*\|\s*(?P<way>Asserted|Deasserted)\s*(?:\|.*)?$"
)
_OEM = re.compile(r"^\s*[0-9a-f]+\s*\|(?:[^|]*\|)*\s*OEM record \w+")
_GRAVE = re.compile(
    r"Uncorrectable|AC lost|Power Supply input lost|Failure detected|Thermal Trip|IERR|Fatal|Machine Check|"
    r"Upper (?:Critical|Non-recoverable) going high|Lower (?:Critical|Non-recoverable) going low|Predictive failure|"
    r"In Failed Array|Drive Fault|Bus Uncorrectable|Transition to (?:Critical|Non-recoverable)",
    re.IGNORECASE,
)
_READING = re.compile(r"(-?\d+(?:\.\d+)?)(?: (.+))?$")
_NUMBERED = re.compile(r"[0-9A-F]{2}h$")
_WORDS = re.compile(r"0x[0-9a-fA-F]+$|$|na$|no reading|disabled|not readable", re.IGNORECASE)
EMPTY = "SEL has no entries"
SENSORS = (rf"\A[^|\n]+\|[^|\n]+\|\s*(?:{_STATES})\s*(?:\||$)"
           rf"|\A[^|\n]+\|[^|\n]+\|[^|\n]+\|\s*(?:{_STATES}|0x[0-9a-fA-F]+)\s*\|")  # fmt: skip
EVENTS = rf"\A\s*[0-9a-f]+ \| (?:\d\d/\d\d/\d{{2,4}}|Pre-Init)[^|\n]*\||\A\s*{EMPTY}"


def sensors(text: str, sheet: Sheet) -> None:
    """Every sensor of sdr or sensor."""
    sheet.tool = "ipmitool"
    torn_end(text, sheet)
    rows = 0
    for line in plain_lines(text):
        found = _SENSOR.match(line) or _SDR.match(line)
        if found is None:
            if line.strip():
                sheet.note("row/unreadable", "file", line)
            continue
        rows += 1
        _sensor(found[1].strip(), found[2], found[found.lastindex or 3], line, sheet)
    sheet.number("node", "sensors", rows, "count")


def _sensor(name: str, reading: str, state: str, line: str, sheet: Sheet) -> None:
    component = f"sensor/{name}"
    extended = _NUMBERED.match(reading) is not None  # sdr elist: number, state, entity, reading
    value = _READING.match(line.rpartition("|")[2].strip() if extended else reading)
    if value and finite(value[1]) is not None:
        sheet.number(component, "reading", value[1], value[2] or "")
    elif state == "ok" and not extended and not _WORDS.match(reading):
        sheet.absent(component, "reading", "")
        sheet.note("value/not-a-number", component, line)
    if state in ("cr", "nr", "lcr", "ucr", "lnr", "unr"):
        sheet.note("hardware/sensor-critical", component, line)
    elif state in ("nc", "lnc", "unc"):
        sheet.note("note/sensor-warning", component, line)


def events(text: str, sheet: Sheet) -> None:
    """The log, oldest first: what was asserted last and is grave is a fault."""
    sheet.tool = "ipmitool sel"
    torn_end(text, sheet)
    standing: dict[tuple[str, str], str] = {}
    count = 0
    for line in plain_lines(text):
        found = _EVENT.match(line)
        if found is None:
            if line.strip() and EMPTY not in line and not _OEM.match(line):
                sheet.note("row/unreadable", "file", line)
            continue
        count += 1
        key = (found["sensor"], found["event"])
        if found["way"] == "Asserted":
            standing[key] = line.strip()
        else:
            standing.pop(key, None)
    sheet.number("node", "events", count, "count")
    sheet.number("node", "events_standing", len(standing), "count")
    for (sensor, event), line in standing.items():
        sheet.note("hardware/bmc-event" if _GRAVE.search(event) else "note/bmc-event", f"sensor/{sensor}", line)
