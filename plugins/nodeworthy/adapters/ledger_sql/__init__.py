"""The ledger on SQLAlchemy 2: SQLite in WAL mode by default, PostgreSQL by URL, the same promises on both.

Each part lives in the file of its name; this one puts them together. `upgrade(url)` brings the tables up to date.
"""

from __future__ import annotations

from nodeworthy.adapters.ledger_sql.checkpoints import Checkpoints
from nodeworthy.adapters.ledger_sql.migrate import upgrade
from nodeworthy.adapters.ledger_sql.nodes import Nodes
from nodeworthy.adapters.ledger_sql.parts import Parts
from nodeworthy.adapters.ledger_sql.reidentify import Reidentified
from nodeworthy.adapters.ledger_sql.signals import Signals
from nodeworthy.adapters.ledger_sql.upkeep import Upkeep

__all__ = ["SqlLedger", "upgrade"]


class SqlLedger(Signals, Reidentified, Upkeep, Nodes, Parts, Checkpoints):
    """Implements `ports.Ledger` and `procedures.upkeep.Upkeep`. One object per process, for many threads.

    Raises Refused for what a rule forbids, Transient when the database is busy or away, and Permanent when its tables
    are not this version's.
    """
