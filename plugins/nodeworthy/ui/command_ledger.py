"""`nodeworthy ledger`: bring its schema up to date, back it up, restore it.

upgrade                        bring the schema to the installed version; open episodes stay as they are
backup FILE [--portable]       one moment of the ledger: a SQLite file of a SQLite ledger, JSON lines otherwise
restore FILE                   into a ledger that knows no node yet; pause all DAGs first
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from nodeworthy.errors import Refused
from nodeworthy.wiring import setting, wiring


def add(commands: Any) -> None:
    """Add the command and its words to the parser's subcommands."""
    ledger = commands.add_parser("ledger", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = ledger.add_subparsers(required=True, metavar="WHAT")
    words.add_parser("upgrade").set_defaults(act=_upgrade)
    backup = words.add_parser("backup")
    backup.add_argument("file", type=Path)
    backup.add_argument("--portable", action="store_true", help="JSON lines, which restore into any database")
    backup.set_defaults(act=_backup)
    restore = words.add_parser("restore")
    restore.add_argument("file", type=Path)
    restore.set_defaults(act=_restore)


def _upgrade(_: argparse.Namespace) -> None:
    from nodeworthy.adapters.ledger_sql import upgrade

    upgrade(setting("LEDGER_URL"))
    print("The ledger's schema is current.")


def _backup(given: argparse.Namespace) -> None:
    from nodeworthy.adapters.ledger_sql.backup import back_up

    made = back_up(setting("LEDGER_URL"), given.file, portable=given.portable)
    print(f"{given.file} holds {made.rows} rows at revision {made.revision}, SHA-256 {made.sha256}.")


def _restore(given: argparse.Namespace) -> None:
    from nodeworthy.adapters.ledger_sql import SqlLedger
    from nodeworthy.adapters.ledger_sql.backup import restore

    made = restore(setting("LEDGER_URL"), given.file)
    ledger = wiring().ledger
    assert isinstance(ledger, SqlLedger)
    broken = ledger.verify_audit()
    if broken:
        raise Refused(f"{given.file} was restored and its audit does not hold: {broken[0]} Use another backup.")
    nodes = ledger.mark_restored(made.sha256)
    print(
        f"Restored {made.rows} rows of {nodes} nodes from {given.file}; every audit chain holds. Old leases are ended. "
        "Let housekeeping run once and read its notices before you start anything else."
    )
