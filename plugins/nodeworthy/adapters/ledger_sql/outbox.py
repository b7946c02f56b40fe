"""The outbox: what Kubernetes must be told of a node, written in the transaction of the move that it tells.

The number of a row is the revision under which it is delivered: it grows with every move, so that the cluster refuses
a delivery that was overtaken. Whoever moved the node delivers at once; what a dead process left is delivered later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.schema_upkeep import identities, outbox
from nodeworthy.adapters.ledger_sql.store import Row, Store
from nodeworthy.lifecycle.upkeep import Due

_FACTS = {"boot_id": "boot_id", "machine_id": "machine_id", "node_uid": "uid"}
"""Facts of a transition by the column of the identity that they prove."""

_IDENTITY = sa.select(identities).where(identities.c.node == sa.bindparam("serial"))
_KNOWN_AGAIN = (
    sa.update(identities)
    .where(identities.c.node == sa.bindparam("serial"))
    .values({name: sa.bindparam(name) for name in ("boot_id", "machine_id", "uid", "at")})
)


class Outbox(Store):
    """The part of the ledger that Kubernetes follows."""

    def due(self, node: str) -> Due | None:
        """Return what Kubernetes must show of a node; None before its first move."""
        with self._reading() as connection:
            query = sa.select(outbox).where(outbox.c.node == self._serial(connection, node))
            row = connection.execute(query.order_by(outbox.c.id.desc()).limit(1)).first()
            return None if row is None else Due(row.milestone, row.episode, row.id)

    def delivered(self, revisions: Mapping[str, int], outcome: str = "shown") -> None:
        """Write down, by node, that Kubernetes shows it up to this revision. Idempotent, many nodes at once."""
        if not revisions:
            return
        now = self._clock.now()
        node = sa.select(schema.nodes.c.serial).where(schema.nodes.c.name == sa.bindparam("name")).scalar_subquery()
        told = (outbox.c.node == node, outbox.c.id <= sa.bindparam("up_to"), outbox.c.delivered_at.is_(None))
        with self._writing() as connection:
            rows = [{"name": name, "up_to": revision} for name, revision in sorted(revisions.items())]
            connection.execute(sa.update(outbox).where(*told).values(delivered_at=now, outcome=outcome), rows)

    def _tell(self, connection: sa.Connection, node: Row, episode: int, milestone: str) -> int:
        """Queue a milestone for Kubernetes; return its revision."""
        row = {"node": node.serial, "episode": episode, "milestone": milestone, "at": self._clock.now(), "outcome": ""}
        return int(connection.execute(sa.insert(outbox).values(**row).returning(outbox.c.id)).scalar_one())

    def _identify(self, connection: sa.Connection, serial: str, facts: Mapping[str, Any]) -> None:
        """Keep what a transition proved about the running system. A new boot leaves nothing of the one before."""
        seen = {column: str(facts[fact]) for fact, column in _FACTS.items() if facts.get(fact)}
        if "boot_id" not in seen:
            return
        known = connection.execute(_IDENTITY, {"serial": serial}).first()
        values = {"machine_id": "", "uid": "", **seen, "at": self._clock.now()}
        if known is None:
            connection.execute(sa.insert(identities), {"node": serial, "system_uuid": "", **values})
            return
        if known.boot_id == seen["boot_id"]:
            values = {**values, **{name: seen.get(name) or getattr(known, name) for name in ("machine_id", "uid")}}
        connection.execute(_KNOWN_AGAIN, {"serial": serial, **values})
