"""`nodeworthy hold NODE --why WHY` and `nodeworthy release NODE`: keep automation (and admission) off a node.

Both go through Airflow as your user; --break-glass NAME acts on the ledger itself (see `nodeworthy.ui.session`).
"""

from __future__ import annotations

import argparse
from datetime import datetime
from typing import Any

from nodeworthy.errors import Refused
from nodeworthy.lifecycle.records import Hold
from nodeworthy.lifecycle.roles import Permission
from nodeworthy.ui.session import acting, may_break_glass
from nodeworthy.wiring import wiring


def add(commands: Any) -> None:
    """Add the commands to the parser's subcommands."""
    hold = commands.add_parser("hold", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    hold.add_argument("node")
    hold.add_argument("--why", required=True)
    until = "ISO 8601 with a time zone; open-ended when left out"
    hold.add_argument("--until", type=datetime.fromisoformat, help=until)
    hold.add_argument("--scope", choices=["automation", "admission", "both"], default="both")
    may_break_glass(hold)
    hold.set_defaults(act=_hold)
    release = commands.add_parser("release", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    release.add_argument("node")
    may_break_glass(release)
    release.set_defaults(act=_release)


def _hold(given: argparse.Namespace) -> None:
    if given.until is not None and given.until.tzinfo is None:
        raise Refused("--until needs a time zone, for example 2026-12-01T08:00+00:00")
    who = acting(given, Permission.HOLD)
    if isinstance(who, str):
        wiring().ledger.hold(Hold(given.node, who, given.why, given.until, given.scope))
        return
    until = given.until.isoformat() if given.until else ""
    who.act(f"nodes/{given.node}/hold", why=given.why, until=until, scope=given.scope)


def _release(given: argparse.Namespace) -> None:
    who = acting(given, Permission.HOLD)
    if isinstance(who, str):
        wiring().ledger.release_hold(given.node, who=who)
        return
    who.act(f"nodes/{given.node}/release")
