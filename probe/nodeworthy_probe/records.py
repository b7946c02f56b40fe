"""The rows of a result document (``nodeworthy.result/1``), as frozen values.

A reader of tool output builds these; the bundle writer turns them into JSON. A measurement
without a number keeps its place with a status that says why, so that an absent device is a row
and not a gap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class Execution(StrEnum):
    """How running one tool ended, apart from what it measured."""

    COMPLETED = "completed"
    TIMED_OUT = "timed-out"
    CRASHED = "crashed"
    TOOL_MISSING = "tool-missing"
    UNPARSABLE = "unparsable"
    SKIPPED = "skipped"


class Status(StrEnum):
    """Whether a measurement holds a number, and if not, why."""

    OK = "ok"
    MISSING = "missing"
    NOT_A_NUMBER = "not-a-number"
    WAIVED = "waived"
    NOT_CHECKED = "not-checked"


@dataclass(frozen=True)
class Measurement:
    """One number of one component, in ``unit``; ``value`` is None unless ``status`` is ok."""

    component: str
    metric: str
    value: float | None
    unit: str
    statistic: str = "single"
    status: Status = Status.OK
    parameters: Mapping[str, Any] = field(default_factory=dict)
    transport: str | None = None
    runs: tuple[float, ...] = ()
    """What each run read, where the value is the median of several."""
    samples: tuple[float, ...] = ()
    """How long each iteration took, relative to the median of its half of the run."""

    def as_json(self, test: str) -> dict[str, Any]:
        """The row as the result document writes it."""
        return {
            "test": test,
            "component": self.component,
            "metric": self.metric,
            "value": self.value,
            "unit": self.unit,
            "statistic": self.statistic,
            "status": str(self.status),
            "parameters": dict(self.parameters),
            "transport": self.transport,
            **({"runs": list(self.runs)} if self.runs else {}),
            **({"samples": list(self.samples)} if self.samples else {}),
        }


@dataclass(frozen=True)
class SecondTry:
    """A figure just beyond its limit: what the first try read, and the second, which counts."""

    component: str
    metric: str
    statistic: str
    unit: str
    first: float
    second: float

    def as_json(self) -> dict[str, Any]:
        """The row as the result document writes it."""
        return asdict(self)


def missing(component: str, metric: str, unit: str, **details: Any) -> Measurement:
    """The row of something that was expected and not measured."""
    details.setdefault("status", Status.MISSING)
    return Measurement(component, metric, None, unit, **details)


@dataclass(frozen=True)
class Text:
    """A named string of a component: serial, UUID, model, firmware version."""

    component: str
    name: str
    value: str

    def as_json(self) -> dict[str, str]:
        """The row as the result document writes it."""
        return {"component": self.component, "name": self.name, "value": self.value}


@dataclass(frozen=True)
class Finding:
    """An event that a tool or the kernel reported, word for word, with its code."""

    code: str
    component: str
    source: str
    during: str
    line: str
    severity: str | None = None
    category: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The row as the result document writes it."""
        return {
            "code": self.code,
            "component": self.component,
            "severity": self.severity,
            "category": self.category,
            "source": self.source,
            "during": self.during,
            "line": self.line,
        }


@dataclass(frozen=True)
class Reading:
    """What one tool's output says.

    ``problem`` is set when the output cannot be trusted as a whole; the measurements then carry
    no numbers. ``lines`` are for the log that a person reads.
    """

    measurements: tuple[Measurement, ...] = ()
    texts: tuple[Text, ...] = ()
    findings: tuple[Finding, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    transport: str | None = None
    tool_version: str | None = None
    attestation: Mapping[str, Any] | None = None
    problem: str | None = None
    lacking: str | None = None
    """What the installed tool cannot do: the test was not run, and nothing is wrong with the node or its output."""
    lines: tuple[str, ...] = ()
