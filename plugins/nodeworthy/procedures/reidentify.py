"""Reidentify: one person asks for a chassis swap, another one answers; only then the old chassis retires.

Both must be people whom the pool's rule for `retire` lets answer, since a chassis is retired. The request is a notice
of the ledger until it is answered or its time is over, so that everybody sees it; what was asked and answered is audit.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from nodeworthy.errors import Refused
from nodeworthy.lifecycle.policy import Policy
from nodeworthy.lifecycle.roles import person_of
from nodeworthy.lifecycle.upkeep import Swap, SwapAnswer
from nodeworthy.ports import Work

RULE = "retire"
"""The approval of the lifecycle's row that retires the old chassis."""


class SwapBook(Protocol):
    """The memory of swaps; kept by the same ledger."""

    def ask_swap(self, swap: Swap, until: datetime) -> str:
        """Write down that somebody asks for a swap; return one sentence. Refused for what could not be done now."""

    def answer_swap(self, answer: SwapAnswer) -> str:
        """Do the swap that was asked for, or write down that it was refused; return one sentence.

        Refused when nobody asked, when the time is over, and when the same person asks and answers.
        """

    def asked_swaps(self) -> Mapping[str, Swap]:
        """Return the swaps that wait for an answer, by the old serial."""

    def end_swaps(self) -> int:
        """End the requests whose time is over; return how many."""


def ask(swap: Swap, work: Work, book: SwapBook) -> str:
    """Ask for a swap; return one sentence. Refused for who may not answer `retire` himself, and for what is unclear."""
    if not swap.why.strip():
        raise Refused("A chassis swap needs a reason: whoever answers must know why.")
    rule = _policy(swap.old, work).approval(RULE)
    people = _people(swap.who, swap.old, work)
    others = ", ".join(sorted(people - {person_of(swap.who)})) or "nobody else"
    told = book.ask_swap(swap, work.clock.now() + rule.expiry)
    return f"{told} It may be answered by {others}."


def answer(given: SwapAnswer, work: Work, book: SwapBook) -> str:
    """Answer a swap that was asked for; return one sentence."""
    if not given.why.strip():
        raise Refused("An answer needs a reason: the audit keeps it.")
    _people(given.who, given.old, work)
    return book.answer_swap(given)


def _people(who: str, old: str, work: Work) -> frozenset[str]:
    """Return who may answer; refuses somebody who may not."""
    people = frozenset(one.name for one in work.library.roles().answerers(_policy(old, work).approval(RULE)))
    if person_of(who) not in people:
        names = ", ".join(sorted(people)) or "nobody"
        raise Refused(f"The rule `{RULE}` of the pool of {old} lets {names} ask for and answer a swap, not {who}.")
    return people


def _policy(old: str, work: Work) -> Policy:
    record = next((one for one in work.ledger.nodes() if one.node.serial == old), None)
    if record is None:
        raise Refused(f"The ledger knows no chassis with the serial {old}: correct the old serial.")
    return Policy.from_document(work.library.policy(record.node.pool))
