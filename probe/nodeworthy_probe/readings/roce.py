"""The Ethernet side of each adapter that carries RoCE, from :mod:`nodeworthy_probe.roce_state`.

Speeds are Gb/s, MTUs bytes. A port without a carrier has neither speed nor duplex: both are 0.
"""

from __future__ import annotations

import json
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, sequence
from nodeworthy_probe.parsers.numbers import finite
from nodeworthy_probe.pci_state import devices_of
from nodeworthy_probe.records import Measurement, Reading, Text, missing

from .context import Context


def read_ports(text: str, context: Context) -> Reading:
    """Five rows per adapter, and its driver and firmware as texts."""
    rows: list[Measurement] = []
    texts: list[Text] = []
    lines: list[str] = []
    for name, found in _adapters(text, context):
        component, carrier = f"nic/{name}", finite(found.get("carrier"))
        speed, duplex = finite(found.get("speed_mbps")), finite(found.get("full_duplex"))
        dark = carrier == 0
        rows += [
            _row(component, "carrier", carrier, "bool"),
            _row(component, "speed", 0.0 if dark else speed / 1000 if speed is not None else None, "Gb/s"),
            _row(component, "full_duplex", 0.0 if dark else duplex, "bool"),
            _row(component, "mtu", finite(found.get("mtu")), "B"),
            _row(component, "carrier_falls", finite(found.get("falls")), "count"),
        ]
        texts += [
            Text(component, key, str(found[key])) for key in ("driver", "firmware") if isinstance(found.get(key), str)
        ]
        interfaces = sequence(found.get("interfaces"))
        if len(interfaces) != 1:
            lines.append(f"{component} has {len(interfaces)} interfaces in the host's /sys, where one was expected")
    up = sum(row.value == 1 for row in rows if row.metric == "carrier")
    return Reading(
        tuple(rows), texts=tuple(texts), lines=(f"{up} of {len(rows) // 5} ports have a carrier", *lines[:8])
    )


def read_settings(text: str, context: Context) -> Reading:
    """Two rows per adapter: RoCE's traffic class, and whether congestion notification is on at both ends."""
    rows: list[Measurement] = []
    for name, found in _adapters(text, context):
        ecn = [finite(value) for value in sequence(found.get("ecn"))]
        both = None if not ecn or None in ecn else float(all(ecn))
        rows.append(_row(f"nic/{name}", "traffic_class", finite(found.get("traffic_class")), "count"))
        rows.append(_row(f"nic/{name}", "congestion_notification", both, "bool"))
    known = sum(row.value is not None for row in rows)
    return Reading(tuple(rows), lines=(f"{known} of {len(rows)} settings of RoCE are told by the driver",))


def _adapters(text: str, context: Context) -> list[tuple[str, dict[str, Any]]]:
    document = mapping(json.loads(text)) if text else {}
    return [(name, mapping(document.get(name))) for name in devices_of(context.test.arguments)]


def _row(component: str, metric: str, value: float | None, unit: str) -> Measurement:
    return missing(component, metric, unit) if value is None else Measurement(component, metric, value, unit)
