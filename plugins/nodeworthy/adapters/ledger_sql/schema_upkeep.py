"""Tables of housekeeping: what Kubernetes must be told, how a node's system is known, what waits for a person.

An outbox row is written in the transaction of the move that it tells, so that neither can be lost without the other.
One notice of a (kind, key) is open at a time. `chores` says when a rare duty was last claimed, by whichever run.
"""

from __future__ import annotations

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql.schema import UtcDateTime, metadata

outbox = sa.Table(
    "outbox",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("node", sa.String(128), sa.ForeignKey("nodes.serial"), nullable=False, index=True),
    sa.Column("episode", sa.Integer, sa.ForeignKey("episodes.id"), nullable=False),
    sa.Column("milestone", sa.String(64), nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.Column("delivered_at", UtcDateTime, nullable=True),
    sa.Column("outcome", sa.Text, nullable=False),
    sqlite_autoincrement=True,
)
sa.Index(
    "ix_outbox_pending",
    outbox.c.node,
    sqlite_where=outbox.c.delivered_at.is_(None),
    postgresql_where=outbox.c.delivered_at.is_(None),
)

identities = sa.Table(
    "identities",
    metadata,
    sa.Column("node", sa.String(128), sa.ForeignKey("nodes.serial"), primary_key=True),
    sa.Column("boot_id", sa.String(64), nullable=False),
    sa.Column("machine_id", sa.String(64), nullable=False),
    sa.Column("uid", sa.String(64), nullable=False),
    sa.Column("system_uuid", sa.String(64), nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
)

notices = sa.Table(
    "notices",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("node", sa.String(128), sa.ForeignKey("nodes.serial"), nullable=True, index=True),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("key", sa.String(256), nullable=False),
    sa.Column("sentence", sa.Text, nullable=False),
    sa.Column("detail", sa.JSON, nullable=False),
    sa.Column("raised_at", UtcDateTime, nullable=False),
    sa.Column("cleared_at", UtcDateTime, nullable=True),
    sa.Column("cleared_why", sa.Text, nullable=False),
)
sa.Index(
    "uq_notices_open",
    notices.c.kind,
    notices.c.key,
    unique=True,
    sqlite_where=notices.c.cleared_at.is_(None),
    postgresql_where=notices.c.cleared_at.is_(None),
)

chores = sa.Table(
    "chores",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("claimed_at", UtcDateTime, nullable=False),
)
