"""The Prometheus text format: series with labels, and what is torn in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from nodeworthy_probe.parsers.numbers import finite

from .sheet import Sheet

_SERIES = re.compile(
    r"^(?P<name>[A-Za-z_:][A-Za-z0-9_:]*)(?:\{(?P<labels>.*)\})?[ \t]+(?P<value>\S+)(?:[ \t]+-?\d+(?:\.\d+)?)?$"
)
_LABEL = re.compile(r'([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"')
_TYPE = re.compile(r"^# TYPE (\S+) (?:counter|gauge|histogram|summary|untyped|unknown|info|stateset|gaugehistogram)$")
_SUFFIXES = ("", "_total", "_bucket", "_count", "_sum")


@dataclass(frozen=True)
class Series:
    """One line: a name, labels and a finite value."""

    name: str
    labels: Mapping[str, str]
    value: float


def series(text: str, sheet: Sheet) -> list[Series]:
    """All series; a name that is announced and has none, or one that is there twice, is noted."""
    found: list[Series] = []
    announced: list[str] = []
    lines = text.split("\n")
    for line in lines:
        if kind := _TYPE.match(line):
            announced.append(kind[1])
        elif line.strip() and not line.startswith("#"):
            _line(line, found, announced, sheet)
    keys = [(one.name, tuple(sorted(one.labels.items()))) for one in found]
    for name, labels in {key for key in keys if keys.count(key) > 1} if len(keys) < 4000 else set():
        sheet.note("document/duplicate", "file", f"the series {name} {dict(labels)} is there twice")
    names = {one.name for one in found}
    for name in announced:
        if not any(name + suffix in names for suffix in _SUFFIXES):
            sheet.note("row/missing", "file", f"{name} is announced and has no series")
    if lines[-1].strip() or not found:
        sheet.note("document/cut", "file", "the text stops in the middle of a line" if found else "no series")
    return found


def _line(line: str, found: list[Series], announced: list[str], sheet: Sheet) -> None:
    match = _SERIES.match(line)
    head = re.match(r"^[A-Za-z_:][A-Za-z0-9_:]*", line)
    if match is None:
        if "{" in line or (head and head[0] in announced):
            sheet.note("row/unreadable", "file", line[:120])
        return
    value = finite(match["value"])
    if value is None:
        if match["labels"] is not None or match["name"] in announced:
            sheet.note("value/not-a-number", "file", line[:200])
        return
    if announced and match["labels"] is None and match["name"] not in announced:
        return  # a line of another program, such as a port-forward, between the series
    found.append(Series(match["name"], dict(_LABEL.findall(match["labels"] or "")), value))
