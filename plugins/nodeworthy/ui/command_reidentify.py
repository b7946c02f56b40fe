"""`nodeworthy reidentify`: another chassis stands where a node stood. One person asks, another one answers.

reidentify OLD NEW --why WHY          ask for it; OLD and NEW are chassis serials
reidentify OLD --approve --why WHY    answer what another person asked; --refuse says no

The old chassis retires, the new one is declared under the node's name; both audits name the other serial and the two
people. It goes through Airflow as your user; --break-glass NAME acts on the ledger itself.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from nodeworthy.errors import Refused
from nodeworthy.lifecycle.roles import Permission
from nodeworthy.lifecycle.upkeep import Swap, SwapAnswer
from nodeworthy.procedures import reidentify
from nodeworthy.ui.session import acting, may_break_glass
from nodeworthy.wiring import wiring

if TYPE_CHECKING:
    from nodeworthy.adapters.airflow_rest import AirflowRest


def add(commands: Any) -> None:
    """Add the command to the parser's subcommands."""
    swap = commands.add_parser("reidentify", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    swap.add_argument("old", help="serial of the chassis that is gone")
    swap.add_argument("new", nargs="?", default="", help="serial of the chassis that stands there now")
    answers = swap.add_mutually_exclusive_group()
    answers.add_argument("--approve", action="store_true")
    answers.add_argument("--refuse", action="store_true")
    swap.add_argument("--why", required=True)
    may_break_glass(swap)
    swap.set_defaults(act=_reidentify)


def _reidentify(given: argparse.Namespace) -> None:
    is_answer = given.approve or given.refuse
    if is_answer == bool(given.new):
        raise Refused("Ask with both serials, or answer with the old one and --approve or --refuse.")
    who = acting(given, Permission.APPROVE)
    if not isinstance(who, str):
        print(_through(who, given))
        return
    made = wiring()
    work = made.work(print)
    if is_answer:
        print(reidentify.answer(SwapAnswer(given.old, who, given.approve, given.why), work, made.swaps))
    else:
        print(reidentify.ask(Swap(given.old, given.new, who, given.why), work, made.swaps))


def _through(airflow: AirflowRest, given: argparse.Namespace) -> str:
    if given.new:
        return airflow.act("swaps", old=given.old, new=given.new, why=given.why)
    return airflow.act(f"swaps/{given.old}", answer="approve" if given.approve else "refuse", why=given.why)
