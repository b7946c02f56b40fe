"""What nodes share, as the ledger knows it: rack, leaf switches, power supplies, batch, driver, firmware set, image.

Reads only, and only when there are enough suspects to ask: once for the suspects and once for the size of every group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.evidence.inventory import ComponentKind
from nodeworthy.lifecycle.brake import EVERYBODY, Cause
from nodeworthy.lifecycle.table import Lifecycle


def causes_of(
    connection: sa.Connection, lifecycle: Lifecycle, names: Collection[str] | None = None
) -> Mapping[str, frozenset[Cause]]:
    """Return by name what nodes could share with others; by default of all that serve, stand by or are absent."""
    nodes, absences = schema.nodes, schema.absences
    phases = ("service", "standby")
    watched = [row.name for row in lifecycle.milestones if row.phase in phases]
    absent = sa.select(absences.c.node).where(absences.c.ended_at.is_(None))
    mine = sa.or_(nodes.c.milestone.in_(watched), nodes.c.serial.in_(absent))
    query = sa.select(nodes.c.name, nodes.c.serial, nodes.c.rack, nodes.c.batch, nodes.c.cabling)
    rows = connection.execute(query.where(mine if names is None else nodes.c.name.in_(list(names)))).all()
    learned = _learned(connection, lifecycle, {row.serial for row in rows} if names is not None else None)
    found: dict[str, frozenset[Cause]] = {}
    for row in rows:
        switches = {str(neighbour.get("switch", "")) for neighbour in row.cabling}
        plain = {Cause("rack", row.rack), Cause("batch", row.batch), *(Cause("switch", one) for one in switches)}
        found[row.name] = frozenset(cause for cause in {*plain, *learned.get(row.serial, ())} if cause.value)
    return found


def population_of(connection: sa.Connection, lifecycle: Lifecycle) -> Mapping[Cause, int]:
    """Return how many nodes share each cause, and how many there are at all."""
    everybody = causes_of(connection, lifecycle)
    counts = Counter(cause for causes in everybody.values() for cause in causes)
    return {**counts, **dict.fromkeys(EVERYBODY, len(everybody))}


def _learned(
    connection: sa.Connection, lifecycle: Lifecycle, serials: Collection[str] | None
) -> Mapping[str, set[Cause]]:
    """Return by serial what was seen last: power supplies, firmware set, image and driver."""
    found: dict[str, set[Cause]] = {}
    for dimension, query in (
        ("psu", _power_supplies()),
        ("firmware_set", _newest(schema.qualifications, schema.qualifications.c.firmware_set)),
        ("image", _images(lifecycle)),
        ("rollout", _newest(schema.results, schema.results.c.document["versions"]["driver"].as_string())),
    ):
        for row in connection.execute(query):
            if row.value and (serials is None or row.node in serials):
                found.setdefault(row.node, set()).add(Cause(dimension, str(row.value)))
    return found


def _newest(table: sa.Table, value: sa.ColumnElement[Any], *conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    last = sa.select(sa.func.max(table.c.id)).where(*conditions).group_by(table.c.node)
    return sa.select(table.c.node, value.label("value")).where(table.c.id.in_(last))


def _images(lifecycle: Lifecycle) -> sa.Select[Any]:
    table = schema.transitions
    events = sorted({row.event for row in lifecycle.transitions if "image" in row.proof})
    return _newest(table, table.c.facts["image"].as_string(), table.c.event.in_(events))


def _power_supplies() -> sa.Select[Any]:
    placements, components = schema.placements, schema.components
    kind = sa.and_(components.c.kind == ComponentKind.PSU.value, placements.c.removed_at.is_(None))
    model = components.c.model + sa.literal(" ") + placements.c.firmware
    return (
        sa.select(placements.c.node, model.label("value"))
        .select_from(placements.join(components))
        .where(kind)
        .distinct()
    )
