"""Runs migrations on the connection that `upgrade` opened; there is no command line and no second place for a URL."""

from __future__ import annotations

from alembic import context

from nodeworthy.adapters.ledger_sql.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
