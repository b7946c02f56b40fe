"""The test plan (``nodeworthy.plan/1``): read strictly, refused in one sentence.

The plan arrives in an environment variable from the procedure that started the pod. The same
rules stand in ``include/schemas/plan-1.json``; the probe checks them itself so that it needs no
library on the node.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .group import Group, group_of

SCHEMA = "nodeworthy.plan/1"
NVIDIA, AMD = "nvidia", "amd"
_NONCE = re.compile(r"[0-9a-f]{64}")
_RETRIED = ("crashed", "timed-out", "unparsable")
_TEST_NAME = re.compile(r"[a-z0-9_]+(?:\.[a-z0-9_]+)*")


class PlanRefused(Exception):
    """The plan cannot be run; the message is one sentence for the operator."""


@dataclass(frozen=True)
class Limit:
    """What the plan says of one figure: what a count must be, or how narrowly a limit can be missed.

    A figure beyond ``limit`` but not beyond ``last`` is a near miss.
    """

    metric: str
    statistic: str
    unit: str
    equals: float | None = None
    beyond: str = ""
    limit: float = 0.0
    last: float = 0.0


@dataclass(frozen=True)
class TestSpec:
    """One tool to run, with its time limit."""

    __test__ = False  # not a class of tests for pytest

    test: str
    tool: str
    arguments: tuple[str, ...]
    timeout_seconds: float
    environment: Mapping[str, str]
    parameters: Mapping[str, Any]
    repeats: int = 1
    retry: tuple[str, ...] = ()
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What to run on which node, and what the node should have."""

    node: str
    serial: str
    episode: int
    nonce: str
    suite: str
    sku: str
    expected_gpus: int
    expected_nvlinks: int
    tests: tuple[TestSpec, ...]
    sha256: str
    group: Group | None = None
    within_seconds: float | None = None
    """How long all tests may take together; second tries that would not fit are left out."""
    vendor: str = NVIDIA
    """Who made the GPUs: which driver's counters and log lines are read."""


def read_plan(text: str | None) -> Plan:
    """The plan in ``text``; raises :class:`PlanRefused` for anything that is not exactly one."""
    if not text:
        raise PlanRefused("The environment variable NODEWORTHY_PLAN is empty; start the probe with a test plan.")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PlanRefused(f"The test plan is not JSON ({error}); it must be a {SCHEMA} document.") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise PlanRefused(f"The test plan is not a {SCHEMA} document; this probe reads no other version.")
    expect = _field(document, "expect", dict)
    nonce = _field(document, "nonce", str)
    if not _NONCE.fullmatch(nonce):
        raise PlanRefused("The plan's nonce must be 64 lower-case hex digits.")
    return Plan(
        node=_field(document, "node", str),
        serial=_field(document, "serial", str),
        episode=_field(document, "episode", int),
        nonce=nonce,
        suite=_field(document, "suite", str),
        sku=_field(document, "sku", str),
        expected_gpus=_count(expect, "gpus"),
        expected_nvlinks=_count(expect, "nvlinks_per_gpu"),
        tests=_tests(_field(document, "tests", list)),
        sha256=hashlib.sha256(text.encode("utf-8")).hexdigest(),
        group=_group(document),
        within_seconds=float(_field(document, "within_seconds", int)) if "within_seconds" in document else None,
        vendor=_vendor(expect),
    )


def _vendor(expect: Mapping[str, Any]) -> str:
    vendor = expect.get("vendor", NVIDIA)
    if vendor not in (NVIDIA, AMD):
        raise PlanRefused(f"The plan expects GPUs of {vendor!r}; this probe knows {NVIDIA} and {AMD}.")
    return str(vendor)


def _group(document: Mapping[str, Any]) -> Group | None:
    try:
        return group_of(document)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise PlanRefused(f"The plan's group cannot be read ({error}); see schema {SCHEMA}.") from error


def _field(document: Mapping[str, Any], name: str, kind: type) -> Any:
    value = document.get(name)
    if not isinstance(value, kind) or isinstance(value, bool) or value == "":
        raise PlanRefused(f"The plan's field {name!r} is missing or not a {kind.__name__}; see schema {SCHEMA}.")
    return value


def _count(expect: Mapping[str, Any], name: str) -> int:
    value = expect.get(name, 0)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 1024:
        raise PlanRefused(f"The plan expects an impossible number of {name}.")
    return value


def _tests(entries: list[Any]) -> tuple[TestSpec, ...]:
    if not entries:
        raise PlanRefused("The plan lists no test.")
    tests = tuple(_test(entry) for entry in entries)
    names = [test.test for test in tests]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise PlanRefused(f"The plan lists {repeated[0]} twice; each test may stand there once.")
    return tests


def _test(entry: Any) -> TestSpec:
    if not isinstance(entry, dict):
        raise PlanRefused("A test of the plan is not an object.")
    name, tool = _field(entry, "test", str), _field(entry, "tool", str)
    if not _TEST_NAME.fullmatch(name) or "/" in tool:
        raise PlanRefused(f"The plan's test {name!r} or its tool {tool!r} has a name that is not allowed.")
    timeout = entry.get("timeout_seconds", 600)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= 172_800:
        raise PlanRefused(f"The time limit of {name} must lie between 0 and 172800 seconds.")
    arguments = entry.get("arguments", [])
    if not isinstance(arguments, list) or not all(isinstance(argument, str) for argument in arguments):
        raise PlanRefused(f"The arguments of {name} must be a list of strings.")
    environment = entry.get("environment", {})
    if not isinstance(environment, dict) or not all(isinstance(value, str) for value in environment.values()):
        raise PlanRefused(f"The environment of {name} must map names to strings.")
    parameters = entry.get("parameters", {})
    if not isinstance(parameters, dict):
        raise PlanRefused(f"The parameters of {name} must be an object.")
    return TestSpec(name, tool, tuple(arguments), float(timeout), environment, parameters, *_how_often(entry, name))


def _how_often(entry: dict[str, Any], name: str) -> tuple[int, tuple[str, ...], tuple[Limit, ...]]:
    repeats, retry = entry.get("repeats", 1), entry.get("retry", [])
    if isinstance(repeats, bool) or not isinstance(repeats, int) or not 1 <= repeats <= 100:
        raise PlanRefused(f"The repeats of {name} must be a number from 1 to 100.")
    if not isinstance(retry, list) or not all(word in _RETRIED for word in retry):
        raise PlanRefused(f"The retry of {name} must name {', '.join(_RETRIED)}, or nothing.")
    limits = entry.get("limits", [])
    if not isinstance(limits, list):
        raise PlanRefused(f"The limits of {name} must be a list.")
    return repeats, tuple(retry), tuple(_limit(row, name) for row in limits)


def _limit(row: Any, name: str) -> Limit:
    figures = ("equals",) if isinstance(row, dict) and "equals" in row else ("limit", "last")
    if not isinstance(row, dict) or any(
        isinstance(row.get(key), bool) or not isinstance(row.get(key), int | float) for key in figures
    ):
        raise PlanRefused(f"A limit of {name} must hold the number `equals`, or the numbers `limit` and `last`.")
    metric, statistic, unit = (_field(row, word, str) for word in ("metric", "statistic", "unit"))
    if figures == ("equals",):
        return Limit(metric, statistic, unit, equals=float(row["equals"]))
    if row.get("beyond") not in ("below", "above"):
        raise PlanRefused(f"A limit of {name} must say `below` or `above`.")
    edges = {"limit": float(row["limit"]), "last": float(row["last"])}
    return Limit(metric, statistic, unit, beyond=row["beyond"], **edges)
