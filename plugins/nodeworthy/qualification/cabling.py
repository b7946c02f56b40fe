"""The links of an InfiniBand fabric against the manifest's cabling plan: what is missing, elsewhere, or not planned.

InfiniBand has no LLDP, so no machine tells who its neighbour is: the fabric as a whole does. A cable of the manifest
whose `link` is `infiniband` names an adapter's device (`mlx5_0`), a switch, and the port by the number that
`ibnetdiscover` prints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nodeworthy.evidence.inventory import Neighbour

INFINIBAND = "infiniband"

Cables = Mapping[str, Sequence[Neighbour]]
"""Each node's cables, by its name."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One adapter's link as the fabric shows it; `rate` is lanes and speed, as `4xNDR`."""

    host: str
    device: str
    switch: str
    port: str
    rate: str


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: its kind (`missing`, `elsewhere`, `unplanned`, `slow`), node and device, and a phrase."""

    kind: str
    node: str
    device: str
    phrase: str


def links_of(document: Mapping[str, Any]) -> tuple[Seen, ...]:
    """Return the adapters' links of a `nodeworthy.parsed/1` document of kind ibnetdiscover."""
    return tuple(
        Seen(
            str(row["parameters"]["host"]).partition(".")[0],
            str(row["parameters"]["device"]),
            str(row["parameters"]["switch"]),
            str(row["parameters"]["switch_port"]),
            f"{row['value']:g}x{row['parameters']['speed']}",
        )
        for row in document.get("measurements", ())
        if row.get("metric") == "lanes"
    )


def differences(plan: Cables, links: Iterable[Seen]) -> tuple[Difference, ...]:
    """Return every difference between the plan's InfiniBand cables and the fabric, by node and device."""
    seen = {(link.host, link.device): link for link in links}
    planned = {
        (node, cable.interface): cable for node, cables in plan.items() for cable in cables if cable.link == INFINIBAND
    }
    usual = Counter(seen[place].rate for place in planned if place in seen).most_common(1)
    found = [
        difference
        for place, cable in planned.items()
        if (difference := _of_cable(place, cable, seen.get(place), usual[0][0] if usual else ""))
    ]
    hosts = {node for node, _ in planned}
    found += [
        Difference(
            "unplanned", *place, f"is joined to {link.switch} port {link.port} where the manifest names no cable"
        )
        for place, link in seen.items()
        if place[0] in hosts and place not in planned
    ]
    return tuple(sorted(found, key=lambda one: (one.node, one.device)))


def _of_cable(place: tuple[str, str], cable: Neighbour, link: Seen | None, usual: str) -> Difference | None:
    wanted = f"{cable.switch} port {cable.port}"
    if link is None:
        phrase = f"is not in the fabric where the manifest names {wanted}: look at its cable, port and driver"
        return Difference("missing", *place, phrase)
    if (link.switch, link.port) != (cable.switch, cable.port):
        phrase = (
            f"is joined to {link.switch} port {link.port} where the manifest names {wanted}: move the cable or correct "
            "the manifest"
        )
        return Difference("elsewhere", *place, phrase)
    if link.rate != usual:
        phrase = f"runs at {link.rate} where most links run at {usual}: reseat or exchange its cable"
        return Difference("slow", *place, phrase)
    return None
