"""nvbandwidth, text and JSON: sums, extremes and the figure of each device.

A test that was waived is named and is no gap (peer tests on one GPU); one that failed, or that
is still running when the file ends, is. Releases before 0.3 print no sums: their matrices must
then be whole in themselves. From 0.7 on the text of a run closes with a remark, which tells a
whole run from one that was cut between two tests; nothing tells for the text of older ones.
"""

from __future__ import annotations

import re

from nodeworthy_probe.parsers import nvbandwidth
from nodeworthy_probe.parsers.json_document import find_document, mapping, sequence
from nodeworthy_probe.parsers.nvbandwidth import CLOSING, BandwidthReport, Testcase

from .documents import uneven
from .sheet import Sheet

TOOL = "nvbandwidth"
_NO_SUM = "there is no sum to check the matrix against"
_DEVICE = re.compile(r"(?:^Device |\")(\d+): ((?:NVIDIA|AMD|Tesla)[^\"(\n]*)", re.MULTILINE)
_HEAD = re.compile(r"^[ \t]*nvbandwidth Version: v?(\d+)\.(\d+)", re.MULTILINE)
_CLOSED_SINCE = (0, 7)
_ENDS = {"Error": "tool/failed", "Failed": "tool/failed", "Not Found": "test/skipped", "Running": "document/cut"}
_WRONG = re.compile(r"^\W*Invalid value when checking the pattern.*$", re.MULTILINE)
_ERROR = re.compile(r"^.*\bCUDA_ERROR_[A-Z_]+.*$|^ERROR\b.*$|^ASSERT in expression.*$", re.MULTILINE)
_FAULTS = re.compile(r"CUDA_ERROR_(?:ECC|NVLINK)_UNCORRECTABLE|CUDA_ERROR_HARDWARE_STACK_ERROR")
_WAIVING = re.compile(r"^Waiving (\S+?)\.?\s*$", re.MULTILINE)  # release 0.2; later ones say Waived


def read(text: str, sheet: Sheet) -> None:
    """Read either form."""
    report = nvbandwidth.parse(text)
    _said(text, sheet)
    sheet.version = report.version
    sheet.text("node", "driver", report.driver_version)
    for index, name in _DEVICE.findall(text):
        sheet.text(f"gpu/{index}", "model", name)
    if report.problem:
        code = "tool/failed" if "reports:" in report.problem else "document/cut"
        all_waived = _WAIVING.search(text) or (report.waived and not report.testcases and CLOSING in text)
        if code == "tool/failed" or not all_waived:
            sheet.note(code, "file", report.problem)
    # Releases that print their version print sums too: without one such a file is cut.
    without_sums = report.version is None and all(case.total is None for case in report.testcases)
    names = [case.name for case in report.testcases]
    for name in {name for name in names if names.count(name) > 1}:
        sheet.note("document/duplicate", name, f"the test {name} is there twice")
    for case in report.testcases:
        _case(case, without_sums, sheet)
    _waived(report, sheet)
    _fields(text, sheet)
    closing = [head for head in _HEAD.findall(text) if tuple(map(int, head)) >= _CLOSED_SINCE]
    if text.count(CLOSING) < len(closing):
        sheet.note("document/cut", "file", "the remark that closes a run is missing")


def _said(text: str, sheet: Sheet) -> None:
    """What the tool says where a test broke: data that came back wrong, an error of CUDA's."""
    if wrong := _WRONG.search(text):
        sheet.note("correctness/wrong", "node", wrong[0].strip())
    for line in dict.fromkeys(_ERROR.findall(text)):
        sheet.note("hardware/cuda-error" if _FAULTS.search(line) else "tool/failed", "node", line.strip()[:300])
    waived = _WAIVING.findall(text)
    for name in waived:
        sheet.note("test/skipped", name, f"{name} was waived")
    if waived:
        sheet.number("node", "waived_tests", len(waived), "count")


def _fields(text: str, sheet: Sheet) -> None:
    """In the JSON form every test that passed has the same fields, and its unit in its description."""
    document = find_document(text, "nvbandwidth") if '"nvbandwidth"' in text else ""
    cases = sequence(mapping(mapping(document).get("nvbandwidth")).get("testcases"))
    passed = [mapping(case) for case in cases if mapping(case).get("status") == "Passed"]
    uneven(sheet, {str(case.get("name")): set(case) for case in passed}, "the field")
    for case in passed:
        if not re.search(r"\((?:GB/s|ns)\)", str(case.get("bandwidth_description"))):
            sheet.note("value/unit", str(case.get("name")), str(case.get("bandwidth_description")))


def _waived(report: BandwidthReport, sheet: Sheet) -> None:
    if report.waived:
        sheet.number("node", "waived_tests", report.waived, "count")
        sheet.note("note/waived", "node", f"{report.waived} tests were waived")
    if report.waived and not any(case.status == "Passed" for case in report.testcases):
        sheet.note("test/all-skipped", "node", "every test was waived")


def _case(case: Testcase, without_sums: bool, sheet: Sheet) -> None:
    if case.status == "Waived":
        return
    if case.status != "Passed":
        sheet.note(
            _ENDS.get(case.status, "document/cut"), case.name, f"{case.name} ended as {case.status or 'nothing'}"
        )
        sheet.absent("node", case.name, case.unit or "GB/s")
        return
    problem = case.problem
    if problem == _NO_SUM and without_sums:
        problem = _hole(case)
    if problem:
        code = "document/contradiction" if "contradicts" in problem else "document/cut"
        code = "value/not-a-number" if "not a number" in problem else code
        sheet.note(code, case.name, f"{case.name}: {problem}")
        sheet.absent("node", case.name, case.unit or "GB/s")
        return
    _figures(case, sheet)
    apart = [(row, column) for row, cells in enumerate(case.matrix) for column, cell in enumerate(cells)
             if cell is None and row != column]  # fmt: skip
    if apart and "device_to_device" in case.name:
        sheet.note("row/missing", case.name, f"{case.name}: no figure for {apart[0]} and {len(apart) - 1} more pairs")


def _hole(case: Testcase) -> str | None:
    for row, cells in enumerate(case.matrix):
        for column, cell in enumerate(cells):
            if cell is None and not (row == column and case.name.startswith("device_to_device")):
                return f"cell {row},{column} is not a number"
    return None


def _figures(case: Testcase, sheet: Sheet) -> None:
    if case.total is not None:
        sheet.number("node", case.name, case.total, case.unit, statistic="sum")
    for statistic, value in (("min", min(case.cells)), ("max", max(case.cells))):
        place = next((row, column) for row, cells in enumerate(case.matrix) for column, cell in enumerate(cells)
                     if cell == value)  # fmt: skip
        sheet.number("node", case.name, value, case.unit, statistic=statistic,
                     parameters={"row": place[0], "column": place[1]})  # fmt: skip
    if min(case.cells) <= 0:
        sheet.note("value/implausible", case.name, f"{case.name}: a measured cell is 0")
