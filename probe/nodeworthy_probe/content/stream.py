"""STREAM on CPUs, superbench gpu-stream and BabelStream on GPUs.

CPU rates must agree with array size and best time. The GPU form prints each figure's share of
the device's own peak, which must agree too; the best block size of each kernel is its result.
"""

from __future__ import annotations

import re
from collections import defaultdict

from nodeworthy_probe.parsers.numbers import close, finite

from .documents import note_duplicates, note_gaps
from .sheet import Sheet

TOOL = "stream"
_CPU_ROW = re.compile(r"^(Copy|Scale|Add|Triad):\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s*$", re.MULTILINE)
_LINES = (
    "Array size =",
    "Memory per array =",
    "Total memory required =",
    "Each kernel will be executed",
    "clock ticks",
)
_LINES_BEFORE_5_10 = ("Array size =", "Total memory required =", "Each test is run", "clock ticks")
_ARRAYS = {"Copy": 2, "Scale": 2, "Add": 3, "Triad": 3}
_GPU_ROW = re.compile(r"^STREAM_(?P<kernel>COPY|SCALE|ADD|TRIAD)_(?P<type>[a-z]+)(?:_gpu_(?P<gpu>\d+))?"
                      r"_buffer_(?P<buffer>\d+)_block_(?P<block>\d+)"
                      r"\s+(?P<value>\S+)\s+(?P<share>\S+)\s*$", re.MULTILINE)  # fmt: skip
_GPU = re.compile(r'^Device (\d+): "([^"]*)".*= ([\d.]+) (\S+) PEAK', re.MULTILINE)
_BABEL_ROW = re.compile(r"^(Copy|Mul|Add|Triad|Dot|Nstream)\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s*$", re.MULTILINE)
_BABEL_CSV = re.compile(r"^(Copy|Mul|Add|Triad|Dot|Nstream),\d+,\d+,\d+,([^,\n]+),([^,\n]+),([^,\n]+),", re.MULTILINE)
_BABEL_KERNELS = ("Copy", "Mul", "Add", "Triad", "Dot")


def read(text: str, sheet: Sheet) -> None:
    """Read whichever of the three the file is."""
    if "STREAM_" in text or "gpu-stream" in text:
        _gpu(text, sheet)
    elif "BabelStream" in text or re.search(r"^Function\s+MBytes/sec|^function,num_times,", text, re.MULTILINE):
        _babel(text, sheet)
    else:
        _cpu(text, sheet)


def _kernels(names: list[str], wanted: tuple[str, ...], sheet: Sheet) -> None:
    note_duplicates(sheet, names, "the kernel")
    for kernel in wanted:
        if kernel not in names:
            sheet.note("row/missing", "node", f"the kernel {kernel} has no row")


def _cpu(text: str, sheet: Sheet) -> None:
    version = re.search(r"STREAM version \$Revision: ([\d.]+)", text)
    sheet.version = version[1] if version else None
    rows = _CPU_ROW.findall(text)
    elements, width = re.search(r"Array size = (\d+)", text), re.search(r"uses (\d+) bytes per", text)
    unit = re.search(r"^Function\s+(?:Best )?Rate \(?([^\s)]+)", text, re.MULTILINE)
    if unit is None or unit[1] != "MB/s":
        sheet.note("value/unit" if unit else "row/missing", "file", "the rates are not headed as MB/s")
    _kernels([row[0] for row in rows], tuple(_ARRAYS), sheet)
    for kernel, rate, *times in rows:
        value = sheet.number("cpu", f"stream_{kernel.lower()}", rate, "MB/s", statistic="max")
        best = finite(times[1])
        if None in (best, finite(times[0]), finite(times[2])):
            sheet.note("value/not-a-number", "cpu", f"{kernel}: a time is not a number")
        elif value and best and elements and width:
            own = _ARRAYS[kernel] * int(elements[1][:15]) * int(width[1][:3]) / best / 1e6
            if not close(value, own, 2e-3):
                sheet.note("document/contradiction", "cpu", f"{kernel}: rate and time disagree")
    if not (elements and width):
        sheet.note("row/missing", "file", "the array size is missing")
    _cpu_end(text, sheet)


def _cpu_end(text: str, sheet: Sheet) -> None:
    requested, counted = (re.search(rf"Number of Threads {word} = (\d+)", text) for word in ("requested", "counted"))
    if counted:
        sheet.number("cpu", "threads", counted[1], "count")
    if not counted and "Threads" in text:
        sheet.note("row/missing", "file", "the number of threads is missing")
    if bool(requested) != bool(counted) or (requested and counted and requested[1] != counted[1]):
        sheet.note("document/contradiction", "file", "the threads requested and counted differ")
    for words in _LINES if "Best Rate" in text else _LINES_BEFORE_5_10:
        if words not in text:
            sheet.note("row/missing", "file", f"the line {words} is missing")
    if re.search(r"Failed Validation", text):
        sheet.note("correctness/wrong", "cpu", "the solution does not validate")
    elif "Solution Validates" not in text:
        sheet.note("document/cut", "file", "the line that validates the solution is missing")


def _gpu(text: str, sheet: Sheet) -> None:
    sheet.tool = "gpu-stream"
    peaks = {int(gpu): finite(peak) for gpu, _, peak, unit in _GPU.findall(text) if unit == "GB/s"}
    for gpu, name, peak, unit in _GPU.findall(text):
        sheet.text(f"gpu/{gpu}", "model", name)
        if unit != "GB/s":
            sheet.note("value/unit", f"gpu/{gpu}", f"the peak is {peak} {unit}, not GB/s")
    best: dict[tuple[str, int], float] = defaultdict(float)
    grid: dict[int, set[tuple[str, str]]] = defaultdict(set)
    keys = []
    for row in _GPU_ROW.finditer(text):
        gpu = int((row["gpu"] or "0")[:4])  # a run on one GPU leaves its number out
        keys.append(row[0].split()[0])
        grid[gpu].add((row["kernel"], row["block"]))
        _gpu_row(row, peaks.get(gpu), best, sheet)
    note_duplicates(sheet, keys, "the figure")
    for (kernel, gpu), value in best.items():
        sheet.number(f"gpu/{gpu}", f"stream_{kernel.lower()}", value, "GB/s", statistic="max")
    _gpu_grid(text, grid, peaks, sheet)


def _gpu_row(row: re.Match[str], peak: float | None, best: dict[tuple[str, int], float], sheet: Sheet) -> None:
    gpu = f"gpu/{row['gpu'] or 0}"
    value, share = finite(row["value"]), finite(row["share"])
    if value is None or share is None:
        sheet.note("value/not-a-number", gpu, row[0])
        return
    if peak is None:
        sheet.note("row/missing", gpu, "the line with the device's peak is missing")
    elif value > peak:
        sheet.note("physics/above-peak", gpu, f"{value} GB/s is above the device's own peak of {peak} GB/s")
    elif not close(share, value / peak * 100, 1e-3, 0.02):
        sheet.note("document/contradiction", gpu, f"figure and share of the peak disagree: {row[0]}")
    key = (row["kernel"], int((row["gpu"] or "0")[:4]))
    best[key] = max(best[key], value)


def _gpu_grid(text: str, grid: dict[int, set[tuple[str, str]]], peaks: dict[int, float | None], sheet: Sheet) -> None:
    kernels = {kernel for cells in grid.values() for kernel, _ in cells} | {"COPY", "SCALE", "ADD", "TRIAD"}
    blocks = {block for cells in grid.values() for _, block in cells}
    for gpu in sorted(set(grid) | set(peaks)):
        lacking = len(kernels) * len(blocks) - len(grid.get(gpu, set()))
        if lacking or not blocks:
            sheet.note("row/missing", f"gpu/{gpu}", f"{lacking} figures are missing")
    note_gaps(sheet, grid, "gpu")
    torn = [line for line in text.splitlines() if line.startswith("STREAM_") and not _GPU_ROW.match(line)]
    for line in torn[:5]:
        sheet.note("row/unreadable", "file", line[:100])
    if not grid:
        sheet.note("document/cut", "file", "no figure")
    if re.search(r"^Check data: No", text, re.MULTILINE):
        sheet.note("note/not-checked", "node", "the copied data was not compared")


def _babel(text: str, sheet: Sheet) -> None:
    sheet.tool = "BabelStream"
    version = re.search(r"^Version: (\S+)", text, re.MULTILINE)
    sheet.version = version[1] if version else None
    device = re.search(r"^Using .*? device (.+)$", text, re.MULTILINE)
    sheet.text("gpu/0", "model", device[1] if device else None)
    rows = _BABEL_ROW.findall(text) or _BABEL_CSV.findall(text)
    if not re.search(r"^Function\s+MBytes/sec|^function,.*,max_mbytes_per_sec,", text, re.MULTILINE):
        sheet.note("value/unit", "file", "the rates are not headed as MBytes/sec")
    if text.startswith("function,") and not text.endswith("\n"):
        sheet.note("document/cut", "file", "the output stops in the middle of a line")
    _kernels([row[0] for row in rows], _BABEL_KERNELS, sheet)
    for kernel, rate, *_ in rows:
        sheet.number("gpu/0", f"stream_{kernel.lower()}", rate, "MB/s", statistic="max")
    if re.search(r"Validation failed", text):
        sheet.note("correctness/wrong", "gpu/0", "the result does not validate")
