"""Counted over the whole fleet: faults and time in service by serial, and what a node's risk follows from."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.schema_history import figure_runs, figures, part_faults, remarks
from nodeworthy.adapters.ledger_sql.store import Store
from nodeworthy.qualification.lemons import PartFault, PartRecord
from nodeworthy.qualification.selection import RiskFacts

_NODE = "node"
_Part = tuple[str, str]
"""Serial and kind."""


class Parts(Store):
    """The part of the ledger that counts over the whole fleet."""

    def part_record(self, window: timedelta) -> PartRecord:
        """Return the confirmed faults of this time, and how many days of it each part of those kinds was in service."""
        now = self._clock.now()
        since = now - window
        with self._reading() as connection:
            names = {
                row.serial: row.name
                for row in connection.execute(sa.select(schema.nodes.c.serial, schema.nodes.c.name))
            }
            query = sa.select(part_faults).where(part_faults.c.at >= since).order_by(part_faults.c.id)
            rows = connection.execute(query).all()
            kinds = {row.kind for row in rows}
            days = _days_of_parts(connection, kinds - {_NODE}, since, now)
            _days_by_figures(connection, {(row.serial, row.kind) for row in rows}, days, since, now)
            if _NODE in kinds:
                days.update(_days_of_nodes(connection, since, now))
            places = _places(connection, kinds - {_NODE}, names)
        faults = tuple(
            PartFault(
                row.serial, row.kind, names[row.node] if row.kind == _NODE else f"{names[row.node]} {row.component}"
            )
            for row in rows
        )
        found = {(serial, _NODE): name for serial, name in names.items()}
        return PartRecord(faults, days, {**found, **places})

    def risk_facts(
        self, milestones: Collection[str], pool: str, *, recent: timedelta, past: timedelta
    ) -> tuple[RiskFacts, ...]:
        """Return what the risk of every node in these milestones follows from, by name; all pools when none is named.

        `recent` is how long a remark or finding counts, `past` how long a fault does.
        """
        table, now = schema.nodes, self._clock.now()
        chosen = sa.select(table).where(table.c.milestone.in_(sorted(milestones))).order_by(table.c.name)
        chosen = chosen.where(table.c.pool == pool) if pool else chosen
        with self._reading() as connection:
            rows = connection.execute(chosen).all()
            began = _first(connection, schema.episodes.c.node, sa.func.min(schema.episodes.c.opened_at))
            proven = schema.qualifications
            granted = _first(connection, proven.c.node, sa.func.max(proven.c.granted_at))
            faults = _counted(connection, now - past)
            findings = _findings(connection, now - recent)
        return tuple(
            RiskFacts(
                node=row.name,
                sku=row.sku,
                milestone=row.milestone,
                age_days=_days(began.get(row.serial, now), now),
                days_since_qualification=_days(granted.get(row.serial) or began.get(row.serial, now), now),
                past_faults=faults.get(row.serial, 0),
                findings=tuple(findings.get(row.serial, ())),
            )
            for row in rows
        )


def _days(since: datetime, now: datetime) -> float:
    return max(0.0, (now - since).total_seconds() / 86400.0)


def _days_of_parts(
    connection: sa.Connection, kinds: Collection[str], since: datetime, now: datetime
) -> dict[_Part, float]:
    """Add up, per part, its times in any node: what moved was in service in both."""
    placed, parts = schema.placements.c, schema.components.c
    joined = schema.placements.join(schema.components)
    within = sa.or_(placed.removed_at.is_(None), placed.removed_at > since)
    query = sa.select(parts.kind, parts.serial, placed.placed_at, placed.removed_at).select_from(joined)
    found: dict[_Part, float] = {}
    for row in connection.execute(query.where(parts.kind.in_(sorted(kinds)), within)):
        time = _days(max(row.placed_at, since), row.removed_at or now)
        found[row.serial, row.kind] = found.get((row.serial, row.kind), 0.0) + time
    return found


def _days_by_figures(
    connection: sa.Connection, faulty: Collection[_Part], days: dict[_Part, float], since: datetime, now: datetime
) -> None:
    """Give a part that no inventory names, since its BMC tells another serial, the time since it was first measured."""
    unknown = [(serial, kind) for serial, kind in faulty if (serial, kind) not in days and kind != _NODE]
    if not unknown:
        return
    # All of them in one reading of the figures, of which a fleet has millions.
    serials = sa.select(part_faults.c.serial).where(part_faults.c.at >= since, part_faults.c.kind != _NODE)
    joined = figures.join(figure_runs, figure_runs.c.result == figures.c.result)
    query = sa.select(figures.c.part, sa.func.min(figure_runs.c.at).label("at")).select_from(joined)
    rows = connection.execute(query.where(figures.c.part.in_(serials)).group_by(figures.c.part))
    first = {row.part: row.at for row in rows}
    for serial, kind in unknown:
        if serial in first:
            days[serial, kind] = _days(max(first[serial], since), now)


def _days_of_nodes(connection: sa.Connection, since: datetime, now: datetime) -> dict[_Part, float]:
    began = _first(connection, schema.episodes.c.node, sa.func.min(schema.episodes.c.opened_at))
    return {(serial, _NODE): _days(max(first, since), now) for serial, first in began.items()}


def _places(connection: sa.Connection, kinds: Collection[str], names: Mapping[str, str]) -> dict[_Part, str]:
    placed, parts = schema.placements.c, schema.components.c
    query = sa.select(parts.kind, parts.serial, placed.node).select_from(schema.placements.join(schema.components))
    rows = connection.execute(query.where(parts.kind.in_(sorted(kinds)), placed.removed_at.is_(None)))
    return {(row.serial, row.kind): names[row.node] for row in rows}


def _first(connection: sa.Connection, node: sa.Column[Any], value: Any) -> dict[str, datetime]:
    rows = connection.execute(sa.select(node, value.label("at")).group_by(node))
    return {serial: at for serial, at in rows if at is not None}


def _counted(connection: sa.Connection, since: datetime) -> dict[str, int]:
    table = part_faults.c
    query = sa.select(table.node, sa.func.count()).where(table.kind == _NODE, table.at >= since).group_by(table.node)
    return {serial: int(count) for serial, count in connection.execute(query)}


def _findings(connection: sa.Connection, since: datetime) -> dict[str, list[str]]:
    """Return, by node, what judgements remarked on lately and what the tools named in their latest results."""
    found: dict[str, list[str]] = {}
    noticed = sa.select(remarks.c.node, remarks.c.code, remarks.c.component).where(remarks.c.at >= since)
    for row in connection.execute(noticed.order_by(remarks.c.id)):
        _add(found, row.node, f"{row.code} of {row.component}")
    table = schema.results
    named = sa.select(table.c.node, table.c.document["findings"].label("findings")).where(table.c.at >= since)
    for serial, named_ones in connection.execute(named.order_by(table.c.id)):
        for finding in named_ones or ():
            _add(found, serial, f"{finding['code']} of {finding.get('component') or _NODE}")
    return found


def _add(found: dict[str, list[str]], node: str, words: str) -> None:
    known = found.setdefault(node, [])
    if words not in known:
        known.append(words)
