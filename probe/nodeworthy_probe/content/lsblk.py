"""lsblk as JSON, as pairs (-P) and as its plain table, and nvme's list: drives and their parts.

Loop devices are no hardware.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, sequence
from nodeworthy_probe.parsers.numbers import finite

from .documents import load_json, note_duplicates, note_gaps, uneven
from .guards import torn_end
from .sheet import Sheet

TOOL = "lsblk"
_SIZE = re.compile(r"(\d+(?:[.,]\d+)?)([BKMGTP])?")
_UNITS = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}
_PAIR = re.compile(r'(?:[A-Z][A-Z0-9:%_-]*="[^"]*"\s*){2,}')
_DECIMAL = {"MB": 10**6, "GB": 10**9, "TB": 10**12}
_NVME_ROW = re.compile(
    r"^(?P<name>/dev/nvme\d+n\d+)\s+(?:/dev/ng\d+n\d+\s+)?(?P<serial>\S+)\s+(?P<model>\S.*?)\s+(?:0x)?\d+\s+"
    r"[\d.]+\s+[kKMGT]?B\s+/\s+(?P<size>[\d.]+)\s+(?P<unit>[MGT]B)\s+\d+ +K?i?B \+ +\d+ B\s+\S+\s*$"
)
_NOT_HARDWARE = ("loop", "rom", "crypt", "lvm", "part", "mpath", "md", "dm", "linear")
_VIRTUAL = re.compile(r"^(?:/dev/)?(?:ram|zram|fd|nbd|loop|sr|md|dm-)\d")


def read(text: str, sheet: Sheet) -> None:
    """Read the tree of block devices."""
    document = _document(text, sheet)
    devices = [_named(mapping(device)) for device in sequence(document.get("blockdevices"))]
    if document and not devices:
        sheet.note("document/cut", "file", "the document lists no block device")
    sheet.number("node", "block_devices", len(devices), "count")
    drives = [device for device in devices if _is_drive(device)]
    # A flat listing prints what is made of several drives once for each of them.
    own = [device for device in devices if device in drives or device.get("type") in ("loop", "rom")]
    note_duplicates(sheet, [str(device.get("name")) for device in own], "the device")
    sheet.number("node", "drives", len(drives), "count")
    uneven(sheet, {str(device.get("name")): set(device) - {"children"} for device in devices}, "the field")
    children = [mapping(child) for device in devices for child in sequence(device.get("children"))]
    uneven(sheet, {str(child.get("name")): set(child) - {"children"} for child in children}, "the field")
    for device in devices:
        for name in ("name", "type", "size"):
            if device.get(name) in (None, ""):
                sheet.note("row/missing", str(device.get("name")), f"{name} is missing")
    for drive in drives:
        _drive(drive, sheet)
    names = [str(drive.get("name")).removeprefix("/dev/") for drive in drives]
    note_gaps(sheet, [int(found[1][:4]) for name in names if (found := re.match(r"nvme(\d+)n1$", name))], "nvme")


def _named(device: dict[str, Any]) -> dict[str, Any]:
    """Some ask for the kernel's name alone."""
    return {"name": device["kname"], **device} if "kname" in device else device


def _is_drive(device: dict[str, Any]) -> bool:
    kind = str(device.get("type"))
    return kind not in _NOT_HARDWARE and not kind.startswith("raid") and not _VIRTUAL.match(str(device.get("name")))


def _document(text: str, sheet: Sheet) -> dict[str, Any]:
    """The tree, from whichever form the file has; in the flat forms a part stands under no drive."""
    lines = [line for line in text.splitlines() if line.strip()]
    if any(_PAIR.match(line) for line in lines):
        torn_end(text, sheet)
        return {"blockdevices": [device for line in lines if (device := _paired(line, sheet))]}
    if lines and re.match(r"^NAME\s+(?:\S+\s+)*SIZE\b", lines[0]) and "TYPE" in lines[0].split():
        torn_end(text, sheet)
        return {"blockdevices": [device for line in lines[1:] if (device := _tabled(line, lines[0], sheet))]}
    if re.match(r"^Node\s.*\bSN\b.*\n-{4,}", text.lstrip()):
        sheet.tool = "nvme list"
        torn_end(text, sheet)
        return {"blockdevices": [device for line in lines[2:] if (device := _listed(line, sheet))]}
    loaded = load_json(text, sheet)
    document = mapping(loaded)
    if "Devices" in document:
        sheet.tool = "nvme list"
        return {"blockdevices": list(_namespaces(document["Devices"], {}))}
    if loaded is not None and "blockdevices" not in document:
        sheet.note("document/unreadable", "file", "the document is no list of block devices")
    return document


def _listed(line: str, sheet: Sheet) -> dict[str, Any]:
    """A row of nvme's table: names hold spaces, so the use tells where they end."""
    found = _NVME_ROW.match(line)
    if found is None:
        sheet.note("row/unreadable", "file", line)
        return {}
    size = f"{float(found['size']) * _DECIMAL[found['unit']]:.0f}B"
    return {
        "name": found["name"].removeprefix("/dev/"),
        "type": "disk",
        "size": size,
        "serial": found["serial"],
        "model": found["model"],
    }


def _namespaces(value: object, above: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every namespace of nvme's JSON: a flat list to release 1, under subsystems and controllers from 2 on."""
    for item in map(mapping, sequence(value)):
        known: dict[str, Any] = {key: item[key] for key in ("SerialNumber", "ModelNumber") if key in item}
        own = {**above, **known}
        if "PhysicalSize" in item:
            name = str(item.get("DevicePath") or item.get("NameSpace")).removeprefix("/dev/")
            yield {"name": name, "type": "disk", "size": item["PhysicalSize"],
                   "serial": own.get("SerialNumber"), "model": own.get("ModelNumber")}  # fmt: skip
        for key in ("Subsystems", "Controllers", "Namespaces"):
            yield from _namespaces(item.get(key), own)


def _paired(line: str, sheet: Sheet) -> dict[str, Any]:
    if _PAIR.fullmatch(line.strip()) is None:
        sheet.note("row/unreadable", "file", line)
        return {}
    device = {name.lower(): value.strip() for name, value in re.findall(r'([A-Z][A-Z0-9:%_-]*)="([^"]*)"', line)}
    return {} if device.get("type") == "part" or device.get("pkname") else device


def _tabled(line: str, head: str, sheet: Sheet) -> dict[str, Any]:
    names, cells = head.lower().split(), line.split()
    if line[:1] in "│├└|`- ":
        return {}
    if len(cells) < names.index("type") + 1:
        sheet.note("row/unreadable", "file", line)
        return {}
    # Columns up to the type are never empty for a whole device; those behind it may be.
    return dict(zip(names[: names.index("type") + 1], cells, strict=False))


def _drive(drive: dict[str, Any], sheet: Sheet) -> None:
    component = f"drive/{drive.get('name')}"
    size = _bytes(drive.get("size"))
    if size is None:
        sheet.absent(component, "capacity", "B")
        sheet.note("value/not-a-number", component, f"the size is {str(drive.get('size'))[:40]}")
        return
    sheet.number(component, "capacity", size, "B")
    sheet.number(component, "partitions", len(sequence(drive.get("children"))), "count")
    sheet.text(component, "model", drive.get("model"))
    sheet.text(component, "serial", drive.get("serial"))
    if size == 0:
        sheet.note("note/empty-slot", component, "the size is 0: a slot without a medium")
    if drive.get("ro") in (True, "1", 1):
        sheet.note("hardware/read-only", component, "the drive is read-only")


def _bytes(size: object) -> float | None:
    if isinstance(size, int | float) and not isinstance(size, bool):
        return finite(size)
    found = _SIZE.fullmatch(str(size).strip())
    return float(found[1].replace(",", ".")) * _UNITS[found[2] or ""] if found else None
