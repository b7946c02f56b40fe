"""Whether a request that nobody answers ends its episode, so that it can expire without the run that asked."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; requests that are open now leave their episode open, as the run that asked would tell."""
    closes: sa.Column[bool] = sa.Column("closes", sa.Boolean(), nullable=False, server_default=sa.false())
    op.add_column("approval_requests", closes)


def downgrade() -> None:
    """Refuse: a ledger is restored from its backup, never undone."""
    raise NotImplementedError("restore the ledger from its backup")
