"""What each adapter of a pair moved in each direction, from one section per run (:mod:`nodeworthy_probe.wire`).

Bandwidths are Gb/s (10^9 bits), perftest's own average; a latency is its typical half round trip in us. A transfer that
began and broke moved nothing: 0. One that never began is missing, with the words of the side that could not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from nodeworthy_probe.content import perftest
from nodeworthy_probe.content.sheet import Sheet
from nodeworthy_probe.each_device import sections
from nodeworthy_probe.records import Measurement, Reading, missing
from nodeworthy_probe.wire import IN, OUT

from .context import Context

_UNFIT = ("document/", "value/", "tool/", "invalid/")
_BROKE = re.compile(r"Completion with error|syndrom|Failed status", re.IGNORECASE)
"""perftest's words for a work request that the adapter gave up: the path was there and carried nothing."""
_BANDWIDTHS = {OUT: "sent_bandwidth", IN: "received_bandwidth"}
_MOST_LINES = 20
_NOT_FOUND = 127


def read(text: str, context: Context) -> Reading:
    """A row per adapter that the plan names, and per direction where it is a bandwidth."""
    found = {name: (output, code) for name, output, code in sections(text)}
    latency = context.test.tool.endswith("_lat")
    rows: list[Measurement] = []
    lines: list[str] = []
    version = None
    for device in _devices(context):
        for way in (OUT,) if latency else (OUT, IN):
            output, code = found.get(f"{device} {way}", ("", None))
            row, why, version = _row(f"nic/{device}", way, output, code, context, version)
            rows.append(row)
            lines += [f"{row.component} {_said_way(way, context)}: {why}"[:300]] if why else []
    problem = None if found else "the output holds no section of an adapter"
    return Reading(tuple(rows), tool_version=version, problem=problem, lacking=_lacking(context.test.tool, found),
                   lines=tuple(lines[:_MOST_LINES] or _spread(rows)))  # fmt: skip


def _lacking(tool: str, found: Mapping[str, tuple[str, int | None]]) -> str | None:
    """What the installed tool cannot do, when no run could begin for it."""
    if found and all(code == _NOT_FOUND for _, code in found.values()):
        return f"{tool} is not on the PATH of a node of the pair"
    if found and all(code and "unrecognized option" in output for output, code in found.values()):
        return f"{tool} knows no option --use_cuda_bus_id: it was built without CUDA"
    return None


def _devices(context: Context) -> list[str]:
    return [name for name in context.test.arguments[0].split(",") if name] if context.test.arguments else []


def _row(
    component: str, way: str, output: str, code: int | None, context: Context, version: str | None
) -> tuple[Measurement, str, str | None]:
    """The row, why it is none or 0, and the tool's version as far as any section told it."""
    latency = context.test.tool.endswith("_lat")
    metric, unit, statistic = ("write_latency", "us", "typical") if latency else (_BANDWIDTHS[way], "Gb/s", "max")
    sheet = Sheet("perftest", "perftest")
    if code == 0:
        perftest.read(output, sheet)
    memory = {"memory": "gpu" if any((one.name, one.value) == ("memory", "gpu") for one in sheet.texts) else "host"}
    version = version or sheet.version
    if code and not latency and _BROKE.search(output):
        return Measurement(component, metric, 0.0, unit, statistic, parameters=_asked(context)), _words(output), version
    unfit = [note.line for note in sheet.notes if note.code.startswith(_UNFIT)]
    name = "latency" if latency else "bandwidth"
    values = [one.value for one in sheet.rows if (one.metric, one.statistic) == (name, statistic)]
    value = values[0] if len(values) == 1 and code == 0 and not unfit else None
    if value is None:
        why = unfit[0] if unfit else _words(output) if code else "no whole output" if code is None else "no one figure"
        return missing(component, metric, unit, statistic=statistic), why, version
    return Measurement(component, metric, value, unit, statistic, parameters=memory), "", version


def _asked(context: Context) -> dict[str, str]:
    """Which memory the run asked for; a run that broke does not always say which it used."""
    return {"memory": "gpu" if any("use_cuda" in word for word in context.test.arguments) else "host"}


def _words(output: str) -> str:
    lines = [line.strip("| \t") for line in output.splitlines() if line.strip()]
    return "; ".join(lines[-6:]) or "nothing was printed"


def _said_way(way: str, context: Context) -> str:
    group = context.plan.group
    leader, partner = group.nodes[:2] if group is not None else ("this node", "its partner")
    return f"{leader} to {partner}" if way == OUT else f"{partner} to {leader}"


def _spread(rows: list[Measurement]) -> list[str]:
    lines = []
    for metric in dict.fromkeys(row.metric for row in rows):
        known = [(row.value, row.component) for row in rows if row.metric == metric and row.value is not None]
        unit = next(row.unit for row in rows if row.metric == metric)
        if known:
            (low, lowest), (high, highest) = min(known), max(known)
            lines.append(f"{metric}: {low:.4g} ({lowest}) to {high:.4g} {unit} ({highest}) over {len(known)} adapters")
    return lines
