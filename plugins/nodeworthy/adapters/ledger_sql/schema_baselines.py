"""Tables of judgement: where each judgement's dossier lies, and the baselines that were learnt, version by version.

A version is proposed once, answered once and may be withdrawn; it is never changed. In force is the newest version of a
SKU that was approved and not withdrawn.
"""

from __future__ import annotations

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql.schema import UtcDateTime, metadata

judgement_dossiers = sa.Table(
    "judgement_dossiers",
    metadata,
    sa.Column("judgement", sa.Integer, sa.ForeignKey("judgements.id"), primary_key=True),
    sa.Column("simulated", sa.Boolean, nullable=False),
    sa.Column("path", sa.Text, nullable=True),
    sa.Column("sha256", sa.String(64), nullable=True),
    sa.Column("size_bytes", sa.BigInteger, nullable=True),
)

baseline_versions = sa.Table(
    "baseline_versions",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("sku", sa.String(128), nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("document", sa.JSON, nullable=False),
    sa.Column("sha256", sa.String(64), nullable=False),
    sa.Column("evidence", sa.JSON, nullable=False),
    sa.Column("run", sa.String(512), nullable=False),
    sa.Column("proposed_at", UtcDateTime, nullable=False),
    sa.Column("answer", sa.String(16), nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("why", sa.Text, nullable=False),
    sa.Column("answered_at", UtcDateTime, nullable=True),
    sa.Column("withdrawn_by", sa.Text, nullable=False),
    sa.Column("withdrawn_why", sa.Text, nullable=False),
    sa.Column("withdrawn_at", UtcDateTime, nullable=True),
    sa.UniqueConstraint("sku", "number"),
)
