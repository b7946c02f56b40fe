"""chronyc sourcestats and activity: what the sources gave, and how many there are.

Neither tells which source the clock follows: that there is none is a fault, that there are some is no pass.
"""

from __future__ import annotations

import re

from .documents import plain_lines
from .guards import torn_end
from .sheet import Sheet

STATS = r"^Name/IP Address +NP +NR +Span"
ACTIVITY = r"^\d+ sources? (?:online|offline)\s*$"
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_TIME = r"[+-]?\d+(?:\.\d+)?(?:ns|us|ms|s)"
_ROW = re.compile(
    rf"^(?P<name>\S+)\s+(?P<samples>\d+)\s+\d+\s+\w+\s+[+-][\d.]+\s+(?P<skew>[\d.]+)\s+(?P<offset>{_TIME})\s+"
    rf"(?P<deviation>{_TIME})\s*$"
)
_COUNT = re.compile(
    r"^(\d+) sources? (online|offline|doing burst \(return to (?:online|offline)\)|with unknown address)"
)
_USED = ("online", "doing burst (return to online)")
_UNTOLD = "which source the clock follows is not told"


def stats(text: str, sheet: Sheet) -> None:
    """One row for each source: how many samples, how far off, how much they differ."""
    torn_end(text, sheet)
    rows = [line for line in plain_lines(text) if line.strip() and not line.startswith(("Name/IP", "=", "210 "))]
    sampled = 0
    for line in rows:
        found = _ROW.match(line)
        if found is None:
            sheet.note("row/unreadable", "file", line)
            continue
        component = f"source/{found['name']}"
        sampled += sheet.number(component, "samples", found["samples"], "count") != 0
        sheet.number(component, "frequency_skew", found["skew"], "ppm")
        for name in ("offset", "deviation"):
            unit = found[name].lstrip("+-0123456789.")
            seconds = float(found[name].removesuffix(unit)) * _SECONDS[unit]
            sheet.number(component, name, seconds, "s", parameters={"selected": False})
    sheet.number("node", "sources", len(rows), "count")
    _judge(sampled, "no source gave a sample", sheet)


def activity(text: str, sheet: Sheet) -> None:
    """How many sources are asked and how many are not."""
    torn_end(text, sheet)
    counts = {found[2]: found[1] for line in plain_lines(text) if (found := _COUNT.match(line))}
    for name, count in counts.items():
        sheet.number("node", f"sources {name}", count, "count")
    _judge(sum(int(counts.get(name, 0)) for name in _USED), "no source is online", sheet)


def _judge(used: int, why: str, sheet: Sheet) -> None:
    if used:
        sheet.absent("node", "selected_sources", "count")
        sheet.note("row/missing", "node", _UNTOLD)
    else:
        sheet.note("hardware/no-time-source", "node", why)
