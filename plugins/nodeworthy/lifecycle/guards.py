"""Guards: small functions of one signature that may forbid a transition, each with a sentence and, if known, an end.

The table names them per row; `advance` asks them in that order and shows the first reason word for word. What they look
at is collected by the ledger, never by the caller. `SCOPES_REQUIRED` tells the graph check which guards demand a scope.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from nodeworthy.evidence.records import Qualification
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.records import Answer, Hold
from nodeworthy.lifecycle.rows import Transition


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known when a node asks to move: what the caller proved (`given`) and what the ledger holds."""

    now: datetime
    given: Mapping[str, Any] = field(default_factory=dict)
    qualifications: tuple[Qualification, ...] = ()
    certificate_expires: datetime | None = None
    holds: tuple[Hold, ...] = ()
    answers: tuple[Answer, ...] = ()
    """Answers to approval requests of the open episode, oldest first."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a node does not move; `until` is when asking again may help, None where time alone changes nothing."""

    reason: str
    until: datetime | None = None


Guard = Callable[[Facts, Transition], Refusal | None]


def hardware_qualified(facts: Facts, row: Transition) -> Refusal | None:
    """A hardware qualification is neither void nor expired."""
    return _qualified(facts, row, Scope.HARDWARE)


def platform_qualified(facts: Facts, row: Transition) -> Refusal | None:
    """A platform qualification is neither void nor expired."""
    return _qualified(facts, row, Scope.PLATFORM)


def certificate_valid(facts: Facts, row: Transition) -> Refusal | None:
    """A certificate exists, is not revoked and has not expired."""
    expires = facts.certificate_expires
    if expires is None:
        return Refusal(
            f"`{row.event}` needs a certificate and there is none: finish bring-up or requalify the node first."
        )
    if expires <= facts.now:
        return Refusal(
            f"`{row.event}` needs a valid certificate and it expired at {expires:%Y-%m-%d %H:%M} UTC: requalify."
        )
    return None


def automation_allowed(facts: Facts, row: Transition) -> Refusal | None:
    """No hold of scope automation or both is in force."""
    return _held(facts, row, "automation")


def admission_allowed(facts: Facts, row: Transition) -> Refusal | None:
    """No hold of scope admission or both is in force."""
    return _held(facts, row, "admission")


def plan_approved(facts: Facts, row: Transition) -> Refusal | None:
    """The episode's plan was approved, by a person or by policy; the last answer counts.

    The procedure asks before it acts; this guard keeps a mistake there from becoming a milestone. A fact `plan_sha256`
    narrows the question to exactly that plan.
    """
    plan = facts.given.get("plan_sha256")
    answers = [answer for answer in facts.answers if plan in (None, answer.plan_sha256)]
    if not answers:
        return Refusal(f"`{row.event}` needs an approved plan and nobody answered for it: answer the request first.")
    if answers[-1].answer != "approve":
        return Refusal(f"{answers[-1].who} refused the plan of `{row.event}`: {answers[-1].why or 'no reason given'}.")
    return None


GUARDS: Final[Mapping[str, Guard]] = {
    guard.__name__: guard
    for guard in (
        hardware_qualified,
        platform_qualified,
        certificate_valid,
        automation_allowed,
        admission_allowed,
        plan_approved,
    )
}

SCOPES_REQUIRED: Final[Mapping[str, Scope]] = {
    hardware_qualified.__name__: Scope.HARDWARE,
    platform_qualified.__name__: Scope.PLATFORM,
}


def _qualified(facts: Facts, row: Transition, scope: Scope) -> Refusal | None:
    expiries = [q.expires_at for q in facts.qualifications if q.scope is scope and not q.voided_by]
    if not expiries:
        return Refusal(
            f"`{row.event}` needs a {scope} qualification and there is none in force: run its suite and have it judged."
        )
    latest = max(expiries)
    if latest <= facts.now:
        return Refusal(
            f"`{row.event}` needs a {scope} qualification and the last one expired at {latest:%Y-%m-%d %H:%M} UTC: "
            "requalify."
        )
    return None


def _held(facts: Facts, row: Transition, scope: str) -> Refusal | None:
    for hold in facts.holds:
        ended = hold.until is not None and hold.until <= facts.now
        if hold.scope in (scope, "both") and not ended:
            end = f"until {hold.until:%Y-%m-%d %H:%M} UTC" if hold.until else "until it is released"
            return Refusal(f"`{row.event}` is held by {hold.who} {end}: {hold.why}.", hold.until)
    return None
