"""lldpcli -f json and json0: what is at the other end of each cable."""

from __future__ import annotations

import re

from nodeworthy_probe.parsers import lldp

from .documents import load_json, note_duplicates
from .sheet import Sheet

TOOL = "lldpcli"
_NAMED = re.compile(r'"rid"\s*:')


def read(text: str, sheet: Sheet) -> None:
    """Read all neighbours; interfaces may repeat as keys in releases that print one object each."""
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
