"""A probe's result document (`nodeworthy.result/1`), read with distrust.

Nothing in it may become a pass by accident: a number that is not finite, a text where a number belongs, a truth value
and an absent field all read as "no value". A document that cannot be read at all is reported as a problem of the
document and never as one of the node.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from nodeworthy.evidence.measurements import Measurement, MeasurementStatus

RESULT_SCHEMA = "nodeworthy.result/1"
_NO_PARAMETERS: Mapping[str, Any] = MappingProxyType({})
_STATUSES = {status.value: status for status in MeasurementStatus}


@dataclass(frozen=True, slots=True)
class SecondTry:
    """One figure that was just beyond its limit: what the first try read and what the second, which counts."""

    component: str
    metric: str
    statistic: str
    unit: str
    first: float
    second: float


@dataclass(frozen=True, slots=True)
class TestRun:
    """How one test was executed: the probe's word for it, its exit code, and why it did not complete."""

    __test__ = False

    test: str
    tool: str
    tool_version: str
    execution: str
    transport: str
    command: tuple[str, ...]
    duration_seconds: float | None
    exit_code: int | None
    reason: str
    raw: Mapping[str, Any]
    second_try: tuple[SecondTry, ...] = ()
    """Figures that were just beyond a limit, for which the test was carried out once more."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault that a tool or the kernel log named."""

    code: str
    component: str
    category: str
    during: str
    line: str


@dataclass(frozen=True, slots=True)
class Result:
    """A result document as the judge reads it. `problem` says why it cannot be read; it is then empty otherwise."""

    node: str
    serial: str
    episode: int
    suite: str
    sku: str
    simulated: bool
    boot_id: str
    driver: str
    tests: Mapping[str, TestRun]
    measurements: tuple[Measurement, ...]
    findings: tuple[Finding, ...]
    problem: str = ""


def read_result(document: Mapping[str, Any]) -> Result:
    """Read a result document. Never raises for its content: `problem` then holds one sentence."""
    try:
        if document.get("schema") != RESULT_SCHEMA:
            return _unreadable(f"its schema is {document.get('schema')!r}, expected {RESULT_SCHEMA!r}")
        if not isinstance(document.get("simulated"), bool):
            return _unreadable("it does not say whether it is simulated")
        return _read(document)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return _unreadable(f"it has another shape than its schema says ({type(error).__name__}: {error})")


def _unreadable(problem: str) -> Result:
    return Result("", "", -1, "", "", False, "", "", {}, (), (), problem)


def _read(document: Mapping[str, Any]) -> Result:
    tests = {row["test"]: _test(row) for row in document["tests"]}
    versions = document.get("versions") or {}
    node = str(document["node"])
    return Result(
        node=node,
        serial=str(document.get("serial") or ""),
        episode=int(document["episode"]),
        suite=str(document["suite"]),
        sku=str(document["sku"]),
        simulated=document["simulated"],
        boot_id=str(document.get("boot_id") or ""),
        driver=str(versions.get("driver") or ""),
        tests=tests,
        measurements=tuple(_measurement(row, node, tests) for row in document["measurements"]),
        findings=tuple(_finding(row) for row in document.get("findings") or ()),
    )


def _test(row: Mapping[str, Any]) -> TestRun:
    duration, code = row.get("duration_seconds"), row.get("exit_code")
    return TestRun(
        test=str(row["test"]),
        tool=str(row.get("tool") or ""),
        tool_version=str(row.get("tool_version") or ""),
        execution=str(row["execution"]),
        transport=str(row.get("transport") or ""),
        command=tuple(str(part) for part in row.get("command") or ()),
        duration_seconds=number(duration),
        exit_code=code if isinstance(code, int) else None,
        reason=str(row.get("reason") or ""),
        raw=dict(row.get("raw") or {}),
        second_try=tuple(
            SecondTry(
                component=str(again["component"]),
                metric=str(again["metric"]),
                statistic=str(again["statistic"]),
                unit=str(again["unit"]),
                first=float(again["first"]),
                second=float(again["second"]),
            )
            for again in row.get("second_try") or ()
        ),
    )


def number(value: Any) -> float | None:
    """Return a finite number as a float, and None for everything else: texts, truth values, NaN and Infinity too."""
    if type(value) is float:
        return value if math.isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        converted = float(value)
    except OverflowError:
        return None
    return converted if math.isfinite(converted) else None


def _measurement(row: Mapping[str, Any], node: str, tests: Mapping[str, TestRun]) -> Measurement:
    given = row.get("value")
    value = number(given)
    known = _STATUSES.get(str(row["status"]), MeasurementStatus.NOT_A_NUMBER)
    if value is None and known is MeasurementStatus.OK:
        known = MeasurementStatus.MISSING if given is None else MeasurementStatus.NOT_A_NUMBER
    test = str(row["test"])
    run = tests.get(test)
    # In the order of Measurement's fields; by name it takes longer, half a million times.
    return Measurement._make(
        (
            node,
            str(row["component"]),
            str(row["metric"]),
            value,
            str(row["unit"]),
            str(row["statistic"]),
            test,
            known,
            dict(row["parameters"]) if row.get("parameters") else _NO_PARAMETERS,
            row.get("transport") or (run.transport if run else None),
            run.tool_version if run else None,
            _numbers(row["runs"]) if row.get("runs") else (),
            _numbers(row["samples"]) if row.get("samples") else (),
        )
    )


def _numbers(values: Sequence[Any]) -> tuple[float, ...]:
    """Return a list of numbers; none at all when any of them is no number."""
    found = [number(value) for value in values]
    return tuple(value for value in found if value is not None) if None not in found else ()


def _finding(row: Mapping[str, Any]) -> Finding:
    return Finding(
        code=str(row["code"]),
        component=str(row.get("component") or ""),
        category=str(row.get("category") or ""),
        during=str(row.get("during") or ""),
        line=str(row.get("line") or ""),
    )
