"""The eight words a judgement may use, and why each was used.

Only `pass` advances a node. The other seven keep a bad *test* apart from a bad *node*: a missing row, a wrong
transport or a figure above physics says something about the measurement, not about the hardware.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nodeworthy.evidence.measurements import EvidenceReference


class Verdict(StrEnum):
    """What the evidence says."""

    PASS = "pass"  # noqa: S105 - a verdict, no password
    FAIL = "fail"
    FAIL_CONFIG = "fail-config"
    INCOMPLETE = "incomplete"
    NOT_RUN = "not-run"
    TOOL_ERROR = "tool-error"
    INVALID = "invalid"
    IMPOSSIBLE = "impossible"


class Scope(StrEnum):
    """What a qualification is about; service needs both."""

    HARDWARE = "hardware"
    PLATFORM = "platform"


@dataclass(frozen=True, slots=True)
class Reason:
    """One cause of a verdict: what was expected, what was seen, in which unit."""

    verdict: Verdict
    code: str
    component: str
    metric: str
    expected: str
    seen: str
    unit: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Remark:
    """Something a judgement noticed that counts against nobody: a drift, a pass on the second try."""

    code: str
    component: str
    part: str
    """Serial of the component, empty where it is not known."""
    metric: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one node's results of one suite, with every reason that is not a pass."""

    node: str
    scope: Scope
    suite: str
    verdict: Verdict
    reasons: tuple[Reason, ...]
    sentence: str
    """One sentence for the operator: the deciding reason, or what was proven."""
    simulated: bool = False
    """Whether the evidence comes from the virtual fleet."""
    dossier: EvidenceReference | None = None
    """The manifest of its evidence, once that is written; a pass and every other verdict have one."""
    remarks: tuple[Remark, ...] = ()
    """What raises suspicion without deciding anything; its words stand in the sentence too."""
