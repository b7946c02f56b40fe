"""Where each judgement's dossier lies, and the versions of learnt baselines."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from nodeworthy.adapters.ledger_sql.schema import UtcDateTime

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create both tables; judgements of before have no dossier on record."""
    op.create_table(
        "judgement_dossiers",
        sa.Column("judgement", sa.Integer(), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("path", sa.Text(), nullable=True),
        sa.Column("sha256", sa.String(length=64), nullable=True),
        sa.Column("size_bytes", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["judgement"], ["judgements.id"], name=op.f("fk_judgement_dossiers_judgement")),
        sa.PrimaryKeyConstraint("judgement", name=op.f("pk_judgement_dossiers")),
    )
    op.create_table(
        "baseline_versions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("sku", sa.String(length=128), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("evidence", sa.JSON(), nullable=False),
        sa.Column("run", sa.String(length=512), nullable=False),
        sa.Column("proposed_at", UtcDateTime(), nullable=False),
        sa.Column("answer", sa.String(length=16), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("answered_at", UtcDateTime(), nullable=True),
        sa.Column("withdrawn_by", sa.Text(), nullable=False),
        sa.Column("withdrawn_why", sa.Text(), nullable=False),
        sa.Column("withdrawn_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_baseline_versions")),
        sa.UniqueConstraint("sku", "number", name=op.f("uq_baseline_versions_sku_number")),
    )


def downgrade() -> None:
    """Refuse: a ledger is restored from its backup, never undone."""
    raise NotImplementedError("restore the ledger from its backup")
