"""Falls of each adapter's link within the window that the test names, from :mod:`nodeworthy_probe.link_flaps`."""

from __future__ import annotations

import json

from nodeworthy_probe.parsers.json_document import mapping
from nodeworthy_probe.parsers.numbers import finite
from nodeworthy_probe.pci_state import devices_of
from nodeworthy_probe.records import Measurement, Reading, missing

from .context import Context


def read(text: str, context: Context) -> Reading:
    """The greater of what log and counter tell; missing where neither tells anything of the window."""
    document = mapping(json.loads(text)) if text else {}
    hours, up = finite(document.get("hours")), finite(document.get("up_seconds"))
    whole = hours is not None and up is not None and up <= hours * 3600
    rows: list[Measurement] = []
    lines: list[str] = []
    for name in devices_of(context.test.arguments):
        found = mapping(mapping(document.get("adapters")).get(name))
        logged, counted = finite(found.get("logged")), finite(found.get("counted"))
        told = [value for value in (logged, counted if whole else None) if value is not None]
        if not told:
            rows.append(missing(f"nic/{name}", "link_flaps", "count"))
            continue
        rows.append(Measurement(f"nic/{name}", "link_flaps", max(told), "count"))
        if max(told):
            of_log = "log unread" if logged is None else f"{logged:g} in the log"
            lines.append(
                f"nic/{name}: {max(told):g} falls in {hours:g} h ({of_log}, {counted or 0:g} counted since boot)"
            )
    return Reading(tuple(rows), lines=tuple(lines[:20] or [f"no link fell in the last {hours or 0:g} h"]))
