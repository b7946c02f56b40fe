"""A node's own history: figures run by run, remarks of judgements, faults by the serial of a part."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from nodeworthy.adapters.ledger_sql.schema import UtcDateTime

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables; history begins with the first judgement after the upgrade."""
    _figures()
    _remarks()
    _part_faults()


def _figures() -> None:
    op.create_table(
        "figure_runs",
        sa.Column("result", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("scope", sa.String(length=16), nullable=False),
        sa.Column("driver", sa.String(length=64), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["node"], ["nodes.serial"], name=op.f("fk_figure_runs_node")),
        sa.ForeignKeyConstraint(["result"], ["results.id"], name=op.f("fk_figure_runs_result")),
        sa.PrimaryKeyConstraint("result", name=op.f("pk_figure_runs")),
    )
    op.create_index(op.f("ix_figure_runs_node"), "figure_runs", ["node"])
    op.create_table(
        "figures",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("result", sa.Integer(), nullable=False),
        sa.Column("test", sa.String(length=128), nullable=False),
        sa.Column("component", sa.String(length=128), nullable=False),
        sa.Column("part", sa.String(length=256), nullable=False),
        sa.Column("metric", sa.String(length=128), nullable=False),
        sa.Column("statistic", sa.String(length=32), nullable=False),
        sa.Column("unit", sa.String(length=32), nullable=False),
        sa.Column("conditions", sa.Text(), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["result"], ["figure_runs.result"], name=op.f("fk_figures_result")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_figures")),
    )
    op.create_index(op.f("ix_figures_result"), "figures", ["result"])


def _remarks() -> None:
    op.create_table(
        "remarks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("judgement", sa.Integer(), nullable=False),
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=False),
        sa.Column("component", sa.String(length=128), nullable=False),
        sa.Column("part", sa.String(length=256), nullable=False),
        sa.Column("metric", sa.String(length=128), nullable=False),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["episode"], ["episodes.id"], name=op.f("fk_remarks_episode")),
        sa.ForeignKeyConstraint(["judgement"], ["judgements.id"], name=op.f("fk_remarks_judgement")),
        sa.ForeignKeyConstraint(["node"], ["nodes.serial"], name=op.f("fk_remarks_node")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_remarks")),
    )
    op.create_index(op.f("ix_remarks_judgement"), "remarks", ["judgement"])
    op.create_index(op.f("ix_remarks_node"), "remarks", ["node"])


def _part_faults() -> None:
    op.create_table(
        "part_faults",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("serial", sa.String(length=256), nullable=False),
        sa.Column("component", sa.String(length=128), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["episode"], ["episodes.id"], name=op.f("fk_part_faults_episode")),
        sa.ForeignKeyConstraint(["node"], ["nodes.serial"], name=op.f("fk_part_faults_node")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_part_faults")),
        sa.UniqueConstraint("episode", "kind", "serial", name=op.f("uq_part_faults_episode_kind_serial")),
    )
    op.create_index(op.f("ix_part_faults_node"), "part_faults", ["node"])
    op.create_index(op.f("ix_part_faults_serial"), "part_faults", ["serial"])


def downgrade() -> None:
    """Refuse: a ledger is restored from its backup, never undone."""
    raise NotImplementedError("restore the ledger from its backup")
