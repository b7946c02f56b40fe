"""PCIe links of adapters and drives, and what adapters, GPUs and the bridges between them are set to.

Read from files in this process: no tool is started. Links are GT/s a lane and lanes; a share of 1 means that the link
is as fast as both of its ends can be. Maximum read requests are bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nodeworthy_probe import pci_state, pci_tree
from nodeworthy_probe.parsers.kernel_log import normal_pci
from nodeworthy_probe.records import Measurement, Reading, missing

from .context import Context

Looked = tuple[dict[str, Any], Reading]
_DRIVE = "nvme"


def links(context: Context, root: Path) -> Looked:
    """The links of the devices that the plan names: fabric adapters, or NVMe drives."""
    state: dict[str, Any] = {}
    rows: list[Measurement] = []
    lines: list[str] = []
    for name in _named(context):
        kind, find = ("drive", pci_tree.drive) if name.startswith(_DRIVE) else ("nic", pci_tree.adapter)
        place = find(root, name)
        link = pci_state.link_of(place) if place is not None else pci_state.Link(None, None, None, None)
        state[name] = {"at": place.name if place is not None else None, **asdict(link)}
        component = f"{kind}/{name}"
        rows += [
            _row(component, "link_width", link.width, "count"),
            _row(component, "link_speed", link.speed, "GT/s"),
            _row(component, "link_share", link.share, "ratio"),
        ]
        if link.share is not None and link.share < 1:
            lines.append(
                f"{component} at {state[name]['at']}: {link.speed:g} GT/s x {link.width:g} where both ends can do "
                f"{link.best_speed:g} GT/s x {link.best_width:g}"
            )
    whole = sum(row.value == 1 for row in rows if row.metric == "link_share")
    return state, Reading(tuple(rows), lines=tuple(lines or [f"{whole} of {len(rows) // 3} links are at their best"]))


def settings(context: Context, root: Path) -> Looked:
    """Maximum read request and relaxed ordering of adapters and GPUs."""
    state: dict[str, Any] = {}
    rows: list[Measurement] = []
    by_index = {index: place for place in pci_tree.gpus(root) if (index := _index(place, context)) is not None}
    devices = [(f"nic/{name}", "", pci_tree.adapter(root, name)) for name in _named(context)]
    devices += [(f"gpu/{index}", "gpu_", by_index.get(index)) for index in context.expected_gpus]
    for component, prefix, place in devices:
        found = pci_state.control_of(place) if place is not None else pci_state.Control()
        state[component] = asdict(found)
        rows.append(_row(component, f"{prefix}max_read_request", found.max_read_request, "B"))
        rows.append(_row(component, f"{prefix}relaxed_ordering", found.relaxed_ordering, "bool"))
    seen = sorted({f"{row.value:g} B" for row in rows if row.unit == "B" and row.value is not None})
    return state, Reading(tuple(rows), lines=(f"maximum read requests: {', '.join(seen) or _HIDDEN}",))


_HIDDEN = "unknown: configuration space is hidden without CAP_SYS_ADMIN"


def access_control(context: Context, root: Path) -> Looked:
    """How many bridges between adapters and GPUs send what these write to each other through the root."""
    adapters = [place for name in _named(context) if (place := pci_tree.adapter(root, name)) is not None]
    bridges = pci_state.between(adapters, pci_tree.gpus(root))
    found = {bridge.name: pci_state.redirects(bridge) for bridge in bridges}
    redirecting = [name for name, bits in found.items() if bits]
    unknown = [name for name, bits in found.items() if bits is None]
    count = None if unknown or not adapters else float(len(redirecting))
    line = f"{len(redirecting)} of {len(found)} bridges between adapters and GPUs redirect"
    if unknown:
        line = f"{len(unknown)} of {len(found)} bridges tell nothing: configuration space needs CAP_SYS_ADMIN"
    named = (f"redirecting: {', '.join(redirecting[:10])}",) if redirecting else ()
    return dict(found), Reading((_row("node", "acs_redirects", count, "count"),), lines=(line, *named))


READERS: Mapping[str, Callable[[Context, Path], Looked]] = {
    "pci-link": links,
    "pci-settings": settings,
    "pci-acs": access_control,
}


def _named(context: Context) -> Sequence[str]:
    return [name for name in context.test.arguments[0].split(",") if name] if context.test.arguments else []


def _index(place: Path, context: Context) -> int | None:
    return context.gpu_by_pci.get(normal_pci(place.name) or "")


def _row(component: str, metric: str, value: float | None, unit: str) -> Measurement:
    return missing(component, metric, unit) if value is None else Measurement(component, metric, value, unit)
