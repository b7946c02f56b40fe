"""`nodeworthy approve`: the requests that wait for an answer, and an answer to one.

approve                                   list the open requests: node, plan, what, who may answer, until when
approve NODE --plan HASH                  print one request as it is asked
approve NODE --plan HASH --why WHY        approve it; with --refuse, refuse it

The plan is named by the first digits of its hash, so that nothing is approved which was not read. Airflow's address
is NODEWORTHY_AIRFLOW_URL, the user NODEWORTHY_AIRFLOW_USER; the password comes from NODEWORTHY_AIRFLOW_PASSWORD or a
prompt, or NODEWORTHY_AIRFLOW_TOKEN stands in for both. None of them is ever an argument.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, Final

from nodeworthy.adapters.airflow_rest import Waiting
from nodeworthy.errors import Refused
from nodeworthy.ui.session import session

LEAST_DIGITS: Final = 8
OPTIONS: Final = {False: "Approve", True: "Refuse"}


def add(commands: Any) -> None:
    """Add the command to the parser's subcommands."""
    approve = commands.add_parser("approve", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    approve.add_argument("node", nargs="?", default="")
    approve.add_argument("--plan", default="", metavar="HASH", help=f"at least {LEAST_DIGITS} first digits")
    approve.add_argument("--why", default="")
    approve.add_argument("--refuse", action="store_true")
    approve.set_defaults(act=_approve)


def _approve(given: argparse.Namespace) -> None:
    airflow = session()
    waiting = airflow.waiting()
    if not given.node:
        print("\n".join(listed(waiting)) or "Nothing waits for an answer.")
        return
    request = chosen(waiting, given.node, given.plan)
    if not given.why.strip():
        if given.refuse:
            raise Refused("A refusal needs a reason: add --why.")
        print(request.body, *_approved(request), sep="\n\n")
        return
    airflow.answer(request, OPTIONS[given.refuse], given.why.strip())
    word = "refused" if given.refuse else "approved"
    print(f"You {word} plan {request.reference.plan_sha256[:12]} of {given.node}: {given.why.strip()}.")


def listed(waiting: Sequence[Waiting]) -> list[str]:
    """Return what each request asks, who may still answer until when, and who approved so far."""
    lines: list[str] = []
    for one in waiting:
        left = [name for name in one.reference.may_answer if name not in one.approved]
        until = f"{one.reference.expires_at:%Y-%m-%d %H:%M} UTC"
        lines += [
            f"{one.reference.node}  {one.reference.plan_sha256[:12]}  {one.reference.approval}  {one.subject}",
            f"    {', '.join(left)} may answer until {until}; run {one.dag}/{one.run}",
            *(f"    {sentence}" for sentence in _approved(one)),
        ]
    return lines


def _approved(one: Waiting) -> list[str]:
    return [f"Approved so far by {who}: {why}." for who, why in one.approved.items()]


def chosen(waiting: Sequence[Waiting], node: str, plan: str) -> Waiting:
    """Return the one request of a node whose plan begins so. Raises Refused with what waits instead."""
    of_node = [one for one in waiting if one.reference.node == node]
    if not of_node:
        raise Refused(f"Nothing about {node} waits for an answer: see `nodeworthy approve`.")
    plans = ", ".join(one.reference.plan_sha256[:12] for one in of_node)
    if len(plan) < LEAST_DIGITS:
        raise Refused(f"Name the plan that you read with --plan and at least {LEAST_DIGITS} digits; waiting: {plans}.")
    found = [one for one in of_node if one.reference.plan_sha256.startswith(plan.lower())]
    if len(found) != 1:
        raise Refused(f"{len(found)} requests of {node} are about a plan {plan}; waiting: {plans}: read it again.")
    return found[0]
