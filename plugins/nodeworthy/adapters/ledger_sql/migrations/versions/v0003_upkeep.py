"""The outbox, identities, notices and chores of housekeeping.

A ledger that was written before gets what its moves would have left: one delivered outbox row per node that ever moved,
and the identity that its newest boot was proven by. Open episodes stay as they are.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from nodeworthy.adapters.ledger_sql.schema import UtcDateTime

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables, then fill in what older moves would have written."""
    _outbox()
    _identities()
    _notices()
    _chores()
    _fill()


def _outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("milestone", sa.String(length=64), nullable=False),
        sa.Column("at", UtcDateTime, nullable=False),
        sa.Column("delivered_at", UtcDateTime, nullable=True),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["episode"], ["episodes.id"], name=op.f("fk_outbox_episode")),
        sa.ForeignKeyConstraint(["node"], ["nodes.serial"], name=op.f("fk_outbox_node")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_outbox_node"), "outbox", ["node"], unique=False)
    pending = sa.text("delivered_at IS NULL")
    op.create_index(
        "ix_outbox_pending", "outbox", ["node"], unique=False, sqlite_where=pending, postgresql_where=pending
    )


def _identities() -> None:
    op.create_table(
        "identities",
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("boot_id", sa.String(length=64), nullable=False),
        sa.Column("machine_id", sa.String(length=64), nullable=False),
        sa.Column("uid", sa.String(length=64), nullable=False),
        sa.Column("system_uuid", sa.String(length=64), nullable=False),
        sa.Column("at", UtcDateTime, nullable=False),
        sa.ForeignKeyConstraint(["node"], ["nodes.serial"], name=op.f("fk_identities_node")),
        sa.PrimaryKeyConstraint("node", name=op.f("pk_identities")),
    )


def _notices() -> None:
    op.create_table(
        "notices",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("node", sa.String(length=128), nullable=True),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("key", sa.String(length=256), nullable=False),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("raised_at", UtcDateTime, nullable=False),
        sa.Column("cleared_at", UtcDateTime, nullable=True),
        sa.Column("cleared_why", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["node"], ["nodes.serial"], name=op.f("fk_notices_node")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notices")),
    )
    op.create_index(op.f("ix_notices_node"), "notices", ["node"], unique=False)
    open_ones = sa.text("cleared_at IS NULL")
    op.create_index(
        "uq_notices_open", "notices", ["kind", "key"], unique=True, sqlite_where=open_ones, postgresql_where=open_ones
    )


def _chores() -> None:
    op.create_table(
        "chores",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("claimed_at", UtcDateTime, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_chores")),
    )


def _fill() -> None:
    connection = op.get_bind()
    columns = ("id", "node", "episode", "to_milestone")
    moves = sa.table(
        "transitions",
        *(sa.column(name) for name in columns),
        sa.column("facts", sa.JSON()),
        sa.column("at", UtcDateTime),
    )
    told: dict[str, dict[str, Any]] = {}
    known: dict[str, dict[str, Any]] = {}
    for row in connection.execute(sa.select(moves).order_by(moves.c.id)):
        told[row.node] = {
            "node": row.node,
            "episode": row.episode,
            "milestone": row.to_milestone,
            "at": row.at,
            "delivered_at": row.at,
            "outcome": "written before there was an outbox",
        }
        if row.facts.get("boot_id"):
            known[row.node] = _seen(row, known.get(row.node))
    if told:
        op.bulk_insert(_table("outbox", list(next(iter(told.values())))), list(told.values()))
    if known:
        op.bulk_insert(_table("identities", list(next(iter(known.values())))), list(known.values()))


def _seen(row: Any, before: dict[str, Any] | None) -> dict[str, Any]:
    same = before if before is not None and before["boot_id"] == row.facts["boot_id"] else {}
    return {
        "node": row.node,
        "boot_id": str(row.facts["boot_id"]),
        "machine_id": str(row.facts.get("machine_id") or same.get("machine_id", "")),
        "uid": str(row.facts.get("node_uid") or same.get("uid", "")),
        "system_uuid": "",
        "at": row.at,
    }


def _table(name: str, columns: list[str]) -> Any:
    times = ("at", "delivered_at")
    return sa.table(name, *(sa.column(one, UtcDateTime if one in times else None) for one in columns))
