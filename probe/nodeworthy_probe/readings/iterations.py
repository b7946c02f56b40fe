"""How long each iteration of a collective took, from nccl-tests with ``-I 1``.

Its table shows the least, the greatest and the 99th percentile alone; the time of every iteration stands in the file
that it writes with ``-J``. Each half of a run (out of place, in place) is told relative to its own median, so that one
shape holds for both. A tool that does not know the option says so and runs nothing.
Source: NVIDIA/nccl-tests 2.19, src/util.cu (writePerIterReport), src/common.cu (usage).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from nodeworthy_probe.parsers import nccl_tests
from nodeworthy_probe.parsers.numbers import finite
from nodeworthy_probe.records import Measurement, Reading, missing

from . import collective
from .context import Context

_OPTION = "-I"
_FILE = "run.json"
_HALVES = ("out_of_place_per_iter", "in_place_per_iter")
_REFUSED = re.compile(r"(?:invalid|unrecognized) option|^USAGE: ", re.MULTILINE)
_DIGITS = 4


def is_asked(context: Context) -> bool:
    """Whether a collective on this node alone is to tell the time of each iteration."""
    return context.plan.group is None and context.test.tool.endswith("_perf") and _OPTION in context.test.arguments


def command(context: Context, folder: Path) -> list[str]:
    """The command line; the file with the times goes to ``folder``."""
    return [context.test.tool, *context.test.arguments, "-J", str(folder / _FILE)]


def read(text: str, context: Context, folder: Path) -> Reading:
    """The run's typical time with the times of all iterations; missing without a whole run and a file that agrees."""
    run = collective.read(text, context)
    plain = replace(run, measurements=_rows(None, run), lines=())
    if _REFUSED.search(text) and run.problem:
        lacking = f"{context.test.tool} knows no {_OPTION}: install nccl-tests 2.19 or newer in the probe's image"
        return replace(plain, problem=None, lacking=lacking)
    largest = nccl_tests.parse(text, context.test.tool.removesuffix("_perf")).largest
    if run.problem or largest is None:
        return plain
    halves = _halves(folder / _FILE, largest.size_bytes)
    if isinstance(halves, str):
        return replace(plain, problem=halves)
    typical = median(halves[0])
    samples = tuple(round(time / median(half), _DIGITS) for half in halves for time in half)
    parameters = {"size_bytes": largest.size_bytes, "iterations": len(halves[0])}
    row = Measurement("node", "iteration_time", typical, "us", "median",
                      parameters=parameters, transport=run.transport, samples=samples)  # fmt: skip
    line = f"{len(samples)} iterations: {typical:.1f} us, the longest {max(samples):.2f} times as long"
    return replace(run, measurements=_rows(row, run), lines=(*run.lines, line))


def _rows(time: Measurement | None, run: Reading) -> tuple[Measurement, ...]:
    kept = tuple(row for row in run.measurements if row.metric != "bus_bandwidth")
    return (time or missing("node", "iteration_time", "us", statistic="median"), *kept)


def _halves(path: Path, size_bytes: int) -> list[list[float]] | str:
    """The times of both halves in microseconds, or why they cannot be had."""
    try:
        document = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        return f"the file with the iterations' times cannot be read ({type(error).__name__})"
    rows = document.get("results") if isinstance(document, Mapping) else None
    row = rows[0] if isinstance(rows, list) and len(rows) == 1 else None
    if not isinstance(row, Mapping) or row.get("size") != size_bytes:
        return "the file with the iterations' times is not of the one size that was run"
    config = document.get("config")
    announced = row.get("actual_iterations", config.get("iterations") if isinstance(config, Mapping) else None)
    halves = [_times(row.get(name)) for name in _HALVES]
    if any(not half or len(half) != announced for half in halves):
        return f"not all of the {announced} iterations have a time in each half of the run"
    return halves


def _times(half: Any) -> list[float]:
    """The times of one half; none when any of them is no time. What the summary skips stands in the list too."""
    listed = half.get("times_us") if isinstance(half, Mapping) else None
    found = [finite(time) for time in listed] if isinstance(listed, list) else []
    times = [time for time in found if time is not None and time > 0]
    return times if len(times) == len(found) else []
