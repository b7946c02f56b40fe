"""nccl-tests and rccl-tests: the text of all layouts, and both JSON forms.

The collective is the one whose bus factor the rows obey. A table without its first line is whole
if the printed average is the mean of its rows; without that average it is an excerpt. A run on
one rank moves nothing over any link and is no bandwidth test; many such runs beside each other
mean that the launcher started each process alone. A log may hold several runs; each is read alone.
"""

from __future__ import annotations

import re
from itertools import pairwise

from nodeworthy_probe.parsers import nccl_log, nccl_tests
from nodeworthy_probe.parsers.nccl_tests import CollectiveReport

from . import nccl_json
from .sheet import Sheet

TOOL = "nccl-tests"
_NAMED = re.compile(r"(?:Collective test starting: |/|^|\s)(all_reduce|all_gather|reduce_scatter|alltoall|broadcast|"
                    r"reduce|sendrecv|gather|scatter|hypercube)_perf\b", re.MULTILINE)  # fmt: skip
_TRIED = ("all_reduce", "all_gather", "broadcast")
# What a table without a name is: by its bus factor, whether it has an operation, and a root.
_SIGNS = {
    ("all_reduce", True, True): "reduce", ("all_reduce", False, True): "broadcast",
    ("all_reduce", False, False): "sendrecv", ("broadcast", True, True): "reduce",
    ("broadcast", True, False): "sendrecv", ("broadcast", False, False): "sendrecv",
    ("all_gather", True, False): "reduce_scatter", ("all_gather", False, False): "all_gather or alltoall",
    ("all_gather", False, True): "gather or scatter",
}  # fmt: skip
_HALVES = (["(us)", "(GB/s)", "(GB/s)"], ["(us)", "(GB/s)", "(GB/s)", "(us)", "(us)", "(us)", "(%)"])
_UNITS = [["(B)", "(elements)", *half, *half] for half in _HALVES]
_UNITS_LINE = re.compile(
    r"^(?:\S*[:>] ?)?#\s+\(\w+\).*\(us\).*$|^(?:\S*[:>] ?)?#\s+\(\w+\)\s+\(elements\).*$", re.MULTILINE
)
_VERSION = re.compile(r"(?:nccl-tests version |rccl-tests: Version )(\S+)")
_START = re.compile(
    r"^(?:# (?:nccl|rccl)-tests version .*\n|# Collective test starting: .*\n)*# nThread ", re.MULTILINE
)
_RANK = re.compile(r"^#\s+Rank\s+(\d+) ", re.MULTILINE)
_TOOL_FAILURES = re.compile(
    r"(Test (?:NCCL|CUDA) failure.*|unhandled (?:system|cuda) error.*|.*: command not found|.*_perf: No such file.*"
    r"|.*error while loading shared libraries:.*|Invalid number of GPUs:.*|NCCL WARN .*)"
)
_BROKEN = re.compile(
    r"MPI_ABORT was invoked.*|.*Primary job +terminated.*|.*exited on signal \d+.*|.*Test (?:NCCL|CUDA) failure.*"
)
_BARE = re.compile(
    r"^[ \t]*(?=nThread \d|Using devices|Rank +\d+ |size +count +type|\(B\) +\(elements\)|Out of bounds values|"
    r"Avg bus bandwidth)",
    re.MULTILINE,
)
_SWEEP_MISSING = "the line that announces the sweep is missing"


def read(text: str, sheet: Sheet) -> None:
    """Read the text or the JSON form."""
    if re.match(r"\s*[\[{]\s*[\"{\[]", text) and "busbw" not in text:
        nccl_json.read(text, sheet)
        return
    # A page that a log was pasted into may have taken the leading # for a mark of its own.
    text = _BARE.sub("#  ", nccl_tests.without_labels(text)).replace("#  nThread", "# nThread")
    ranks = _RANK.findall(text)
    if len(ranks) > 1 and set(ranks) == {"0"}:
        sheet.note(
            "invalid/one-rank", "node", f"{len(ranks)} runs on one rank each: the processes did not find each other"
        )
    if "RCCL" in text or "rccl" in text:
        sheet.tool = "rccl-tests"
    sheet.text("node", "transport", nccl_log.transport(text))
    starts = [found.start() for found in _START.finditer(text)][1:]
    runs = [text[start:end] for start, end in pairwise([0, *starts, len(text)])]
    for place, run in enumerate(runs):
        _run(run, {"run": place} if len(runs) > 1 else {}, sheet)


def _run(text: str, place: dict[str, int], sheet: Sheet) -> None:
    collective, report = _best(text)
    found = _VERSION.search(text)
    sheet.version = sheet.version or (found[1] if found else report.nccl_version)
    sheet.text("node", "collective", collective)
    sheet.text("node", "nccl", report.nccl_version)
    for index, device in enumerate(report.devices):
        sheet.text(f"rank/{index}", "model", device)
    _problems(report, "# Using devices" in text, sheet)
    _units(text, sheet)
    _rows(report, place, sheet)
    _meaning(text, report, place, sheet)


def _best(text: str) -> tuple[str, CollectiveReport]:
    named = _NAMED.search(text)
    tried = (named[1], *_TRIED) if named else _TRIED
    reports = [(name, nccl_tests.parse(text, name)) for name in dict.fromkeys(tried)]
    name, report = min(reports, key=lambda pair: sum("contradicts the rank" in line for line in pair[1].problems))
    if named or not report.rows:
        return name, report
    variant = report.rows[0].variant[1:]
    operation = any(cell != "none" and not cell.removeprefix("-").isdigit() for cell in variant)
    return _SIGNS.get((name, operation, any(cell.isdigit() for cell in variant)), name), report


def _problems(report: CollectiveReport, listed: bool, sheet: Sheet) -> None:
    proven = report.average_bus_bandwidth_gbps is not None and not any(
        "average" in problem or "cannot be read" in problem for problem in report.problems
    )
    for problem in report.problems:
        if problem == _SWEEP_MISSING and proven and report.rows and not listed:
            sheet.note("note/excerpt", "file", problem)
        elif "contradict" in problem or "disagree" in problem or "out of order" in problem:
            sheet.note("document/contradiction", "file", problem)
        elif "cannot be read" in problem:
            sheet.note("row/unreadable", "file", problem)
        elif not (problem == "no result row" or "reports a failure" in problem):
            sheet.note("document/cut", "file", problem)


def _units(text: str, sheet: Sheet) -> None:
    for line in _UNITS_LINE.findall(text):
        if re.findall(r"\([^)]*\)", line) not in _UNITS:
            sheet.note("value/unit", "file", f"the columns are not bytes, microseconds and GB/s: {line.strip()}")


def _rows(report: CollectiveReport, place: dict[str, int], sheet: Sheet) -> None:
    for row in report.rows:
        for placement, timing, wrong in (
            ("out-of-place", row.out_of_place, row.wrong_out_of_place),
            ("in-place", row.in_place, row.wrong_in_place),
        ):
            details = {"size_bytes": row.size_bytes, "placement": placement, **place}
            if timing:
                sheet.number("node", "bus_bandwidth", timing.bus_bandwidth_gbps, "GB/s", parameters=details)
            if wrong:
                sheet.number("node", "wrong_values", wrong, "count", parameters=details)
                sheet.note("correctness/wrong", "node", f"{wrong} wrong values at {row.size_bytes} bytes, {placement}")
    sizes = [(row.size_bytes, row.variant) for row in report.rows if row.size_bytes]
    if any(first == second for first, second in pairwise(sizes)):
        sheet.note("document/duplicate", "file", "a message size is there twice")


def _meaning(text: str, report: CollectiveReport, place: dict[str, int], sheet: Sheet) -> None:
    largest = report.largest
    if largest is not None and largest.timings:
        best = max(timing.bus_bandwidth_gbps for timing in largest.timings)
        details = {"size_bytes": largest.size_bytes, "ranks": report.ranks, "nodes": _nodes(report), **place}
        sheet.number("node", "bus_bandwidth", best, "GB/s", statistic="max", parameters=details)
        sheet.number("node", "rows", len(report.rows), "count")
        if best == 0:
            sheet.note("invalid/nothing-moved", "node", "the bus bandwidth of the largest message is 0")
    else:
        _no_rows(text, sheet)
    if report.rows and report.sweep and len(report.rows) < report.sweep.steps() and (broken := _BROKEN.search(text)):
        sheet.note("tool/failed", "node", broken[0])
    if report.average_bus_bandwidth_gbps is not None:
        sheet.number("node", "average_bus_bandwidth", report.average_bus_bandwidth_gbps, "GB/s", statistic="mean",
                     parameters=place)  # fmt: skip
    if report.below_minimum:
        sheet.note(
            "hardware/below-minimum", "node", "the average bus bandwidth is below the minimum that the run asked for"
        )
    if report.out_of_bounds is not None:
        sheet.number("node", "out_of_bounds", report.out_of_bounds, "count", parameters=place)
    if report.within_bounds is False and not any(row.wrong for row in report.rows):
        sheet.note("correctness/wrong", "node", "the footer says FAILED: values out of bounds")
    _ranks(report, place, sheet)
    _checked(report, place, sheet)


def _no_rows(text: str, sheet: Sheet) -> None:
    failure = _TOOL_FAILURES.search(text)
    sheet.absent("node", "bus_bandwidth", "GB/s")
    if failure:
        sheet.note("tool/failed", "node", failure[1])
    else:
        sheet.note("document/cut", "file", "no result row")


def _nodes(report: CollectiveReport) -> int | None:
    """How many hosts the ranks are on; None where not every rank is listed."""
    return len(report.hosts) if report.ranks and len(report.devices) == report.ranks else None


def _ranks(report: CollectiveReport, place: dict[str, int], sheet: Sheet) -> None:
    if report.ranks is None:
        sheet.absent("node", "ranks", "count")
        return
    sheet.number("node", "ranks", report.ranks, "count", parameters=place)
    if nodes := _nodes(report):
        sheet.number("node", "nodes", nodes, "count", parameters=place)
    if len(report.devices) != report.ranks and 2 * len(report.devices) > report.ranks:
        sheet.note("row/missing", "file", f"{len(report.devices)} of {report.ranks} ranks are listed")
    if report.ranks == 1:
        sheet.note("invalid/one-rank", "node", "one rank talks to nobody: nothing crossed a link")


def _checked(report: CollectiveReport, place: dict[str, int], sheet: Sheet) -> None:
    if not report.rows:
        return
    if report.correctness_checked:
        sheet.number("node", "wrong_values", report.wrong_values or 0, "count", statistic="sum", parameters=place)
    else:
        sheet.absent("node", "wrong_values", "count")
        sheet.note("correctness/not-checked", "node", "the results were not compared (validation off or N/A)")
