"""Measurements: one number each, with all that is needed to compare it with another.

A measurement that is missing is a row too: `value` is None and `status` says why, so that nothing passes by absence.
The rows come from the probe's result document (`include/schemas/result-1.json`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple


class MeasurementStatus(StrEnum):
    """Whether the row holds a number, and if not, why."""

    OK = "ok"
    MISSING = "missing"
    NOT_A_NUMBER = "not-a-number"
    WAIVED = "waived"
    NOT_CHECKED = "not-checked"


class Measurement(NamedTuple):
    """One number: node, component, metric, value, unit, statistic, test, parameters, transport, tool version.

    A tuple, because a large batch has half a million of them.
    """

    node: str
    component: str
    metric: str
    value: float | None
    unit: str
    statistic: str
    test: str
    status: MeasurementStatus
    parameters: Mapping[str, str | int | float] = MappingProxyType({})
    transport: str | None = None
    tool_version: str | None = None
    runs: tuple[float, ...] = ()
    """What each run read, where `value` is the median of several: a median hides what shows in a minority of runs."""
    samples: tuple[float, ...] = ()
    """How long each iteration of the run took, relative to the median of its half: what `value` says nothing about."""


@dataclass(frozen=True, slots=True)
class EvidenceReference:
    """Where a piece of evidence lies and the SHA-256 of its bytes."""

    path: str
    sha256: str
    size_bytes: int
