"""Nodes and components: what the manifest declares, what the BMC told, where every part was and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.chain import GENESIS
from nodeworthy.adapters.ledger_sql.store import Row, Store
from nodeworthy.errors import Refused
from nodeworthy.evidence.inventory import Component, ComponentKind, Inventory, Neighbour
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.lifecycle.fleet import BmcAddress, FleetNode
from nodeworthy.lifecycle.records import Lease, NodeRecord, Placement

_CHUNK: Final = 500
"""Values per IN list: below SQLite's smallest limit of host parameters (999)."""


class Nodes(Store):
    """The part of the ledger that knows what exists."""

    def import_fleet(self, nodes: Sequence[FleetNode]) -> tuple[str, ...]:
        """Insert or update manifest rows by serial; idempotent. Returns a sentence per change; Refused on conflict."""
        _refuse_duplicates(nodes)
        with self._writing() as connection:
            changes: list[str] = []
            # One order for all writers, so that two imports cannot wait for each other.
            for node in sorted(nodes, key=lambda node: node.serial):
                changes.extend(self._import(connection, node))
            return tuple(changes)

    def nodes(self, names: Sequence[str] = (), *, batch: str = "", rack: str = "") -> tuple[NodeRecord, ...]:
        """Return records by names, batch or rack (all by default), ordered by name; unknown names are absent."""
        found: list[NodeRecord] = []
        with self._reading() as connection:
            for condition in _selection(names):
                query = _records().where(condition)
                for column, value in ((schema.nodes.c.batch, batch), (schema.nodes.c.rack, rack)):
                    query = query.where(column == value) if value else query
                found.extend(_record(row) for row in connection.execute(query))
        return tuple(sorted(found, key=lambda record: record.node.name))

    def record_inventory(self, lease: Lease, inventory: Inventory, reference: EvidenceReference) -> None:
        """Store components by serial with their place in this node; what is gone is ended, what moved is moved."""
        with self._writing() as connection:
            node = self._fenced(connection, lease)
            placed = _open_placements(connection, node.serial)
            wanted = {_identity(part, node.serial): part for part in inventory.components}
            changes = {
                "removed": [str(row.serial) for key, row in placed.items() if not _stays(row, wanted.get(key))],
                "placed": [part.serial for key, part in wanted.items() if not _stays(placed.get(key), part)],
            }
            gone = [row.placement for key, row in placed.items() if not _stays(row, wanted.get(key))]
            self._remove(connection, schema.placements.c.id, gone)
            self._place(
                connection,
                node.serial,
                {key: part for key, part in wanted.items() if not _stays(placed.get(key), part)},
            )
            self._audit(connection, node.serial, "inventory", {**changes, "evidence": asdict(reference)})

    def components(self, node: str) -> tuple[Placement, ...]:
        """Return every part that is, or was, in a node, with its time there, ordered by kind and slot."""
        with self._reading() as connection:
            return _placements(connection, schema.placements.c.node == self._serial(connection, node))

    def component_history(self, serial: str) -> tuple[Placement, ...]:
        """Return every place that a component, known by its serial, was seen in."""
        with self._reading() as connection:
            return _placements(connection, schema.components.c.serial == serial)

    def _import(self, connection: sa.Connection, node: FleetNode) -> Iterator[str]:
        table = schema.nodes
        values = _values(node)
        other = connection.scalar(
            sa.select(table.c.serial).where(table.c.name == node.name, table.c.serial != node.serial)
        )
        if other is not None:
            raise Refused(
                f"The manifest gives {node.name} the serial {node.serial} and the ledger knows it as {other}: "
                f"if the chassis was swapped, run `nodeworthy reidentify {other} {node.serial}`; otherwise correct the "
                "manifest."
            )
        present = connection.execute(sa.select(table).where(table.c.serial == node.serial).with_for_update()).first()
        if present is None:
            state = {"milestone": self._lifecycle.initial, "since": self._clock.now(), "row_version": 1}
            head = {"audit_sequence": 0, "audit_head": GENESIS}
            connection.execute(sa.insert(table).values(serial=node.serial, **values, **state, **head))
            self._audit(connection, node.serial, "declared", {**values, "milestone": self._lifecycle.initial})
            yield f"{node.name} (serial {node.serial}) was declared."
            return
        changed = {key: value for key, value in values.items() if getattr(present, key) != value}
        if changed:
            self._update_node(connection, present, changed)
            self._audit(connection, node.serial, "declaration changed", changed)
            for key, value in changed.items():
                yield f"{node.name} (serial {node.serial}): {key} changed from {getattr(present, key)} to {value}."

    def _remove(self, connection: sa.Connection, column: sa.Column[Any], values: Sequence[int]) -> None:
        """End the open placements whose `column` is one of these values."""
        table, now = schema.placements, self._clock.now()
        for some in _chunks(values):
            connection.execute(
                sa.update(table).where(column.in_(some), table.c.removed_at.is_(None)).values(removed_at=now)
            )

    def _place(self, connection: sa.Connection, node: str, parts: Mapping[tuple[str, str], Component]) -> None:
        """Give parts their place in a node, by kind and serial; what was elsewhere is there no longer.

        In few statements whatever their number: a node has some seventy parts.
        """
        table, now = schema.components, self._clock.now()
        known = _known_components(connection, parts)
        new = [
            {"kind": kind, "serial": serial, "model": part.model, "first_seen": now}
            for (kind, serial), part in parts.items()
            if (kind, serial) not in known
        ]
        if new:
            written = connection.execute(sa.insert(table).returning(table.c.kind, table.c.serial, table.c.id), new)
            known |= {(row.kind, row.serial): row.id for row in written}
        self._remove(connection, schema.placements.c.component, [known[key] for key in parts])
        rows = [{"component": known[key], "node": node, "placed_at": now, **_seen(part)} for key, part in parts.items()]
        if rows:
            connection.execute(sa.insert(schema.placements), rows)


def _refuse_duplicates(nodes: Sequence[FleetNode]) -> None:
    """Refuse a manifest in which two rows claim the same name, serial or BMC."""
    claims: tuple[tuple[str, list[str]], ...] = (
        ("name", [node.name for node in nodes]),
        ("serial", [node.serial for node in nodes]),
        ("BMC address", [node.bmc.address + node.bmc.root for node in nodes]),
    )
    for what, values in claims:
        twice = sorted(value for value, times in Counter(values).items() if times > 1)
        if twice:
            raise Refused(
                f"The manifest gives the {what} {twice[0]} to more than one node: correct it and import again."
            )


def _values(node: FleetNode) -> dict[str, Any]:
    plain = ("name", "sku", "pool", "rack", "position", "batch", "tenant", "fabric_domain")
    return {
        **{key: getattr(node, key) for key in plain},
        "bmc": asdict(node.bmc),
        "cabling": [asdict(neighbour) for neighbour in node.cabling],
    }


def _selection(names: Sequence[str]) -> Iterator[sa.ColumnElement[bool]]:
    if not names:
        yield sa.true()
    for some in _chunks(sorted(set(names))):
        yield schema.nodes.c.name.in_(some)


def _chunks(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Cut what stands in an IN list."""
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]


def _known_components(connection: sa.Connection, wanted: Collection[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return the ids of the parts that the ledger has met, by kind and serial."""
    table, found = schema.components, dict[tuple[str, str], int]()
    for some in _chunks(sorted({serial for _, serial in wanted})):
        for row in connection.execute(
            sa.select(table.c.kind, table.c.serial, table.c.id).where(table.c.serial.in_(some))
        ):
            found[row.kind, row.serial] = row.id
    return {key: number for key, number in found.items() if key in wanted}


def _records() -> sa.Select[Any]:
    episodes, leases = schema.episodes, schema.leases
    open_episode = sa.and_(episodes.c.node == schema.nodes.c.serial, episodes.c.closed_at.is_(None))
    live_lease = sa.and_(leases.c.episode == episodes.c.id, leases.c.ended_at.is_(None))
    joined = schema.nodes.outerjoin(episodes, open_episode).outerjoin(leases, live_lease)
    return sa.select(schema.nodes, episodes.c.id.label("episode"), leases.c.run).select_from(joined)


def fleet_node(row: Row) -> FleetNode:
    """Return the manifest's view of a node's row."""
    return FleetNode(
        name=row.name,
        serial=row.serial,
        sku=row.sku,
        pool=row.pool,
        rack=row.rack,
        position=row.position,
        bmc=BmcAddress(**row.bmc),
        batch=row.batch,
        tenant=row.tenant,
        fabric_domain=row.fabric_domain,
        cabling=tuple(Neighbour(**neighbour) for neighbour in row.cabling),
    )


def _record(row: Row) -> NodeRecord:
    node = fleet_node(row)
    return NodeRecord(node, row.milestone, row.row_version, row.episode, row.reason, row.since, row.run or "")


def _identity(part: Component, node: str) -> tuple[str, str]:
    """Kind and serial; a part that tells no serial is known by its place, so that it is not lost."""
    return part.kind.value, part.serial or f"without serial: {node}/{part.slot}"


def _seen(part: Component) -> dict[str, Any]:
    return {"slot": part.slot, "firmware": part.firmware, "capacity_mib": part.capacity_mib, "health": part.health}


def _stays(row: Row | None, part: Component | None) -> bool:
    if row is None or part is None:
        return False
    return all(getattr(row, key) == value for key, value in _seen(part).items())


def _open_placements(connection: sa.Connection, node: str) -> Mapping[tuple[str, str], Row]:
    joined = schema.placements.join(schema.components)
    placements, components = schema.placements.c, schema.components.c
    seen = (placements.slot, placements.firmware, placements.capacity_mib, placements.health)
    query: sa.Select[Any] = (
        sa.select(placements.id.label("placement"), components.kind, components.serial, *seen)
        .select_from(joined)
        .where(placements.node == node, placements.removed_at.is_(None))
    )
    found: dict[tuple[str, str], Row] = {}
    for row in connection.execute(query):
        found[(row.kind, row.serial)] = row
    return found


def _placements(connection: sa.Connection, condition: sa.ColumnElement[bool]) -> tuple[Placement, ...]:
    placements, components = schema.placements.c, schema.components.c
    query = (
        sa.select(schema.placements, components.kind, components.serial, components.model, schema.nodes.c.name)
        .select_from(schema.placements.join(schema.components).join(schema.nodes))
        .where(condition)
        .order_by(placements.placed_at, components.kind, placements.slot)
    )
    return tuple(_placement(row) for row in connection.execute(query))


def _placement(row: Row) -> Placement:
    part = Component(
        ComponentKind(row.kind), row.slot, row.model, row.serial, row.firmware, row.capacity_mib, row.health
    )
    removed: datetime | None = row.removed_at
    return Placement(row.name, part, row.placed_at, removed)
