"""Reads the text of nccl-tests and rccl-tests (all layouts from 2.0 to 2.20).

A row is believed only when its figures agree with each other: bytes with elements and type,
algorithm bandwidth with bytes and time, bus bandwidth with the collective's factor. The whole
run is complete only with its header, every step of the sweep and a footer that agrees with the
rows. A launcher's label before every line (mpirun, srun, Intel MPI, kubectl) is the one that stands
before the table's header. Bandwidths are GB/s (10^9 bytes), times microseconds, as the tool prints them.
Source: NVIDIA/nccl-tests doc/PERFORMANCE.md, src/common.cu and src/util.cu.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from . import nccl_log
from .nccl_row import CollectiveRow, Layout, bus_factor, read_layout, read_row
from .numbers import close, finite

_PREFIX = re.compile(r"^(?: *\d+: ?|\[\d+,\d+\]<stdout>: ?)")
_LABELLED = re.compile(r"^(?P<label>[^#\n]{1,120})#\s+size\s+count\s+type\s", re.MULTILINE)
_RANK = re.compile(r"^#\s+Rank\s+(\d+)\s+(?:Group\s+\d+\s+)?Pid\s+\d+\s+on\s+(\S+)\s+device\s+\d+\s+\[[^\]]+\]\s*(.*)$")
_RUN = re.compile(r"minBytes (\d+) maxBytes (\d+) step: (\d+)\((factor|bytes)\).*?(?:validation|check): (\d+)")
_BOUNDS = re.compile(r"^#\s*Out of bounds values\s*:\s*(\d+)\s+(OK|FAILED)\s*$")
_AVERAGE = re.compile(r"^#\s*Avg bus bandwidth\s*:\s*(\S+)(?:\s+(OK|FAILED))?\s*$")
_FAILURE = re.compile(r"Test (?:NCCL |CUDA )?failure")
_AVERAGE_TOLERANCE = 2e-3


@dataclass(frozen=True)
class Sweep:
    """The sizes that a run announced in its first line."""

    smallest_bytes: int
    largest_bytes: int
    step: int
    by_factor: bool
    validated: bool

    def steps(self) -> int:
        """How many rows the run prints when it is not cut."""
        if self.step < (2 if self.by_factor else 1):
            return 1
        count, size = 0, self.smallest_bytes
        while size <= self.largest_bytes and count < 10_000:
            count += 1
            size = max(size * self.step, size + 1) if self.by_factor else size + self.step
        return count


@dataclass(frozen=True)
class CollectiveReport:
    """Everything that one run printed; ``problems`` is empty only for a complete run."""

    rows: tuple[CollectiveRow, ...]
    ranks: int | None
    hosts: tuple[str, ...]
    devices: tuple[str, ...]
    sweep: Sweep | None
    out_of_bounds: int | None
    within_bounds: bool | None
    average_bus_bandwidth_gbps: float | None
    nccl_version: str | None
    transport: str | None
    problems: tuple[str, ...]
    below_minimum: bool = False
    """Whether the average is below what NCCL_TESTS_MIN_BW asked for (the tool allows 10 % less)."""

    @property
    def complete(self) -> bool:
        """Whether nothing is missing and nothing contradicts itself."""
        return not self.problems

    @property
    def correctness_checked(self) -> bool:
        """Whether every row was compared with the expected result."""
        return bool(self.rows) and all(row.checked for row in self.rows)

    @property
    def wrong_values(self) -> int | None:
        """How many wrong elements were seen; None when nothing was compared."""
        if not self.correctness_checked:
            return None
        counted = sum(row.wrong or 0 for row in self.rows)
        return max(counted, self.out_of_bounds or 0)

    @property
    def largest(self) -> CollectiveRow | None:
        """The row of the largest message."""
        return max(self.rows, key=lambda row: row.size_bytes, default=None)


@dataclass
class _Draft:
    rows: list[CollectiveRow]
    ranks: dict[int, tuple[str, str]]
    problems: list[str]
    layout: Layout | None = None
    sweep: Sweep | None = None
    out_of_bounds: int | None = None
    within_bounds: bool | None = None
    average: float | None = None
    below: bool = False
    failed: bool = False


def parse(text: str, collective: str = "all_reduce") -> CollectiveReport:
    """Read one run of ``<collective>_perf``.

    Rows that cannot be believed are left out and named in ``problems``; nothing is raised.
    """
    draft = _Draft(rows=[], ranks={}, problems=[])
    lines = without_labels(text).split("\n")
    if lines.pop() != "":
        draft.problems.append("the output stops in the middle of a line")
    for line in lines:
        _read_line(_PREFIX.sub("", line.rstrip("\r")), draft)
    ranks = max(draft.ranks) + 1 if draft.ranks else None
    _check(draft, bus_factor(collective, ranks))
    return CollectiveReport(
        rows=tuple(draft.rows),
        ranks=ranks,
        hosts=tuple(dict.fromkeys(host for host, _ in draft.ranks.values())),
        devices=tuple(device for _, device in draft.ranks.values()),
        sweep=draft.sweep,
        out_of_bounds=draft.out_of_bounds,
        within_bounds=draft.within_bounds,
        average_bus_bandwidth_gbps=draft.average,
        nccl_version=nccl_log.nccl_version(text),
        transport=nccl_log.transport(text),
        problems=tuple(draft.problems),
        below_minimum=draft.below,
    )


def without_labels(text: str) -> str:
    """The text without the label that stands before the table's header, whatever numbers it holds elsewhere."""
    found = _LABELLED.search(text)
    if found is None:
        return text
    shape = re.sub(r"\d+", r"\\d+", re.escape(found["label"]))
    return re.sub(f"^{shape}", "", text, flags=re.MULTILINE)


def _read_line(line: str, draft: _Draft) -> None:
    if line.startswith("#"):
        _read_comment(line, draft)
    elif line.strip() == "...":
        draft.problems.append("rows were left out of the table")
    elif re.match(r"\s*\d+\s+\d+\s", line):
        _read_data(line, draft)
    elif _FAILURE.search(line):
        draft.failed = True


def _read_data(line: str, draft: _Draft) -> None:
    row = read_row(line, draft.layout) if draft.layout else None
    if row is None:
        draft.problems.append(f"a row cannot be read: {line.strip()[:120]}")
    else:
        draft.rows.append(row)


def _read_comment(line: str, draft: _Draft) -> None:
    if rank := _RANK.match(line):
        draft.ranks[int(rank[1][:6])] = (rank[2], rank[3].strip())
    elif run := _RUN.search(line):
        draft.sweep = Sweep(int(run[1][:18]), int(run[2][:18]), int(run[3][:9]), run[4] == "factor", run[5] != "0")
    elif bounds := _BOUNDS.match(line):
        draft.out_of_bounds, draft.within_bounds = int(bounds[1][:18]), bounds[2] == "OK"
    elif average := _AVERAGE.match(line):
        draft.average, draft.below = finite(average[1]), average[2] == "FAILED"
    elif layout := read_layout(line):
        draft.layout = layout


def _check(draft: _Draft, factor: float | None) -> None:
    problems = draft.problems
    if not draft.rows:
        problems.append("no result row")
    problems += [f"bus bandwidth contradicts the rank count at {row.size_bytes} bytes" for row in draft.rows
                 if not row.agrees_with_factor(factor)]  # fmt: skip
    if any(later.size_bytes < earlier.size_bytes for earlier, later in pairwise(draft.rows)
           if later.variant == earlier.variant):  # fmt: skip
        problems.append("message sizes are out of order")
    _check_sweep(draft)
    _check_footer(draft)


def _check_sweep(draft: _Draft) -> None:
    if draft.sweep is None:
        draft.problems.append("the line that announces the sweep is missing")
        return
    expected = draft.sweep.steps() * max(len({row.variant for row in draft.rows}), 1)
    if len(draft.rows) != expected:
        draft.problems.append(f"{len(draft.rows)} of {expected} rows of the sweep are there")
    if draft.sweep.validated != any(row.checked for row in draft.rows):
        draft.problems.append("the rows disagree with the announced validation")


def _check_footer(draft: _Draft) -> None:
    problems = draft.problems
    if not draft.ranks:
        problems.append("the device list is missing")
    if draft.within_bounds is None:
        problems.append("the out-of-bounds line is missing")
    elif draft.within_bounds == _wrong_seen(draft):
        problems.append("the out-of-bounds line contradicts the rows")
    if draft.within_bounds and draft.failed:
        problems.append("the tool reports a failure and no wrong value")
    if draft.average is None:
        problems.append("the average line is missing")
    elif draft.rows and not close(draft.average, _mean(draft.rows), _AVERAGE_TOLERANCE, absolute=0.02):
        problems.append("the average contradicts the rows")


def _wrong_seen(draft: _Draft) -> bool:
    return any(row.wrong for row in draft.rows) or bool(draft.out_of_bounds)


def _mean(rows: list[CollectiveRow]) -> float:
    values = [timing.bus_bandwidth_gbps for row in rows for timing in row.timings]
    return sum(values) / len(values) if values else 0.0
