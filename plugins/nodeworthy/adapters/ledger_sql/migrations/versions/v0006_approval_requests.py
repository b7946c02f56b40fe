"""Requests for an approval, and the audit by action and time, which reports over all nodes read."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from nodeworthy.adapters.ledger_sql.schema import UtcDateTime

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table and the index; approvals that were given before stand without a request."""
    op.create_table(
        "approval_requests",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("plan_sha256", sa.String(length=64), nullable=False),
        sa.Column("approval", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("answers", sa.Integer(), nullable=False),
        sa.Column("may_answer", sa.JSON(), nullable=False),
        sa.Column("run", sa.String(length=512), nullable=False),
        sa.Column("asked_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.Column("ended_as", sa.String(length=16), nullable=False),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["episode"], ["episodes.id"], name=op.f("fk_approval_requests_episode")),
        sa.ForeignKeyConstraint(["node"], ["nodes.serial"], name=op.f("fk_approval_requests_node")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_approval_requests")),
    )
    for column in ("episode", "node"):
        op.create_index(op.f(f"ix_approval_requests_{column}"), "approval_requests", [column])
    op.create_index(
        "uq_approval_requests_open",
        "approval_requests",
        ["episode"],
        unique=True,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_index("ix_audit_action_at", "audit", ["action", "at"])


def downgrade() -> None:
    """Refuse: a ledger is restored from its backup, never undone."""
    raise NotImplementedError("restore the ledger from its backup")
