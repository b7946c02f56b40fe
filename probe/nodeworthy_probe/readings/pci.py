"""PCIe links of adapters and drives, and what adapters, GPUs and the bridges between them are set to.

Links are GT/s a lane and lanes; a share of 1 means that the link is as fast as both of its ends can be. Maximum read
requests are bytes. The documents are those of :mod:`nodeworthy_probe.pci_state`.
"""

from __future__ import annotations

import json
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping
from nodeworthy_probe.parsers.kernel_log import normal_pci
from nodeworthy_probe.parsers.numbers import finite
from nodeworthy_probe.pci_state import devices_of
from nodeworthy_probe.records import Measurement, Reading, missing

from .context import Context

_DRIVE = "nvme"
_HIDDEN = "configuration space is hidden without CAP_SYS_ADMIN"
_SETTINGS = (("max_read_request", "B"), ("relaxed_ordering", "bool"))


def read_links(text: str, context: Context) -> Reading:
    """Three rows per device that the plan names."""
    document = _document(text)
    rows: list[Measurement] = []
    lines: list[str] = []
    for name in devices_of(context.test.arguments):
        link = mapping(document.get(name))
        component = f"drive/{name}" if name.startswith(_DRIVE) else f"nic/{name}"
        speed, width = finite(link.get("speed")), finite(link.get("width"))
        best_speed, best_width = finite(link.get("best_speed")), finite(link.get("best_width"))
        best = best_speed * best_width if best_speed and best_width else None
        share = speed * width / best if speed is not None and width is not None and best else None
        rows += [
            _row(component, "link_width", width, "count"),
            _row(component, "link_speed", speed, "GT/s"),
            _row(component, "link_share", share, "ratio"),
        ]
        if share is not None and share < 1:
            lines.append(
                f"{component} at {link.get('at')}: {speed:g} GT/s x {width:g} where both ends can do "
                f"{best_speed:g} GT/s x {best_width:g}"
            )
    whole = sum(row.value == 1 for row in rows if row.metric == "link_share")
    return Reading(tuple(rows), lines=tuple(lines or [f"{whole} of {len(rows) // 3} links are at their best"]))


def read_settings(text: str, context: Context) -> Reading:
    """Maximum read request and relaxed ordering of the adapters that the plan names and the GPUs that it expects."""
    document = _document(text)
    adapters, gpus = mapping(document.get("adapters")), mapping(document.get("gpus"))
    by_index = {context.gpu_by_pci.get(normal_pci(place) or ""): found for place, found in gpus.items()}
    rows: list[Measurement] = []
    for name in devices_of(context.test.arguments):
        rows += _control(f"nic/{name}", "", adapters.get(name))
    for index in context.expected_gpus:
        rows += _control(f"gpu/{index}", "gpu_", by_index.get(index))
    seen = sorted({f"{row.value:g} B" for row in rows if row.unit == "B" and row.value is not None})
    return Reading(tuple(rows), lines=(f"maximum read requests: {', '.join(seen) or f'unknown: {_HIDDEN}'}",))


def read_access_control(text: str, context: Context) -> Reading:
    """How many bridges between adapters and GPUs send what these write to each other through the root."""
    document = _document(text)
    found = mapping(document.get("bridges"))
    redirecting = [name for name, bits in found.items() if finite(bits)]
    unknown = [name for name, bits in found.items() if finite(bits) is None]
    count = None if unknown or not finite(document.get("adapters")) else float(len(redirecting))
    line = f"{len(redirecting)} of {len(found)} bridges between adapters and GPUs redirect"
    if unknown:
        line = f"{len(unknown)} of {len(found)} bridges tell nothing: {_HIDDEN}"
    named = (f"redirecting: {', '.join(redirecting[:10])}",) if redirecting else ()
    return Reading((_row("node", "acs_redirects", count, "count"),), lines=(line, *named))


def _document(text: str) -> dict[str, Any]:
    """What the look printed; empty for a test that was skipped."""
    return mapping(json.loads(text)) if text else {}


def _control(component: str, prefix: str, found: Any) -> list[Measurement]:
    row = mapping(found)
    return [_row(component, f"{prefix}{name}", finite(row.get(name)), unit) for name, unit in _SETTINGS]


def _row(component: str, metric: str, value: float | None, unit: str) -> Measurement:
    return missing(component, metric, unit) if value is None else Measurement(component, metric, value, unit)
