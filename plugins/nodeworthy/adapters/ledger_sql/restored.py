"""What a ledger must do after it went back in time: no number may be used twice, and no isolation may be lost.

Between the backup and the restore the old ledger may have opened episodes, moved nodes and written both numbers onto
Node objects. Episodes and moves therefore go on far behind the restored ones. Leases of that time are dead. Isolation
is told to Kubernetes again; a node in service is not, since it may have been isolated for a reason that is forgotten.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.notices import Notices
from nodeworthy.adapters.ledger_sql.orphans import EXPIRED
from nodeworthy.adapters.ledger_sql.outbox import Outbox
from nodeworthy.adapters.ledger_sql.schema_approvals import requests
from nodeworthy.adapters.ledger_sql.schema_upkeep import outbox
from nodeworthy.adapters.ledger_sql.store import Row
from nodeworthy.lifecycle.approvals import End

GAP: Final = 1_000_000
"""More episodes or moves than any ledger writes between a backup and its restore."""


class Restored(Outbox, Notices):
    """The part of the ledger that knows that it was restored."""

    def mark_restored(self, sha256: str) -> int:
        """Write into every chain that the ledger was restored, and make it safe to use; return how many nodes."""
        with self._writing() as connection:
            for table in (schema.episodes, outbox):
                _skip(connection, table)
            leases = schema.leases
            dead = sa.update(leases).where(leases.c.ended_at.is_(None))
            connection.execute(dead.values(ended_at=self._clock.now(), ended_why=EXPIRED))
            unheard = sa.update(requests).where(requests.c.ended_at.is_(None))
            connection.execute(unheard.values(ended_at=self._clock.now(), ended_as=End.WITHDRAWN.value))
            nodes = connection.execute(sa.select(schema.nodes).order_by(schema.nodes.c.serial).with_for_update()).all()
            for node in nodes:
                self._isolate_again(connection, node)
            detail = {"backup_sha256": sha256}
            self._audit_many(connection, [(node.serial, "ledger restored", detail) for node in nodes])
            return len(nodes)

    def _isolate_again(self, connection: sa.Connection, node: Row) -> None:
        last = sa.select(sa.func.max(outbox.c.episode)).where(outbox.c.node == node.serial)
        episode = connection.scalar(last)
        if episode is not None and not self._lifecycle.milestone(node.milestone).schedulable:
            self._tell(connection, node, episode, node.milestone)


def _skip(connection: sa.Connection, table: sa.Table) -> None:
    """Let a table's numbers go on behind the gap."""
    column = table.c.id
    highest = int(connection.scalar(sa.select(sa.func.max(column))) or 0) + GAP
    if connection.dialect.name == "postgresql":
        sequence = sa.func.pg_get_serial_sequence(table.name, column.name)
        connection.execute(sa.select(sa.func.setval(sequence, highest)))
        return
    numbers = sa.table("sqlite_sequence", sa.column("name"), sa.column("seq"))
    changed = connection.execute(sa.update(numbers).where(numbers.c.name == table.name).values(seq=highest))
    if not changed.rowcount:
        connection.execute(sa.insert(numbers).values(name=table.name, seq=highest))
