"""Incidents of the brake: the ledger collects who became suspect and what they share; `lifecycle.brake` decides.

One evaluation opens an incident per cause, extends those whose cause brought new suspects, and ends those whose cause
is gone. Whoever wants to take a node out looks at the present suspects too, so that nothing slips between a fault and
the next evaluation. Suspects of an incident that has ended are settled: they trip nothing again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.holds import Holds
from nodeworthy.adapters.ledger_sql.shared_causes import causes_of, population_of
from nodeworthy.adapters.ledger_sql.store import Row
from nodeworthy.errors import Refused
from nodeworthy.lifecycle import brake
from nodeworthy.lifecycle.brake import BrakeRules, Cause, Finding, Incident, Suspect

BRAKE: Final = 2
"""The line of those who open or end incidents."""

ITSELF: Final = "brake"
"""Who ended an incident when no person did."""


_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_JOINED: Final = "joined to"


class Incidents(Holds):
    """The part of the ledger that knows what nodes' faults have in common."""

    def brake_state(self) -> tuple[Incident, ...]:
        """Return the open incidents, the oldest first; while there is one, nothing voluntary begins."""
        with self._reading() as connection:
            return self._incidents(connection)

    def evaluate_brake(self) -> tuple[Incident, ...]:
        """Look at the suspects, open, extend and end incidents, and return those that are open. May be repeated."""
        rules = self._rules()
        with self._writing() as connection:
            self._line(connection, BRAKE)
            if rules is not None:
                for finding in self._findings(connection, rules):
                    self._open_incident(connection, finding)
                for incident in self._incidents(connection):
                    self._carry_on(connection, incident, rules)
            return self._incidents(connection)

    def clear_incident(self, number: int, *, who: str, why: str) -> None:
        """End an incident by a person's decision. Refused for an unknown number; ended already is success."""
        with self._writing() as connection:
            self._line(connection, BRAKE)
            table = schema.incidents
            row = connection.execute(sa.select(table).where(table.c.id == number)).first()
            if row is None:
                raise Refused(f"There is no incident {number}: look at the open ones for its number.")
            if row.cleared_at is None:
                self._clear_incident(connection, _incident(row), who, why)

    def _holding(self, connection: sa.Connection) -> tuple[Incident, ...]:
        """Return what holds voluntary work now: open incidents, and causes that the next evaluation will open."""
        rules, now = self._rules(), self._clock.now()
        found = () if rules is None else self._findings(connection, rules)
        new = tuple(Incident(0, one.cause, one.nodes, one.sentence, now, one.last) for one in found)
        return (*self._incidents(connection), *new)

    def _rules(self) -> BrakeRules | None:
        policy = self._policy("default")
        return policy.brake if policy else None

    def _findings(self, connection: sa.Connection, rules: BrakeRules) -> Sequence[Finding]:
        """Return the causes that trip now and that no open incident explains."""
        now = self._clock.now()
        settled = self._settled(connection, now - rules.window)
        recent = [
            one for one in self._suspects(connection, now - rules.window) if one.at > settled.get(one.node, _NEVER)
        ]
        if len({one.node for one in recent}) < rules.at_least:
            return ()
        explained = [set(incident.nodes) for incident in self._incidents(connection)]
        population = population_of(connection, self._lifecycle)
        found = brake.evaluate(self._with_causes(connection, recent), population, rules, now)
        return [one for one in found if not any(nodes.issuperset(one.nodes) for nodes in explained)]

    def _suspects(self, connection: sa.Connection, since: datetime) -> list[Suspect]:
        """Return who fell from service or standby into trouble since then."""
        moves, nodes = schema.transitions, schema.nodes
        phases = {row.name: row.phase for row in self._lifecycle.milestones}
        sources = [name for name, phase in phases.items() if phase in ("service", "standby")]
        troubles = [name for name, phase in phases.items() if phase == "trouble"]
        query = (
            sa.select(nodes.c.name, moves.c.at)
            .select_from(moves.join(nodes, moves.c.node == nodes.c.serial))
            .where(moves.c.at > since, moves.c.from_milestone.in_(sources), moves.c.to_milestone.in_(troubles))
        )
        return [Suspect(row.name, row.at) for row in connection.execute(query.order_by(moves.c.id))]

    def _with_causes(self, connection: sa.Connection, suspects: Sequence[Suspect]) -> list[Suspect]:
        shared = causes_of(connection, self._lifecycle, {one.node for one in suspects})
        return [Suspect(one.node, one.at, shared.get(one.node, frozenset())) for one in suspects]

    def _settled(self, connection: sa.Connection, since: datetime) -> Mapping[str, datetime]:
        """Return until when each node's suspicions are settled by an incident that ended since then."""
        table = schema.incidents
        found: dict[str, datetime] = {}
        for row in connection.execute(sa.select(table).where(table.c.cleared_at > since)):
            for node in () if row.cleared_why.startswith(_JOINED) else row.nodes:
                found[node] = max(found.get(node, _NEVER), row.cleared_at)
        return found

    def _open_incident(self, connection: sa.Connection, finding: Finding) -> None:
        table, now = schema.incidents, self._clock.now()
        same = [one for one in self._incidents(connection) if one.cause == finding.cause]
        if same:
            self._extend_incident(connection, same[0], finding.nodes, finding.last)
            return
        row = {"dimension": finding.cause.dimension, "value": finding.cause.value, "nodes": list(finding.nodes)}
        told = {"sentence": finding.sentence, "opened_at": now, "last_at": finding.last}
        number = connection.execute(sa.insert(table).values(**row, **told).returning(table.c.id)).scalar_one()
        for other in self._incidents(connection):
            if other.number != number and set(other.nodes) <= set(finding.nodes):
                self._clear_incident(connection, other, ITSELF, f"{_JOINED} incident {number}")
        self._audit_nodes(
            connection, finding.nodes, "incident opened", {"incident": number, "sentence": finding.sentence}
        )

    def _carry_on(self, connection: sa.Connection, incident: Incident, rules: BrakeRules) -> None:
        """Extend an incident by its cause's new suspects, or end it when its cause is gone."""
        now, everybody = self._clock.now(), incident.cause in brake.EVERYBODY
        later = self._with_causes(connection, self._suspects(connection, incident.last))
        new = [one for one in later if everybody or incident.cause in one.causes]
        if new and brake.extends(incident.cause, new, population_of(connection, self._lifecycle), rules):
            nodes = sorted({*incident.nodes, *(one.node for one in new)})
            self._extend_incident(connection, incident, nodes, max(one.at for one in new))
            return
        why = brake.gone(incident.last, incident.nodes, self._serving(connection, incident.nodes), rules, now)
        if why:
            self._clear_incident(connection, incident, ITSELF, why)

    def _extend_incident(
        self, connection: sa.Connection, incident: Incident, nodes: Iterable[str], last: datetime
    ) -> None:
        table, known = schema.incidents, set(incident.nodes)
        together = sorted(known | set(nodes))
        values = {"nodes": together, "last_at": max(last, incident.last)}
        connection.execute(sa.update(table).where(table.c.id == incident.number).values(**values))
        told = {"incident": incident.number, "sentence": incident.sentence}
        self._audit_nodes(connection, sorted(set(together) - known), "incident extended", told)

    def _clear_incident(self, connection: sa.Connection, incident: Incident, who: str, why: str) -> None:
        table = schema.incidents
        values = {"cleared_at": self._clock.now(), "cleared_by": who, "cleared_why": why}
        connection.execute(sa.update(table).where(table.c.id == incident.number).values(**values))
        told = {"incident": incident.number, "who": who, "why": why}
        self._audit_nodes(connection, incident.nodes, "incident cleared", told)

    def _audit_nodes(
        self, connection: sa.Connection, names: Iterable[str], action: str, told: Mapping[str, Any]
    ) -> None:
        """Write an audit row for each node, locked in the order of all who lock several."""
        table = schema.nodes
        query = sa.select(table.c.serial).where(table.c.name.in_(list(names))).order_by(table.c.serial)
        for serial in list(connection.scalars(query.with_for_update())):
            self._audit(connection, serial, action, told)

    def _serving(self, connection: sa.Connection, names: Iterable[str]) -> frozenset[str]:
        table = schema.nodes
        serving = [row.name for row in self._lifecycle.milestones if row.schedulable]
        query = sa.select(table.c.name).where(table.c.name.in_(list(names)), table.c.milestone.in_(serving))
        return frozenset(connection.scalars(query))

    def _incidents(self, connection: sa.Connection) -> tuple[Incident, ...]:
        table = schema.incidents
        rows = connection.execute(sa.select(table).where(table.c.cleared_at.is_(None)).order_by(table.c.id))
        return tuple(_incident(row) for row in rows)


def _incident(row: Row) -> Incident:
    cause = Cause(row.dimension, row.value)
    return Incident(row.id, cause, tuple(row.nodes), row.sentence, row.opened_at, row.last_at)
