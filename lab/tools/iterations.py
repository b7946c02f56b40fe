"""The time of each iteration as nccl-tests 2.19 tells it: columns of the table (-I 1) and a JSON file (-J).

Source: NVIDIA/nccl-tests, src/util.cu (writePerIterReport, writeBenchmarkLineBody).
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median, pstdev
from typing import Any, NamedTuple, Protocol

_JITTER_SIGMA = 0.01
_JITTER_LIMIT = 0.035
"""From one iteration to the next, relative to the median; a healthy node shows no more."""
_COLUMNS = "   i_min   i_max   i_p99   i_cv%"
_UNITS = "    (us)    (us)    (us)     (%)"

REFUSED = "invalid option '?'\nUSAGE: {tool} \n\t[-t,--nthreads <num threads>] \n\t[-h,--help]\n"
"""What an older tool prints on standard output before it ends with 0 (src/common.cu)."""
_SINCE = (2, 19)


class Run(NamedTuple):
    """What the JSON file says of the run as a whole."""

    iterations: int
    sizes: list[int]
    gpus: int
    collective: str


class Half(Protocol):
    """One half of a row: bus bandwidth in GB/s, time and the iterations' times in microseconds."""

    bus: float
    microseconds: float
    times: list[float]


def known_to(image: dict[str, Any]) -> bool:
    """Whether the image's nccl-tests can tell the time of each iteration; an image that names no version is new."""
    version = str(image.get("nccl_tests") or "2.19").split(".")
    return tuple(int(part) for part in version[:2]) >= _SINCE


def times(mean_us: float, iterations: int, stalls: dict[str, Any] | None, noise: random.Random) -> list[float]:
    """The times of all iterations, of which some stall; their mean is the time that the table shows."""
    share, longer = (float(stalls["share"]), float(stalls["times"])) if stalls else (0.0, 1.0)
    typical = mean_us / (1.0 + share * (longer - 1.0))
    every = round(1.0 / share) if share else 0
    found = []
    for number in range(iterations):
        jitter = max(-_JITTER_LIMIT, min(_JITTER_LIMIT, noise.gauss(0.0, _JITTER_SIGMA)))
        stalled = every > 0 and number % every == every - 1
        found.append(typical * (1.0 + jitter) * (longer if stalled else 1.0))
    return found


def table_head(plain: list[str]) -> list[str]:
    """The table's head with the columns of each half's iterations behind it."""
    *before, names, units = plain
    named = names.replace("#wrong", "#wrong" + _COLUMNS)
    first, second = units.rstrip().split("(GB/s)            (us)")
    return [*before, named, f"{first}(GB/s)       {_UNITS}    (us){second}       {_UNITS}"]


def cells(found: Sequence[float]) -> str:
    """The four cells of one half: least, greatest, 99th percentile, coefficient of variation in per cent."""
    figures = _figures(found)
    return "".join(f"  {figures[key]:7.2f}" for key in ("min_us", "max_us", "p99_us", "cv_pct"))


def write(path: Path, run: Run, rows: Sequence[Sequence[Half]], average: float) -> None:
    """Write the JSON file of a run; each row has two halves, out of place and in place."""
    config = {
        "nthreads": 1, "ngpus": run.gpus, "minimum_bytes": run.sizes[0], "maximum_bytes": run.sizes[-1],
        "step_factor": 2, "iterations": run.iterations, "aggregated_iterations": 1, "validation": 1, "graph": 0,
        "per_iter_timing": "true", "per_iter_skip": 0,
        "devices": [{"rank": 0, "group": 0, "pid": 4711, "hostname": "lab", "device": 0}],
    }  # fmt: skip
    document = {
        "version": 3,
        "args": [f"{run.collective}_perf"],
        "config": config,
        "results": [_result(size, halves) for size, halves in zip(run.sizes, rows, strict=True)],
        "out_of_bounds": {"count": 0, "okay": "true"},
        "average_bus_bandwidth": {"bandwidth": average, "okay": "unchecked"},
    }
    path.write_text(json.dumps(document), encoding="utf-8")


def _result(size: int, halves: Sequence[Half]) -> dict[str, Any]:
    row: dict[str, Any] = {"size": size, "count": size // 4, "type": "float", "redop": "sum", "root": "    -1"}
    for name, half in zip(("out_of_place", "in_place"), halves, strict=True):
        rate = size / half.microseconds / 1000
        row[name] = {"time": half.microseconds, "alg_bw": rate, "bus_bw": half.bus, "nwrong": 0.0}
        if half.times:
            row[f"{name}_per_iter"] = {**_figures(half.times), "times_us": [round(time, 6) for time in half.times]}
    return {**row, "actual_iterations": max(len(halves[0].times), 1)}


def _figures(found: Sequence[float]) -> dict[str, float]:
    ordered, mean = sorted(found), fmean(found)
    spread = pstdev(found)
    return {
        "skipped_iterations": 0, "min_us": ordered[0], "max_us": ordered[-1], "avg_us": mean, "p50_us": median(found),
        "p99_us": ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)], "stdev_us": spread,
        "cv_pct": 100 * spread / mean,
    }  # fmt: skip
