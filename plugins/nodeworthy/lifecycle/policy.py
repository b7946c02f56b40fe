"""A pool's policy as frozen values: what automation may do, how much at once, when, and who is asked.

Three modes per class of action: `observe` writes down what would be done, `approve` asks a person first, `auto` acts.
Isolation is no class: it is always allowed and no policy can forbid it. A class that a policy does not name is
observed. The parsed mapping (`include/policies/*.yaml`, schema `policy-1.json`) comes from elsewhere, and
`Policy.from_document` refuses what the schema cannot see, with its place in the document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final, TypeVar

from nodeworthy.errors import Permanent
from nodeworthy.lifecycle.brake import BrakeRules
from nodeworthy.lifecycle.budget import Budgets
from nodeworthy.lifecycle.document import duration
from nodeworthy.lifecycle.policy_error import Place, PolicyError
from nodeworthy.lifecycle.rows import Deadline
from nodeworthy.lifecycle.windows import Calendar

INHERITED: Final = ("budgets", "brake", "windows", "approvals", "deadlines", "cluster")
"""Sections that a pool's file may leave out: it then has those of `default.yaml`."""

LEASE: Final = "lease"
"""Among a policy's deadlines: how long a lease lives without a heartbeat."""


class Mode(StrEnum):
    """What policy lets a class of action do."""

    OBSERVE = "observe"
    APPROVE = "approve"
    AUTO = "auto"


class Action(StrEnum):
    """Classes of actions that policy rules."""

    DRAIN = "drain"
    RESET = "reset"
    FIRMWARE = "firmware"
    REIMAGE = "reimage"
    WIPE = "wipe"
    ADMIT = "admit"
    RMA = "rma"

    @property
    def done(self) -> str:
        """The action as something that was done to a node: "drained"."""
        return _DONE[self]


_DONE: Final = {
    Action.DRAIN: "drained",
    Action.RESET: "reset",
    Action.FIRMWARE: "updated",
    Action.REIMAGE: "reimaged",
    Action.WIPE: "wiped",
    Action.ADMIT: "admitted",
    Action.RMA: "flagged for RMA",
}

CLASSES: Final[Mapping[str, tuple[Action, ...]]] = {
    "firmware": (Action.FIRMWARE, Action.RESET),
    "boot_validation": (Action.RESET,),
    "provision": (Action.REIMAGE,),
    "drain": (Action.DRAIN,),
    "admit": (Action.ADMIT,),
    "flag_for_rma": (Action.RMA,),
}
"""The classes of action of which a procedure makes use."""


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """Who answers a request: any of `roles` or `people`, `answers` different persons, within `expiry`."""

    roles: tuple[str, ...]
    people: tuple[str, ...]
    answers: int
    expiry: timedelta

    @property
    def needs_two(self) -> bool:
        """Whether the two-person rule applies."""
        return self.answers > 1

    def may_answer(self, who: str, roles: frozenset[str]) -> bool:
        """Whether a person, who has these roles, may answer."""
        return who in self.people or not roles.isdisjoint(self.roles)


@dataclass(frozen=True, slots=True)
class Policy:
    """The policy of one pool."""

    pool: str
    modes: Mapping[Action, Mode] = field(default_factory=dict)
    budgets: Budgets = field(default_factory=Budgets)
    brake: BrakeRules | None = None
    """None never trips; the shipped default has one."""
    calendar: Calendar = field(default_factory=Calendar)
    approvals: Mapping[str, ApprovalRule] = field(default_factory=dict)
    deadlines: Mapping[str, Deadline] = field(default_factory=dict)
    """By milestone, where this pool's differs from the lifecycle's."""
    approval_lives: timedelta | None = None
    """How old a person's approval may be when another lease than the one under which it was given rests on it."""

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Policy:
        """Read a policy from its checked mapping. Raises PolicyError with the place of what is wrong."""
        brake, lives = document.get("brake"), document.get("validity", {}).get("approval")
        return cls(
            pool=str(document["pool"]),
            modes={Action(name): Mode(mode) for name, mode in document["actions"].items()},
            budgets=_read("budgets", document, Budgets.from_document) or Budgets(),
            brake=None if brake is None else _read("brake", document, BrakeRules.from_document),
            calendar=_read("windows", document, Calendar.from_document) or Calendar(),
            approvals={
                name: _rule(row, ("approvals", name), document) for name, row in document.get("approvals", {}).items()
            },
            deadlines={
                name: _deadline(value, ("deadlines", name))
                for name, value in document.get("deadlines", {}).items()
                if name != LEASE
            },
            approval_lives=_time(lives, ("validity", "approval")) if lives else None,
        )

    def mode(self, action: Action) -> Mode:
        """Return what a class of action may do; what the policy does not name is observed."""
        return self.modes.get(action, Mode.OBSERVE)

    def strictest(self, *actions: Action) -> Mode:
        """Return the mode of several classes together: the one that allows least."""
        return min((self.mode(action) for action in actions), key=list(Mode).index, default=Mode.AUTO)

    def answers_needed(self, name: str) -> int:
        """Return how many different people must approve what a transition names; one where no rule says more."""
        rule = self.approvals.get(name) or self.approvals.get("default")
        return rule.answers if rule else 1

    def approval(self, name: str) -> ApprovalRule:
        """Return the rule of an approval that a transition names, or the policy's `default` rule."""
        rule = self.approvals.get(name) or self.approvals.get("default")
        if rule is None:
            raise Permanent(
                f"The policy of pool {self.pool} has no approval rule `{name}` and no `default`: add one to its file."
            )
        return rule


Section = TypeVar("Section")


def _read(name: str, document: Mapping[str, Any], reader: Callable[[Mapping[str, Any]], Section]) -> Section | None:
    """Read a section that may be absent; a sentence of a deeper reader gets the section as its place."""
    section = document.get(name)
    if section is None:
        return None
    try:
        return reader(section)
    except PolicyError:
        raise
    except Permanent as error:
        raise PolicyError(error.sentence, (name,)) from error


def _rule(row: Mapping[str, Any], place: Place, document: Mapping[str, Any]) -> ApprovalRule:
    rule = ApprovalRule(
        roles=tuple(row.get("roles", ())),
        people=tuple(row.get("people", ())),
        answers=int(row.get("answers", 1)),
        expiry=_time(row.get("expiry", document["validity"]["approval"]), (*place, "expiry")),
    )
    if not rule.roles and not rule.people:
        raise PolicyError("nobody may answer: name `roles` or `people`", place)
    if not rule.roles and len(set(rule.people)) < rule.answers:
        raise PolicyError(f"{rule.answers} different people must answer and {len(set(rule.people))} may", place)
    return rule


def _deadline(value: object, place: Place) -> Deadline:
    if not isinstance(value, Mapping):
        return Deadline(_time(value, place))
    default = value.get("default")
    per_sku = {sku: _time(text, (*place, "skus", sku)) for sku, text in value.get("skus", {}).items()}
    return Deadline(None if default is None else _time(default, (*place, "default")), per_sku)


def _time(value: object, place: Place) -> timedelta:
    if isinstance(value, timedelta):
        return value
    try:
        return duration(value, "It")
    except Permanent as error:
        raise PolicyError(error.sentence, place) from error
