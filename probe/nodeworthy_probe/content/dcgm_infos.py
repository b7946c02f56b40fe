"""Figures and confessions in the free text of a diagnostic's results.

Bandwidths, latencies and power stand only there; so does an allocation that failed inside a test
that passed (NVIDIA/DCGM issue 284).
"""

from __future__ import annotations

import re
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, sequence, whole

from .sheet import Sheet

_OF = r"(?:GPU (?P<gpu>\d+) )?"
_FIGURE = re.compile(
    _OF + r"(?P<what>(?:GPU to Host|Host to GPU|bidirectional) (?:bandwidth|latency)):\s*(?P<value>\S+) "
    r"(?P<unit>GB/s|us)\b"
)
_MORE = (
    ("memory_allocated", "%", re.compile(_OF + r"Allocated \d+ bytes \((?P<value>[\d.]+)%\)")),
    ("compute_rate", "Gflop/s", re.compile(_OF + r"calculated at approximately (?P<value>[\d.]+) gigaflops")),
    ("relative_stress_level", "", re.compile(_OF + r"relative stress level:?\s+(?P<value>[\d.]+)")),
    ("temperature_average", "C", re.compile(_OF + r"temperature average:\s*(?P<value>[\d.]+) C\b")),
    ("power_average", "W", re.compile(_OF + r"max power: [\d.]+ W average power usage: (?P<value>[\d.]+) W")),
)
_POWER = re.compile(r"GPU (?P<gpu>\d+) max power: (?P<value>[\d.]+) W")
_SHORT = re.compile(
    r"Max power of (?P<value>[\d.]+) did not reach desired power minimum \S+ of (?P<required>[\d.]+) for GPU "
    r"(?P<gpu>\d+)"
)
_CONFESSION = re.compile(r"(?:unable|failed|error)\b.{0,60}\ballocat|\ballocat\w*.{0,60}\b(?:error|failed|out of "
                         r"memory)",
                         re.IGNORECASE)  # fmt: skip
_BLANK = re.compile(r"922337203685477\d{4}")


def table(text: str, sheet: Sheet) -> None:
    """The figures of a table, whose cells wrap at a fixed column."""
    test, infos = "", dict[str, str]()
    for left, cell in re.findall(r"^\| (.{25}) \| (.{45}) \s?\|$", text, re.MULTILINE):
        if left.strip() not in ("", "Info", "Warning", "Error"):
            test = left.strip()
        infos[test] = infos.get(test, "") + cell
    for test, info in infos.items():
        _figures(info, test, "node", sheet)
        _power(info, sheet)


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
        gpu = whole(result.get("entity_id", result.get("gpu_id", result.get("gpu_ids"))))
        component = f"gpu/{gpu}" if gpu is not None else "node"
        infos = result.get("info")
        for info in [infos] if isinstance(infos, str) else sequence(infos):
            _info(str(info), name, component, str(result.get("status", "")).lower() == "pass", sheet)
        if str(result.get("status", "")).lower() == "pass":
            for error in map(mapping, sequence(result.get("warnings"))):
                if "error_id" in error:
                    sheet.note("tool/passed-with-error", component, f"{name} passed and warns: {error.get('warning')}")


def _info(info: str, test: str, component: str, passed: bool, sheet: Sheet) -> None:
    _figures(info, test, component, sheet)
    if _BLANK.search(info):
        sheet.note("note/blank-value", component, f"{test}: {info}")
    if passed and _CONFESSION.search(info):
        sheet.note("tool/passed-with-error", component, f"{test} passed and says: {info}")
    _power(info, sheet)


def _figures(info: str, test: str, component: str, sheet: Sheet) -> None:
    """Each figure belongs to the GPU that stands before it, else to the result's."""
    details = {"test": test}
    for found in _FIGURE.finditer(info):
        metric = found["what"].lower().replace(" ", "_")
        sheet.number(_named(found["gpu"], component), metric, found["value"], found["unit"], parameters=details)
    for metric, unit, pattern in _MORE:
        for found in pattern.finditer(info):
            sheet.number(_named(found["gpu"], component), metric, found["value"], unit, parameters=details)


def _named(gpu: str | None, component: str) -> str:
    return f"gpu/{gpu}" if gpu is not None else component


def _power(text: str, sheet: Sheet) -> None:
    for found in _POWER.finditer(text):
        sheet.number(f"gpu/{found['gpu']}", "power_max", found["value"], "W", statistic="max")
    for found in _SHORT.finditer(text):
        sheet.number(f"gpu/{found['gpu']}", "power_max", found["value"], "W", statistic="max",
                     parameters={"required": float(found["required"])})  # fmt: skip
