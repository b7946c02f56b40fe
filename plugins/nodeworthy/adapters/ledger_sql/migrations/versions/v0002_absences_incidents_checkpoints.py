"""Absences for the budgets, incidents of the brake, checkpoints of the audit.

A ledger that has nodes out of service already gets their absences too, as involuntary ones: whoever left service last
and has not come back, unless it was retired.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from nodeworthy.adapters.ledger_sql.schema import UtcDateTime

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables, then write down who is absent."""
    _absences()
    _incidents()
    _checkpoints()
    op.create_index(op.f("ix_transitions_at"), "transitions", ["at"], unique=False)
    _take_over()


def downgrade() -> None:
    """Refuse: a ledger is restored from its backup, never undone."""
    raise NotImplementedError("restore the ledger from its backup")


def _absences() -> None:
    op.create_table(
        "absences",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("voluntary", sa.Boolean(), nullable=False),
        sa.Column("action", sa.String(length=32), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("run", sa.String(length=512), nullable=False),
        sa.Column("since", UtcDateTime, nullable=False),
        sa.Column("ended_at", UtcDateTime, nullable=True),
        sa.Column("ended_how", sa.String(length=16), nullable=False),
        sa.Column("ended_proof", sa.JSON(), nullable=False),
        sa.Column("replaced_by", sa.String(length=128), nullable=True),
        sa.ForeignKeyConstraint(["episode"], ["episodes.id"], name=op.f("fk_absences_episode")),
        sa.ForeignKeyConstraint(["node"], ["nodes.serial"], name=op.f("fk_absences_node")),
        sa.ForeignKeyConstraint(["replaced_by"], ["nodes.serial"], name=op.f("fk_absences_replaced_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_absences")),
    )
    op.create_index(op.f("ix_absences_episode"), "absences", ["episode"], unique=False)
    op.create_index(op.f("ix_absences_node"), "absences", ["node"], unique=False)
    _unique("uq_absences_open", "absences", ["node"], "ended_at IS NULL")


def _incidents() -> None:
    op.create_table(
        "incidents",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("dimension", sa.String(length=32), nullable=False),
        sa.Column("value", sa.String(length=256), nullable=False),
        sa.Column("nodes", sa.JSON(), nullable=False),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.Column("opened_at", UtcDateTime, nullable=False),
        sa.Column("last_at", UtcDateTime, nullable=False),
        sa.Column("cleared_at", UtcDateTime, nullable=True),
        sa.Column("cleared_by", sa.Text(), nullable=False),
        sa.Column("cleared_why", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_incidents")),
    )
    _unique("uq_incidents_open", "incidents", ["dimension", "value"], "cleared_at IS NULL")


def _checkpoints() -> None:
    op.create_table(
        "checkpoints",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", UtcDateTime, nullable=False),
        sa.Column("key_id", sa.String(length=128), nullable=False),
        sa.Column("previous", sa.String(length=64), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=True),
        sa.Column("sha256", sa.String(length=64), nullable=True),
        sa.Column("size_bytes", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_checkpoints")),
    )


def _take_over() -> None:
    op.execute(
        """
        INSERT INTO absences (node, episode, voluntary, action, why, run, since, ended_how, ended_proof)
        SELECT left_by.node, left_by.episode, false, '', left_by.event, '', left_by.at, '', '{}'
        FROM transitions AS left_by JOIN nodes ON nodes.serial = left_by.node
        WHERE left_by.from_milestone = 'in_service' AND nodes.milestone NOT IN ('in_service', 'retired')
          AND left_by.id = (SELECT max(id) FROM transitions AS any_move WHERE any_move.node = left_by.node
                            AND 'in_service' IN (any_move.from_milestone, any_move.to_milestone))
        """
    )


def _unique(name: str, table: str, columns: list[str], where: str) -> None:
    op.create_index(name, table, columns, unique=True, sqlite_where=sa.text(where), postgresql_where=sa.text(where))
