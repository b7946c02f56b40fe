"""What is struck in a bring-up of eight nodes with old firmware, and what may have happened to each of them then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.end_to_end.killer import Blow

QUICK = 0.05
"""Seconds: `finish` and `admit` are over in less than half a second, so a hand that hesitates misses them."""
SAYS = {"firmware-update": "items", "reset": "reset_type", "boot-override": "uri"}
"""Kinds of effects that may happen once, and the field that says what was done."""
IMAGES = ("http://images.lab/validation-2026.11.efi", "http://images.lab/service-2026.11.efi")
ONCE = [
    ("firmware-update", ["HostBIOS_0"]),
    ("reset", "ForceRestart"),
    ("boot-override", IMAGES[0]),
    ("reset", "PowerCycle"),
    ("boot-override", IMAGES[1]),
    ("reset", "PowerCycle"),
]
"""What a bring-up does to such a node, each once and in this order."""


def blows(nodes: Sequence[str]) -> tuple[Blow, ...]:
    """Return a blow at every step, on eight nodes: first starts and resumptions, some with the executor's worker."""
    return (
        Blow("inspect", nodes[0]),
        Blow("provision", nodes[0]),
        Blow("approve", nodes[1], with_worker=True),
        Blow("provision", nodes[1], start=2),
        Blow("firmware", nodes[2]),
        Blow("verify", nodes[2], with_worker=True),
        Blow("firmware", nodes[3], start=2),
        Blow("verify", nodes[3], start=2),
        Blow("boot_validation", nodes[4], with_worker=True),
        Blow("boot_validation", nodes[5], start=2),
        Blow("burn_in", nodes[6]),
        Blow("burn_in", nodes[7], start=2),
        Blow("judge_hardware"),
        Blow("judge_platform", with_worker=True),
        *(Blow("finish", node, latest_seconds=QUICK) for node in nodes),
    )


def done(rows: Sequence[dict[str, Any]]) -> list[tuple[str, object]]:
    """Return what the lab counted of the kinds that may happen once."""
    return [(row["kind"], row.get(SAYS[row["kind"]])) for row in rows if row["kind"] in SAYS]
