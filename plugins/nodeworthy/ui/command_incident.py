"""`nodeworthy incident`: what the brake holds for, how a person ends it, and who is out of service.

list                               print the open incidents with their nodes
clear NUMBER --why WHY             end one; its suspects trip nothing again
absences [--pool POOL]             print who is out of service, since when and why
replace NODE --by SPARE --why WHY  say that an admitted spare serves in the place of a node that is out, which gives
                                   its room in the budgets back
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from nodeworthy.lifecycle.roles import Permission
from nodeworthy.ui.session import acting, may_break_glass
from nodeworthy.wiring import wiring

if TYPE_CHECKING:
    from nodeworthy.adapters.ledger_sql import SqlLedger


def add(commands: Any) -> None:
    """Add the command and its words to the parser's subcommands."""
    incident = commands.add_parser(
        "incident", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words = incident.add_subparsers(required=True, metavar="WHAT")
    words.add_parser("list").set_defaults(act=_list)
    clear = words.add_parser("clear")
    clear.add_argument("number", type=int)
    clear.add_argument("--why", required=True)
    may_break_glass(clear)
    clear.set_defaults(act=_clear)
    replace = words.add_parser("replace")
    replace.add_argument("node")
    replace.add_argument("--by", required=True, metavar="SPARE")
    replace.add_argument("--why", required=True)
    may_break_glass(replace)
    replace.set_defaults(act=_replace)
    absences = words.add_parser("absences")
    absences.add_argument("--pool", default="")
    absences.set_defaults(act=_absences)


def _list(_: argparse.Namespace) -> None:
    for one in _ledger().brake_state():
        print(f"{one.number}  since {one.opened:%Y-%m-%d %H:%M} UTC  {one.sentence}")
        print(f"   newest suspect {one.last:%Y-%m-%d %H:%M} UTC; nodes: {', '.join(one.nodes)}")


def _clear(given: argparse.Namespace) -> None:
    who = acting(given, Permission.HOLD)
    if isinstance(who, str):
        _ledger().clear_incident(given.number, who=who, why=given.why)
        return
    who.act(f"incidents/{given.number}/clear", why=given.why)


def _replace(given: argparse.Namespace) -> None:
    who = acting(given, Permission.HOLD)
    if isinstance(who, str):
        print(_ledger().replace_absence(given.node, by=given.by, who=who, why=given.why))
        return
    print(who.act(f"absences/{given.node}/replace", by=given.by, why=given.why))


def _absences(given: argparse.Namespace) -> None:
    for one in _ledger().absences(given.pool):
        kind = "voluntary" if one.voluntary else "involuntary"
        print(f"{one.node}  since {one.since:%Y-%m-%d %H:%M} UTC  {kind}, for {one.why}")


def _ledger() -> SqlLedger:
    from nodeworthy.adapters.ledger_sql import SqlLedger

    ledger = wiring().ledger
    assert isinstance(ledger, SqlLedger)
    return ledger
