"""The first tables: nodes and components, episodes and leases, effects, evidence, people's words, audit.

Written out rather than taken from the present schema, so that this step stays what it was when the schema moves on.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from nodeworthy.adapters.ledger_sql.schema import UtcDateTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create every table, each after those that it points at."""
    for create in (
        _components,
        _nodes,
        _audit,
        _episodes,
        _holds,
        _placements,
        _approvals,
        _certificates,
        _effects,
        _judgements,
        _leases,
        _nonces,
        _qualifications,
        _results,
        _transitions,
        _measurements,
    ):
        create()


def downgrade() -> None:
    """Refuse: a ledger is restored from its backup, never undone."""
    raise NotImplementedError("restore the ledger from its backup")


def _components() -> None:
    op.create_table(
        "components",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("serial", sa.String(length=256), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("first_seen", UtcDateTime, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_components")),
        sa.UniqueConstraint("kind", "serial", name=op.f("uq_components_kind_serial")),
    )


def _nodes() -> None:
    op.create_table(
        "nodes",
        sa.Column("serial", sa.String(length=128), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("sku", sa.String(length=128), nullable=False),
        sa.Column("pool", sa.String(length=128), nullable=False),
        sa.Column("rack", sa.String(length=128), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("batch", sa.String(length=128), nullable=False),
        sa.Column("tenant", sa.String(length=128), nullable=False),
        sa.Column("fabric_domain", sa.String(length=128), nullable=False),
        sa.Column("bmc", sa.JSON(), nullable=False),
        sa.Column("cabling", sa.JSON(), nullable=False),
        sa.Column("milestone", sa.String(length=64), nullable=False),
        sa.Column("since", UtcDateTime, nullable=False),
        sa.Column("row_version", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("audit_sequence", sa.Integer(), nullable=False),
        sa.Column("audit_head", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("serial", name=op.f("pk_nodes")),
        sa.UniqueConstraint("name", name=op.f("uq_nodes_name")),
    )
    op.create_index(op.f("ix_nodes_batch"), "nodes", ["batch"], unique=False)
    op.create_index(op.f("ix_nodes_milestone"), "nodes", ["milestone"], unique=False)
    op.create_index(op.f("ix_nodes_rack"), "nodes", ["rack"], unique=False)


def _audit() -> None:
    op.create_table(
        "audit",
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("at", sa.String(length=40), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("previous", sa.String(length=64), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["node"], ["nodes.serial"], name=op.f("fk_audit_node")),
        sa.PrimaryKeyConstraint("node", "sequence", name=op.f("pk_audit")),
    )


def _episodes() -> None:
    op.create_table(
        "episodes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("opened_at", UtcDateTime, nullable=False),
        sa.Column("closed_at", UtcDateTime, nullable=True),
        sa.ForeignKeyConstraint(["node"], ["nodes.serial"], name=op.f("fk_episodes_node")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_episodes")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_episodes_node"), "episodes", ["node"], unique=False)
    op.create_index(
        "uq_episodes_open",
        "episodes",
        ["node"],
        unique=True,
        sqlite_where=sa.text("closed_at IS NULL"),
        postgresql_where=sa.text("closed_at IS NULL"),
    )


def _holds() -> None:
    op.create_table(
        "holds",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("until", UtcDateTime, nullable=True),
        sa.Column("scope", sa.String(length=16), nullable=False),
        sa.Column("placed_at", UtcDateTime, nullable=False),
        sa.Column("released_at", UtcDateTime, nullable=True),
        sa.Column("released_by", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["node"], ["nodes.serial"], name=op.f("fk_holds_node")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_holds")),
    )
    op.create_index(op.f("ix_holds_node"), "holds", ["node"], unique=False)


def _placements() -> None:
    op.create_table(
        "placements",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("component", sa.Integer(), nullable=False),
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("slot", sa.String(length=256), nullable=False),
        sa.Column("firmware", sa.Text(), nullable=False),
        sa.Column("capacity_mib", sa.BigInteger(), nullable=True),
        sa.Column("health", sa.Text(), nullable=False),
        sa.Column("placed_at", UtcDateTime, nullable=False),
        sa.Column("removed_at", UtcDateTime, nullable=True),
        sa.ForeignKeyConstraint(["component"], ["components.id"], name=op.f("fk_placements_component")),
        sa.ForeignKeyConstraint(["node"], ["nodes.serial"], name=op.f("fk_placements_node")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_placements")),
    )
    op.create_index(op.f("ix_placements_component"), "placements", ["component"], unique=False)
    op.create_index(op.f("ix_placements_node"), "placements", ["node"], unique=False)


def _approvals() -> None:
    op.create_table(
        "approvals",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("plan_sha256", sa.String(length=64), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("answer", sa.String(length=16), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("at", UtcDateTime, nullable=False),
        sa.Column("voided_at", UtcDateTime, nullable=True),
        sa.ForeignKeyConstraint(["episode"], ["episodes.id"], name=op.f("fk_approvals_episode")),
        sa.ForeignKeyConstraint(["node"], ["nodes.serial"], name=op.f("fk_approvals_node")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_approvals")),
    )
    op.create_index(op.f("ix_approvals_episode"), "approvals", ["episode"], unique=False)
    op.create_index(op.f("ix_approvals_node"), "approvals", ["node"], unique=False)


def _certificates() -> None:
    op.create_table(
        "certificates",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("issued_at", UtcDateTime, nullable=False),
        sa.Column("expires_at", UtcDateTime, nullable=False),
        sa.Column("revoked_at", UtcDateTime, nullable=True),
        sa.Column("revoked_by", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["episode"], ["episodes.id"], name=op.f("fk_certificates_episode")),
        sa.ForeignKeyConstraint(["node"], ["nodes.serial"], name=op.f("fk_certificates_node")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_certificates")),
    )
    op.create_index(op.f("ix_certificates_episode"), "certificates", ["episode"], unique=False)
    op.create_index(op.f("ix_certificates_node"), "certificates", ["node"], unique=False)


def _effects() -> None:
    op.create_table(
        "effects",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=256), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("proof", sa.JSON(), nullable=False),
        sa.Column("intended_at", UtcDateTime, nullable=False),
        sa.Column("settled_at", UtcDateTime, nullable=True),
        sa.ForeignKeyConstraint(["episode"], ["episodes.id"], name=op.f("fk_effects_episode")),
        sa.ForeignKeyConstraint(["node"], ["nodes.serial"], name=op.f("fk_effects_node")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_effects")),
        sa.UniqueConstraint("episode", "kind", "key", name=op.f("uq_effects_episode_kind_key")),
        sa.UniqueConstraint("id", name=op.f("uq_effects_id")),
    )
    op.create_index(op.f("ix_effects_episode"), "effects", ["episode"], unique=False)
    op.create_index(op.f("ix_effects_node"), "effects", ["node"], unique=False)
    op.create_index(op.f("ix_effects_status"), "effects", ["status"], unique=False)


def _judgements() -> None:
    op.create_table(
        "judgements",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("scope", sa.String(length=16), nullable=False),
        sa.Column("suite", sa.String(length=128), nullable=False),
        sa.Column("verdict", sa.String(length=32), nullable=False),
        sa.Column("reasons", sa.JSON(), nullable=False),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.Column("at", UtcDateTime, nullable=False),
        sa.ForeignKeyConstraint(["episode"], ["episodes.id"], name=op.f("fk_judgements_episode")),
        sa.ForeignKeyConstraint(["node"], ["nodes.serial"], name=op.f("fk_judgements_node")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_judgements")),
    )
    op.create_index(op.f("ix_judgements_episode"), "judgements", ["episode"], unique=False)
    op.create_index(op.f("ix_judgements_node"), "judgements", ["node"], unique=False)


def _leases() -> None:
    op.create_table(
        "leases",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("token", sa.String(length=64), nullable=False),
        sa.Column("run", sa.String(length=512), nullable=False),
        sa.Column("lifetime_seconds", sa.Float(), nullable=False),
        sa.Column("since", UtcDateTime, nullable=False),
        sa.Column("heartbeat", UtcDateTime, nullable=False),
        sa.Column("expires", UtcDateTime, nullable=False),
        sa.Column("ended_at", UtcDateTime, nullable=True),
        sa.Column("ended_why", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["episode"], ["episodes.id"], name=op.f("fk_leases_episode")),
        sa.ForeignKeyConstraint(["node"], ["nodes.serial"], name=op.f("fk_leases_node")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_leases")),
        sa.UniqueConstraint("token", name=op.f("uq_leases_token")),
    )
    op.create_index(op.f("ix_leases_episode"), "leases", ["episode"], unique=False)
    op.create_index(op.f("ix_leases_node"), "leases", ["node"], unique=False)
    op.create_index(op.f("ix_leases_run"), "leases", ["run"], unique=False)
    op.create_index(
        "uq_leases_live",
        "leases",
        ["episode"],
        unique=True,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )


def _nonces() -> None:
    op.create_table(
        "nonces",
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("purpose", sa.String(length=128), nullable=False),
        sa.Column("nonce", sa.String(length=64), nullable=False),
        sa.Column("minted_at", UtcDateTime, nullable=False),
        sa.ForeignKeyConstraint(["episode"], ["episodes.id"], name=op.f("fk_nonces_episode")),
        sa.PrimaryKeyConstraint("episode", "purpose", name=op.f("pk_nonces")),
    )


def _qualifications() -> None:
    op.create_table(
        "qualifications",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("scope", sa.String(length=16), nullable=False),
        sa.Column("suite", sa.String(length=128), nullable=False),
        sa.Column("granted_at", UtcDateTime, nullable=False),
        sa.Column("expires_at", UtcDateTime, nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("boot_id", sa.String(length=64), nullable=False),
        sa.Column("firmware_set", sa.String(length=128), nullable=False),
        sa.Column("voided_by", sa.Text(), nullable=False),
        sa.Column("voided_at", UtcDateTime, nullable=True),
        sa.ForeignKeyConstraint(["episode"], ["episodes.id"], name=op.f("fk_qualifications_episode")),
        sa.ForeignKeyConstraint(["node"], ["nodes.serial"], name=op.f("fk_qualifications_node")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_qualifications")),
    )
    op.create_index(op.f("ix_qualifications_episode"), "qualifications", ["episode"], unique=False)
    op.create_index(op.f("ix_qualifications_node"), "qualifications", ["node"], unique=False)


def _results() -> None:
    op.create_table(
        "results",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("scope", sa.String(length=16), nullable=False),
        sa.Column("suite", sa.String(length=128), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("judged", sa.Boolean(), nullable=False),
        sa.Column("at", UtcDateTime, nullable=False),
        sa.ForeignKeyConstraint(["episode"], ["episodes.id"], name=op.f("fk_results_episode")),
        sa.ForeignKeyConstraint(["node"], ["nodes.serial"], name=op.f("fk_results_node")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_results")),
        sa.UniqueConstraint("episode", "scope", "sha256", name=op.f("uq_results_episode_scope_sha256")),
    )
    op.create_index(op.f("ix_results_episode"), "results", ["episode"], unique=False)
    op.create_index(op.f("ix_results_node"), "results", ["node"], unique=False)


def _transitions() -> None:
    op.create_table(
        "transitions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("node", sa.String(length=128), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("event", sa.String(length=64), nullable=False),
        sa.Column("from_milestone", sa.String(length=64), nullable=False),
        sa.Column("to_milestone", sa.String(length=64), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("voids", sa.JSON(), nullable=False),
        sa.Column("evidence", sa.JSON(), nullable=True),
        sa.Column("at", UtcDateTime, nullable=False),
        sa.ForeignKeyConstraint(["episode"], ["episodes.id"], name=op.f("fk_transitions_episode")),
        sa.ForeignKeyConstraint(["node"], ["nodes.serial"], name=op.f("fk_transitions_node")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_transitions")),
    )
    op.create_index(op.f("ix_transitions_episode"), "transitions", ["episode"], unique=False)
    op.create_index(op.f("ix_transitions_node"), "transitions", ["node"], unique=False)


def _measurements() -> None:
    op.create_table(
        "measurements",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("result", sa.Integer(), nullable=False),
        sa.Column("component", sa.String(length=128), nullable=False),
        sa.Column("metric", sa.String(length=128), nullable=False),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("unit", sa.String(length=32), nullable=False),
        sa.Column("statistic", sa.String(length=32), nullable=False),
        sa.Column("test", sa.String(length=128), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("transport", sa.String(length=64), nullable=True),
        sa.ForeignKeyConstraint(["result"], ["results.id"], name=op.f("fk_measurements_result")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_measurements")),
    )
    op.create_index(op.f("ix_measurements_result"), "measurements", ["result"], unique=False)
