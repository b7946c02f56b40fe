"""What the probe is told of limits: when a figure missed one so narrowly that the test is carried out once more.

A figure just beyond its limit may be noise. So that a sound node is not sent to repair for a tenth of a watt, its test
is run once more where the suite says so, and both values stand in the record. Whatever misses by more, and every count
that is not what it must be, is final. The probe judges nothing by this: the judge does, by the second try.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nodeworthy.evidence.results import Result
from nodeworthy.evidence.verdicts import Remark, Scope
from nodeworthy.qualification.baselines import Baseline
from nodeworthy.qualification.columns import baseline_of, demanded
from nodeworthy.qualification.row import Row
from nodeworthy.qualification.sku import Sku
from nodeworthy.qualification.suites import MetricSpec, Suite, TestSpec

NEAR_MISS = "near_miss"
_DIGITS = 6

Limits = Mapping[str, Sequence[Mapping[str, Any]]]
"""Rows of a plan by the name of their test."""


def told_limits(suite: Suite, sku: Sku, scope: Scope, baselines: Sequence[Baseline]) -> Limits:
    """Return the limits that each test's plan holds; tests that are neither repeated nor tried again have none."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for test in suite.for_scope(scope, sku):
        if test.near_miss_percent is not None or test.repeats > 1:
            rows = [row for spec in test.metrics for row in _rows(test, spec, sku, baselines)]
            if rows:
                found[test.test] = rows
    return found


def _rows(test: TestSpec, spec: MetricSpec, sku: Sku, baselines: Sequence[Baseline]) -> list[Mapping[str, Any]]:
    # The virtual fleet's limits are told too: whether they may judge this node is the judge's to say.
    baseline, _ = baseline_of(baselines, sku.firmware_set, test, spec, simulated=True)
    if baseline is None or not spec.judged or spec.derived_from:
        return []
    key = {"metric": spec.metric, "statistic": spec.statistic, "unit": spec.unit}
    if baseline.equals is not None:
        return [{**key, "equals": baseline.equals}]
    if test.near_miss_percent is None:
        return []
    share = test.near_miss_percent / 100.0
    rows: list[Mapping[str, Any]] = []
    reference = baseline.reference.low(len(demanded(spec, sku))) if baseline.reference is not None else None
    lows = [limit for limit in (baseline.floor, reference) if limit is not None]
    if lows:
        rows.append({**key, "beyond": "below", "limit": max(lows), "last": round(max(lows) * (1.0 - share), _DIGITS)})
    if baseline.most is not None:
        most = baseline.most
        rows.append({**key, "beyond": "above", "limit": most, "last": round(most * (1.0 + share), _DIGITS)})
    return rows


def passed_on_second_try(
    result: Result, rows: Sequence[Row], failing: frozenset[tuple[str, str]], parts: Mapping[str, str]
) -> tuple[Remark, ...]:
    """Return a remark per component and test that needed a second try and is in order; `failing` are not."""
    known = {(row.test, row.component, row.metric, row.statistic) for row in rows}
    found: dict[tuple[str, str], Remark] = {}
    for run in result.tests.values():
        for again in run.second_try:
            place = (run.test, again.component)
            if place in failing or (*place, again.metric, again.statistic) not in known:
                continue
            sentence = (
                f"{again.component} {again.metric} passed on the second try: {again.first:.4g} {again.unit} first, "
                f"just beyond its limit, then {again.second:.4g}"
            )
            part = parts.get(again.component, "")
            found.setdefault(place, Remark(NEAR_MISS, again.component, part, again.metric, sentence))
    return tuple(found.values())
