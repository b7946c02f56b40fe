"""What kubectl says of a node: resources, conditions, taints; JSON, describe, or columns.

Allocatable alone cannot tell a lost GPU from a MIG split: it takes the capacity, or a label with
the count. A condition that reports a fault carries its Xid in the reason.
"""

from __future__ import annotations

import re
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, sequence, whole

from . import plain_yaml
from .documents import load_json, note_duplicates, plain_lines
from .guards import torn_end
from .sheet import Sheet

TOOL = "kubectl"
_GPU = re.compile(r"^(?:nvidia|amd|gpu\.intel)\.com/(?:gpu|mig-\S+|\S*gpu\S*)$|^gpu\.intel\.com/i915$")
_QUANTITY = re.compile(r"^\d+(?:\.\d+)?(?:[EPTGMk]i?|Ki|m|e\d+)?$")
_ALWAYS = ("cpu", "memory", "pods", "ephemeral-storage")
# What node-problem-detector and its kin report is bad when True, whatever the site calls it.
_BAD_IF_TRUE = re.compile(
    r"Pressure|Unavailable|Deadlock|Readonly|ReadOnly|Problem|Error|Fail|Fault|Corrupt|Frequent|Fatal|Shutdown|Hung|"
    r"Unhealthy|NotReady|Down$|Lost|Xid|XID|Ecc|ECC|Throttl|Leak|^Gpu|^GPU|^Nvl|^NVL"
)
_REFUSED = re.compile(
    r"^(?:Error from server|The connection to the server|Unable to connect to the server|error: ).*", re.M
)
_XID = re.compile(r"XID[-_ ]?(\d+)", re.IGNORECASE)
_STATUSES = ("True", "False", "Unknown")
_CONDITION_ROW = re.compile(r"^\s+([A-Z]\w+)\s+(True|False|Unknown)\s+\S.*$")


def read(text: str, sheet: Sheet) -> None:
    """Read whichever form the file has."""
    if text.lstrip().startswith("{"):
        document = mapping(load_json(text, sheet))
        items = [mapping(item) for item in sequence(document.get("items"))] if "items" in document else [document]
        for item in items if document else []:
            _node(item, sheet, len(items) > 1)
    elif re.search(r"^(?:apiVersion|kind|items|status|metadata|- apiVersion):", text, re.MULTILINE):
        _yaml(text, sheet)
    elif re.search(r"^\s*(?:Capacity|Allocatable):\s*$", text, re.MULTILINE):
        _describe(text, sheet)
    else:
        _columns(text, sheet)


def _yaml(text: str, sheet: Sheet) -> None:
    sheet.tool = "kubectl -o yaml"
    document, torn = plain_yaml.load(text)
    torn_end(text, sheet)
    for line in torn[:5]:
        sheet.note("row/unreadable", "file", line)
    top = mapping(document)
    for item in map(mapping, sequence(top.get("items")) if "items" in top else [top]):
        _node(item, sheet, "items" in top)
        if not mapping(item.get("status")).get("nodeInfo"):
            # kubectl sorts the keys: what follows the conditions tells that they are whole
            sheet.note("document/cut", "file", "the part nodeInfo of the status is missing")


def _slice(item: dict[str, Any], sheet: Sheet) -> None:
    """What a driver offers by dynamic resource allocation: a device with a taint is one that it warns of."""
    spec = mapping(item.get("spec"))
    name = str(spec.get("nodeName") or mapping(item.get("metadata")).get("name", "node"))
    devices = [mapping(device) for device in sequence(spec.get("devices"))]
    sheet.number(name, f"devices {spec.get('driver')}", len(devices), "count")
    for device in devices:
        own = {**mapping(device.get("basic")), **device}
        sheet.text(f"{name}/{own.get('name')}", "model",
                   mapping(mapping(own.get("attributes")).get("productName")).get("string"))  # fmt: skip
        for taint in map(mapping, sequence(own.get("taints"))):
            why = f"{taint.get('key')}={taint.get('value', '')}:{taint.get('effect')}"
            sheet.note("hardware/device-taint", f"{name}/{own.get('name')}", why)


def _node(item: dict[str, Any], sheet: Sheet, among_others: bool = False) -> None:
    if item.get("kind") == "ResourceSlice":
        _slice(item, sheet)
        return
    status = mapping(item.get("status"))
    if not status and "cpu" not in item:
        sheet.note("document/unreadable", "file", "the document is neither a node nor its resources")
        return
    name = str(mapping(item.get("metadata")).get("name", "node"))
    labels = mapping(mapping(item.get("metadata")).get("labels"))
    capacity = mapping(status.get("capacity")) or None
    allocatable = mapping(status.get("allocatable")) if status else item
    if (
        among_others
        and not any(_GPU.match(key) for key in {**(capacity or {}), **allocatable})
        and "gpu" not in str(labels)
    ):
        sheet.note("note/no-gpu", name, "a node without GPUs")
    else:
        _resources(name, capacity, allocatable, labels, sheet)
    for condition in map(mapping, sequence(status.get("conditions"))):
        _condition(name, str(condition.get("type")), str(condition.get("status")),
                   f"{condition.get('reason', '')} {condition.get('message', '')}", sheet)  # fmt: skip
    if status and not any(mapping(one).get("type") == "Ready" for one in sequence(status.get("conditions"))):
        sheet.note("row/missing", name, "the condition Ready is missing")
    for taint in map(mapping, sequence(mapping(item.get("spec")).get("taints"))):
        sheet.note("note/taint", name, f"{taint.get('key')}={taint.get('value', '')}:{taint.get('effect')}")


def _resources(
    name: str, capacity: dict[str, Any] | None, allocatable: dict[str, Any] | None, labels: dict[str, Any], sheet: Sheet
) -> None:
    for what, resources in (("capacity", capacity), ("allocatable", allocatable)):
        if resources is not None:
            _listed(name, what, resources, sheet)
    gpus = {what: {key: whole(str(value)) for key, value in (resources or {}).items() if _GPU.match(key)}
            for what, resources in (("capacity", capacity), ("allocatable", allocatable))}  # fmt: skip
    if not gpus["capacity"] and not gpus["allocatable"]:
        sheet.note("row/missing", name, "no GPU resource is listed")
    elif not any(count for counts in gpus.values() for count in counts.values()):
        sheet.note("row/missing", name, "every GPU resource counts 0")
    _lost(name, capacity is not None, allocatable is not None, gpus, sheet)
    _labelled(name, gpus, labels, sheet)


def _listed(name: str, what: str, resources: dict[str, Any], sheet: Sheet) -> None:
    for key in _ALWAYS:
        if key not in resources:
            sheet.note("row/missing", name, f"{what} lacks {key}")
    if not any(key.startswith("hugepages-") for key in resources):
        sheet.note("row/missing", name, f"{what} lacks hugepages")
    for key, value in resources.items():
        if not _QUANTITY.match(str(value)):
            sheet.note("value/not-a-number", name, f"{what} {key} is {str(value)[:40]}")
        elif _GPU.match(key):
            sheet.number(name, f"{what} {key}", str(value), "count")


def _lost(
    name: str, has_capacity: bool, has_allocatable: bool, gpus: dict[str, dict[str, int | None]], sheet: Sheet
) -> None:
    if has_capacity and has_allocatable:
        for key in set(gpus["capacity"]) ^ set(gpus["allocatable"]):
            sheet.note("row/missing", name, f"{key} stands in one of capacity and allocatable alone")
        for key, count in gpus["capacity"].items():
            usable = gpus["allocatable"].get(key)
            if count is not None and (usable is None or usable < count):
                sheet.note("hardware/gpu-lost", name, f"{usable} of {count} {key} are allocatable")
    elif has_allocatable and gpus["allocatable"]:
        sheet.note(
            "context/no-capacity", name, "allocatable without capacity or labels: a lost GPU and a MIG split look alike"
        )


def _labelled(name: str, gpus: dict[str, dict[str, int | None]], labels: dict[str, Any], sheet: Sheet) -> None:
    count = whole(str(labels.get("nvidia.com/gpu.count", "")))
    seen = gpus["allocatable"].get("nvidia.com/gpu", gpus["capacity"].get("nvidia.com/gpu"))
    strategy = str(labels.get("nvidia.com/mig.strategy", "none"))
    sheet.text(name, "model", labels.get("nvidia.com/gpu.product"))
    split = str(labels.get("nvidia.com/mig.config.state", "success"))
    if split != "success":
        code = "config/mig" if split == "failed" else "context/mig"
        sheet.note(code, name, f"the GPUs are to be split, and the state of that is {split}")
    if count is not None and seen is not None and seen < count and strategy in ("none", ""):
        sheet.note("hardware/gpu-lost", name, f"{seen} of the {count} GPUs on the label are there")


def _condition(name: str, kind: str, status: str, why: str, sheet: Sheet) -> None:
    sheet.number(name, f"condition {kind}", float(status == "True"), "bool")
    good_if_true = kind.endswith(("Ready", "Healthy")) and not kind.endswith(("NotReady", "Unhealthy"))
    bad = status != "True" if kind == "Ready" else status == "False" if good_if_true else status == "True"
    bad = bad and (good_if_true or bool(_BAD_IF_TRUE.search(kind)))
    if status not in ("True", "False"):
        sheet.note("row/missing", name, f"the condition {kind} is {status}")
    if bad:
        sheet.note("hardware/node-condition", name, f"{kind} is {status}: {why}")
        for code in dict.fromkeys(_XID.findall(why)):
            sheet.note(f"xid/{code}", name, f"{kind} is {status}: {why}")


def _describe(text: str, sheet: Sheet) -> None:
    sections = _sections(text)
    name_line = re.search(r"^Name:\s+(\S+)", text, re.MULTILINE)
    name = name_line[1] if name_line else "node"
    torn_end(text, sheet)
    if name_line and "Allocatable" not in sections:
        sheet.note("row/missing", name, "the section Allocatable is missing")
    resources = {what: _described(name, what, sections, sheet) for what in ("Capacity", "Allocatable")}
    labels = dict(re.findall(r"([\w.-]+/[\w.-]+)=(\S*)", text))
    _resources(name, resources["Capacity"], resources["Allocatable"], labels, sheet)
    for line in sections.get("Conditions", []):
        if found := _CONDITION_ROW.match(line):
            _condition(name, found[1], found[2], " ".join(line.split()[2:]), sheet)


def _sections(text: str) -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {}
    section = ""
    for line in plain_lines(text):
        if found := re.match(r"^(\S[^:]*):\s*(.*)$", line):
            section = found[1]
            sections.setdefault(section, [])
        elif line.strip() and section:
            sections[section].append(line)
    return sections


def _described(name: str, what: str, sections: dict[str, list[str]], sheet: Sheet) -> dict[str, Any] | None:
    if what not in sections:
        return None
    pairs = [(found[1], found[2]) for line in sections[what] if (found := re.match(r"^\s+(\S+):\s+(\S+)$", line))]
    note_duplicates(sheet, [f"{what} {key}" for key, _ in pairs], "the resource")
    for line in sections[what]:
        if not re.match(r"^\s+\S+:\s+\S+$", line) and ":" in line:
            sheet.note("row/unreadable", name, line)
    return dict(pairs)


def _columns(text: str, sheet: Sheet) -> None:
    lines = plain_lines(text)
    for line in lines:
        if change := re.match(r"^(\w+)\s+(?:\w+ -> )?(True|False|Unknown)\s+Reason: (.*)$", line):
            _condition("node", change[1], change[2], change[3], sheet)
    if refusal := _REFUSED.search(text):
        sheet.note("tool/failed", "file", refusal[0])
    elif lines and re.match(r"^NAME\s+", lines[0]):
        heads = re.split(r"\s{2,}", lines[0])
        told = [line for line in lines[1:] if line.strip() and not re.search(r":\s|->", line)]
        rows = [cells if len(cells) == len(heads) else line.split()
                for line in told for cells in (re.split(r"\s{2,}", line),)]  # fmt: skip
        for cells in rows:
            _column_row(heads, cells, sheet)
        sheet.number("node", "nodes", len(rows), "count")
        if not any(row.metric.startswith("condition ") for row in sheet.rows):
            sheet.note("document/unreadable", "file", "no column tells a node's condition")
    elif not sheet.rows:
        sheet.note("document/unreadable", "file", "the file is no node that is known")


def _column_row(heads: list[str], cells: list[str], sheet: Sheet) -> None:
    if len(cells) < len(heads):
        sheet.note("row/unreadable", cells[0], " ".join(cells))
        return
    row = dict(zip(heads, cells, strict=False))
    name = row["NAME"]
    why = " ".join(cells[1:])
    status = row.get("STATUS", "")
    if status in _STATUSES and "CONDITION" in row:
        _condition(name, row["CONDITION"], status, why, sheet)
        return
    if status:
        _ready(name, status, why, sheet)
    for head in heads[1:]:
        if row[head] in _STATUSES:
            kind = "Pressure" if "PRESS" in head.upper() else "Ready"
            _condition(name, head if head.endswith(kind) else f"{head}{kind}", row[head], why, sheet)
        elif "GPU" in head.upper() and row[head].isdigit():
            sheet.number(name, head.lower(), row[head], "count")
        elif row[head] in ("<none>", ""):
            sheet.absent(name, head.lower(), "")


def _ready(name: str, status: str, why: str, sheet: Sheet) -> None:
    """What kubectl's own column says: Ready, NotReady, each perhaps with SchedulingDisabled."""
    ready = status.split(",")[0] == "Ready"
    sheet.number(name, "condition Ready", float(ready), "bool")
    if status != "Ready":
        sheet.note("note/cordoned" if ready else "hardware/node-condition", name, why)
