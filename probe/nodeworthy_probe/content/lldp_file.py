"""lldpcli in its forms json, json0, keyvalue and plain: what is at the other end of each cable."""

from __future__ import annotations

import re

from nodeworthy_probe.parsers import lldp

from .documents import load_json, note_duplicates, uneven
from .guards import torn_end
from .sheet import Sheet

TOOL = "lldpcli"
_KEY = re.compile(
    r"^lldp\.([\w.-]+?)\.((?:via|rid|age|chassis|port|vlan|lldp-med|unknown-tlvs|ttl)\b[\w.-]*)=(.*)$", re.M
)
_PLAIN = re.compile(r"^Interface:\s+(\S+?),\s+via: LLDP", re.MULTILINE)
_PLAIN_FIELD = re.compile(r"^\s+(SysName|ChassisID|PortID|PortDescr|TTL):\s+(.*)$")
_NAMED = re.compile(r'"rid"\s*:')


def read(text: str, sheet: Sheet) -> None:
    """Read all neighbours, whichever form the file has."""
    if "{" not in text and (_KEY.search(text) or _PLAIN.search(text)):
        _words(text, sheet)
    else:
        _document(text, sheet)


def _document(text: str, sheet: Sheet) -> None:
    """Interfaces may repeat as keys in releases that print one object each."""
    if load_json(text, sheet, repeated_keys=True) is None:
        return
    found = lldp.parse(text[text.find("{") :])
    if isinstance(found, str):
        sheet.note("row/missing", "file", found)
        return
    for neighbour in found:
        component = f"interface/{neighbour.interface}"
        sheet.text(component, "switch", neighbour.switch)
        sheet.text(component, "switch_port", neighbour.port)
        sheet.number(component, "neighbours", 1, "count")
    sheet.number("node", "interfaces", len(found), "count")
    note_duplicates(sheet, [neighbour.interface for neighbour in found], "the interface")
    announced = len(_NAMED.findall(text))
    if announced != len(found):
        sheet.note("row/missing", "file", f"{len(found)} of {announced} neighbours can be read")
    for label in ('"ttl"', '"chassis"', '"port"', '"age"', '"via"', '"capability"'):
        if text.count(label) < len(found):
            sheet.note("row/missing", "file", f"{label} is missing for a neighbour")
    if not found:
        sheet.note("row/missing", "node", "no neighbour is seen")


def _words(text: str, sheet: Sheet) -> None:
    """The forms for shells and for people; a neighbour has a switch, a port and a time to live in each."""
    fields: dict[str, dict[str, str]] = {}
    interface = ""
    for line in text.splitlines():
        if key := _KEY.match(line):
            own = fields.setdefault(key[1], {})
            if key[2] in own and key[2].startswith(("chassis", "port")):
                sheet.note("document/duplicate", f"interface/{key[1]}", f"{key[2]} is there twice")
            own[key[2]] = key[3]
        elif head := _PLAIN.match(line):
            interface = head[1]
            if interface in fields:
                sheet.note("document/duplicate", f"interface/{interface}", f"{interface} is there twice")
            fields.setdefault(interface, {})
        elif (found := _PLAIN_FIELD.match(line)) and interface:
            fields[interface][found[1]] = found[2]
    torn_end(text, sheet)
    for name, own in fields.items():
        _neighbour(name, own, sheet)
    lives = {name: {"TTL"} & {key.rsplit(".", 1)[-1].upper() for key in own} for name, own in fields.items()}
    uneven(sheet, lives, "the time to live")
    if _PLAIN.search(text) and not re.search(r"^-{20,}\s*\Z", text, re.MULTILINE):
        sheet.note("document/cut", "file", "the line that closes the list is missing")
    sheet.number("node", "interfaces", len(fields), "count")


def _neighbour(interface: str, own: dict[str, str], sheet: Sheet) -> None:
    component = f"interface/{interface}"
    port = next((own[key] for key in ("port.ifname", "port.local", "port.mac", "PortID") if key in own), "")
    switch = own.get("chassis.name") or own.get("SysName") or own.get("chassis.mac") or own.get("ChassisID") or ""
    for name, value in (("switch", switch), ("switch_port", port.removeprefix("ifname ").removeprefix("local "))):
        sheet.text(component, name, value)
        if not value:
            sheet.note("row/missing", component, f"the {name.replace('_', ' ')} is missing")
    sheet.number(component, "neighbours", 1, "count")
