"""perftest (ib_write_bw and its siblings): figures by size, in one unit.

MB/s means 2^20 bytes unless the header says Gb/s; the message rate tells which is right, and a
figure that contradicts it is not believed. Client and server may share one log, each with its
header; more rows than headers is a row written twice.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from nodeworthy_probe.parsers.numbers import close, finite

from .documents import plain_lines
from .sheet import Sheet

TOOL = "perftest"
_HEAD = re.compile(r"^\s*(RDMA_Write|RDMA_Read|Send|Atomic\S*|Raw\S*) (?:Bidirectional )?(BW|Latency|Post List BW) "
                   r"Test|"
                   r"^\s*(\S+) (?:Bidirectional )?(BW|Latency) Test\s*$")  # fmt: skip
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


@dataclass
class _Figures:
    """What the lines give: units of the last header, rows by what they measure."""

    columns: list[str] = field(default_factory=list)
    bandwidths: list[tuple[float, ...]] = field(default_factory=list)
    latencies: list[tuple[float, ...]] = field(default_factory=list)


def read(text: str, sheet: Sheet) -> None:
    """Read every run in the file."""
    lines = plain_lines(text)
    heads = sum(bool(_HEAD.match(line)) for line in lines)
    figures = _Figures()
    for line in lines:
        _line(line, figures, sheet)
    _settings(text, sheet)
    for word in _EACH_RUN:
        count = len(re.findall(rf"(?<!\w){word}", text))
        if count < heads:
            sheet.note("row/missing", "file", f"{word} is missing for a run")
        elif count > heads and not word.endswith("address"):
            sheet.note("document/duplicate", "file", f"{word} is there {count} times in {heads} runs")
    _repeats(figures.bandwidths + figures.latencies, heads, sheet)
    _bandwidth(figures.bandwidths, figures.columns, sheet)
    _latency(figures.latencies, sheet)
    if not figures.bandwidths and not figures.latencies:
        sheet.absent("node", "bandwidth", "Gb/s")
        if not any(note.code == "tool/failed" for note in sheet.notes):
            sheet.note("document/cut", "file", "no row of results")
    if not heads or not re.search(r"^\s*#bytes.*\n(?:.*\n)*?-{20,}\s*$", text, re.MULTILINE):
        sheet.note("document/cut", "file", "the head or the closing line is missing")


def _line(line: str, figures: _Figures, sheet: Sheet) -> None:
    if found := _COLUMNS.match(line):
        figures.columns = _UNIT.findall(found[1])
        _units(figures.columns, sheet)
    elif re.match(r"^\s*\d+\s+\d+\s", line) and figures.columns:
        row = _row(line, figures.columns, sheet)
        (figures.latencies if figures.columns[0] == "usec" else figures.bandwidths).extend([row] if row else [])
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
    for word in ("Conflicting", "MTU mismatch"):
        if word in text:
            sheet.note("config/mtu", "node", "the two ends report conflicting settings")
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


def _bandwidth(rows: list[tuple[float, ...]], columns: list[str], sheet: Sheet) -> None:
    unit = columns[0] if columns else ""
    scale = _BYTES.get(unit)
    if not rows or scale is None:
        return
    best: dict[str, float] = {}
    for size, _, peak, average, messages, *_ in rows:
        rate = average * scale
        own = messages * 1e6 * size
        if not close(rate, own, 0.01, 0.011 * scale + size * 0.6) or (peak and peak < 0.98 * average):
            sheet.note("document/contradiction", "node", f"bandwidth and message rate disagree at {size:.0f} bytes")
        details = {"size_bytes": int(size), "printed": average, "printed_unit": unit}
        sheet.number("node", "bandwidth", rate * 8 / 1e9, "Gb/s", statistic="mean", parameters=details)
        if peak:
            sheet.number("node", "bandwidth", peak * scale * 8 / 1e9, "Gb/s", statistic="peak", parameters=details)
        sheet.number("node", "message_rate", messages, "Mpps", parameters={"size_bytes": int(size)})
        best["Gb/s"] = max(best.get("Gb/s", 0.0), rate * 8 / 1e9)
    sheet.number("node", "bandwidth", best["Gb/s"], "Gb/s", statistic="max")
    if best["Gb/s"] == 0:
        sheet.note("invalid/nothing-moved", "node", "the bandwidth is 0")


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
