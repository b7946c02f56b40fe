"""Faults: declared in lab/data/faults.yaml, laid over the base state, counted, scheduled, cured by rule.

A fault never changes the base state. What shows it asks the board for the active faults of a node, so healing gives
back exactly what was there before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from lab.truth import data
from lab.truth.clock import LabClock, Timer

CURES = ("self", "reboot", "reimage", "reset-bmc", "never")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True)
class Cure:
    """What ends a fault; `after` is the lab time after which a fault with the rule `self` ends."""

    rule: str
    after: timedelta | None = None

    def __str__(self) -> str:
        return self.rule if self.after is None else f"{self.rule}:{self.after.total_seconds():g}s"


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One row of the catalogue; `parameters` holds every allowed name with its default."""

    name: str
    description: str
    cure: Cure
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class ActiveFault:
    """One fault on one node; `fired` counts how often it bit, `count` (if set) ends it after so many bites."""

    name: str
    node: str
    parameters: Mapping[str, Any]
    cure: Cure
    since: datetime
    count: int | None = None
    fired: int = 0
    timer: Timer | None = None

    def document(self) -> dict[str, Any]:
        """The JSON form that `lab status` shows."""
        return {
            "fault": self.name,
            "node": self.node,
            "parameters": dict(self.parameters),
            "cure": str(self.cure),
            "since": self.since.isoformat(),
            "fired": self.fired,
        }


def parse_duration(text: str) -> timedelta:
    """`90`, `90s`, `10m`, `2h`, `1d` as a duration; ValueError otherwise."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no duration; write a number with s, m, h or d, such as 10m.")
    return timedelta(seconds=float(match[1]) * _SECONDS[match[2]])


def parse_cure(text: str) -> Cure:
    """`never`, `reboot`, `reimage`, `reset-bmc` or `self:10m`; ValueError otherwise."""
    rule, _, after = text.partition(":")
    if rule not in CURES or (rule == "self") != bool(after):
        raise ValueError(f"{text!r} is no cure; use reboot, reimage, reset-bmc, never, or self:10m.")
    return Cure(rule, parse_duration(after) if after else None)


@cache
def catalogue() -> Mapping[str, FaultKind]:
    """All faults that can be injected, by name."""
    rows = data.load("faults.yaml")["faults"]
    return {
        row["name"]: FaultKind(row["name"], row["description"], parse_cure(row["cure"]), row.get("parameters", {}))
        for row in rows
    }


class FaultBoard:
    """The active faults of every node."""

    def __init__(self, clock: LabClock) -> None:
        self._clock = clock
        self._active: dict[str, dict[str, ActiveFault]] = {}
        self._version = 0

    @property
    def version(self) -> int:
        """Grows with every change, so that whoever caches a view knows when to throw it away."""
        return self._version

    def inject(
        self, node: str, name: str, parameters: Mapping[str, Any] | None = None, cure: Cure | None = None
    ) -> ActiveFault:
        """Lay a fault over a node now; the same fault again replaces its parameters. ValueError if unknown."""
        kind = self.check(name, parameters)
        wanted = dict(parameters or {})
        count = wanted.pop("count", None)
        fault = ActiveFault(
            name, node, {**kind.parameters, **wanted}, cure or kind.cure, self._clock.now(), count=count
        )
        self.heal(node, name)
        self._active.setdefault(node, {})[name] = fault
        if fault.cure.after is not None:
            fault.timer = self._clock.call_later(fault.cure.after, lambda: self._end(fault))
        self._version += 1
        return fault

    @staticmethod
    def check(name: str, parameters: Mapping[str, Any] | None = None) -> FaultKind:
        """The catalogue's row of a fault; ValueError in one sentence if it or a parameter is unknown."""
        kind = catalogue().get(name)
        if kind is None:
            raise ValueError(f"There is no fault {name}; known are {', '.join(sorted(catalogue()))}.")
        unknown = sorted(set(parameters or {}) - set(kind.parameters) - {"count"})
        if unknown:
            known = ", ".join(sorted(kind.parameters)) or "no other"
            raise ValueError(f"Fault {name} has no parameter {unknown[0]}; it knows count and {known}.")
        return kind

    def heal(self, node: str, name: str | None = None) -> int:
        """Take one fault (or all of them) off a node; returns how many there were."""
        faults = self._active.get(node, {})
        gone = [faults[name]] if name in faults else list(faults.values()) if name is None else []
        for fault in gone:
            self._end(fault)
        return len(gone)

    def cure(self, node: str, event: str) -> None:
        """Something happened (`reboot`, `reimage`, `reset-bmc`) that ends the faults with this rule."""
        rules = {"reboot", "reimage"} if event == "reimage" else {event}
        for fault in list(self._active.get(node, {}).values()):
            if fault.cure.rule in rules:
                self._end(fault)

    def active(self, node: str) -> tuple[ActiveFault, ...]:
        """The faults of a node in the order of their injection."""
        return tuple(self._active.get(node, {}).values())

    def find(self, node: str, name: str) -> ActiveFault | None:
        """The fault of this name, if it is active."""
        return self._active.get(node, {}).get(name)

    def fires(self, node: str, name: str) -> ActiveFault | None:
        """Like `find`, and counts a bite."""
        fault = self.find(node, name)
        if fault is not None:
            self.count(fault)
        return fault

    def concerns(self, node: str, name: str, parameter: str, value: str) -> ActiveFault | None:
        """Like `fires`, if the fault's parameter is unset (= all) or equals `value`."""
        fault = self.find(node, name)
        if fault is None or fault.parameters[parameter] not in (None, value):
            return None
        self.count(fault)
        return fault

    def count(self, fault: ActiveFault) -> None:
        """One more bite; a fault with a limit ends when it is reached."""
        fault.fired += 1
        if fault.count is not None and fault.fired >= fault.count:
            self._end(fault)

    def _end(self, fault: ActiveFault) -> None:
        if fault.timer is not None:
            fault.timer.cancel()
        faults = self._active.get(fault.node, {})
        if faults.get(fault.name) is fault:
            del faults[fault.name]
        self._version += 1
