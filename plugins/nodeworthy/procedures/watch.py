"""Watch: look whether suspects come too fast or share a cause, and hold voluntary work until that is over.

Housekeeping calls it every few minutes. Whoever takes a node out asks the same question in its own transaction, so the
brake does not depend on how often this runs; what runs here is the incident that a person sees, and its end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from nodeworthy.lifecycle.brake import Incident


class BrakeKeeper(Protocol):
    """The memory of incidents; kept by the same ledger."""

    def evaluate_brake(self) -> tuple[Incident, ...]:
        """Open, extend and end incidents by what is known now; return the open ones. May be repeated."""

    def brake_state(self) -> tuple[Incident, ...]:
        """Return the open incidents, the oldest first; while there is one, nothing voluntary begins."""

    def clear_incident(self, number: int, *, who: str, why: str) -> None:
        """End an incident by a person's decision. Refused for an unknown number; ended already is success."""


def watch(keeper: BrakeKeeper, say: Callable[[str], None]) -> str:
    """Evaluate the brake once; return one summary line. Raises nothing for an open incident: it is no failed task."""
    before = {incident.number: incident for incident in keeper.brake_state()}
    now = {incident.number: incident for incident in keeper.evaluate_brake()}
    for number, incident in now.items():
        if number not in before:
            say(f"Incident {number} opened: {incident.sentence}. Nodes: {', '.join(incident.nodes)}.")
        elif set(incident.nodes) != set(before[number].nodes):
            new = sorted(set(incident.nodes) - set(before[number].nodes))
            say(f"Incident {number} ({incident.cause.words}) has new suspects: {', '.join(new)}.")
    for number in before.keys() - now.keys():
        say(f"Incident {number} ({before[number].cause.words}) has ended.")
    if not now:
        return "The brake is off: nothing that suspects share stands out."
    causes = "; ".join(f"{incident.cause.words} (incident {number})" for number, incident in now.items())
    return f"The brake is on for {causes}: voluntary work waits."
