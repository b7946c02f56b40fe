"""lldpcli in its forms json, json0, xml, keyvalue and plain: what is at the other end of each cable."""

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
_PLAIN = re.compile(r"^Interface:\s+(\S+?),\s+via: \S+", re.MULTILINE)
_TITLE = re.compile(r"^LLDP neighbors:$", re.MULTILINE)
_XML = re.compile(r"<interface\b[^>]*\bname=\"([^\"]+)\"[^>]*>(.*?)</interface>", re.DOTALL)
_XML_FIELD = re.compile(r"<(id|name|descr|ttl)\b[^>]*\blabel=\"(\w+)\"[^>]*>([^<]*)</")
_BROKEN = re.compile(r"^.*(?:unable to connect to socket|unable to get a neighbor).*$", re.MULTILINE)
_MANY = ("mgmt-", "vlan", "ppvid", "pi.", "med")  # a switch may give several of these
_PLAIN_FIELD = re.compile(r"^\s+(SysName|ChassisID|PortID|PortDescr|TTL):\s+(.*)$")
_MARKS = frozenset({"via", "rid", "age", "ttl", "name", "sysname"})
_NAMED = re.compile(r'"rid"\s*:')


def read(text: str, sheet: Sheet) -> None:
    """Read all neighbours, whichever form the file has."""
    if "{" not in text and any(form.search(text) for form in (_KEY, _PLAIN, _TITLE)):
        _words(text, sheet)
    elif "<lldp" in text:
        _xml(text, sheet)
    elif broken := _BROKEN.search(text):
        sheet.note("tool/failed", "node", broken[0])
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


def _xml(text: str, sheet: Sheet) -> None:
    names = {"SysName": "chassis.name", "ChassisID": "chassis.mac", "PortID": "port.ifname", "TTL": "ttl"}
    found = _XML.findall(text)
    note_duplicates(sheet, [name for name, _ in found], "the interface")
    fields = {name: {names.get(label, label): value for _, label, value in _XML_FIELD.findall(body)}
              for name, body in found}  # fmt: skip
    for name, own in fields.items():
        _neighbour(name, own, sheet)
    uneven(sheet, {name: {"ttl", "chassis.name"} & set(own) for name, own in fields.items()}, "the field")
    sheet.number("node", "interfaces", len(fields), "count")
    ends = text.count("</lldp>") == 1 and text.rstrip().endswith("</lldp>")
    if not ends or len(found) != text.count("<interface "):
        sheet.note("document/cut", "file", "the document does not end with </lldp>")
    if not found:
        sheet.note("row/missing", "node", "no neighbour is seen")


def _words(text: str, sheet: Sheet) -> None:
    """The forms for shells and for people; a neighbour has a switch and a port in each."""
    fields = _keys(text, sheet) if _KEY.search(text) else _plain(text, sheet)
    torn_end(text, sheet)
    for name, own in fields.items():
        _neighbour(name, own, sheet)
    words = {name: {key.rsplit(".", 1)[-1].lower() for key in own} for name, own in fields.items()}
    uneven(sheet, {name: set(_MARKS & own) for name, own in words.items()}, "the field")
    if not fields:
        sheet.note("row/missing", "node", "no neighbour is seen")
    if _TITLE.search(text) and not re.search(r"^-{20,}\s*\Z", text, re.MULTILINE):
        sheet.note("document/cut", "file", "the line that closes the list is missing")
    sheet.number("node", "interfaces", len(fields), "count")


def _keys(text: str, sheet: Sheet) -> dict[str, dict[str, str]]:
    fields: dict[str, dict[str, str]] = {}
    for interface, name, value in _KEY.findall(text):
        own = fields.setdefault(interface, {})
        several = name.split(".", 1)[-1].startswith(_MANY)
        if name in own and name.startswith(("chassis", "port")) and not several:
            sheet.note("document/duplicate", f"interface/{interface}", f"{name} is there twice")
        own[name] = value
    return fields


def _plain(text: str, sheet: Sheet) -> dict[str, dict[str, str]]:
    note_duplicates(sheet, _PLAIN.findall(text), "the interface")
    fields: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        if head := _PLAIN.match(line):
            fields[head[1]] = {}
        elif found := _PLAIN_FIELD.match(line):
            own = next(reversed(fields.values()), {})
            if not fields or found[1] in own:
                sheet.note("row/missing", "file", f"{found[1]} stands under no interface: {found[2]}")
            own[found[1]] = found[2]
    return fields


def _neighbour(interface: str, own: dict[str, str], sheet: Sheet) -> None:
    component = f"interface/{interface}"
    port = next((own[key] for key in ("port.ifname", "port.local", "port.mac", "PortID") if key in own), "")
    switch = own.get("chassis.name") or own.get("SysName") or own.get("chassis.mac") or own.get("ChassisID") or ""
    for name, value in (("switch", switch), ("switch_port", port.removeprefix("ifname ").removeprefix("local "))):
        sheet.text(component, name, value)
        if not value:
            sheet.note("row/missing", component, f"the {name.replace('_', ' ')} is missing")
    sheet.number(component, "neighbours", 1, "count")
