"""Suites: which tests run with which parameters, and what their results are expected to be.

A suite file (`include/suites/*.json`) holds our test plan and, in Great Expectations' own form, the expectations.
Levels are cumulative: a suite names the suites that it includes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class TestSpec:
    """One test of a plan: the tool, its arguments and time-out, and the metrics that must come out of it."""

    __test__ = False

    test: str
    tool: str
    arguments: tuple[str, ...]
    timeout: timedelta
    parameters: Mapping[str, str | int | float] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    transport: tuple[str, ...] = ()
    """Transports that prove the test tested what it claims; empty where there is none to prove."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A declared list of tests with expectations; `tests` already holds those of the included suites, in order."""

    name: str
    level: str
    tests: tuple[TestSpec, ...]
    expectations: Mapping[str, Any]
    version: int
