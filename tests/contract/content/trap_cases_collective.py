"""Collectives and burns as launchers, other releases and broken processes print them, in the form of `trap_cases`."""

from __future__ import annotations

import json
from typing import Any

from tests.contract.content.trap_cases import HEALTHY

NCCL = HEALTHY["nccl"]
BURN = HEALTHY["gpu-burn"]


def labelled(label: str) -> str:
    """A run whose launcher puts a label before every line; # in it is the line's number."""
    return "".join(label.replace("#", f"{place:03d}") + line for place, line in enumerate(NCCL.splitlines(True)))


def per_iteration() -> str:
    """A run that reports its iterations as well (nccl-tests 2.19), with a time stamp after each row."""
    names, times = "   i_min   i_max   i_p99   i_cv%", "    1.10    2.20    2.10    3.40"
    lines = []
    for line in NCCL.splitlines():
        cells = line.split()
        if line.startswith("#       size"):
            line = line.replace("#wrong", f"#wrong{names}") + "  timestamp"
        elif cells[:1] and cells[0].isdigit():
            line = "  ".join([*cells[:9], times, *cells[9:], times, "2026-11-30 10:00:00"])
        elif line.startswith("#        (B)"):
            line = "# (B) (elements) (us) (GB/s) (GB/s) (us) (us) (us) (%) (us) (GB/s) (GB/s) (us) (us) (us) (%)"
        lines.append(line)
    return "\n".join(lines) + "\n"


def all_operations() -> str:
    """One run over two operations, which repeats the sizes."""
    lines = NCCL.splitlines(keepends=True)
    rows = [line for line in lines if line.lstrip()[:1].isdigit()]
    last = lines.index(rows[-1]) + 1
    return "".join([*lines[:last], *(row.replace(" sum ", "prod ") for row in rows), *lines[last:]])


def one_less() -> str:
    """The same with its last row lost."""
    lines = all_operations().splitlines(keepends=True)
    place = max(place for place, line in enumerate(lines) if "prod" in line)
    return "".join(lines[:place] + lines[place + 1 :])


def asked(word: str) -> str:
    """A run that was given a minimum for its average."""
    return "".join(f"{line} {word}\n" if "Avg" in line else f"{line}\n" for line in NCCL.splitlines())


def document(processes: int = 1, **changes: Any) -> str:
    """A run of 8 GPUs a process as nccl-tests 2.19 writes it with -J: 2 sizes, 40 and 80 us, factor 2 (n - 1) / n."""
    ranks = 8 * processes
    factor = 2 * (ranks - 1) / ranks
    rows, sizes = [], ((1048576, 40.0), (2097152, 80.0))
    for size, time in sizes:
        rate = size / time / 1000
        half = {"time": time, "alg_bw": rate, "bus_bw": rate * factor, "nwrong": 0.0}
        rows.append({"size": size, "count": size // 4, "type": "float", "redop": "sum", "root": "    -1",
                     "out_of_place": half, "in_place": dict(half)})  # fmt: skip
    devices = [{"rank": 8 * process, "hostname": f"n{process}", "device_info": "NVIDIA H100 80GB HBM3"}
               for process in range(processes)]  # fmt: skip
    config = {"nthreads": 1, "ngpus": 8, "minimum_bytes": 1048576, "maximum_bytes": 2097152, "step_factor": 2,
              "validation": 1, "devices": devices}  # fmt: skip
    body = {"version": 2, "args": ["./all_reduce_perf"], "nccl_version": 22902, "config": config, "results": rows,
            "out_of_bounds": {"count": 0, "okay": "true"},
            "average_bus_bandwidth": {"bandwidth": 26.2144 * factor, "okay": "unchecked"}}  # fmt: skip
    return json.dumps({**body, **changes})


def wrong_document() -> str:
    """The same with 96 wrong values at the larger size, and a footer that counts none."""
    body = json.loads(document())
    body["results"][1]["out_of_place"]["nwrong"] = 96.0
    return json.dumps(body)


def records(wrong: str) -> str:
    """The records of rccl-tests, one a line, as it writes them without MPI."""
    cells = [{"#wrong": wrong, "algBw": size / 20000, "busBw": size / 20000 * 1.5, "gpus": 4, "inPlace": half,
              "name": "AllReduce", "redop": "sum", "size": size, "time": 20.0, "type": "float"}
             for size in (1024, 2048) for half in (0, 1)]  # fmt: skip
    return "".join(json.dumps(cell) + "\n" for cell in cells)


def alone() -> str:
    """Two processes that each run on their own, line by line beside each other."""
    one = [line.replace("Rank  7", "Rank  0") for line in NCCL.splitlines() if "Rank" not in line or "Rank  7" in line]
    return "\n".join(line for line in one for _ in range(2)) + "\n"


LOST = 'Failure during compute: Error in "Read faultyelemdata": CUDA_ERROR_UNKNOWN\n'
LAST = "100.0%  proc'd: 4522 (16900 Gflop/s) - 4522 (17010 Gflop/s)   errors: 0 - 0   temps: 60 C - 59 C"
DIED = "100.0%  proc'd: -1 (0 Gflop/s) - 4522 (17010 Gflop/s)   errors: -533715488  (DIED!)- 0   temps: 60 C - 59 C"
FLOOD = LAST.replace("errors: 0 - 0", "errors: -524288000  (WARNING!)- 0")

CASES: tuple[tuple[str, str, str, str, str], ...] = (
    *(
        (f"labelled {label}", "nccl-tests", labelled(label), "pass", "")
        for label in (
            " 0: ",
            "[0] ",
            "[1,0]<stdout>:",
            "[prterun-n1-42@1,0]<stdout>: ",
            "[pod/nccl-x/nccl] ",
            "x-0 nccl ",
            "2026-11-05T10:11:12.#Z ",
        )
    ),
    ("iterations and time stamps", "nccl-tests", per_iteration(), "pass", ""),
    ("two operations", "nccl-tests", all_operations(), "pass", ""),
    ("two operations and a row lost", "nccl-tests", one_less(), "incomplete", "7 of 8 rows"),
    ("two runs in one log", "nccl-tests", NCCL + NCCL, "pass", ""),
    ("the second of two runs is cut", "nccl-tests", NCCL + NCCL[:-30], "incomplete", "middle of a line"),
    (
        "the same warning of another program",
        "nccl-tests",
        "Authorization required, but none given\n" * 3 + NCCL,
        "pass",
        "",
    ),
    ("above the minimum that was asked for", "nccl-tests", asked("OK"), "pass", ""),
    ("below the minimum that was asked for", "nccl-tests", asked("FAILED"), "fail", "minimum"),
    ("processes that did not find each other", "nccl-tests", alone(), "invalid", "one rank each"),
    (
        "no such program",
        "nccl-tests",
        "bash: ./build/all_reduce_perf: No such file or directory\n",
        "tool-error",
        "No such file",
    ),
    (
        "part of a rack",
        "nccl-tests",
        NCCL.replace("NVIDIA H100 80GB HBM3", "NVIDIA GB200").replace("Rank  7", "Rank 71"),
        "incomplete",
        "",
    ),
    ("the document of one process", "nccl-tests", document(), "pass", ""),
    ("the document of two processes", "nccl-tests", document(2), "pass", ""),
    ("a document with wrong values", "nccl-tests", wrong_document(), "fail", "96 wrong values"),
    (
        "a document that lacks a size",
        "nccl-tests",
        document(results=json.loads(document())["results"][:1]),
        "incomplete",
        "1 of 2 rows",
    ),
    (
        "a document below its minimum",
        "nccl-tests",
        document(average_bus_bandwidth={"bandwidth": 45.8752, "okay": "false"}),
        "fail",
        "below",
    ),
    ("records, one a line", "nccl-tests", records("0"), "pass", ""),
    ("records that were not compared", "nccl-tests", records(" N/A "), "incomplete", "not compared"),
    ("records with wrong values", "nccl-tests", records("3"), "fail", "3 wrong values"),
    ("a burn whose process died among others", "gpu-burn", BURN.replace(LAST, DIED), "fail", "died"),
    ("a burn that stopped on a failure", "gpu-burn", BURN.partition("100.0%")[0] + LOST + DIED + "\n", "fail", "died"),
    ("so many errors that the count is negative", "gpu-burn", BURN.replace(LAST, FLOOD), "fail", "compute errors"),
    ("a burn that names no progress", "gpu-burn", BURN.replace("Gflop/s", "Tflop"), "incomplete", ""),
)
