"""Tables of a node's own history: fit figures run by run, what judgements noticed, and faults by the serial of a part.

A run's figures are written in the transaction of its judgement and never change. A part's faults follow its serial into
whatever node it is plugged, so they name the place they were seen in.
"""

from __future__ import annotations

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql.schema import UtcDateTime, metadata


def _of_node() -> tuple[sa.Column[str], sa.Column[int]]:
    return (
        sa.Column("node", sa.String(128), sa.ForeignKey("nodes.serial"), nullable=False, index=True),
        sa.Column("episode", sa.Integer, sa.ForeignKey("episodes.id"), nullable=False),
    )


figure_runs = sa.Table(
    "figure_runs",
    metadata,
    sa.Column("result", sa.Integer, sa.ForeignKey("results.id"), primary_key=True, autoincrement=False),
    sa.Column("node", sa.String(128), sa.ForeignKey("nodes.serial"), nullable=False, index=True),
    sa.Column("scope", sa.String(16), nullable=False),
    sa.Column("driver", sa.String(64), nullable=False),
    sa.Column("simulated", sa.Boolean, nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
)

figures = sa.Table(
    "figures",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("result", sa.Integer, sa.ForeignKey("figure_runs.result"), nullable=False, index=True),
    sa.Column("test", sa.String(128), nullable=False),
    sa.Column("component", sa.String(128), nullable=False),
    sa.Column("part", sa.String(256), nullable=False),
    sa.Column("metric", sa.String(128), nullable=False),
    sa.Column("statistic", sa.String(32), nullable=False),
    sa.Column("unit", sa.String(32), nullable=False),
    sa.Column("conditions", sa.Text, nullable=False),
    sa.Column("value", sa.Float, nullable=False),
)

remarks = sa.Table(
    "remarks",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("judgement", sa.Integer, sa.ForeignKey("judgements.id"), nullable=False, index=True),
    *_of_node(),
    sa.Column("code", sa.String(64), nullable=False),
    sa.Column("component", sa.String(128), nullable=False),
    sa.Column("part", sa.String(256), nullable=False),
    sa.Column("metric", sa.String(128), nullable=False),
    sa.Column("sentence", sa.Text, nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
)

part_faults = sa.Table(
    "part_faults",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    *_of_node(),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("serial", sa.String(256), nullable=False, index=True),
    sa.Column("component", sa.String(128), nullable=False),
    sa.Column("code", sa.String(64), nullable=False),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.UniqueConstraint("episode", "kind", "serial"),
)
