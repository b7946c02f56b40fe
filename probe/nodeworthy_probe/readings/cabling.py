"""Which switch and port each interface is plugged into, from lldpcli, as texts of the interface."""

from __future__ import annotations

from nodeworthy_probe.parsers import lldp
from nodeworthy_probe.readings.context import Context
from nodeworthy_probe.records import Reading, Text


def read(text: str, _context: Context) -> Reading:
    """Two texts per neighbour (``lldp_switch``, ``lldp_port``); no neighbour is no problem by itself."""
    neighbours = lldp.parse(text)
    if isinstance(neighbours, str):
        return Reading(problem=neighbours)
    texts: list[Text] = []
    for neighbour in neighbours:
        texts.append(Text(f"nic/{neighbour.interface}", "lldp_switch", neighbour.switch))
        texts.append(Text(f"nic/{neighbour.interface}", "lldp_port", neighbour.port))
    lines = [f"{n.interface} is plugged into {n.switch}, port {n.port}" for n in neighbours]
    return Reading(texts=tuple(texts), lines=tuple(lines or ["no neighbour announced itself"]))
