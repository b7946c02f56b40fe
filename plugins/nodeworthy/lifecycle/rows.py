"""The rows of the lifecycle table: what a milestone is, and what a transition asks, proves and voids.

A milestone is a fact about a node that stays true if every process dies now; what is being done to the node is the
lease of its episode, never a row here. All sets (who is schedulable, what is final) are derived from these fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from nodeworthy.evidence.verdicts import Scope

STAY = "stay"
"""`if_interrupted` of a milestone whose fact outlives a lost boot."""

TELL_OPERATOR = "tell_operator"
"""`at_deadline` of a milestone that only a person can lead on."""

CERTIFICATE = "certificate"
"""In `voids` beside the scopes: the transition revokes the node's certificate."""


class Risk(StrEnum):
    """What a transition's procedure may cost."""

    NONE = "none"
    LOW = "low"
    HIGH = "high"
    FINAL = "final"

    @property
    def needs_approval(self) -> bool:
        """Whether a row of this risk must name its approval."""
        return self in (Risk.HIGH, Risk.FINAL)


@dataclass(frozen=True, slots=True)
class Taint:
    """One Kubernetes taint."""

    key: str
    effect: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Projection:
    """A milestone in Kubernetes: exactly these of *our* taints and labels; None is a label that must be absent."""

    taints: tuple[Taint, ...] = ()
    labels: Mapping[str, str | None] = field(default_factory=dict)
    cordon: bool = False

    @property
    def keeps_pods_out(self) -> bool:
        """Whether the taints alone keep a pod out that tolerates nothing."""
        return any(taint.effect in ("NoSchedule", "NoExecute") for taint in self.taints)


@dataclass(frozen=True, slots=True)
class Deadline:
    """How long a node may stand in a milestone; None is for ever, and `because` says why that is right."""

    default: timedelta | None
    per_sku: Mapping[str, timedelta] = field(default_factory=dict)
    because: str = ""

    def of(self, sku: str) -> timedelta | None:
        """Return the time that nodes of this SKU get."""
        return self.per_sku.get(sku, self.default)

    def overridden(self, by: Deadline | None) -> Deadline:
        """Return this deadline as a pool has it: its time for all SKUs replaces every other, one for a SKU that."""
        if by is None:
            return self
        if by.default is not None:
            return Deadline(by.default, by.per_sku, self.because)
        return Deadline(self.default, {**self.per_sku, **by.per_sku}, self.because)


@dataclass(frozen=True, slots=True)
class Milestone:
    """One milestone. `at_deadline` and `if_interrupted` name an event, or `tell_operator` and `stay`."""

    name: str
    phase: str
    meaning: str
    schedulable: bool
    deadline: Deadline
    at_deadline: str
    if_interrupted: str
    projection: Projection
    initial: bool = False
    final: bool = False


@dataclass(frozen=True, slots=True)
class Transition:
    """One edge. `stage` marks the onboarding path; `grants` is the scope whose judgement leads to it.

    `owner` is the team that answers for it: platform, tenant (whose work has to leave) or data_centre.
    """

    from_: str
    event: str
    to: str
    procedure: str
    risk: Risk
    guards: tuple[str, ...] = ()
    approval: str = ""
    proof: tuple[str, ...] = ()
    voids: tuple[str, ...] = ()
    grants: Scope | None = None
    stage: str = ""
    owner: str = "platform"

    @property
    def voided_scopes(self) -> frozenset[Scope]:
        """The scopes of qualification that this edge voids."""
        return frozenset(Scope(name) for name in self.voids if name != CERTIFICATE)

    @property
    def row(self) -> str:
        """How a message names this row."""
        return f"{self.from_} -{self.event}-> {self.to}"
