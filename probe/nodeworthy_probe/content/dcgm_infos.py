"""Figures and confessions in the free text of a diagnostic's results.

Bandwidths, latencies and power stand only there; so does an allocation that failed inside a test
that passed (NVIDIA/DCGM issue 284).
"""

from __future__ import annotations

import re
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, sequence, whole

from .sheet import Sheet

_FIGURE = re.compile(
    r"(?P<what>(?:GPU to Host|Host to GPU|bidirectional) (?:bandwidth|latency)):\s*(?P<value>\S+) (?P<unit>GB/s|us)\b"
)
_POWER = re.compile(r"GPU (?P<gpu>\d+) max power: (?P<value>[\d.]+) W")
_SHORT = re.compile(
    r"Max power of (?P<value>[\d.]+) did not reach desired power minimum \S+ of (?P<required>[\d.]+) for GPU "
    r"(?P<gpu>\d+)"
)
_ALLOCATED = re.compile(r"Allocated \d+ bytes \((?P<value>[\d.]+)%\)")
_CONFESSION = re.compile(r"(?:unable|failed|error)\b.{0,60}\ballocat|\ballocat\w*.{0,60}\b(?:error|failed|out of "
                         r"memory)",
                         re.IGNORECASE)  # fmt: skip
_BLANK = re.compile(r"922337203685477\d{4}")


def table(text: str, sheet: Sheet) -> None:
    """The figures of a table, whose cells wrap at a fixed column."""
    cells = re.findall(r"^\| .{25} \| (.{45}) \s?\|$", text, re.MULTILINE)
    _power("".join(cells), sheet)


def document(document: Any, sheet: Sheet) -> None:
    """The figures of the JSON form, per test and GPU."""
    for root in mapping(document).values():
        for category in sequence(mapping(root).get("test_categories")):
            for test in map(mapping, sequence(mapping(category).get("tests"))):
                _test(test, sheet)


def summaries(document: Any, sheet: Sheet) -> None:
    """From DCGM 4 on each test closes with a summary and the document with its versions."""
    root = mapping(mapping(document).get("DCGM Diagnostic"))
    for category in sequence(root.get("test_categories")) if "metadata" in mapping(document) else ():
        for test in map(mapping, sequence(mapping(category).get("tests"))):
            if "status" not in mapping(test.get("test_summary")):
                sheet.note("row/missing", str(test.get("name")), "the summary of the test has no status")
            if not sequence(test.get("results")):
                sheet.note("row/missing", str(test.get("name")), f"{test.get('name')} has no result of any device")
    for label in ("version", "Driver Version Detected") if root else ():
        if label not in {**mapping(document), **mapping(mapping(document).get("metadata"))}:
            sheet.note("row/missing", "file", f"{label} is missing")


def _test(test: dict[str, Any], sheet: Sheet) -> None:
    name = str(test.get("name", ""))
    for result in map(mapping, [*sequence(test.get("results")), test.get("test_summary")]):
        gpu = whole(result.get("entity_id"))
        component = f"gpu/{gpu}" if gpu is not None else "node"
        infos = result.get("info")
        for info in [infos] if isinstance(infos, str) else sequence(infos):
            _info(str(info), name, component, str(result.get("status", "")).lower() == "pass", sheet)
        if str(result.get("status", "")).lower() == "pass":
            for error in map(mapping, sequence(result.get("warnings"))):
                if "error_id" in error:
                    sheet.note("tool/passed-with-error", component, f"{name} passed and warns: {error.get('warning')}")


def _info(info: str, test: str, component: str, passed: bool, sheet: Sheet) -> None:
    if figure := _FIGURE.search(info):
        metric = figure["what"].lower().replace(" ", "_")
        sheet.number(component, metric, figure["value"], figure["unit"], parameters={"test": test})
    if allocated := _ALLOCATED.search(info):
        sheet.number(component, "memory_allocated", allocated["value"], "%", parameters={"test": test})
    if _BLANK.search(info):
        sheet.note("note/blank-value", component, f"{test}: {info}")
    if passed and _CONFESSION.search(info):
        sheet.note("tool/passed-with-error", component, f"{test} passed and says: {info}")
    _power(info, sheet)


def _power(text: str, sheet: Sheet) -> None:
    for found in _POWER.finditer(text):
        sheet.number(f"gpu/{found['gpu']}", "power_max", found["value"], "W", statistic="max")
    for found in _SHORT.finditer(text):
        sheet.number(f"gpu/{found['gpu']}", "power_max", found["value"], "W", statistic="max",
                     parameters={"required": float(found["required"])})  # fmt: skip
