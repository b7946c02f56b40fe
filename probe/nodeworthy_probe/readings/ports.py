"""Each fabric adapter's port from ``ibstat``: whether its link is up, and at which rate."""

from __future__ import annotations

from nodeworthy_probe.content import ibstat
from nodeworthy_probe.content.sheet import Sheet
from nodeworthy_probe.records import Measurement, Reading, missing

from .context import Context

_UNFIT = ("document/", "value/", "tool/")


def read(text: str, context: Context) -> Reading:
    """Two rows per adapter that the plan names; the rate of a port without a link means nothing and is missing."""
    sheet = Sheet("ibstat", "ibstat")
    ibstat.read(text, sheet)
    problem = "; ".join(dict.fromkeys(note.line for note in sheet.notes if note.code.startswith(_UNFIT)))[:400]
    found = {(row.component, row.metric): row.value for row in sheet.rows}
    rows: list[Measurement] = []
    lines: list[str] = []
    for name in _devices(context):
        port = f"port/{name}/1"
        active = None if problem else found.get((port, "active"))
        rate = found.get((port, "rate")) if active else None
        rows.append(_row(f"nic/{name}", "port_active", active, "bool"))
        # A port without a link has said so; that it has no rate is no second fault.
        rows.append(_row(f"nic/{name}", "port_rate", 0.0 if active == 0 else rate, "Gb/s"))
        lines += [f"{name}: {note.line}" for note in sheet.notes if note.component == port]
    up = sum(row.value == 1 for row in rows if row.metric == "port_active")
    return Reading(
        tuple(rows), problem=problem or None, lines=(f"{up} of {len(rows) // 2} ports are active", *lines[:8])
    )


def _devices(context: Context) -> list[str]:
    given = context.test.parameters.get("devices")
    return [name for name in str(given or "").split(",") if name]


def _row(component: str, metric: str, value: float | None, unit: str) -> Measurement:
    return missing(component, metric, unit) if value is None else Measurement(component, metric, value, unit)
