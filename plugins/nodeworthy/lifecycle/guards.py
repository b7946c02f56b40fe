"""Guards: small functions of one signature that may forbid a transition, each with a sentence and, if known, an end.

The table names them per row; `advance` asks them in that order and shows the first reason word for word. What they look
at is collected by the ledger, never by the caller. `SCOPES_REQUIRED` tells the graph check which guards demand a scope.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from nodeworthy.evidence.records import Qualification
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle import windows
from nodeworthy.lifecycle.approvals import decide, standing
from nodeworthy.lifecycle.brake import Incident
from nodeworthy.lifecycle.budget import Absence, Group, no_room
from nodeworthy.lifecycle.policy import CLASSES, Action, Mode, Policy
from nodeworthy.lifecycle.records import Answer, Hold
from nodeworthy.lifecycle.rows import Risk, Transition


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
    absence: Absence | None = None
    """The node's open absence; what is out already takes nothing from anybody."""
    policy: Policy | None = None
    """The pool's policy; None where nobody handed one over, and then nothing voluntary begins."""
    groups: tuple[Group, ...] = ()
    """The node's groups and who of them is absent, counted in this transaction."""
    incidents: tuple[Incident, ...] = ()
    """What the brake holds for."""


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
    """The episode's plan was approved, by policy or by as many people as the pool's rule asks; the last refusal counts.

    The procedure asks before it acts; this guard keeps a mistake there from becoming a milestone. A fact `plan_sha256`
    narrows the question to exactly that plan; without it the plan that was answered last is meant.
    """
    plan = facts.given.get("plan_sha256", facts.answers[-1].plan_sha256 if facts.answers else None)
    answers = [answer for answer in facts.answers if answer.plan_sha256 == plan]
    if not answers:
        return Refusal(f"`{row.event}` needs an approved plan and nobody answered for it: answer the request first.")
    needed = facts.policy.answers_needed(row.approval) if facts.policy else 1
    made = decide(answers, needed)
    if made is None:
        return Refusal(
            f"`{row.event}` needs a plan that {needed} different people approved, and {len(standing(answers))} did: "
            "answer the request first."
        )
    if not made.approved:
        return Refusal(f"{made.who} refused the plan of `{row.event}`: {made.why or 'no reason given'}.")
    return None


def action_approved(facts: Facts, row: Transition) -> Refusal | None:
    """As `plan_approved`, unless the pool's policy runs this class of action by itself."""
    alone = facts.policy is not None and all(facts.policy.mode(action) is Mode.AUTO for action in _actions(row))
    return None if alone else plan_approved(facts, row)


def policy_allows(facts: Facts, row: Transition) -> Refusal | None:
    """The pool's policy does more than observe this class of action."""
    if facts.absence is not None:
        return None
    if facts.policy is None:
        return Refusal(f"not {_done(row)}: no policy is known for the node's pool; open the ledger with the policies.")
    modes = {action.value: facts.policy.mode(action) for action in _actions(row)}
    observed = [name for name, mode in modes.items() if mode is Mode.OBSERVE]
    if observed:
        return Refusal(
            f"not {_done(row)}: the policy of pool {facts.policy.pool} only observes {', '.join(observed)}; set the "
            "class to approve or auto in include/policies to let it happen."
        )
    return None


def brake_released(facts: Facts, row: Transition) -> Refusal | None:
    """No incident holds voluntary work."""
    if facts.absence is not None or not facts.incidents:
        return None
    first = facts.incidents[0]
    rules = facts.policy.brake if facts.policy else None
    until = max(one.last for one in facts.incidents) + rules.clear_after if rules else None
    return Refusal(
        f"not {_done(row)}: the brake is on since {first.opened:%Y-%m-%d %H:%M} UTC (incident {first.number}: "
        f"{first.sentence}); look for the shared cause, then clear the incident or wait until it ends by itself.",
        until,
    )


def window_open(facts: Facts, row: Transition) -> Refusal | None:
    """A maintenance window of the pool is open, and stays open for as long as the action is expected to take."""
    if facts.absence is not None or facts.policy is None:
        return None
    calendar = facts.policy.calendar
    takes = max((calendar.takes.get(action.value, timedelta(0)) for action in _actions(row)), default=timedelta(0))
    why, until = windows.sentence(calendar, facts.now, takes)
    return Refusal(f"not {_done(row)}: {why}.", until) if why else None


def within_budget(facts: Facts, row: Transition) -> Refusal | None:
    """Every group of the node has room for one more absence."""
    if facts.absence is not None or facts.policy is None:
        return None
    why = no_room(facts.groups, facts.policy.budgets, facts.now)
    return Refusal(f"not {_done(row)}: {why}.") if why else None


VOLUNTARY: Final[tuple[Guard, ...]] = (policy_allows, automation_allowed, brake_released, window_open, within_budget)
"""What is asked, in this order, before a serving node is taken out by our own will: allow, wait until, or refuse."""


OWN_WILL: Final = frozenset(guard.__name__ for guard in VOLUNTARY if guard is not automation_allowed)
"""Guards that mark a row as voluntary: a node that leaves service by it is absent by our own will."""


def first_refusal(guards: Iterable[Guard], facts: Facts, row: Transition) -> Refusal | None:
    """Ask guards in order and return the first reason; None when all allow it."""
    return next((refusal for guard in guards if (refusal := guard(facts, row)) is not None), None)


def voluntary(action: Action, milestone: str) -> Transition:
    """Return an action that moves nothing yet as a row that the guards can be asked about."""
    return Transition(milestone, action.value, milestone, action.value, Risk.HIGH)


GUARDS: Final[Mapping[str, Guard]] = {
    guard.__name__: guard
    for guard in (
        hardware_qualified,
        platform_qualified,
        certificate_valid,
        automation_allowed,
        admission_allowed,
        plan_approved,
        action_approved,
        policy_allows,
        brake_released,
        window_open,
        within_budget,
    )
}

APPROVING: Final = frozenset(guard.__name__ for guard in (plan_approved, action_approved))
"""Guards that let nobody past without an answer."""

SCOPES_REQUIRED: Final[Mapping[str, Scope]] = {
    hardware_qualified.__name__: Scope.HARDWARE,
    platform_qualified.__name__: Scope.PLATFORM,
}


def _actions(row: Transition) -> tuple[Action, ...]:
    return CLASSES.get(row.procedure) or tuple(action for action in Action if action.value == row.procedure)


def _done(row: Transition) -> str:
    return next((action.done for action in _actions(row)), f"done (`{row.event}`)")


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
