"""dcgmi diag, JSON and table, and the links of dcgmi nvlink.

A failure keeps its error id and its class. A test that was skipped everywhere proves nothing; a
summary that fails while every device passed is the tool's own contradiction; a device that the
file lists and a test leaves out is a missing row.
"""

from __future__ import annotations

import re

from nodeworthy_probe.parsers import dcgm, dcgm_text
from nodeworthy_probe.parsers.dcgm import DiagReport
from nodeworthy_probe.parsers.dcgm_catalogue import DiagResult, Outcome

from . import dcgm_infos
from .documents import load_json
from .sheet import Sheet

TOOL = "dcgmi diag"
_DEPLOYMENT = ("nvml library", "cuda main library", "permissions and os blocks", "persistence mode",
               "environment variables", "page retirement/row remap", "graphics processes", "inforom")  # fmt: skip
_TOOL_ERROR = re.compile(
    r"(Error: .*|.*Return: \(-\d+\).*|.*unable to (?:complete|establish|connect).*)", re.IGNORECASE
)
_HEAD = re.compile(
    r"-----  Metadata  -|^\| (?:DCGM Version|Driver Version Detected|GPU Device IDs Detected) ", re.MULTILINE
)
_IDS = re.compile(r"^\| GPU Device IDs Detected\s+\|[^|\n]*\|[ ]*$(?:\n\|\s+\|[0-9a-f, ]+\|[ ]*$)*", re.MULTILINE)
_OLD_NAMES = {"permissions and os-related blocks": "permissions and os blocks",
              "environmental variables": "environment variables"}  # fmt: skip
_BUSY = re.compile(r"utilization for the GPU: .* is greater than .*This may affect the results", re.IGNORECASE)
_WIDTH = 44  # the list of ids is cut or wrapped after 45 characters


def read(text: str, sheet: Sheet) -> None:
    """Read whichever form the file has."""
    if re.search(r"gpuId \d+:", text) and "Diagnostic" not in text:
        _links(text, sheet)
        return
    if "|" in text and "+--" in text:
        report = dcgm_text.parse_table(text)
        expected = _device_ids(text, sheet)
        dcgm_infos.table(text, sheet)
    elif "{" in text:
        document = load_json(text, sheet)
        report = dcgm.parse(text)
        if not report.results and (found := _TOOL_ERROR.search(text)):
            sheet.note("tool/failed", "file", found[1])
        expected = len(report.gpus) or None
        dcgm_infos.document(document, sheet)
        dcgm_infos.summaries(document, sheet)
    else:
        found = _TOOL_ERROR.search(text)
        sheet.note("tool/failed" if found else "document/unreadable", "file", found[1] if found else "no diagnostic")
        return
    _report(report, expected, sheet)


def _report(report: DiagReport, expected: int | None, sheet: Sheet) -> None:
    sheet.version = report.version
    sheet.text("node", "driver", report.driver_version)
    for problem in report.problems:
        sheet.note(_code(problem), "file", problem)
    for result in report.results:
        _result(result, sheet)
    sheet.number("node", "tests", len(report.tests), "count")
    sheet.number("node", "tests_run", len(report.tests_run), "count")
    for gpu in report.gpus:
        failed = sum(result.gpu == gpu and result.outcome is Outcome.FAILED for result in report.results)
        sheet.number(f"gpu/{gpu}", "diag_failures", failed, "count")
    if not report.gpus:
        failed = sum(result.outcome is Outcome.FAILED for result in report.results)
        sheet.number("node", "diag_failures", failed, "count")
    _completeness(report, expected, sheet)
    _skips(report, sheet)


def _code(problem: str) -> str:
    if "reports:" in problem:
        return "tool/failed"
    if "while every device passed" in problem or "while a device failed" in problem:
        return "tool/contradiction"
    if "unknown status" in problem or "unknown summary" in problem:
        return "row/unreadable"
    return "document/cut"


def _result(result: DiagResult, sheet: Sheet) -> None:
    if result.outcome not in (Outcome.FAILED, Outcome.WARNED):
        return
    category = "config" if result.is_config else "hardware"
    details = {"test": result.test, "outcome": str(result.outcome)}
    if result.errors and all(_BUSY.search(error.text) for error in result.errors):
        # NVIDIA/DCGM issue 272: the test before it had hardly ended. It says nothing about the GPU: run it again.
        sheet.note("tool/busy", result.component, f"{result.test}: {result.errors[0].text}", **details)
        return
    for error in result.errors:
        sheet.note(error.code, result.component, f"{result.test}: {error.text}", severity=error.severity,
                   category=category, **details)  # fmt: skip
    if not result.errors:
        sheet.note(
            "dcgm/unnumbered", result.component, f"{result.test}: {result.outcome}", category=category, **details
        )


def _completeness(report: DiagReport, expected: int | None, sheet: Sheet) -> None:
    names = {_OLD_NAMES.get(name, name) for name in (test.strip().lower() for test in report.tests)}
    if len(names & set(_DEPLOYMENT)) > 1:
        if not names & {"denylist", "blacklist"}:
            sheet.note("row/missing", "node", "the deployment test Denylist has no row")
        for name in _DEPLOYMENT:
            if name not in names:
                sheet.note("row/missing", "node", f"the deployment test {name} has no row")
    seen = [(result.test, result.component) for result in report.results]
    for test, component in {pair for pair in seen if seen.count(pair) > 1}:
        sheet.note("document/duplicate", component, f"{test} has two results")
    for test in report.tests:
        gpus = {result.gpu for result in report.results if result.test == test and result.gpu is not None}
        if gpus and len(gpus) != (expected or len(report.gpus)):
            sheet.note(
                "row/missing", "node", f"{test} has results for {len(gpus)} of {expected or len(report.gpus)} GPUs"
            )


def _skips(report: DiagReport, sheet: Sheet) -> None:
    for result in report.results:
        if result.outcome is Outcome.SKIPPED and result.gpu is not None and result.test in report.tests_run:
            sheet.note(
                "test/skipped", result.component, f"{result.test} was skipped on GPU {result.gpu} and ran on others"
            )
    skipped = [test for test in report.tests if test not in report.tests_run]
    for test in skipped:
        sheet.absent("node", f"test {test}", "bool")
        sheet.note("test/skipped", "node", f"{test} was skipped")
    if report.tests and not report.tests_run:
        sheet.note("test/all-skipped", "node", "every test was skipped")


def _device_ids(text: str, sheet: Sheet) -> int | None:
    """How many GPUs the table lists; None for a table that lists none (DCGM 3.0 and older) or a list that is cut."""
    if re.search(r"^\| Diagnostic .*\n\+=+\+=+\+\s*\n\|-----  Deployment", text, re.MULTILINE) and not _HEAD.search(
        text
    ):
        return None
    for label in ("DCGM Version", "Driver Version Detected"):
        if not re.search(rf"^\| {label}\s+\|\s*[\d.]+\s*\|", text, re.MULTILINE):
            sheet.note("row/missing", "file", f"the row {label} is missing")
    found = _IDS.search(text)
    if found is None:
        sheet.note("row/missing", "file", "the list of device ids is missing")
        return None
    _sections(text, sheet)
    cells = re.findall(r"\|\s*([0-9a-f, ]*?)\s*\|$", found[0], re.MULTILINE)
    ids = [identifier.strip() for identifier in "".join(f"{cell} " for cell in cells).replace(" ", "").split(",")]
    full = len(cells[0]) >= _WIDTH if cells else False
    for index, identifier in enumerate(ids):
        sheet.text(f"gpu/{index}", "pci_device_id", identifier)
    if full and not re.fullmatch(r"[0-9a-f]{4}", ids[-1]):
        return None
    sheet.number("node", "gpus", len(ids), "count")
    if not all(re.fullmatch(r"[0-9a-f]{4}", identifier) for identifier in ids):
        sheet.note("row/unreadable", "file", f"a device id is not four hex digits: {','.join(ids)}")
    return None if full else len(ids)


def _sections(text: str, sheet: Sheet) -> None:
    if "-----  " not in text and re.search(r"^\| EUD Test  ", text, re.MULTILINE):
        return
    if "-----  Metadata  ---" not in text or "-----  Deployment  ---" not in text:
        sheet.note("row/missing", "file", "the head of a section is missing")
    if text.count("+---------------------------+------------------------------------------------+") < 2:
        sheet.note("document/cut", "file", "the table is cut")
    for section in ("Integration", "Hardware"):
        if re.search(rf"-----  {section}  -+\+-+\+?\n[+|]--", text):
            sheet.note("row/missing", "file", f"the section {section} is empty")


def _links(text: str, sheet: Sheet) -> None:
    sheet.tool = "dcgmi nvlink"
    links = dcgm_text.parse_links(text)
    most = max((len(letters) for letters in links.values()), default=0)
    for gpu, letters in links.items():
        up, down = letters.count("U"), letters.count("D")
        sheet.number(f"gpu/{gpu}", "nvlinks_up", up, "count")
        if down:
            sheet.note("hardware/nvlink-down", f"gpu/{gpu}", f"{down} of {len(letters)} NVLinks are down")
        elif up + letters.count("_") < most or "X" in letters:
            sheet.note("row/missing", f"gpu/{gpu}", f"{up} of {most} NVLinks are up, the others are not there")
    named = re.findall(r"gpuId (\d+):", text)
    sheet.number("node", "gpus", len(links), "count")
    if len(re.findall(r"^[ \t]*[UDX_](?: [UDX_])*[ \t]*$", text, re.MULTILINE)) != len(re.findall(r"\w+ \d+:", text)):
        sheet.note("row/missing", "file", "heads and lines of links do not pair")
    if len(links) == 1 and most:
        sheet.note("row/missing", "file", "one GPU with NVLinks and nothing that they could lead to")
    if not most or len(named) != len(set(named)):
        sheet.note("document/cut" if not most else "document/duplicate", "file", "the GPUs are not each there once")
    if re.search(r"^\s+(?!.*(?:gpuId|physicalId|switchId))[^\sUDX_].*$", text, re.MULTILINE):
        sheet.note("row/unreadable", "file", "a line of links holds other letters than U, D, X and _")
