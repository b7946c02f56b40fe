"""The one function that moves a node: it reads the table, asks the row's guards and says Moved or why not.

It is pure: the ledger collects the facts, calls it and writes what it answers, in one transaction. An event that is
done already moves nothing and is no error, so that every step of bring-up may run again.
"""

from __future__ import annotations

from dataclasses import dataclass

from nodeworthy.lifecycle.guards import GUARDS, Facts, Refusal, first_refusal
from nodeworthy.lifecycle.rows import Transition
from nodeworthy.lifecycle.table import Lifecycle

__all__ = ["Facts", "Moved", "Refusal", "advance"]


@dataclass(frozen=True, slots=True)
class Moved:
    """A move that the table allows; `voids` names what it ends. From equals to when the event was done already."""

    from_: str
    to: str
    event: str
    voids: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the node stands elsewhere now."""
        return self.from_ != self.to


def advance(lifecycle: Lifecycle, milestone: str, event: str, facts: Facts) -> Moved | Refusal:
    """Decide one event of a node that stands in `milestone`. The first guard that objects gives the reason."""
    row = lifecycle.transition(milestone, event)
    if row is None:
        if lifecycle.is_done(milestone, event):
            return Moved(milestone, milestone, event)
        return _leads_nowhere(lifecycle, milestone, event)
    refusal = _lacks_proof(facts, row)
    if refusal is not None:
        return refusal
    refusal = first_refusal((GUARDS[name] for name in row.guards), facts, row)
    if refusal is not None:
        return refusal
    return Moved(row.from_, row.to, row.event, row.voids)


def _lacks_proof(facts: Facts, row: Transition) -> Refusal | None:
    missing = [key for key in row.proof if facts.given.get(key) in (None, "")]
    if missing:
        return Refusal(
            f"`{row.event}` needs the proof {', '.join(missing)} and it was not given: run {row.procedure} again."
        )
    return None


def _leads_nowhere(lifecycle: Lifecycle, milestone: str, event: str) -> Refusal:
    sources = sorted({row.from_ for row in lifecycle.transitions if row.event == event})
    if not sources:
        return Refusal(f"The lifecycle `{lifecycle.name}` has no event `{event}`: use one of its table.")
    return Refusal(f"`{event}` starts from {' or '.join(sources)} and the node is {milestone}: bring it there first.")
