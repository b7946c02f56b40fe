"""The lifecycle as frozen rows, read from a parsed document; an unsafe table is refused before anything can use it.

The document (`include/lifecycle/*.yaml`, schema `include/schemas/lifecycle-1.json`) is parsed elsewhere: this floor
knows mappings only. `Lifecycle` answers what the rest asks: which row an event takes, which path onboarding follows,
and how a milestone looks in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from nodeworthy.errors import Permanent
from nodeworthy.lifecycle import document, graph
from nodeworthy.lifecycle.rows import Milestone, Projection, Transition


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """A safe lifecycle table."""

    name: str
    version: int
    milestones: tuple[Milestone, ...]
    transitions: tuple[Transition, ...]

    @classmethod
    def from_document(cls, mapping: Mapping[str, Any]) -> Lifecycle:
        """Read a table. Raises Permanent with one sentence per problem, each naming its row."""
        milestones = tuple(document.milestone(row) for row in document.rows(mapping, "milestones"))
        transitions = tuple(
            row for entry in document.rows(mapping, "transitions") for row in document.transitions(entry)
        )
        found = graph.problems(milestones, transitions)
        if found:
            raise Permanent(" ".join(found))
        return cls(str(mapping.get("name", "")), int(mapping.get("version", 1)), milestones, transitions)

    @property
    def initial(self) -> str:
        """The milestone of a node that was only declared."""
        return next(row.name for row in self.milestones if row.initial)

    @property
    def path(self) -> tuple[Transition, ...]:
        """Onboarding and admission in order: the chain of rows with a stage."""
        following = {row.from_: row for row in self.transitions if row.stage}
        found: list[Transition] = []
        at = self.initial
        while at in following:
            found.append(following[at])
            at = following[at].to
        return tuple(found)

    def milestone(self, name: str) -> Milestone:
        """Return a milestone's row. Raises Permanent when the table has none of that name."""
        for row in self.milestones:
            if row.name == name:
                return row
        raise Permanent(
            f"The lifecycle `{self.name}` has no milestone `{name}`: load the table that the ledger was written with."
        )

    def transition(self, milestone: str, event: str) -> Transition | None:
        """Return the row that an event takes from a milestone; None when it leads nowhere from there."""
        return next((row for row in self.transitions if row.from_ == milestone and row.event == event), None)

    def is_done(self, milestone: str, event: str) -> bool:
        """Whether an event's target is this milestone, or lies behind it on the onboarding path."""
        if any(row.to == milestone for row in self.transitions if row.event == event):
            return True
        return any(self.has_reached(milestone, row.to) for row in self.path if row.event == event)

    def has_reached(self, milestone: str, target: str) -> bool:
        """Whether a milestone is `target` or lies beyond it on the onboarding path."""
        order = self._order
        return milestone in order and target in order and order.index(target) <= order.index(milestone)

    def projection(self, milestone: str) -> Projection:
        """Return a milestone's projection, with None for each label of ours that it must not carry."""
        own = self.milestone(milestone).projection
        ours = {label for row in self.milestones for label in row.projection.labels}
        return replace(own, labels={label: own.labels.get(label) for label in sorted(ours)})

    @property
    def _order(self) -> tuple[str, ...]:
        return (self.initial, *(row.to for row in self.path))
