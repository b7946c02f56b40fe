"""`nodeworthy reidentify OLD NEW --approved-by WHO --why WHY`: another chassis stands where a node stood.

OLD and NEW are chassis serials. The old one retires, the new one is declared under the node's name; both audits name
the other serial and the two people. Whoever runs the command asks, another person approves.
"""

from __future__ import annotations

import argparse
import getpass
from typing import Any

from nodeworthy.lifecycle.upkeep import Swap
from nodeworthy.wiring import wiring


def add(commands: Any) -> None:
    """Add the command to the parser's subcommands."""
    swap = commands.add_parser("reidentify", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    swap.add_argument("old", help="serial of the chassis that is gone")
    swap.add_argument("new", help="serial of the chassis that stands there now")
    swap.add_argument("--approved-by", required=True)
    swap.add_argument("--why", required=True)
    swap.set_defaults(act=_reidentify)


def _reidentify(given: argparse.Namespace) -> None:
    from nodeworthy.adapters.ledger_sql import SqlLedger

    ledger = wiring().ledger
    assert isinstance(ledger, SqlLedger)
    print(ledger.reidentify(Swap(given.old, given.new, getpass.getuser(), given.approved_by, given.why)))
