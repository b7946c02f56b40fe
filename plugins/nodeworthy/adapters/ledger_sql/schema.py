"""The ledger's tables. Nodes and components are keyed by serial, so that a rename never breaks a history.

Two partial unique indexes carry two rules: at most one open episode per node, at most one live lease per episode.
Rows are added, ended or voided with a time; none is deleted. Changes go through a migration in `migrations/`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from nodeworthy.errors import Permanent


class UtcDateTime(sa.types.TypeDecorator[datetime]):
    """Aware UTC times on every database; a naive time is a mistake and is refused."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Write as UTC."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise Permanent("The ledger cannot store a time without a time zone: hand over aware UTC.")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Read as aware UTC: SQLite keeps no zone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _node() -> sa.Column[str]:
    return sa.Column("node", sa.String(128), sa.ForeignKey("nodes.serial"), nullable=False, index=True)


def _episode() -> sa.Column[int]:
    return sa.Column("episode", sa.Integer, sa.ForeignKey("episodes.id"), nullable=False, index=True)


def _text(name: str, default: str | None = None) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, default=default)


def _time(name: str, *, optional: bool = False) -> sa.Column[Any]:
    return sa.Column(name, UtcDateTime, nullable=optional)


def _reference() -> tuple[sa.Column[Any], ...]:
    return (
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("size_bytes", sa.BigInteger, nullable=False),
    )


nodes = sa.Table(
    "nodes",
    metadata,
    sa.Column("serial", sa.String(128), primary_key=True),
    sa.Column("name", sa.String(128), nullable=False, unique=True),
    sa.Column("sku", sa.String(128), nullable=False),
    sa.Column("pool", sa.String(128), nullable=False),
    sa.Column("rack", sa.String(128), nullable=False, index=True),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("batch", sa.String(128), nullable=False, index=True),
    sa.Column("tenant", sa.String(128), nullable=False),
    sa.Column("fabric_domain", sa.String(128), nullable=False),
    sa.Column("bmc", sa.JSON, nullable=False),
    sa.Column("cabling", sa.JSON, nullable=False),
    sa.Column("milestone", sa.String(64), nullable=False, index=True),
    _time("since"),
    sa.Column("row_version", sa.Integer, nullable=False),
    _text("reason", ""),
    sa.Column("audit_sequence", sa.Integer, nullable=False),
    sa.Column("audit_head", sa.String(64), nullable=False),
)

components = sa.Table(
    "components",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("serial", sa.String(256), nullable=False),
    _text("model"),
    _time("first_seen"),
    sa.UniqueConstraint("kind", "serial"),
)

placements = sa.Table(
    "placements",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("component", sa.Integer, sa.ForeignKey("components.id"), nullable=False, index=True),
    _node(),
    sa.Column("slot", sa.String(256), nullable=False),
    _text("firmware", ""),
    sa.Column("capacity_mib", sa.BigInteger, nullable=True),
    _text("health", ""),
    _time("placed_at"),
    _time("removed_at", optional=True),
)

episodes = sa.Table(
    "episodes",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    _node(),
    sa.Column("kind", sa.String(32), nullable=False),
    _time("opened_at"),
    _time("closed_at", optional=True),
    sqlite_autoincrement=True,
)
sa.Index(
    "uq_episodes_open",
    episodes.c.node,
    unique=True,
    sqlite_where=episodes.c.closed_at.is_(None),
    postgresql_where=episodes.c.closed_at.is_(None),
)

leases = sa.Table(
    "leases",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    _node(),
    _episode(),
    sa.Column("token", sa.String(64), nullable=False, unique=True),
    sa.Column("run", sa.String(512), nullable=False, index=True),
    sa.Column("lifetime_seconds", sa.Float, nullable=False),
    _time("since"),
    _time("heartbeat"),
    _time("expires"),
    _time("ended_at", optional=True),
    _text("ended_why", ""),
)
sa.Index(
    "uq_leases_live",
    leases.c.episode,
    unique=True,
    sqlite_where=leases.c.ended_at.is_(None),
    postgresql_where=leases.c.ended_at.is_(None),
)

transitions = sa.Table(
    "transitions",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    _node(),
    _episode(),
    sa.Column("event", sa.String(64), nullable=False),
    sa.Column("from_milestone", sa.String(64), nullable=False),
    sa.Column("to_milestone", sa.String(64), nullable=False),
    sa.Column("facts", sa.JSON, nullable=False),
    sa.Column("voids", sa.JSON, nullable=False),
    sa.Column("evidence", sa.JSON, nullable=True),
    _time("at"),
)

sa.Index("ix_transitions_at", transitions.c.at)

effects = sa.Table(
    "effects",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("id", sa.String(64), nullable=False, unique=True),
    _node(),
    _episode(),
    sa.Column("kind", sa.String(64), nullable=False),
    sa.Column("key", sa.String(256), nullable=False),
    sa.Column("status", sa.String(16), nullable=False, index=True),
    sa.Column("detail", sa.JSON, nullable=False),
    sa.Column("proof", sa.JSON, nullable=False),
    _time("intended_at"),
    _time("settled_at", optional=True),
    sa.UniqueConstraint("episode", "kind", "key"),
)

nonces = sa.Table(
    "nonces",
    metadata,
    sa.Column("episode", sa.Integer, sa.ForeignKey("episodes.id"), primary_key=True),
    sa.Column("purpose", sa.String(128), primary_key=True),
    sa.Column("nonce", sa.String(64), nullable=False),
    _time("minted_at"),
)

results = sa.Table(
    "results",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    _node(),
    _episode(),
    sa.Column("scope", sa.String(16), nullable=False),
    sa.Column("suite", sa.String(128), nullable=False),
    *_reference(),
    sa.Column("document", sa.JSON, nullable=False),
    sa.Column("judged", sa.Boolean, nullable=False),
    _time("at"),
    sa.UniqueConstraint("episode", "scope", "sha256"),
)

measurements = sa.Table(
    "measurements",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("result", sa.Integer, sa.ForeignKey("results.id"), nullable=False, index=True),
    sa.Column("component", sa.String(128), nullable=False),
    sa.Column("metric", sa.String(128), nullable=False),
    sa.Column("value", sa.Float, nullable=True),
    sa.Column("unit", sa.String(32), nullable=False),
    sa.Column("statistic", sa.String(32), nullable=False),
    sa.Column("test", sa.String(128), nullable=False),
    sa.Column("status", sa.String(32), nullable=False),
    sa.Column("parameters", sa.JSON, nullable=False),
    sa.Column("transport", sa.String(64), nullable=True),
)

judgements = sa.Table(
    "judgements",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    _node(),
    _episode(),
    sa.Column("scope", sa.String(16), nullable=False),
    sa.Column("suite", sa.String(128), nullable=False),
    sa.Column("verdict", sa.String(32), nullable=False),
    sa.Column("reasons", sa.JSON, nullable=False),
    _text("sentence"),
    _time("at"),
)

qualifications = sa.Table(
    "qualifications",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    _node(),
    _episode(),
    sa.Column("scope", sa.String(16), nullable=False),
    sa.Column("suite", sa.String(128), nullable=False),
    _time("granted_at"),
    _time("expires_at"),
    *_reference(),
    sa.Column("boot_id", sa.String(64), nullable=False),
    sa.Column("firmware_set", sa.String(128), nullable=False),
    _text("voided_by", ""),
    _time("voided_at", optional=True),
)

certificates = sa.Table(
    "certificates",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    _node(),
    _episode(),
    *_reference(),
    _time("issued_at"),
    _time("expires_at"),
    _time("revoked_at", optional=True),
    _text("revoked_by", ""),
)

approvals = sa.Table(
    "approvals",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    _node(),
    _episode(),
    sa.Column("plan_sha256", sa.String(64), nullable=False),
    _text("who"),
    sa.Column("answer", sa.String(16), nullable=False),
    _text("why"),
    _time("at"),
    _time("voided_at", optional=True),
)

holds = sa.Table(
    "holds",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    _node(),
    _text("who"),
    _text("why"),
    _time("until", optional=True),
    sa.Column("scope", sa.String(16), nullable=False),
    _time("placed_at"),
    _time("released_at", optional=True),
    _text("released_by", ""),
)

absences = sa.Table(
    "absences",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    _node(),
    _episode(),
    sa.Column("voluntary", sa.Boolean, nullable=False),
    sa.Column("action", sa.String(32), nullable=False),
    _text("why"),
    sa.Column("run", sa.String(512), nullable=False),
    _time("since"),
    _time("ended_at", optional=True),
    sa.Column("ended_how", sa.String(16), nullable=False, default=""),
    sa.Column("ended_proof", sa.JSON, nullable=False, default=dict),
    sa.Column("replaced_by", sa.String(128), sa.ForeignKey("nodes.serial"), nullable=True),
)
sa.Index(
    "uq_absences_open",
    absences.c.node,
    unique=True,
    sqlite_where=absences.c.ended_at.is_(None),
    postgresql_where=absences.c.ended_at.is_(None),
)

incidents = sa.Table(
    "incidents",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("dimension", sa.String(32), nullable=False),
    sa.Column("value", sa.String(256), nullable=False),
    sa.Column("nodes", sa.JSON, nullable=False),
    _text("sentence"),
    _time("opened_at"),
    _time("last_at"),
    _time("cleared_at", optional=True),
    _text("cleared_by", ""),
    _text("cleared_why", ""),
)
sa.Index(
    "uq_incidents_open",
    incidents.c.dimension,
    incidents.c.value,
    unique=True,
    sqlite_where=incidents.c.cleared_at.is_(None),
    postgresql_where=incidents.c.cleared_at.is_(None),
)

checkpoints = sa.Table(
    "checkpoints",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    _time("at"),
    sa.Column("key_id", sa.String(128), nullable=False),
    sa.Column("previous", sa.String(64), nullable=False),
    _text("body"),
    sa.Column("path", sa.Text, nullable=True),
    sa.Column("sha256", sa.String(64), nullable=True),
    sa.Column("size_bytes", sa.BigInteger, nullable=True),
)

audit = sa.Table(
    "audit",
    metadata,
    sa.Column("node", sa.String(128), sa.ForeignKey("nodes.serial"), primary_key=True),
    sa.Column("sequence", sa.Integer, primary_key=True),
    sa.Column("at", sa.String(40), nullable=False),
    sa.Column("action", sa.String(64), nullable=False),
    _text("detail"),
    sa.Column("previous", sa.String(64), nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
)
sa.Index("ix_audit_action_at", audit.c.action, audit.c.at)
