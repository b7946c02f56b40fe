"""Fleet files: which nodes the lab has, what each is, and what is wrong with it from the start (lab/data/fleets/).

`generate` makes a fleet of any size: racks of 16 nodes, one SKU a rack, batches of 64.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

import yaml

from lab.truth import data

_RACK, _BATCH = 16, 64


@dataclass(frozen=True, slots=True)
class Replay:
    """Captures of a real machine that answer in the place of the simulated one."""

    redfish: Path | None = None
    tools: Path | None = None
    kernel_log: Path | None = None


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One node of a fleet file. `image` means that it has been running it since before the lab began.

    `platform` names what to simulate where no platform is sold as `sku`, as for captures of another kind of server.
    """

    name: str
    sku: str
    rack: str
    position: int
    pool: str = "lab"
    tenant: str | None = None
    fabric_domain: str | None = None
    batch: str | None = None
    serial: str | None = None
    power: Literal["on", "off"] = "on"
    image: str | None = None
    firmware: Mapping[str, str] = field(default_factory=dict)
    quirks: tuple[str, ...] = ()
    faults: tuple[Mapping[str, Any], ...] = ()
    replay: Replay | None = None
    platform: str | None = None


@dataclass(frozen=True, slots=True)
class FleetFile:
    """A site and its nodes."""

    site: str
    nodes: tuple[NodeSpec, ...]


def load_fleet(name: str) -> FleetFile:
    """The fleet of a shipped name (`demo`) or of a path; ValueError in one sentence if it makes no sense."""
    path = data.ROOT / "fleets" / f"{name}.yaml"
    if not path.is_file():
        path = Path(name)
    if not path.is_file():
        shipped = ", ".join(sorted(found.stem for found in (data.ROOT / "fleets").glob("*.yaml")))
        raise ValueError(f"There is no fleet {name}: neither a file nor one of the shipped ones ({shipped}).")
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(document, dict) or document.get("schema") != "lab.fleet/1":
        raise ValueError(f"{path} is no fleet file: it must begin with schema: lab.fleet/1.")
    nodes = tuple(_node(row, path) for row in document.get("nodes", ()))
    names = [node.name for node in nodes]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not nodes:
        raise ValueError(f"Fleet {path} " + (f"names node {twice[0]} twice." if twice else "has no nodes."))
    return FleetFile(document.get("site", "lab"), nodes)


def generate(count: int, image: str | None = None) -> FleetFile:
    """`count` healthy nodes named node-0001 and so on; `image` lets them all be running it already."""
    return FleetFile("lab", tuple(_generated(index, image) for index in range(count)))


def _generated(index: int, image: str | None) -> NodeSpec:
    rack, position = divmod(index, _RACK)
    return NodeSpec(
        name=f"node-{index + 1:04d}",
        sku=("h100-sxm-8", "h200-sxm-8")[rack % 2],
        rack=f"R{rack + 1:03d}",
        position=position + 1,
        fabric_domain=f"fabric-{index // _BATCH + 1}",
        batch=f"batch-{index // _BATCH + 1:02d}",
        image=image,
    )


def _node(row: Mapping[str, Any], path: Path) -> NodeSpec:
    known = {item.name for item in fields(NodeSpec)}
    unknown = sorted(set(row) - known)
    missing = sorted({"name", "sku", "rack", "position"} - set(row))
    if unknown or missing:
        trouble = f"has an unknown key {unknown[0]}" if unknown else f"lacks {missing[0]}"
        raise ValueError(f"A node of fleet {path} {trouble}: {row.get('name', 'without a name')}.")
    values = dict(row)
    values["quirks"] = tuple(row.get("quirks", ()))
    values["faults"] = tuple(row.get("faults", ()))
    if row.get("replay"):
        values["replay"] = Replay(**{key: (path.parent / value).resolve() for key, value in row["replay"].items()})
    return NodeSpec(**values)
