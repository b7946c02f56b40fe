"""perftest (ib_write_bw and its siblings): figures by size, in one unit.

MB/s means 2^20 bytes unless the header says Gb/s; the message rate tells which is right, and a
figure that contradicts it is not believed. Client and server may share one log, each with its
header; more rows than headers is a row written twice.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, sequence
from nodeworthy_probe.parsers.numbers import close, finite

from .documents import load_json, plain_lines
from .sheet import Sheet

TOOL = "perftest"
_HEAD = re.compile(r"^\s*(?:RDMA_Write|RDMA_Read|Send|Atomic|Raw)\S* .*?\b(?:BW|Latency) Test\s*$")
_COLUMNS = re.compile(r"^\s*#bytes\s+#iterations\s+(.*)$")
_UNIT = re.compile(r"\[([^\]]+)\]")
_SETTING = re.compile(
    r"(Mtu|Link type|Transport type|Connection type|Number of qps|Device|GID index|rdma_cm QPs)\s*:\s*(\S+)"
)
_FAILED = re.compile(r"(?:Couldn't|Unable to|Failed to|failed to|cannot|Completion with error|syndrom).*")
_EACH_RUN = (
    "Mtu",
    "Link type",
    "Number of qps",
    "Connection type",
    "Device ",
    "local address",
    "remote address",
    "#bytes",
)
_BYTES = {"MB/sec": 2**20, "MiB/sec": 2**20, "GB/sec": 2**30, "Gb/sec": 125_000_000, "Mb/sec": 125_000}


Row = tuple[float, ...]


@dataclass
class _Run:
    """Rows of one run; client and server in one log are one. Both directions of a bidirectional run are added up."""

    device: str = ""
    directions: int = 1
    columns: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)


@dataclass
class _Figures:
    """What the lines give: the runs, and every row by what it measures."""

    runs: list[_Run] = field(default_factory=lambda: [_Run()])
    bandwidths: list[Row] = field(default_factory=list)
    latencies: list[Row] = field(default_factory=list)

    def head(self, line: str) -> None:
        """A further head opens a new run once the one before has rows."""
        if self.runs[-1].rows:
            self.runs.append(_Run())
        self.runs[-1].directions = 2 if "Bidirectional" in line else 1


def read(text: str, sheet: Sheet) -> None:
    """Read every run in the file, as text or as the document of --out_json."""
    if text.lstrip().startswith("{"):
        _document(text, sheet)
        return
    lines = plain_lines(text)
    heads = sum(bool(_HEAD.match(line)) for line in lines)
    figures = _Figures()
    for line in lines:
        _line(line, figures, sheet)
    _settings(text, sheet)
    _of_each_run(text, heads, sheet)
    _repeats(figures.bandwidths + figures.latencies, heads, sheet)
    for run in figures.runs:
        _bandwidth(run, len(figures.runs) > 1, sheet)
    _latency(figures.latencies, sheet)
    if not figures.bandwidths and not figures.latencies:
        sheet.absent("node", "bandwidth", "Gb/s")
        if not any(note.code == "tool/failed" for note in sheet.notes):
            sheet.note("document/cut", "file", "no row of results")
    if not heads or not re.search(r"^\s*#bytes.*\n(?:.*\n)*?-{20,}\s*$", text, re.MULTILINE):
        sheet.note("document/cut", "file", "the head or the closing line is missing")


def _of_each_run(text: str, heads: int, sheet: Sheet) -> None:
    for word in _EACH_RUN:
        count = len(re.findall(rf"(?<!\w){word}", text))
        if count < heads:
            sheet.note("row/missing", "file", f"{word} is missing for a run")
        elif count > heads and not word.endswith("address"):
            sheet.note("document/duplicate", "file", f"{word} is there {count} times in {heads} runs")


def _line(line: str, figures: _Figures, sheet: Sheet) -> None:
    run = figures.runs[-1]
    if _HEAD.match(line):
        figures.head(line)
    elif found := re.search(r"\bDevice\s*: (\S+)", line):
        run.device = found[1]
    elif found := _COLUMNS.match(line):
        run.columns = _UNIT.findall(found[1])
        _units(run.columns, sheet)
    elif re.match(r"^\s*\d+\s+\d+\s", line) and run.columns:
        row = _row(line, run.columns, sheet)
        run.rows += [row] if row and run.columns[0] != "usec" else []
        (figures.latencies if run.columns[0] == "usec" else figures.bandwidths).extend([row] if row else [])
    elif re.match(r"^\s*\d+\s+\d+\s+[\d.]", line):
        sheet.note("row/unreadable", "file", f"figures without a header: {line.strip()}")
    elif found := _FAILED.search(line):
        sheet.note("tool/failed", "node", found[0])


def _units(columns: list[str], sheet: Sheet) -> None:
    if len(columns) > 2 and (columns[0] != columns[1] or (columns[2] != "Mpps" and columns[0] != "usec")):
        sheet.note("value/unit", "file", f"the columns have different units: {columns}")
    if columns and columns[0] not in _BYTES and columns[0] != "usec":
        sheet.note("value/unit", "file", f"the unit {columns[0]} is none of perftest")


def _row(line: str, columns: list[str], sheet: Sheet) -> tuple[float, ...]:
    cells = [finite(cell) for cell in line.split()]
    wanted = 5 if columns[0] != "usec" else 6 if len(columns) > 1 else 4
    if None in cells:
        sheet.note("value/not-a-number", "node", line)
        return ()
    if len(cells) < wanted:
        sheet.note("row/unreadable", "node", line)
        return ()
    return tuple(cell for cell in cells if cell is not None)


def _settings(text: str, sheet: Sheet) -> None:
    settings: dict[str, set[str]] = {}
    for name, value in _SETTING.findall(text):
        settings.setdefault(name, set()).add(value)
        sheet.text("node", name.lower().replace(" ", "_"), value)
    if "MTU mismatch" in text:
        sheet.note("config/mtu", "node", "the two ends report conflicting settings")
    if "Conflicting CPU frequency" in text:
        sheet.note("note/cpu-frequency", "node", "the CPU was not at its highest frequency")
    if len(settings.get("Mtu", ())) > 1:
        sheet.note("config/mtu", "node", f"the ends differ in MTU: {sorted(settings['Mtu'])}")
    if "use_cuda" in text or "CUDA" in text:
        sheet.text("node", "memory", "gpu")


def _repeats(rows: list[tuple[float, ...]], heads: int, sheet: Sheet) -> None:
    if 0 < len(rows) < heads:
        sheet.note("row/missing", "node", f"{heads} runs and {len(rows)} rows of results")
    for size, count in Counter(row[0] for row in rows).items():
        if count > max(heads, 1):
            sheet.note("document/duplicate", "node", f"{size:.0f} bytes has {count} rows in {heads} runs")


def _bandwidth(run: _Run, one_of_many: bool, sheet: Sheet) -> None:
    scale = _BYTES.get(run.columns[0] if run.columns else "")
    if not run.rows or scale is None:
        return
    own = {"device": run.device} if one_of_many else {}
    best = 0.0
    for size, _, peak, average, messages, *_ in run.rows:
        rate = average * scale
        moved = messages * 1e6 * size
        if not close(rate, moved, 0.01, 0.011 * scale + size * 0.6) or (peak and peak < 0.98 * average):
            sheet.note("document/contradiction", "node", f"bandwidth and message rate disagree at {size:.0f} bytes")
        details = {**own, "size_bytes": int(size), "printed": average, "printed_unit": run.columns[0]}
        sheet.number("node", "bandwidth", rate * 8 / 1e9, "Gb/s", statistic="mean", parameters=details)
        if peak:
            sheet.number("node", "bandwidth", peak * scale * 8 / 1e9, "Gb/s", statistic="peak", parameters=details)
        sheet.number("node", "message_rate", messages, "Mpps", parameters={**own, "size_bytes": int(size)})
        best = max(best, rate * 8 / 1e9)
    both = {"directions": run.directions} if run.directions > 1 else {}
    sheet.number("node", "bandwidth", best, "Gb/s", statistic="max", parameters={**own, **both})
    if best == 0:
        sheet.note("invalid/nothing-moved", "node", "the bandwidth is 0")


def _document(text: str, sheet: Sheet) -> None:
    """``--out_json`` prints no unit: the message rate tells whether the figures are Gb/s or MB/s."""
    document = mapping(load_json(text, sheet))
    info, results = mapping(document.get("test_info")), document.get("results")
    rows = [mapping(row) for row in (sequence(results) if isinstance(results, list) else [results])]
    if document and not info:
        sheet.note("row/missing", "file", "the part test_info is missing")
    for row in rows if document else ():
        _json_row(row, info, sheet)


def _json_row(row: dict[str, Any], info: dict[str, Any], sheet: Sheet) -> None:
    size, average, messages = (finite(row.get(name)) for name in ("MsgSize", "BW_average", "MsgRate"))
    latency = finite(row.get("t_avg"))
    if size is not None and average is None and latency is not None:
        sheet.number("node", "latency", latency, "us", statistic="mean", parameters={"size_bytes": int(size)})
        return
    if size is None or average is None or messages is None:
        sheet.note("row/missing", "node", "size, average or message rate of a result is missing")
        return
    units = ("Gb/sec", "MB/sec")
    fits = (close(average * _BYTES[unit], messages * 1e6 * size, 0.01, 0.011 * _BYTES[unit]) for unit in units)
    unit = next((unit for unit, fit in zip(units, fits, strict=True) if fit), None)
    if unit is None:
        sheet.note("document/contradiction", "node", f"bandwidth and message rate disagree at {size:.0f} bytes")
        return
    both = "bidirectional" in str(info.get("test", "")).lower()
    run = _Run(str(info.get("Device", "")), 2 if both else 1, [unit], [])
    run.rows.append((size, 0.0, finite(row.get("BW_peak")) or 0.0, average, messages))
    _bandwidth(run, False, sheet)


def _latency(rows: list[tuple[float, ...]], sheet: Sheet) -> None:
    for row in rows:
        details = {"size_bytes": int(row[0])}
        if len(row) < 6:  # a run for a duration prints the mean alone
            sheet.number("node", "latency", row[2], "us", statistic="mean", parameters=details)
            continue
        size, _, low, high, typical, mean, *_ = row
        for statistic, value in (("min", low), ("max", high), ("typical", typical), ("mean", mean)):
            sheet.number("node", "latency", value, "us", statistic=statistic, parameters=details)
        if not 0 < low <= typical <= high or not low <= mean <= high:
            sheet.note("document/contradiction", "node", f"the latencies at {size:.0f} bytes are out of order")
