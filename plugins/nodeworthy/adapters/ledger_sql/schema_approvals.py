"""The table of requests for an approval: what was asked about which plan, by which run, until when, and its end."""

from __future__ import annotations

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql.schema import UtcDateTime, metadata

requests = sa.Table(
    "approval_requests",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("node", sa.String(128), sa.ForeignKey("nodes.serial"), nullable=False, index=True),
    sa.Column("episode", sa.Integer, sa.ForeignKey("episodes.id"), nullable=False, index=True),
    sa.Column("plan_sha256", sa.String(64), nullable=False),
    sa.Column("approval", sa.String(64), nullable=False),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("answers", sa.Integer, nullable=False),
    sa.Column("may_answer", sa.JSON, nullable=False),
    sa.Column("run", sa.String(512), nullable=False),
    sa.Column("asked_at", UtcDateTime, nullable=False),
    sa.Column("expires_at", UtcDateTime, nullable=False),
    sa.Column("ended_as", sa.String(16), nullable=False),
    sa.Column("ended_at", UtcDateTime, nullable=True),
    sa.Column("closes", sa.Boolean, nullable=False, server_default=sa.false()),
)
sa.Index(
    "uq_approval_requests_open",
    requests.c.episode,
    unique=True,
    sqlite_where=requests.c.ended_at.is_(None),
    postgresql_where=requests.c.ended_at.is_(None),
)
