"""mlxlink, --json and text: the state of one cable's end, its module and its bit errors.

All values are strings, many with their limits beside them. The status code comes first: the body
of a failed call may look healthy. Raw errors are corrected by FEC and mean nothing without time;
effective errors and the effective BER are what reached the link. With ``--port_type PCIE`` the same
tool tells of the slot that the adapter stands in.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, whole
from nodeworthy_probe.parsers.numbers import finite

from .documents import load_json, plain_lines
from .sheet import Sheet

TOOL = "mlxlink"
_SECTIONS = ("Module Info", "Operational Info", "Physical Counters and BER Info")
_UP = re.compile(r"LinkUp|ETH_AN_FSM_ENABLE|LINK_UP|Active", re.IGNORECASE)
_LIMITED = re.compile(r"^(?P<values>[^\[]+?)\s*\[(?P<low>-?[\d.]+)\.\.(?P<high>-?[\d.]+)\]$")
_MODULE = (("Temperature [C]", "module_temperature", "C"), ("Voltage [mV]", "module_voltage", "mV"),
           ("Bias Current [mA]", "bias_current", "mA"), ("Rx Power Current [dBm]", "rx_power", "dBm"),
           ("Tx Power Current [dBm]", "tx_power", "dBm"))  # fmt: skip
_FLAGS = ("DataPath FW Fault", "Module FW Fault", "Rx CDR LOL [per lane]", "Rx LOS [per lane]", "Tx Fault [per lane]",
          "Tx CDR LOL [per lane]", "Tx LOS [per lane]")  # fmt: skip
_COUNTERS = (("Effective Physical Errors", "effective_physical_errors"), ("Link Down Counter", "link_down"),
             ("Link Error Recovery Counter", "link_error_recovery"), ("Symbol Errors", "symbol_errors"))  # fmt: skip
_OF_THE_LINK = {"Link Down Counter", "Link Error Recovery Counter"}
_BERS = (
    ("Raw Physical BER", "raw_physical_ber"),
    ("Effective Physical BER", "effective_physical_ber"),
    ("Symbol BER", "symbol_ber"),
)
_NONE = "15E-255"
_PCIE = "PCIe Operational (Enabled) Info"
_PAIR = re.compile(r"(?P<now>\d+)(?:G-Gen (?P<now_gen>\d+)|X) \((?P<most>\d+)(?:G-Gen (?P<most_gen>\d+)|X)\)")
_EYES = ("EYE Opening Info", "EYE Opening Info (PCIe)")
_GRADES = ("Initial FOM", "Last FOM", "Upper Grades", "Mid Grades", "Lower Grades")
_TITLE = re.compile(
    r"^(?:\x1b\[[0-9;]*m)*(?:Operational|Module|PCIe Operational \(Enabled\)) Info(?:\x1b\[[0-9;]*m)*[ \t]*\n-{4,}",
    re.MULTILINE,
)
_FIELD = re.compile(r"^([A-Z][^:]*?)\s*: (.*)$")
_ERROR = re.compile(r"^-E- .*$", re.MULTILINE)


def read(text: str, sheet: Sheet) -> None:
    """Read one document, or the text that is printed without ``--json``."""
    output = _sections(text, sheet) if _TITLE.search(text) or _ERROR.search(text) else _document(text, sheet)
    if not output:
        return
    _margins(output, sheet)
    if _PCIE in output:
        _slot(mapping(output[_PCIE]), sheet)
    elif sheet.version is None and "{" in text:
        sheet.note("row/missing", "file", "the version of MFT is missing")
    if _PCIE not in output or set(_SECTIONS) & set(output):
        _port(output, sheet)


def _port(output: dict[str, Any], sheet: Sheet) -> None:
    for section in _SECTIONS:
        if not mapping(output.get(section)):
            sheet.note("row/missing", "link", f"the section {section} is missing")
    width = _operational(mapping(output.get("Operational Info")), sheet)
    _module(mapping(output.get("Module Info")), sheet)
    for section, label, value in (
        (name, key, item) for name in _SECTIONS for key, item in mapping(output.get(name)).items()
    ):
        lanes = len(_values(value)) if isinstance(value, dict) else width
        if width is not None and lanes not in (width, 1):
            sheet.note("row/missing", "link", f"{section}, {label}: {lanes} values for {width} lanes")
    _errors(mapping(output.get("Physical Counters and BER Info")), width, sheet)


def _document(text: str, sheet: Sheet) -> dict[str, Any]:
    document = mapping(load_json(text, sheet))
    if not document:
        return {}
    status = mapping(document.get("status"))
    code = whole(status.get("code"))
    if code != 0:
        what = "the status is missing" if code is None else f"status {code}: {status.get('message')}"
        sheet.note("document/cut" if code is None else "tool/failed", "link", what)
    output = mapping(mapping(document.get("result")).get("output"))
    sheet.version = str(mapping(output.get("Tool Information")).get("MFT Version", "")) or None
    return output


def _sections(text: str, sheet: Sheet) -> dict[str, Any]:
    """The sections of the text as those of the document: lists of lanes are split at their commas."""
    for line in _ERROR.findall(text):
        sheet.note("tool/failed", "link", line)
    lines = plain_lines(text)
    output: dict[str, dict[str, Any]] = {}
    own: dict[str, Any] = {}
    for line, after in pairwise([*lines, ""]):
        field = _FIELD.match(line)
        if re.fullmatch(r"-{4,}", after) and line:
            own = output.setdefault(line.strip(), {})
        elif field and field[1] in own:
            sheet.note("document/duplicate", "file", f"{field[1]} is there twice")
        elif field:
            own[field[1]] = {"values": field[2].split(",")} if re.search(r"[Pp]er [Ll]ane", field[1]) else field[2]
    if lines[-1]:
        sheet.note("document/cut", "file", "the output stops in the middle of a line")
    return output


def _slot(section: dict[str, Any], sheet: Sheet) -> None:
    """Generation and width of the slot, each beside the most that is enabled."""
    for label, metric, code in (("Link Speed Active (Enabled)", "pcie_generation", "context/pcie-generation"),
                                ("Link Width Active (Enabled)", "pcie_width", "hardware/pcie-width")):  # fmt: skip
        found = _PAIR.search(str(section.get(label, "")))
        if found is None:
            sheet.note("row/missing", "slot", f"{label} is {section.get(label, 'missing')}")
            continue
        now, most = int(found["now_gen"] or found["now"]), int(found["most_gen"] or found["most"])
        sheet.number("slot", metric, now, "lanes" if metric == "pcie_width" else "", parameters={"enabled": most})
        if now < most:
            sheet.note(code, "slot", f"{label} is {section[label]}")


def _margins(output: dict[str, Any], sheet: Sheet) -> None:
    """What is measured and judged by nobody: the eye of each lane, and how many errors a code word had."""
    for title in _EYES:
        kind = "pcie-lane" if "PCIe" in title else "lane"
        for label in _GRADES:
            for lane, value in enumerate(_values(mapping(output.get(title)).get(label))):
                if value != "N/A":
                    sheet.number(f"{kind}/{lane}", label.lower().replace(" ", "_"), value, "")
    for label, value in mapping(output.get("Histogram of FEC Errors")).items():
        counted = _values(value)
        if label.startswith("Bin ") and len(counted) == 2 and label[4:].isdigit():
            sheet.number("link", "code_words", counted[1], "count", parameters={"errors": int(label[4:])})


def _operational(section: dict[str, Any], sheet: Sheet) -> int | None:
    for name in ("State", "Physical state", "Speed", "Width", "FEC"):
        if name not in section:
            sheet.note("row/missing", "link", f"{name} is missing")
        sheet.text("link", name.lower().replace(" ", "_"), section.get(name))
    state, physical = str(section.get("State", "")), str(section.get("Physical state", ""))
    up = state.lower() in ("active", "linkup") and (physical == "N/A" or _UP.search(physical))
    if section and not up:
        code = "hardware/port-disabled" if "disab" in (state + physical).lower() else "hardware/port-down"
        sheet.note(code, "link", f"state {state}, physical state {physical}")
    speed = re.search(r"(\d+(?:\.\d+)?)G", str(section.get("Speed", "")))
    names = {"SDR": 10, "QDR": 40, "FDR": 56, "EDR": 100, "HDR": 200, "NDR": 400, "XDR": 800}
    named = next((gbit for name, gbit in names.items() if name in str(section.get("Speed", ""))), None)
    width = re.fullmatch(r"(\d+)x", str(section.get("Width", "")))
    if named and width:
        named = named * int(width[1][:3]) // 4
    if section and state.lower() == "active":
        sheet.number("link", "rate", speed[1] if speed else named, "Gb/s")
    if width:
        sheet.number("link", "width", width[1], "lanes")
    elif section:
        sheet.note("row/unreadable", "link", f"the width is {section.get('Width')}")
    return int(width[1][:3]) if width else None


def _module(section: dict[str, Any], sheet: Sheet) -> None:
    for label, metric, unit in _MODULE:
        if label not in section and section:
            sheet.note("row/missing", "module", f"{label} is missing")
        elif section and str(section[label]) not in ("N/A", ""):
            _limited(label, metric, unit, str(section[label]), sheet)
    _module_flags(section, sheet)
    for label in ("Vendor Name", "Vendor Part Number", "Vendor Serial Number", "FW Version"):
        sheet.text("module", label.lower().replace(" ", "_"), section.get(label))


def _module_flags(section: dict[str, Any], sheet: Sheet) -> None:
    for label in _FLAGS[:5] if section else ():
        if label not in section:
            sheet.note("row/missing", "module", f"{label} is missing")
    for label in _FLAGS:
        values = _values(section.get(label))
        if any(value not in ("0", "N/A", "") for value in values):
            sheet.note("hardware/module-fault", "module", f"{label} is {','.join(values)}")


def _limited(label: str, metric: str, unit: str, text: str, sheet: Sheet) -> None:
    found = _LIMITED.match(text)
    for lane, part in enumerate((found["values"] if found else text).split(",")):
        value = sheet.number("module", metric, part.strip(), unit, parameters={"lane": lane})
        if value is not None and found and not float(found["low"]) <= value <= float(found["high"]):
            sheet.note("hardware/module-limits", "module", f"{label} is {text}")


def _values(value: object) -> list[str]:
    held = mapping(value).get("values") if isinstance(value, dict) else value
    return [str(item) for item in held] if isinstance(held, list) else [str(held)] if held is not None else []


def _errors(section: dict[str, Any], width: int | None, sheet: Sheet) -> None:
    if not section:
        return
    sheet.number("link", "minutes_since_clear", section.get("Time Since Last Clear [Min]"), "min")
    # A BlueField-3 prints neither of the link's own counters.
    optional = {"Symbol Errors"} | (_OF_THE_LINK if not _OF_THE_LINK & set(section) else set())
    for label, metric in _COUNTERS:
        if label in section and section[label] != "N/A":
            sheet.number("link", metric, section[label], "count")
        elif label not in optional:
            sheet.note("row/missing", "link", f"{label} is missing")
    for label, metric in _BERS:
        if label in section and section[label] != "N/A":
            sheet.number("link", metric, _ber(section[label]), "ratio")
        elif label != "Symbol BER":
            sheet.note("row/missing", "link", f"{label} is missing")
    _lanes(section, width, sheet)


def _lanes(section: dict[str, Any], width: int | None, sheet: Sheet) -> None:
    lanes = _values(section.get("Raw Physical BER Per Lane"))
    for lane, value in enumerate(lanes):
        if value != "N/A":
            sheet.number(f"lane/{lane}", "raw_physical_ber", _ber(value), "ratio")
    for lane, value in enumerate(_values(section.get("Raw Physical Errors Per Lane"))):
        if value != "N/A":
            sheet.number(f"lane/{lane}", "raw_physical_errors", value, "count")
    if width is not None and lanes and len(lanes) != width:
        sheet.note("row/missing", "link", f"{len(lanes)} lanes have a BER where the width is {width}")


def _ber(text: object) -> float | None:
    return 0.0 if str(text) == _NONE else finite(text)
