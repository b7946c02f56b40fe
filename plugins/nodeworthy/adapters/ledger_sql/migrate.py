"""Brings a ledger's database to this version's tables. Alembic is imported in here alone: tasks never pay for it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql.store import engine_of

_LOCK: Final = 0x6E6F6465
"""Any number that is ours alone on this PostgreSQL server: two upgrades at once queue behind it."""


def upgrade(url: str, revision: str = "head") -> None:
    """Create or upgrade the tables at `url`, in one transaction; idempotent, also when two processes do it at once."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    engine = engine_of(url)
    try:
        with engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
    finally:
        engine.dispose()
