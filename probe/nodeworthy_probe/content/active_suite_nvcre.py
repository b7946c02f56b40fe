"""The certification report of NVIDIA's Cluster Readiness Engine, as boxes of text and as JSON.

Both forms become the same blocks: a category with its fields and rows of bandwidths. The summary at the end is held
against them; a result that is still running is none.
"""

from __future__ import annotations

import re
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, sequence

from .documents import plain_lines
from .sheet import Sheet

_TITLE = re.compile(r"^[│|]\s+([a-z][\w-]*/[\w.-]+|Summary)\s+[│|]$")
_FIELD = re.compile(r"^[│|]?\s+([A-Z][\w/ ]*?):\s+(\S.*?)\s*[│|]?$")
_ROW = re.compile(r"^[│|]\s+(\d+(?:\.\d+)? [KMGT]?B)\s+(\S+) (\S+)\s+(\S+) (\S+)\s+(\d+)\s+[│|]$")
_FACTORS = {"all-reduce": 2.0, "all-gather": 1.0, "reduce-scatter": 1.0, "alltoall": 1.0}
_UNFINISHED = ("running", "pending", "incomplete", "unknown")
_JSON_FIELDS = {"status": "Status", "runtime": "Duration", "nodesPerJob": "Nodes/Job", "jobs": "Jobs", "mnnvl": "MNNVL",
                "failureReason": "Reason"}  # fmt: skip

_Block = tuple[str, dict[str, str], list[tuple[str, ...]]]


def is_report(document: object) -> bool:
    """Whether a JSON document is such a report, or a list of them."""
    reports = [mapping(one) for one in (document if isinstance(document, list) else [document])]
    return any("categories" in report and ("totalNodes" in report or "failedNodes" in report) for report in reports)


def read_json(document: object, sheet: Sheet) -> None:
    """Read one report, or several of which each counts."""
    for report in map(mapping, document if isinstance(document, list) else [document]):
        for name, key in (("name", "name"), ("platform", "platform"), ("gpu", "gpu"), ("nodes", "totalNodes")):
            if key in report:
                sheet.text("node", name, str(report[key]))
        blocks = [_json_block(mapping(one)) for one in sequence(report.get("categories"))]
        failed = [str(node) for node in sequence(report.get("failedNodes"))]
        failed += [str(one.get("name")) for one in map(mapping, sequence(report.get("nodeResults")))
                   if str(one.get("status")) != "Passed"]  # fmt: skip
        left = sequence(report.get("excludedNodes"))
        if left:
            sheet.note("row/missing", "node", f"{len(left)} nodes were left out: {report.get('exclusionReason')}")
        summary = {"Result": str(report.get("result", "")), "Failed Nodes": ", ".join(failed) or "none"}
        _judge(blocks, summary, sheet)


def _json_block(category: dict[str, Any]) -> _Block:
    fields = {name: str(category[key]) for key, name in _JSON_FIELDS.items() if category.get(key) not in (None, "")}
    rows = []
    for row in map(mapping, sequence(category.get("bandwidth"))):
        algorithm, bus = (str(row.get(key, "")).split() for key in ("algBW", "busBW"))
        pairs = [(*pair, "", "")[:2] for pair in (algorithm, bus)]
        rows.append((str(row.get("size", "")), *pairs[0], *pairs[1], str(row.get("samples", 0))))
    return f"{category.get('domain')}/{category.get('variant')}", fields, rows


def read_text(text: str, sheet: Sheet) -> None:
    """Read the boxes of one report."""
    lines = plain_lines(text)
    blocks = _blocks(lines, sheet)
    opened, closed = (sum(bool(re.fullmatch(mark, line)) for line in lines) for mark in ("┌─+┐", "└─{10,}┘"))
    if opened != closed or opened != len(blocks):
        sheet.note("document/cut", "file", f"{len(blocks)} results in {opened} boxes, of which {closed} are closed")
    summary = next((fields for category, fields, _ in blocks if category == "Summary"), None)
    _judge([block for block in blocks if block[0] != "Summary"], summary, sheet)


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


def _judge(blocks: list[_Block], summary: dict[str, str] | None, sheet: Sheet) -> None:
    sheet.tool = "nvcre"
    for name in ("Name", "Platform", "GPU", "Nodes"):
        if not any(text.name == name.lower() for text in sheet.texts):
            sheet.note("row/missing", "file", f"{name} is missing")
    if not blocks:
        sheet.note("document/cut", "file", "the report holds no result")
    ranks: set[float] = set()
    for category, fields, rows in blocks:
        ranks |= _block(category, fields, rows, sheet)
    if len(ranks) > 1:
        sheet.note("document/contradiction", "file", f"the ratios of the bandwidths mean {sorted(ranks)} ranks")
    _repeats(blocks, sheet)
    if summary is not None:
        _summary(blocks, summary, sheet)


def _summary(blocks: list[_Block], summary: dict[str, str], sheet: Sheet) -> None:
    result, nodes = summary.get("Result", ""), summary.get("Failed Nodes", "none")
    if result.lower() in (*_UNFINISHED, ""):
        sheet.note("document/cut", "file", f"the result is {result or 'missing'}")
    elif result.upper() != "PASSED":
        sheet.note("hardware/suite-failed", "node", f"the result is {result}")
    if nodes.lower() != "none":
        sheet.note("hardware/suite-failed", "node", f"failed nodes: {nodes}")
    if counts := re.match(r"(\d{1,6})/(\d{1,6}) passed", summary.get("Categories", "")):
        passed = sum(fields.get("Status") == "Succeeded" for _, fields, _ in blocks)
        if (passed, len(blocks)) != (int(counts[1]), int(counts[2])):
            sheet.note("row/missing", "file", f"{passed} of {len(blocks)} results passed where the summary says "
                       f"{counts[1]} of {counts[2]}")  # fmt: skip


def _block(category: str, fields: dict[str, str], rows: list[tuple[str, ...]], sheet: Sheet) -> set[float]:
    key = f"{category} MNNVL {fields['MNNVL']}" if "MNNVL" in fields else category
    status = fields.get("Status", "")
    if status.lower() in _UNFINISHED:
        sheet.note("document/cut", key, f"status {status}")
    elif status != "Succeeded":
        sheet.note("hardware/suite-failed" if status else "row/missing", key, f"status {status or 'is missing'}")
    for name in ("Duration", "Nodes/Job", "Jobs"):
        if name not in fields:
            sheet.note("row/missing", key, f"{name} is missing")
    if "Avg TFLOPs/GPU" in fields:
        details = {"test": category, "mnnvl": fields.get("MNNVL", "")}
        sheet.number("node", "compute_rate_per_gpu", fields["Avg TFLOPs/GPU"], "TFLOPS", parameters=details)
    if category.startswith("communication/") and not rows:
        sheet.absent("node", "bus_bandwidth", "GB/s", parameters={"test": key})
        sheet.note("row/missing", key, "no bandwidth is given")
    ranks: set[float] = set()
    for row in rows:
        ranks |= _bandwidths(category, key, fields.get("MNNVL", ""), row, sheet)
    return ranks


def _bandwidths(category: str, key: str, mnnvl: str, row: tuple[str, ...], sheet: Sheet) -> set[float]:
    size, algorithm, algorithm_unit, bus, bus_unit, samples = row
    if (algorithm_unit, bus_unit) != ("GB/s", "GB/s"):
        sheet.note("value/unit", key, f"bandwidths are in {algorithm_unit} and {bus_unit}")
        return set()
    count = int(samples[:9]) if samples.isdigit() else 0
    details = {"test": category, "mnnvl": mnnvl, "size": size, "samples": count}
    one = sheet.number("node", "algorithm_bandwidth", algorithm, "GB/s", parameters=details)
    two = sheet.number("node", "bus_bandwidth", bus, "GB/s", parameters=details)
    return _ranks(category, two / one, key, sheet) if one and two else set()


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
