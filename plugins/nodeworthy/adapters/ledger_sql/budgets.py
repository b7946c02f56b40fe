"""Absences: who is out of service, taken for a node in one transaction with what it is taken for.

Takings of all writers stand in one line (an advisory lock on PostgreSQL, the write lock on SQLite) that is entered
after the node's own lock and never the other way round: the count that allows a taking is still true when it commits,
and nobody waits in a circle. Ending an absence needs no line, it only makes room. The end of a lease ends no absence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.incidents import Incidents
from nodeworthy.adapters.ledger_sql.observations import Observations
from nodeworthy.adapters.ledger_sql.store import Row
from nodeworthy.errors import Refused
from nodeworthy.lifecycle.budget import Absence, Dimension, Group, room
from nodeworthy.lifecycle.guards import OWN_WILL, VOLUNTARY, Facts, Refusal, brake_released, first_refusal, voluntary
from nodeworthy.lifecycle.machine import Moved
from nodeworthy.lifecycle.policy import Action, Mode
from nodeworthy.lifecycle.records import Lease

BUDGETS: Final = 1
"""The line of those who take an absence."""

BACK, REPLACED, LEFT = "back", "replaced", "left"


class Absences(Incidents, Observations):
    """The part of the ledger that counts who does not serve."""

    def take_absence(self, lease: Lease, action: Action, why: str) -> Absence | None:
        """Take a serving node out voluntarily, by pool, rack, tenant and fabric domain at once. May be repeated.

        Returns the open absence, which of a node that is out already is the one it has, and None for a node that does
        not serve yet. Raises Refused, with the guard's sentence, when policy, a hold, the brake, the calendar or a
        budget forbids it; the sentence is kept as the node's reason.
        """
        with self._writing() as connection:
            node = self._fenced(connection, lease)
            taken = self._take(connection, node, lease, (action, why))
        return self._told(lease, taken)

    def return_absence(self, lease: Lease, proof: Mapping[str, Any]) -> None:
        """End the absence of a node that never left, or is back in service; `proof` tells how that was seen.

        Refused without proof, or while the ledger has the node elsewhere. A node without an absence changes nothing.
        """
        with self._writing() as connection:
            node = self._fenced(connection, lease)
            if not proof:
                raise Refused(f"{lease.node}: an absence ends with a proof that the node serves; look at it first.")
            if not self._lifecycle.milestone(node.milestone).schedulable:
                raise Refused(
                    f"{lease.node} is {node.milestone}: its absence ends when it is back in service or replaced."
                )
            self._end_absence(connection, node, BACK, dict(proof))

    def replace_absence(self, node: str, *, by: str, who: str, why: str) -> str:
        """End a node's absence because another node serves in its place; return one sentence. Refused when it cannot.

        The replacement must be in service without an absence, in the same pool, and in the same tenant and fabric
        domain where these have a budget.
        """
        with self._writing() as connection:
            # In the order of all who lock several nodes, so that nobody waits in a circle.
            ordered = sorted((node, by), key=lambda name: self._serial(connection, name))
            locked = {name: self._locked(connection, name) for name in ordered}
            absent, heir = locked[node], locked[by]
            self._refuse_heir(connection, absent, heir)
            self._end_absence(connection, absent, REPLACED, {"by": by, "who": who, "why": why}, replaced_by=heir.serial)
        return f"{by} serves in the place of {node}, whose absence takes no room any more."

    def absences(self, pool: str = "") -> tuple[Absence, ...]:
        """Return the open absences of a pool, or of all, the oldest first."""
        table, nodes = schema.absences, schema.nodes
        condition = nodes.c.pool == pool if pool else sa.true()
        with self._reading() as connection:
            return self._absences(connection, condition, table.c.ended_at.is_(None))

    def room(self, node: str) -> Mapping[str, int]:
        """Return how many more nodes may leave voluntarily, by each group of a node that has a budget."""
        with self._reading() as connection:
            table = schema.nodes
            row = connection.execute(sa.select(table).where(table.c.serial == self._serial(connection, node))).one()
            policy = self._policy(row.pool)
            return {} if policy is None else room(self._groups(connection, row), policy.budgets)

    def _take(
        self, connection: sa.Connection, node: Row, lease: Lease, asked: tuple[Action, str]
    ) -> Absence | Refusal | None:
        """Take an absence in the caller's transaction, on a locked and fenced node; a refusal is written down."""
        action, why = asked
        present = self._absence(connection, node)
        if present is not None and (action is Action.DRAIN and not present.voluntary):
            return present
        facts = self._voluntary_facts(connection, node)
        serving = self._lifecycle.milestone(node.milestone).schedulable
        guards = VOLUNTARY if present is None and serving else (brake_released,)
        refusal = first_refusal(guards, facts, voluntary(action, node.milestone))
        if refusal is not None:
            self._write_refusal(connection, node, lease, (action.value, refusal))
            if guards is VOLUNTARY and facts.policy is not None and facts.policy.mode(action) is Mode.OBSERVE:
                self._write_observed(connection, node, lease, (action.value, why))
            return refusal
        if present is None and serving:
            return self._leave(connection, node, lease, (True, action.value, why))
        return present

    def _follow(self, connection: sa.Connection, node: Row, lease: Lease, moved: tuple[Moved, str]) -> None:
        """Begin or end an absence with a move: leaving service, being back, or leaving the fleet."""
        move, reason = moved
        before, after = self._lifecycle.milestone(move.from_), self._lifecycle.milestone(move.to)
        if after.schedulable or after.final:
            self._end_absence(connection, node, BACK if after.schedulable else LEFT, {"event": move.event})
        elif before.schedulable and self._absence(connection, node) is None:
            row = self._lifecycle.transition(move.from_, move.event)
            own_will = row is not None and not OWN_WILL.isdisjoint(row.guards)
            self._leave(connection, node, lease, (own_will, move.event, reason or move.event))

    def _voluntary_facts(self, connection: sa.Connection, node: Row) -> Facts:
        """Collect what the guards of voluntary work ask, in line with all others who ask."""
        self._line(connection, BUDGETS)
        return Facts(
            now=self._clock.now(),
            holds=self._holds(connection, node.serial, node.name),
            policy=self._policy(node.pool),
            groups=self._groups(connection, node),
            incidents=self._holding(connection),
        )

    def _groups(self, connection: sa.Connection, node: Row) -> tuple[Group, ...]:
        policy = self._policy(node.pool)
        named = [one for one in Dimension if policy and one in policy.budgets.limits and getattr(node, one.value)]
        return tuple(self._group(connection, one, getattr(node, one.value)) for one in named)

    def _group(self, connection: sa.Connection, dimension: Dimension, name: str) -> Group:
        nodes, absences = schema.nodes, schema.absences
        same, open_ = nodes.c[dimension.value] == name, absences.c.ended_at.is_(None)
        serving = [row.name for row in self._lifecycle.milestones if row.schedulable]
        absent = sa.select(absences.c.node).where(open_)
        belongs = sa.or_(nodes.c.milestone.in_(serving), nodes.c.serial.in_(absent))
        capacity = connection.scalar(sa.select(sa.func.count()).select_from(nodes).where(same, belongs))
        return Group(dimension, name, int(capacity or 0), self._absences(connection, same, open_))

    def _absences(self, connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> tuple[Absence, ...]:
        table, nodes = schema.absences, schema.nodes
        query = sa.select(table, nodes.c.name).select_from(table.join(nodes, table.c.node == nodes.c.serial))
        rows = connection.execute(query.where(*conditions).order_by(table.c.since, nodes.c.name))
        return tuple(Absence(row.name, row.episode, row.voluntary, row.why, row.since) for row in rows)

    def _absence(self, connection: sa.Connection, node: Row) -> Absence | None:
        table = schema.absences
        found = self._absences(connection, table.c.node == node.serial, table.c.ended_at.is_(None))
        return found[0] if found else None

    def _leave(self, connection: sa.Connection, node: Row, lease: Lease, how: tuple[bool, str, str]) -> Absence:
        own_will, action, why = how
        row = {"episode": lease.episode, "voluntary": own_will, "action": action, "why": why, "run": lease.run}
        now = self._clock.now()
        connection.execute(sa.insert(schema.absences).values(node=node.serial, since=now, **row))
        self._audit(connection, node.serial, "absence begun", row)
        return Absence(node.name, lease.episode, own_will, why, now)

    def _end_absence(
        self,
        connection: sa.Connection,
        node: Row,
        how: str,
        proof: Mapping[str, Any],
        *,
        replaced_by: str | None = None,
    ) -> None:
        table = schema.absences
        values = {"ended_at": self._clock.now(), "ended_how": how, "ended_proof": proof, "replaced_by": replaced_by}
        open_ = sa.update(table).where(table.c.node == node.serial, table.c.ended_at.is_(None))
        if connection.execute(open_.values(**values)).rowcount:
            self._audit(connection, node.serial, "absence ended", {"how": how, "proof": proof})

    def _refuse_heir(self, connection: sa.Connection, absent: Row, heir: Row) -> None:
        table = schema.absences
        if self._absence(connection, absent) is None:
            raise Refused(f"{absent.name} has no absence that {heir.name} could end: nothing to replace.")
        if not self._lifecycle.milestone(heir.milestone).schedulable or self._absence(connection, heir) is not None:
            raise Refused(f"{heir.name} is {heir.milestone} and replaces nobody: admit it first.")
        policy = self._policy(absent.pool)
        limits = policy.budgets.limits if policy else {}
        for one in (Dimension.POOL, *limits):
            if one is not Dimension.RACK and getattr(absent, one.value) != getattr(heir, one.value):
                raise Refused(
                    f"{heir.name} is in another {one.words} than {absent.name}: it makes no room there, choose another."
                )
        earlier = sa.select(table.c.node).where(table.c.replaced_by == heir.serial, table.c.ended_at >= heir.since)
        used = connection.scalar(earlier)
        if used is not None:
            raise Refused(f"{heir.name} replaces the node with the serial {used} already: it serves in one place.")

    def _write_refusal(self, connection: sa.Connection, node: Row, lease: Lease, refused: tuple[str, Refusal]) -> None:
        """Keep a refusal as the node's reason, and in its audit when it is another one than before."""
        event, refusal = refused
        if node.reason == refusal.reason:
            return
        self._update_node(connection, node, {"reason": refusal.reason})
        told = {"episode": lease.episode, "run": lease.run, "event": event, "milestone": node.milestone}
        self._audit(connection, node.serial, "refused", {**told, "reason": refusal.reason, "until": refusal.until})

    def _told(self, lease: Lease, taken: Absence | Refusal | None) -> Absence | None:
        if isinstance(taken, Refusal):
            raise Refused(f"{lease.node}: {taken.reason}")
        return taken
