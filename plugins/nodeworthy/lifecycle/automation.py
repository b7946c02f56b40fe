"""What runs by itself, what a person approves, what never happens without one: each transition under a pool's policy.

A row without an approval runs by itself once its guards allow it. A row with one follows the strictest mode of the
classes of action that its procedure uses; where policy has no class for it a person answers. A final row is never
automatic, whatever a policy says.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nodeworthy.lifecycle.policy import CLASSES, Mode, Policy
from nodeworthy.lifecycle.rows import Risk, Transition


class Automation(StrEnum):
    """Who makes a transition happen."""

    AUTOMATIC = "automatic"
    APPROVED = "approved"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Answer:
    """Who makes a transition happen, and the sentence that says why."""

    automation: Automation
    why: str


def automation(row: Transition, policy: Policy) -> Answer:
    """Return what a policy makes of a transition."""
    if not row.approval:
        return Answer(Automation.AUTOMATIC, "when its guards allow it" if row.guards else "always: no guard may object")
    if row.risk is Risk.FINAL:
        people = "two people answer" if policy.approval(row.approval).needs_two else "a person answers"
        return Answer(Automation.NEVER, f"cannot be undone: {people} each time")
    actions = CLASSES.get(row.procedure, ())
    if not actions:
        return Answer(Automation.APPROVED, "a person answers each time")
    named = ", ".join(f"{action.value}: {policy.mode(action).value}" for action in actions)
    strictest = policy.strictest(*actions)
    word = {
        Mode.AUTO: Automation.AUTOMATIC,
        Mode.APPROVE: Automation.APPROVED,
        Mode.OBSERVE: Automation.NEVER,
    }[strictest]
    return Answer(word, named if word is not Automation.NEVER else f"{named}; it is only written down")
