"""What would have been done had policy not only observed, and what happened to all nodes since a time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.store import Row, Store
from nodeworthy.lifecycle.observed import OBSERVED, Deed
from nodeworthy.lifecycle.policy import Action
from nodeworthy.lifecycle.records import Lease


class Observations(Store):
    """The part of the ledger that remembers what was not done."""

    def observe(self, lease: Lease, action: Action, what: str) -> None:
        """Write down what would be done to the node. Once per episode, action and words."""
        with self._writing() as connection:
            self._write_observed(connection, self._fenced(connection, lease), lease, (action.value, what))

    def deeds(self, actions: Sequence[str], since: datetime, pool: str = "") -> tuple[Deed, ...]:
        """Return the audit rows of these actions from `since` (aware) on, of a pool or of all, oldest first."""
        table, nodes = schema.audit, schema.nodes
        begin = since.astimezone(UTC).isoformat(timespec="microseconds")
        query = sa.select(table, nodes.c.name).select_from(table.join(nodes, nodes.c.serial == table.c.node))
        query = query.where(table.c.action.in_(actions), table.c.at >= begin)
        query = query.where(nodes.c.pool == pool) if pool else query
        with self._reading() as connection:
            rows = connection.execute(query.order_by(table.c.at, table.c.node, table.c.sequence)).all()
        return tuple(Deed(row.name, datetime.fromisoformat(row.at), row.action, json.loads(row.detail)) for row in rows)

    def _write_observed(self, connection: sa.Connection, node: Row, lease: Lease, would: tuple[str, str]) -> None:
        action, what = would
        told = {"episode": lease.episode, "run": lease.run, "action": action, "what": what}
        table = schema.audit
        query = sa.select(table.c.detail).where(table.c.node == node.serial, table.c.action == OBSERVED)
        before = [json.loads(text) for text in connection.scalars(query)]
        if all((row["episode"], row["action"], row["what"]) != (lease.episode, action, what) for row in before):
            self._audit(connection, node.serial, OBSERVED, {**told, "milestone": node.milestone})
