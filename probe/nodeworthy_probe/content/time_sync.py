"""chronyc tracking and sources, timedatectl, ntpq, linuxptp: whether the clock follows a source.

An offset of zero without a source is a clock that nobody corrects. chronyc prints it and exits 0.
"""

from __future__ import annotations

import re

from . import chrony_lists
from .documents import plain_lines
from .guards import torn_end
from .sheet import Sheet

TOOL = "chronyc"
_SOURCE = re.compile(r"^(?P<mode>[\^=#])(?P<state>[*+\-?x~ ])\s?(?P<name>\S+)\s+(?P<stratum>\d+)\s+(?P<poll>-?\d+)\s+"
                     r"(?P<reach>[0-7]+)\s+(?P<last>\S+)\s+(?P<sample>[+-]\S+?)\[\s*(?"
                     r"P<measured>\S+)\]\s+\+/-\s*(?P<error>\S+)\s*$")  # fmt: skip
_OFFSET = re.compile(r"^([+-]?\d+(?:\.\d+)?)(ns|us|ms|s)$")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_TRACKED = (("System time", "offset"), ("Last offset", "last_offset"), ("RMS offset", "rms_offset"),
            ("Root delay", "root_delay"), ("Root dispersion", "root_dispersion"))  # fmt: skip
_CSV = re.compile(r"^[0-9A-F]{8}(?:,[^,\n]*){12},[A-Z][^,\n]*$", re.MULTILINE)
_PTP_LOST = re.compile(r"to (?:MASTER|LISTENING|GRAND_MASTER) on ANNOUNCE_RECEIPT_TIMEOUT|to FAULTY on|"
                       r"assuming the grand master role|timed out while polling|SYNCHRONIZATION_FAULT")  # fmt: skip
_SYSTEM = re.compile(r"^(\S+) seconds(?: (?:fast|slow) of NTP time)?$")


def read(text: str, sheet: Sheet) -> None:
    """Read whichever form the file has."""
    for form, reader in _FORMS:
        if form.search(text):
            reader(text, sheet)
            return
    if found := re.search(r"(506 Cannot talk to daemon.*|Could not .*)", text):
        sheet.note("tool/failed", "node", found[1])
    else:
        sheet.note("document/unreadable", "file", "the file is no state of a clock")


def _tracking_row(text: str, sheet: Sheet) -> None:
    """A row of ``chronyc -c tracking`` is read as the lines that people get (chronyc(1), tracking)."""
    row = _CSV.search(text)
    cells = row[0].split(",") if row else [""] * 14
    labels = ("System time", "Last offset", "RMS offset")
    lines = [f"Reference ID    : {cells[0]} ({cells[1]})", f"Stratum         : {cells[2]}"]
    lines += [f"{label} : {cell} seconds" for label, cell in zip(labels, cells[4:7], strict=True)]
    lines += [f"Root delay : {cells[10]} seconds", f"Root dispersion : {cells[11]} seconds"]
    _tracking("\n".join([*lines, f"Leap status     : {cells[13]}", ""]), sheet)


def _sources(text: str, sheet: Sheet) -> None:
    sources = []
    for line in plain_lines(text):
        found = _SOURCE.match(line)
        if found:
            sources.append(found)
        elif re.match(r"^[\^=#][*+\-?x~]", line):
            sheet.note("row/unreadable", "file", line)
    _source_rows(sources, sheet)
    if re.search(r"^(?:210 )?Number of sources = 0\s*$", text, re.MULTILINE):
        sheet.note("hardware/no-time-source", "node", "the clock has no source")
    elif not re.search(r"^=+\s*$", text, re.MULTILINE) or not sources:
        sheet.note("document/cut", "file", "no source is listed")
    else:
        _selected(sources, sheet)


def _selected(sources: list[re.Match[str]], sheet: Sheet) -> None:
    reachable = [source for source in sources if int(source["reach"], 8)]
    selected = [source for source in sources if source["state"] == "*"]
    sheet.number("node", "sources", len(sources), "count")
    sheet.number("node", "selected_sources", len(selected), "count")
    if not reachable:
        sheet.note("hardware/no-time-source", "node", "no source is reachable")
    elif not selected:
        sheet.note("hardware/not-synchronised", "node", "no source is selected")
    elif not int(selected[0]["reach"], 8) or (selected[0]["stratum"] == "0" and selected[0]["mode"] != "#"):
        sheet.note("document/contradiction", "node", "the selected source was never reached")


def _source_rows(sources: list[re.Match[str]], sheet: Sheet) -> None:
    names = [source["name"] for source in sources]
    if len(names) != len(set(names)):
        sheet.note("document/duplicate", "file", "a source is there twice")
    for source in sources:
        reach = int(source["reach"], 8)
        sheet.number(f"source/{source['name']}", "reach", reach, "count")
        _offset(f"source/{source['name']}", source, sheet)


def _offset(component: str, source: re.Match[str], sheet: Sheet) -> None:
    found = _OFFSET.match(source["measured"])
    if found is None or _OFFSET.match(source["error"]) is None:
        sheet.note("value/not-a-number", component, source[0])
        return
    sheet.number(component, "offset", float(found[1]) * _SECONDS[found[2]], "s",
                 parameters={"selected": source["state"] == "*"})  # fmt: skip


def _tracking(text: str, sheet: Sheet) -> None:
    pairs = re.findall(r"^([A-Z][\w ()]*?)\s*: (.*)$", text, re.MULTILINE)
    fields = {name.strip(): value.strip() for name, value in pairs}
    if len(pairs) != len(fields):
        sheet.note("document/duplicate", "file", "a field is there twice")
    for label, metric in _TRACKED:
        found = _SYSTEM.match(fields.get(label, ""))
        if found is None:
            code = "value/unit" if label in fields else "row/missing"
            sheet.note(code, "node", f"{label} is {fields.get(label, 'missing')}")
            continue
        sheet.number("node", metric, found[1], "s", parameters={"selected": metric == "offset"})
    leap, reference = fields.get("Leap status", ""), fields.get("Reference ID", "")
    sheet.number("node", "stratum", fields.get("Stratum"), "count")
    sheet.text("node", "reference", reference)
    if leap == "Not synchronised" or fields.get("Stratum") == "0" or reference.startswith(("00000000", "7F7F0101")):
        sheet.note("hardware/not-synchronised", "node", f"leap status {leap}, reference {reference}")
    elif leap != "Normal" and not leap.endswith("second"):
        sheet.note("row/missing", "node", f"leap status is {leap or 'missing'}")


def _timedatectl(text: str, sheet: Sheet) -> None:
    sheet.tool = "timedatectl"
    found = re.search(r"(?:(?:System clock|NTP) synchronized: |^NTPSynchronized=)(yes|no)\s*$", text, re.MULTILINE)
    if found is None:
        sheet.note("document/cut", "file", "the line on synchronisation cannot be read")
        return
    sheet.number("node", "synchronised", float(found[1] == "yes"), "bool")
    if found[1] == "no":
        sheet.note("hardware/not-synchronised", "node", found[0].strip())


def _timesync(text: str, sheet: Sheet) -> None:
    """``timedatectl timesync-status``: a packet count of 0 is a server that never answered."""
    sheet.tool = "timedatectl"
    fields = dict(re.findall(r"^\s*([A-Z][\w ]*?): (.*)$", text, re.MULTILINE))
    for name in ("Server", "Leap", "Stratum", "Offset"):
        if name not in fields and fields.get("Packet count") != "0":
            sheet.note("row/missing", "node", f"{name} is missing")
    packets = sheet.number("node", "packets", fields.get("Packet count"), "count")
    if packets == 0 or fields.get("Leap", "normal") != "normal":
        sheet.note("hardware/not-synchronised", "node", f"{packets:g} packets, leap {fields.get('Leap', 'unknown')}")
    found = _OFFSET.match(fields.get("Offset", ""))
    if found:
        seconds = float(found[1]) * _SECONDS[found[2]]
        sheet.number("node", "offset", seconds, "s", parameters={"selected": True})
    elif "Offset" in fields:
        sheet.note("value/not-a-number", "node", f"Offset: {fields['Offset']}")


def _ptp(text: str, sheet: Sheet) -> None:
    """The log of ptp4l or phc2sys, or what pmc answers: offsets in nanoseconds; the servo is locked in state s2."""
    sheet.tool = "linuxptp"
    steps = re.findall(r"(?:master|phc|sys|CLOCK_REALTIME\S*) +(?:phc +)?offset +(-?\d+) s([0-3])", text)
    spans = re.findall(r"rms +(\d+) max +(\d+) freq", text)
    answers = re.findall(r"offsetFromMaster +(-?[\d.]+)", text)
    found = [steps[-1][0]] if steps else [spans[-1][1]] if spans else answers[-1:]
    torn_end(text, sheet)
    after = text[max((place.end() for place in re.finditer(r"(?:offset|max) +-?\d+", text)), default=0) :]
    if _PTP_LOST.search(after):
        sheet.note("hardware/no-time-source", "node", "the port lost its master or is faulty")
    if not found:
        sheet.note("document/cut", "file", "no offset is printed")
        return
    offset = sheet.number("node", "offset_ns", found[0], "ns")
    if offset is not None:
        sheet.number("node", "offset", offset / 1e9, "s", parameters={"selected": True})
    if steps and steps[-1][1] != "2":
        sheet.note("hardware/not-synchronised", "node", f"the servo ends in state s{steps[-1][1]}, not locked")


def _ntpq(text: str, sheet: Sheet) -> None:
    sheet.tool = "ntpq"
    rows = re.findall(
        r"^([*+#o\-x. ])(\S+)\s+\S+\s+\d+\s+\w\s+\S+\s+\d+\s+([0-7]+)\s+(\S+)\s+(\S+)\s+(\S+)$", text, re.MULTILINE
    )
    selected = [row for row in rows if row[0] in "*o" and not row[1].startswith(("LOCAL", "127.127.1."))]
    sheet.number("node", "sources", len(rows), "count")
    for _, name, _, _, offset, _ in selected:
        value = sheet.number(f"source/{name}", "offset_ms", offset, "ms")
        if value is not None:
            sheet.number(f"source/{name}", "offset", value / 1000, "s", parameters={"selected": True})
    if not selected:
        sheet.note("hardware/not-synchronised" if rows else "document/cut", "node", "no source is selected")


_FORMS = tuple(
    (re.compile(form, re.MULTILINE), reader)
    for form, reader in (
        (_CSV.pattern, _tracking_row),
        (r"Leap status|Reference ID", _tracking),
        (r"Stratum.*Reach", _sources),
        (r"clock synchronized|NTP synchronized|^NTPSynchronized=", _timedatectl),
        (r"^\s*Packet count: ", _timesync),
        (r"^(?:ptp4l|phc2sys)\[|offsetFromMaster", _ptp),
        (r"remote\s+refid", _ntpq),
        (chrony_lists.STATS, chrony_lists.stats),
        (chrony_lists.ACTIVITY, chrony_lists.activity),
    )
)
