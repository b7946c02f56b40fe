"""The onboarding path as stages, for the builder of the bring-up DAG: one stage is one task per node, in order.

Neighbouring rows of one `stage` form one task; a stage that ends in a judgement names its scope, so that the builder
puts the judge of the whole run behind it. Admission is not part of it: that is an operator's own step.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.rows import Transition
from nodeworthy.lifecycle.table import Lifecycle


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: the rows that it takes, from `begins` to `ends`."""

    name: str
    rows: tuple[Transition, ...]

    @property
    def begins(self) -> str:
        """The milestone in which a node must stand to begin."""
        return self.rows[0].from_

    @property
    def ends(self) -> str:
        """The milestone in which a node stands when the stage, and its judge, are done."""
        return self.rows[-1].to

    @property
    def procedures(self) -> tuple[str, ...]:
        """The procedures of the stage, in order."""
        return tuple(row.procedure for row in self.rows)

    @property
    def events(self) -> tuple[str, ...]:
        """The events of the stage, in order."""
        return tuple(row.event for row in self.rows)

    @property
    def judges(self) -> Scope | None:
        """The scope that is judged behind the stage; None when nothing is."""
        return next((row.grants for row in self.rows if row.grants is not None), None)

    @property
    def approval(self) -> str:
        """The approval that the stage's riskiest row names; empty when it needs none."""
        return next((row.approval for row in self.rows if row.approval), "")


def onboarding_stages(lifecycle: Lifecycle) -> tuple[Stage, ...]:
    """Return the stages from declared to standby: the rows of the path that do not lead into service."""
    rows = [row for row in lifecycle.path if not lifecycle.milestone(row.to).schedulable]
    return tuple(Stage(name, tuple(group)) for name, group in groupby(rows, key=lambda row: row.stage))
