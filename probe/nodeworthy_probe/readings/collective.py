"""Bus bandwidth and correctness of one collective run, from nccl-tests."""

from __future__ import annotations

import re

from nodeworthy_probe.parsers import nccl_tests
from nodeworthy_probe.parsers.nccl_tests import CollectiveReport
from nodeworthy_probe.records import Measurement, Reading, Status, missing

from .context import Context

_PART_BYTES = 16
_WARMUP = re.compile(r"^# nThread .*\bwarmup iters: (\d{1,6})\b", re.MULTILINE)


def read(text: str, context: Context) -> Reading:
    """Four rows of the node; without a whole and consistent run all of them are missing."""
    report = nccl_tests.parse(text, context.test.tool.removesuffix("_perf"))
    problem = "; ".join(report.problems[:5]) or None
    largest = report.largest
    versions = {"nccl": report.nccl_version} if report.nccl_version else {}
    if problem or largest is None or not largest.timings:
        return Reading(_nothing(), versions=versions, transport=report.transport, tool_version=report.nccl_version,
                       problem=problem or "no bandwidth was measured")  # fmt: skip
    bus = max(timing.bus_bandwidth_gbps for timing in largest.timings)
    parameters = {
        "size_bytes": _asked(largest.size_bytes, report.ranks, context),
        "warmup_iterations": _warmup(text),
        "ranks": report.ranks,
    }
    rows = (
        Measurement("node", "bus_bandwidth", bus, "GB/s", "max", parameters=parameters, transport=report.transport),
        _wrong(report, parameters),
        Measurement("node", "correctness_checked", float(report.correctness_checked), "bool", parameters=parameters),
        Measurement("node", "ranks", float(report.ranks or 0), "count", parameters=parameters),
    )
    return Reading(rows, versions=versions, transport=report.transport, tool_version=report.nccl_version,
                   lines=(_line(report, bus, largest.size_bytes),))  # fmt: skip


def _warmup(text: str) -> int | None:
    """How many iterations ran before the timed ones: 5 by default, 1 in newer nccl-tests, so suites say it (-w)."""
    found = _WARMUP.findall(text)
    return int(found[0]) if len(set(found)) == 1 else None


def _asked(moved: int, ranks: int | None, context: Context) -> int:
    """The size that the plan names, where the tool cut it down to whole parts of 16 bytes for each rank.

    Source: NVIDIA/nccl-tests, src/alltoall.cu and its like (GetCollByteCount).
    """
    asked = context.test.parameters.get("size_bytes")
    cut_down = isinstance(asked, int) and 0 <= asked - moved < _PART_BYTES * (ranks or 0)
    return int(asked) if asked is not None and cut_down else moved


def _nothing() -> tuple[Measurement, ...]:
    return (
        missing("node", "bus_bandwidth", "GB/s", statistic="max"),
        missing("node", "wrong_values", "count"),
        missing("node", "correctness_checked", "bool"),
        missing("node", "ranks", "count"),
    )


def _wrong(report: CollectiveReport, parameters: dict[str, int | None]) -> Measurement:
    wrong = report.wrong_values
    if wrong is None:
        return missing("node", "wrong_values", "count", status=Status.NOT_CHECKED, parameters=parameters)
    return Measurement("node", "wrong_values", float(wrong), "count", parameters=parameters)


def _line(report: CollectiveReport, bus: float, size_bytes: int) -> str:
    wrong = "correctness not checked" if report.wrong_values is None else f"{report.wrong_values} wrong values"
    return (
        f"{report.ranks} ranks, {size_bytes} bytes: bus bandwidth {bus:.2f} GB/s over "
        f"{report.transport or 'a transport that NCCL did not name'}, {wrong}"
    )
