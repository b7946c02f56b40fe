"""Reads a fleet manifest: YAML, or CSV with one row per node for those who keep it in a spreadsheet.

Columns of the CSV are the fields of the YAML; `bmc_address`, `bmc_root` and `bmc_ca_file` stand for `bmc`, and
`cabling` is `eth0=leaf-01:swp1;eth1=leaf-02:swp1`. Beyond the schema, a name, a serial and a BMC may stand there once.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nodeworthy.adapters.library_yaml_files import phrase, problem_of, read
from nodeworthy.errors import Permanent
from nodeworthy.evidence.inventory import Neighbour
from nodeworthy.lifecycle.fleet import BmcAddress, FleetNode

SCHEMA = "fleet-1"
COLUMNS = (
    "name", "serial", "sku", "pool", "tenant", "rack", "position", "fabric_domain", "batch",
    "bmc_address", "bmc_root", "bmc_ca_file", "cabling",
)  # fmt: skip

Row = Mapping[str, Any]


def read_fleet(path: Path, schemas: Path) -> tuple[FleetNode, ...]:
    """Return the declared nodes in the file's order. Raises Permanent with file and line when it is broken."""
    rows: Sequence[Row] = _csv_rows(path, schemas) if path.suffix == ".csv" else read(path, schemas, SCHEMA)["nodes"]
    nodes = tuple(_node(row, path.parent) for row in rows)
    _refuse_twice(nodes, path)
    return nodes


def _node(row: Row, folder: Path) -> FleetNode:
    bmc = row["bmc"]
    ca_file = bmc.get("ca_file")
    return FleetNode(
        name=row["name"],
        serial=row["serial"],
        sku=row["sku"],
        pool=row["pool"],
        rack=row["rack"],
        position=row["position"],
        bmc=BmcAddress(
            bmc["address"], bmc.get("root", "/redfish/v1/"), str((folder / ca_file).resolve()) if ca_file else None
        ),
        batch=row.get("batch") or "",
        tenant=row.get("tenant") or "",
        fabric_domain=row.get("fabric_domain") or "",
        cabling=tuple(Neighbour(**cable) for cable in row.get("cabling") or ()),
    )


def _refuse_twice(nodes: Sequence[FleetNode], path: Path) -> None:
    for what, keys in (
        ("name", [node.name for node in nodes]),
        ("serial", [node.serial for node in nodes]),
        ("BMC", [f"{node.bmc.address}{node.bmc.root}" for node in nodes]),
    ):
        twice = sorted({key for key in keys if keys.count(key) > 1})
        if twice:
            named = [node.name for node, key in zip(nodes, keys, strict=True) if key == twice[0]]
            raise Permanent(
                f"{path}: the {what} {twice[0]} stands in {len(named)} rows ({', '.join(named)}): each node has its "
                "own."
            )


def _csv_rows(path: Path, schemas: Path) -> list[Row]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Permanent(f"{path} was to be read and cannot be: {error}.") from error
    reader = csv.DictReader(io.StringIO(text), strict=True)
    unknown = sorted(set(reader.fieldnames or ()) - set(COLUMNS))
    if unknown:
        raise Permanent(f"{path}, line 1: the column {unknown[0]} is unknown; known are {', '.join(COLUMNS)}.")
    rows: list[Row] = []
    try:
        for values in reader:
            rows.append(_csv_row(values, path, reader.line_num))
            problem = problem_of({"schema": "nodeworthy.fleet/1", "nodes": [rows[-1]]}, schemas / f"{SCHEMA}.json")
            if problem is not None:
                raise Permanent(f"{path}, line {reader.line_num}: {phrase(problem)}; correct it by {SCHEMA}.json.")
    except csv.Error as error:
        raise Permanent(f"{path}, line {reader.line_num}: no CSV ({error}); correct it there.") from error
    if not rows:
        raise Permanent(f"{path}: there is no row below the heading; declare at least one node.")
    return rows


def _csv_row(values: Mapping[str, str | None], path: Path, line: int) -> Row:
    given = {name: value.strip() for name, value in values.items() if isinstance(value, str) and value.strip()}
    bmc = {name.removeprefix("bmc_"): given.pop(name) for name in list(given) if name.startswith("bmc_")}
    row: dict[str, Any] = {**given, "bmc": bmc}
    if given.get("position", "").isdigit():
        row["position"] = int(given["position"])
    if "cabling" in given:
        row["cabling"] = [_cable(entry, path, line) for entry in given["cabling"].split(";") if entry.strip()]
    return row


def _cable(entry: str, path: Path, line: int) -> dict[str, str]:
    interface, _, far = entry.strip().partition("=")
    switch, _, port = far.partition(":")
    if not (interface and switch and port):
        raise Permanent(f"{path}, line {line}: the cable {entry.strip()} has not the form eth0=leaf-01:swp1.")
    return {"interface": interface, "switch": switch, "port": port}
