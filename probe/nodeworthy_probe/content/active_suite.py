"""Suites of others that report for themselves: NVCRE certification reports, OCI's GPU scanner.

A roll-up is not believed: each part is looked at. The key of a result includes whether MNNVL was
on; a switch without effect means that one of the two did not test what it claims.
"""

from __future__ import annotations

import re

from . import active_suite_oci
from .documents import load_json, plain_lines
from .sheet import Sheet

TOOL = "active-suite"
_TITLE = re.compile(r"^[│|]\s+([a-z][\w-]*/[\w-]+)\s+[│|]$")
_FIELD = re.compile(r"^[│|]?\s+([A-Z][\w/ ]*?):\s+(\S.*?)\s*[│|]?$")
_ROW = re.compile(r"^[│|]\s+(\d+(?:\.\d+)? [KMGT]?B)\s+(\S+) (\S+)\s+(\S+) (\S+)\s+(\d+)\s+[│|]$")
_RATE = re.compile(r"^[│|]\s+([\w /()-]+?):\s+([\d.]+) (TFLOPS\S*|GB/s)\s+[│|]$")
_FACTORS = {"all-reduce": 2.0, "all-gather": 1.0, "reduce-scatter": 1.0, "alltoall": 1.0}


def read(text: str, sheet: Sheet) -> None:
    """Read whichever report the file is."""
    if text.lstrip().startswith(("{", "[")):
        active_suite_oci.read(load_json(text, sheet), sheet)
    elif "Certification Report" in text or "╔" in text:
        _report(plain_lines(text), sheet)
    else:
        sheet.note("document/unreadable", "file", "the file is no report that is known")


_Block = tuple[str, dict[str, str], list[tuple[str, ...]]]


def _blocks(lines: list[str], sheet: Sheet) -> list[_Block]:
    blocks: list[_Block] = []
    for line in lines:
        if title := _TITLE.match(line):
            blocks.append((title[1], {}, []))
        elif (row := _ROW.match(line)) and blocks:
            blocks[-1][2].append(row.groups())
        elif (field := _FIELD.match(line)) and blocks:
            blocks[-1][1][field[1]] = field[2]
        elif field:
            sheet.text("node", field[1].lower(), field[2])
        elif re.match(r"^[│|]\s+\d", line):
            sheet.note("row/unreadable", "file", line)
    return blocks


def _report(lines: list[str], sheet: Sheet) -> None:
    sheet.tool = "nvcre"
    blocks = _blocks(lines, sheet)
    opened, closed = (sum(bool(re.fullmatch(mark, line)) for line in lines) for mark in ("┌─+┐", "└─{10,}┘"))
    for name in ("Name", "Platform", "GPU", "Nodes"):
        if not any(text.name == name.lower() for text in sheet.texts):
            sheet.note("row/missing", "file", f"{name} is missing")
    if opened != closed or opened != len(blocks) or not blocks:
        sheet.note("document/cut", "file", f"{len(blocks)} results in {opened} boxes, of which {closed} are closed")
    ranks: set[float] = set()
    for category, fields, rows in blocks:
        ranks |= _block(category, fields, rows, sheet)
    if len(ranks) > 1:
        sheet.note("document/contradiction", "file", f"the ratios of the bandwidths mean {sorted(ranks)} ranks")
    _repeats(blocks, sheet)


def _block(category: str, fields: dict[str, str], rows: list[tuple[str, ...]], sheet: Sheet) -> set[float]:
    key = f"{category} MNNVL {fields['MNNVL']}" if "MNNVL" in fields else category
    status = fields.get("Status", "")
    if status != "Succeeded":
        sheet.note("hardware/suite-failed" if status else "row/missing", key, f"status {status or 'is missing'}")
    for name in ("Duration", "Nodes/Job", "Jobs"):
        if name not in fields:
            sheet.note("row/missing", key, f"{name} is missing")
    if category.startswith("communication/") and not rows:
        sheet.absent("node", "bus_bandwidth", "GB/s", parameters={"test": key})
        sheet.note("row/missing", key, "no bandwidth is given")
    ranks: set[float] = set()
    for size, algorithm, algorithm_unit, bus, bus_unit, samples in rows:
        if (algorithm_unit, bus_unit) != ("GB/s", "GB/s"):
            sheet.note("value/unit", key, f"bandwidths are in {algorithm_unit} and {bus_unit}")
            continue
        details = {"test": category, "mnnvl": fields.get("MNNVL", ""), "size": size, "samples": int(samples[:9])}
        one = sheet.number("node", "algorithm_bandwidth", algorithm, "GB/s", parameters=details)
        two = sheet.number("node", "bus_bandwidth", bus, "GB/s", parameters=details)
        if one and two:
            ranks |= _ranks(category, two / one, key, sheet)
    return ranks


def _ranks(category: str, ratio: float, key: str, sheet: Sheet) -> set[float]:
    factor = next((factor for name, factor in _FACTORS.items() if name in category), None)
    if factor is None:
        return set()
    ranks = factor / (factor - ratio) if 0 < ratio < factor else 0.0
    if ranks < 1.5 or abs(ranks - round(ranks)) > 0.02 * ranks:
        sheet.note(
            "document/contradiction", key, f"bus and algorithm bandwidth stand as {ratio:.4f} to 1: no number of ranks"
        )
        return set()
    return {float(round(ranks))}


def _repeats(blocks: list[_Block], sheet: Sheet) -> None:
    keys = [(category, fields.get("MNNVL")) for category, fields, _ in blocks]
    for category, switch in {key for key in keys if keys.count(key) > 1}:
        sheet.note("document/duplicate", category, f"{category} with MNNVL {switch} is there twice")
