"""Requests for an approval, and when their answers decide.

A request is for exactly one plan, named by its SHA-256. A refusal decides at once and makes void what was approved
before it; an approval decides when as many different people gave it as the pool's rule asks. What policy lets through
by itself is answered by `POLICY`, a name that no person can have.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from nodeworthy.lifecycle.records import Answer

POLICY: Final = "policy"
APPROVE: Final = "approve"
REFUSE: Final = "refuse"
UNANSWERED: Final = "The request for approval expired"
"""How the reason of a node begins whose request nobody answered in time."""


class End(StrEnum):
    """How a request ended; OPEN while it waits."""

    OPEN = ""
    APPROVED = "approved"
    REFUSED = "refused"
    EXPIRED = "expired"
    REPLACED = "replaced"
    """The plan changed, or the episode's class was raised: another request stands in its place."""
    WITHDRAWN = "withdrawn"
    """The run that asked gave the node back or lost it: nobody would hear the answer."""


@dataclass(frozen=True, slots=True)
class Request:
    """A question about one node's plan. `answers` different people must approve; `may_answer` are their names.

    `closes` says that a "no", and no answer at all, end the node's episode.
    """

    node: str
    episode: int
    plan_sha256: str
    approval: str
    subject: str
    answers: int
    may_answer: tuple[str, ...]
    run: str
    asked_at: datetime
    expires_at: datetime
    end: End = End.OPEN
    closes: bool = False

    @property
    def unanswered(self) -> str:
        """The sentence for an operator when its time is over: what did not happen, and who asks again."""
        again = "start admit again" if self.closes else "a new run with retry_of asks again"
        return (
            f"{UNANSWERED} at {self.expires_at:%Y-%m-%d %H:%M} UTC without an answer that decides, so nothing was done "
            f"to {self.node}: {again}."
        )


@dataclass(frozen=True, slots=True)
class Decision:
    """What the answers to one plan say: approved or refused, by whom (all of them, in order) and why."""

    approved: bool
    who: str
    why: str

    @property
    def word(self) -> str:
        """The decision as the ledger's word for an answer."""
        return APPROVE if self.approved else REFUSE


def standing(answers: Sequence[Answer]) -> tuple[Answer, ...]:
    """Return the approvals that count: those behind the last refusal, each person's first."""
    counted: dict[str, Answer] = {}
    for answer in answers:
        if answer.answer != APPROVE:
            counted.clear()
        else:
            counted.setdefault(answer.who, answer)
    return tuple(counted.values())


def decide(answers: Sequence[Answer], needed: int) -> Decision | None:
    """Return what these answers to one plan decide, oldest first; None while another answer is needed."""
    if answers and answers[-1].answer != APPROVE:
        return Decision(False, answers[-1].who, answers[-1].why)
    counted = standing(answers)
    if len(counted) < needed and all(answer.who != POLICY for answer in counted):
        return None
    who = " and ".join(answer.who for answer in counted)
    return Decision(True, who, "; ".join(answer.why for answer in counted if answer.why)) if counted else None


@dataclass(frozen=True, slots=True)
class Reference:
    """The last line of a request's text: what a program needs to answer it, in words that a person can read."""

    node: str
    plan_sha256: str
    approval: str
    may_answer: tuple[str, ...]
    expires_at: datetime

    def line(self) -> str:
        """Return the line."""
        people = ", ".join(f"`{name}`" for name in self.may_answer)
        return (
            f"Request `{self.approval}` of node `{self.node}`, plan `{self.plan_sha256}`; may be answered by {people}; "
            f"expires {self.expires_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}."
        )


_LINE: Final = re.compile(
    r"^Request `(?P<approval>[^`]+)` of node `(?P<node>[^`]+)`, plan `(?P<plan>[0-9a-f]{64})`; may be answered by "
    r"(?P<people>.+); expires (?P<expires>\S+Z)\.$",
    re.MULTILINE,
)


def read_reference(body: str) -> Reference | None:
    """Return what a request's text says in its last line; None for a text that is no request of ours."""
    found = list(_LINE.finditer(body))
    if not found:
        return None
    last = found[-1]
    people = tuple(re.findall(r"`([^`]+)`", last["people"]))
    return Reference(last["node"], last["plan"], last["approval"], people, datetime.fromisoformat(last["expires"]))
