"""The JSON of amd-smi: static, metric, bad-pages, xgmi, topology, list, firmware; several documents in one file too.

Every GPU must be told of in the same fields and units, whatever they are; of the fields that tell of a fault, the value
counts. Partitions are named, no fault: whether they are meant, the SKU decides. Source: ROCm/amdsmi,
amdsmi_cli/amdsmi_commands.py and amdsmi_logger.py (ROCm 6.1 to 7.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nodeworthy_probe.parsers.amd_smi import NO_BAD_PAGES, at, figure, pages, word
from nodeworthy_probe.parsers.json_document import mapping, sequence, whole

from .documents import load_documents, note_gaps, uneven
from .sheet import Sheet

TOOL = "amd-smi"
_SECTIONS = frozenset({
    "asic", "bus", "vbios", "ifwi", "limit", "driver", "board", "ras", "partition", "vram", "numa", "usage", "power",
    "clock",
    "temperature", "pcie", "ecc", "ecc_blocks", "mem_usage", "throttle", "xgmi_err", "retired", "pending", "un_res",
    "link_status", "link_metrics", "links", "uuid", "fw_list",
})  # fmt: skip
_PAGES = {"retired": "bad_pages", "pending": "bad_pages_pending", "un_res": "bad_pages_unreservable"}
_FIGURES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("vram", "size"), "memory_total", "MB"),
    (("bus", "max_pcie_width"), "pcie_width", ""),
    (("pcie", "width"), "pcie_width_current", ""),
    (("pcie", "replay_count"), "pcie_replay", ""),
    (("temperature", "hotspot"), "temperature", "C"),
    (("temperature", "mem"), "temperature_memory", "C"),
    (("power", "socket_power"), "power", "W"),
    (("ecc", "total_correctable_count"), "ecc_corrected", ""),
    (("ecc", "total_uncorrectable_count"), "ecc_uncorrected", ""),
    (("ecc", "total_deferred_count"), "ecc_deferred", ""),
)
_COUNTED = frozenset({"ecc_uncorrected", "ecc_corrected"})
_HEAT = ("prochot", "socket_thermal", "vr_thermal", "hbm_thermal")
_PHRASES: tuple[tuple[str, str], ...] = (
    ("hardware/no-gpu", r".*(?:AMDSMI_STATUS_NO_HARDWARE_FOUND|No GPUs? found|AMDSMI_STATUS_NOT_FOUND).*"),
    (
        "tool/failed",
        r".*(?:AMDSMI_STATUS_(?!NO_HARDWARE|NOT_FOUND)[A-Z_]+ |amd-smi: command not found|amdgpu not found).*",
    ),
)
Row = Mapping[str, Any]


def read(text: str, sheet: Sheet) -> None:
    """Read every document of the file as one picture of the node's GPUs."""
    start = re.search(r"^[\[{]", text, re.MULTILINE)
    for code, pattern in _PHRASES:
        for line in re.findall(rf"^{pattern}$", text[: start.start() if start else None], re.MULTILINE)[:4]:
            sheet.note(code, "node", line)
    if start is None:
        if not sheet.notes:
            sheet.note("document/unreadable", "file", "the file is no JSON of amd-smi: call it with --json")
        return
    gpus = _gpus(load_documents(text[start.start() :], sheet), sheet)
    if not any(_SECTIONS & set(row) for row in gpus.values()):
        sheet.note("document/unreadable", "file", "the JSON document holds nothing that amd-smi says of a GPU")
        return
    sheet.number("node", "gpus", len(gpus), "count")
    note_gaps(sheet, gpus, "gpu")
    leaves = {f"gpu/{index}": list(_leaves(row, "")) for index, row in gpus.items()}
    uneven(sheet, {component: {path for path, _ in found} for component, found in leaves.items()}, "the field")
    _units(leaves, sheet)
    for index, row in gpus.items():
        _gpu(f"gpu/{index}", row, sheet)


def _gpus(documents: list[Any], sheet: Sheet) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for document in documents:
        lists = [document] if isinstance(document, list) else [part for part in mapping(document).values()
                                                               if isinstance(part, list)]  # fmt: skip
        seen: set[int] = set()
        for row in (mapping(row) for part in lists for row in part):
            index = whole(row.get("gpu"))
            if index is None or not 0 <= index < 1024:
                sheet.note("row/unreadable", "file", "an entry names no GPU")
                continue
            known = found.setdefault(index, {})
            again = sorted(set(row) & set(known) - {"gpu", "bdf"})
            if again or index in seen:
                sheet.note("document/duplicate", f"gpu/{index}", f"GPU {index} is there twice")
            if row.get("bdf") != known.get("bdf", row.get("bdf")):
                sheet.note("document/contradiction", f"gpu/{index}", f"GPU {index} has two PCI addresses")
            seen.add(index)
            known.update(row)
    return found


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Each field by its path, and the unit of those that have one; lists of bad pages differ from GPU to GPU."""
    if isinstance(value, dict) and set(value) == {"value", "unit"}:
        yield path, str(value["unit"])
    elif path.strip(".") in _PAGES or not isinstance(value, dict | list):
        yield path, ""
    else:
        rows = value.items() if isinstance(value, dict) else ((f"[{place}]", row) for place, row in enumerate(value))
        for name, row in rows:
            yield from _leaves(row, f"{path}.{name}".strip("."))


def _units(leaves: Mapping[str, list[tuple[str, str]]], sheet: Sheet) -> None:
    units: dict[str, set[str]] = {}
    for path, unit in (leaf for found in leaves.values() for leaf in found):
        if unit:
            units.setdefault(path, set()).add(unit)
    for path, found in units.items():
        if len(found) > 1:
            sheet.note("value/unit", "node", f"{path} is in {' and in '.join(sorted(found))}")


def _gpu(component: str, row: Row, sheet: Sheet) -> None:
    for path, metric, unit in _FIGURES:
        if path[0] in row:
            _figure(component, row, path, metric, unit, sheet)
    for section, metric in _PAGES.items():
        if section in row:
            _bad_pages(component, row[section], metric, sheet)
    for name, path in (("model", ("asic", "market_name")), ("serial", ("board", "product_serial")),
                       ("uuid", ("asic", "asic_serial")), ("driver", ("driver", "version"))):  # fmt: skip
        sheet.text(component, name, word(at(row, *path)))
    _errors(component, row, sheet)
    _links(component, row, sheet)
    _state(component, row, sheet)
    _shape(component, row, sheet)


def _state(component: str, row: Row, sheet: Sheet) -> None:
    hot = [name for name in _HEAT if word(at(row, "throttle", f"{name}_violation_status")).upper() == "ACTIVE"]
    if hot:
        sheet.note("hardware/thermal-slowdown", component, f"slowed now by {', '.join(hot)}")
    if word(at(row, "ras", "ecc_block_state", "UMC")) == "DISABLED":
        sheet.note("config/ecc-disabled", component, "ECC of the memory (UMC) is disabled")


def _shape(component: str, row: Row, sheet: Sheet) -> None:
    modes = {word(at(row, "partition", f"{kind}_partition")) for kind in ("compute", "memory")} - {"", "SPX", "NPS1"}
    if modes:
        sheet.note("note/partitioned", component, f"partitioned as {', '.join(sorted(modes))}: the SKU decides")
    width, most = figure(at(row, "pcie", "width")), figure(at(row, "bus", "max_pcie_width"))
    if width and most and width < most:
        sheet.note("note/pcie-width", component, f"{width:g} of {most:g} lanes: by design or lost, the SKU decides")


def _figure(component: str, row: Row, path: tuple[str, ...], metric: str, unit: str, sheet: Sheet) -> None:
    raw = at(row, *path)
    own, shown = (
        ("count" if metric != "memory_total" and not unit else "MiB" if unit == "MB" else unit),
        figure(raw, unit),
    )
    if shown is not None:
        sheet.number(component, metric, shown, own)
    elif raw is None or raw == "N/A":
        sheet.absent(component, metric, own)
        if metric in _COUNTED:
            sheet.note("counter/missing", component, f"{'.'.join(path)} is not told")
    else:
        sheet.absent(component, metric, own)
        other = isinstance(raw, dict) and raw.get("unit") != unit
        sheet.note("value/unit" if other else "value/not-a-number", component, f"{'.'.join(path)}: {str(raw)[:60]}")


def _bad_pages(component: str, section: object, metric: str, sheet: Sheet) -> None:
    count = pages(section)
    if count is None:
        sheet.absent(component, metric, "count")
        sheet.note(
            "row/unreadable", component, f"{metric}: {str(section)[:60]} where '{NO_BAD_PAGES}' or a list belongs"
        )
        return
    sheet.number(component, metric, count, "count")
    if count and metric != "bad_pages":
        sheet.note(f"hardware/{metric.replace('_', '-')}", component, f"{metric} is {count:g}")


def _errors(component: str, row: Row, sheet: Sheet) -> None:
    """Uncorrectable errors, in all or of one block; those that are deferred have spoiled no result yet."""
    wrong = figure(at(row, "ecc", "total_uncorrectable_count")) or 0
    blocks = {
        name: figure(at(block, "uncorrectable_count")) or 0 for name, block in mapping(row.get("ecc_blocks")).items()
    }
    by_block = sum(blocks.values())
    if wrong or by_block:
        where = ", ".join(name for name, count in blocks.items() if count)
        sheet.note("hardware/ecc-uncorrected", component,
                   f"{max(wrong, by_block):g} uncorrectable errors{f' in {where}' if where else ''}")  # fmt: skip
    if figure(at(row, "ecc", "total_deferred_count")):
        sheet.note("note/ecc-deferred", component, "errors are deferred: a page will be retired")
    state = word(row.get("xgmi_err"))
    if state and not state.endswith("NO_ERRORS"):
        sheet.note("hardware/xgmi-errors", component, f"xgmi_err is {state}")


def _links(component: str, row: Row, sheet: Sheet) -> None:
    states = [str(state) for state in sequence(row.get("link_status"))]
    if states:
        sheet.number(component, "xgmi_links_up", states.count("U"), "count")
    for place, state in enumerate(states):
        if state == "D":
            sheet.note("hardware/link-down", component, f"xGMI link {place} is down")
        elif state not in ("U", "X"):
            sheet.note("row/unreadable", component, f"xGMI link {place} is {state[:20]}")
    for link in map(mapping, sequence(row.get("links"))):
        if word(link.get("link_status")) == "DISABLED":
            sheet.note("hardware/link-down", component, f"no link to GPU {link.get('gpu')}: {link.get('link_type')}")
