"""Suites and baselines as people write them: what is shipped loads, what could let a fault pass is refused."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema
import pytest
from nodeworthy.errors import Permanent
from nodeworthy.evidence.findings import OldXids
from nodeworthy.evidence.verdicts import Scope, Verdict
from nodeworthy.qualification.baselines import baseline_from_document, baselines_from_document
from nodeworthy.qualification.plans import plan_document, with_old_xids
from nodeworthy.qualification.references import references_from_document
from nodeworthy.qualification.sku import Vendor
from nodeworthy.qualification.suite_document import suite_from_document
from nodeworthy.qualification.suites import Suite
from nodeworthy.qualification.written import (
    baselines_to_document,
    references_to_document,
    suite_to_document,
)

from tests.unit.qualification.written_results import H100, INCLUDE, ShippedFiles

SKUS = ("h100-sxm-8", "h200-sxm-8")
SUITES = tuple(sorted(path.stem for path in (INCLUDE / "suites").glob("*.json")))


def shipped(kind: str, name: str) -> dict[str, Any]:
    """Read one shipped JSON file."""
    found: dict[str, Any] = json.loads((INCLUDE / kind / f"{name}.json").read_text())
    return found


@pytest.mark.parametrize("name", SUITES)
def test_shipped_suites_fit_their_schema_and_load(name: str) -> None:
    """Suite files are valid against suite-1 and safe."""
    jsonschema.validate(shipped("suites", name), shipped("schemas", "suite-1"))
    assert ShippedFiles().suite(name).name == name


@pytest.mark.parametrize("sku", SKUS)
def test_shipped_baselines_fit_their_schema_and_cover_the_suite(sku: str) -> None:
    """Every judged metric of L1 has a baseline, and every baseline belongs to a metric of a shipped suite."""
    jsonschema.validate(shipped("baselines", sku), shipped("schemas", "baseline-1"))
    jsonschema.validate(shipped("baselines", f"{sku}-reference"), shipped("schemas", "reference-1"))
    judged, widest = _judged("l1"), _judged(*SUITES)
    keys = {(row.test, row.metric, row.statistic, row.unit) for row in ShippedFiles().baselines(sku)}
    assert judged <= keys <= widest


def _judged(*suites: str) -> set[tuple[str, str, str, str]]:
    return {
        (test.test, spec.metric, spec.statistic, spec.unit)
        for suite in suites
        for test in ShippedFiles().suite(suite).tests
        for spec in test.metrics
        if spec.judged
    }


def test_l1_includes_l0_first() -> None:
    """Levels are cumulative: L0's tests and expectations come before L1's own."""
    l0, l1 = ShippedFiles().suite("l0"), ShippedFiles().suite("l1")
    assert l1.tests[: len(l0.tests)] == l0.tests
    assert list(l1.expectations["expectations"])[: len(l0.checks())] == list(l0.expectations["expectations"])


def test_a_plan_is_written_for_its_scope_and_sku() -> None:
    """The quote stands in the platform's plan alone; the number of ranks is the SKU's number of GPUs."""
    whom: Any = {"node": "gpu-a01", "serial": "S", "episode": 3, "nonce": "f" * 64}
    hardware, platform = (plan_document(ShippedFiles().suite("l1"), H100, scope, **whom) for scope in Scope)
    jsonschema.validate(platform, shipped("schemas", "plan-1"))
    assert "attest.quote" in [test["test"] for test in platform["tests"]]
    assert "attest.quote" not in [test["test"] for test in hardware["tests"]]
    collective = next(test for test in hardware["tests"] if test["test"] == "collective.all_reduce")
    assert collective["arguments"][collective["arguments"].index("-g") + 1] == "8"


@pytest.mark.parametrize("sku", SKUS)
def test_what_a_dossier_keeps_reads_back_to_the_same_values(sku: str) -> None:
    """Suites, baselines and references survive being written and read."""
    suite, baselines = ShippedFiles().suite("l1").on(Vendor.NVIDIA), ShippedFiles().baselines(sku)
    again = suite_from_document(json.loads(json.dumps(suite_to_document(suite))))
    assert (again.tests, again.checks()) == (suite.tests, suite.checks())
    references = references_from_document(json.loads(json.dumps(references_to_document(baselines))))
    assert baselines_from_document(json.loads(json.dumps(baselines_to_document(baselines))), references) == baselines


# -- Baselines that are refused ----------------------------------------------------------------------------------

GOOD = {
    "test": "collective.all_reduce",
    "metric": "bus_bandwidth",
    "statistic": "max",
    "unit": "GB/s",
    "floor": 450,
    "ceiling": 520,
    "reached": 478.9,
    "source": "a benchmark",
    "date": "2026-11-30",
}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"floor": 0}, "can never fail"),
        ({"floor": -1}, "can never fail"),
        ({"floor": 500}, "never reached"),
        ({"ceiling": 450}, "not above floor"),
        ({"reached": 600}, "above ceiling"),
        ({"reached": None}, "must all be given"),
        ({"floor": None}, "must all be given"),
        ({"floor": float("nan")}, "finite"),
        ({"floor": "450"}, "finite"),
        ({"unit": ""}, "`unit` is missing"),
        ({"source": None}, "`source` is missing"),
        ({"date": ""}, "`date` is missing"),
        ({"flor": 450}, "unknown key flor"),
        ({"equals": 8}, "beside a floor"),
        ({"on_failure": "pass"}, "not pass"),
        ({"on_failure": "bad"}, "not pass"),
        ({"spread_percent": 0}, "spread_percent"),
    ],
)
def test_a_baseline_that_could_never_fail_or_pass_is_refused(changes: dict[str, Any], says: str) -> None:
    """Such rows exist in public tables; each is refused with its reason when it is loaded."""
    with pytest.raises(Permanent, match=says):
        baseline_from_document({**GOOD, **changes}, "sku", 1)


def test_a_count_has_one_right_value() -> None:
    """`equals` needs neither floor nor ceiling, and may mean a setting."""
    row = {key: GOOD[key] for key in ("test", "metric", "statistic", "unit", "source", "date")}
    baseline = baseline_from_document({**row, "equals": 0, "on_failure": "fail-config"}, "sku", 1)
    assert (baseline.equals, baseline.on_failure) == (0.0, Verdict.FAIL_CONFIG)


ALIKE = {**GOOD, "statistic": "similarity", "unit": "ratio", "floor": 0.99, "ceiling": 1.0, "reached": 0.999}
STALLED = {key: GOOD[key] for key in ("test", "metric", "source", "date")}
STALLED |= {"statistic": "stalled_share", "unit": "ratio", "most": 0.008, "least": 0, "reached": 0}


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (ALIKE, "`quantiles` belong"),
        ({**GOOD, "quantiles": [0.9, 1.1]}, "`quantiles` belong"),
        ({**ALIKE, "quantiles": [1.0]}, "two times at least"),
        ({**ALIKE, "quantiles": [1.1, 0.9]}, "rising"),
        ({**ALIKE, "quantiles": [0.0, 1.0]}, "above zero"),
        (STALLED, "`stalled_above` belongs"),
        ({**ALIKE, "quantiles": [0.9, 1.1], "stalled_above": 1.1}, "`stalled_above` belongs"),
        ({**STALLED, "stalled_above": 1.0}, "no longer than the median"),
    ],
)
def test_a_shape_needs_its_times_and_no_other_figure_has_any(row: dict[str, Any], says: str) -> None:
    """Without them nothing could be compared, and a shape that is none would let every run pass."""
    with pytest.raises(Permanent, match=says):
        baseline_from_document(row, "sku", 1)


def test_a_shape_reads_back_as_it_was_written() -> None:
    """The dossier's baselines hold the frozen shape."""
    given = {"schema": "nodeworthy.baseline/1", "sku": "s", "version": 1}
    both = [{**ALIKE, "quantiles": [0.9, 1.0, 1.1]}, {**STALLED, "stalled_above": 1.06}]
    baselines = baselines_from_document({**given, "baselines": both})
    assert (baselines[0].quantiles, baselines[1].stalled_above) == ((0.9, 1.0, 1.1), 1.06)
    assert baselines_from_document(json.loads(json.dumps(baselines_to_document(baselines)))) == baselines


def test_two_rows_of_one_key_are_refused() -> None:
    """Nobody knows which of two floors counts."""
    document = {
        "schema": "nodeworthy.baseline/1",
        "sku": "s",
        "version": 1,
        "baselines": [GOOD, {**GOOD, "floor": 440}],
    }
    with pytest.raises(Permanent, match="twice"):
        baselines_from_document(document)


# -- Suites that are refused -------------------------------------------------------------------------------------


def broken_suite(**changes: Any) -> Suite:
    """Load L0 after changes to its document."""
    return suite_from_document({**copy.deepcopy(shipped("suites", "l0")), **changes}, where="here")


def without(kind: str, column: str | None = None) -> dict[str, Any]:
    """L0's expectations without those of one kind (and column)."""
    rows = shipped("suites", "l0")["expectations"]["expectations"]
    return {"expectations": [r for r in rows if r["type"] != kind or column not in (None, r["kwargs"].get("column"))]}


def altered(kind: str, **changes: Any) -> dict[str, Any]:
    """L0's expectations with changes to the first of one kind: to kwargs, or to meta for `meta_` names."""
    rows = copy.deepcopy(shipped("suites", "l0")["expectations"]["expectations"])
    row = next(row for row in rows if row["type"] == kind)
    for key, value in changes.items():
        part, name = (row["meta"], key[5:]) if key.startswith("meta_") else (row["kwargs"], key)
        part[name] = value
    return {"expectations": rows}


PAIR = "expect_column_pair_values_a_to_be_greater_than_b"
NULL = "expect_column_values_to_not_be_null"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"expectations": without("expect_table_row_count_to_be_between")}, "counts the rows"),
        ({"expectations": altered("expect_table_row_count_to_be_between", min_value=0)}, "counts the rows"),
        ({"expectations": without("expect_column_to_exist", "value")}, "expect_column_to_exist for value"),
        ({"expectations": without(NULL, "value")}, "missing value"),
        ({"expectations": {"expectations": []}}, "counts the rows"),
        ({"expectations": altered(PAIR, ignore_row_if="either_value_is_missing")}, "ignore_row_if"),
        ({"expectations": altered(PAIR, mostly=0.95)}, "mostly"),
        ({"expectations": altered(PAIR, row_condition="value > 0")}, "row_condition"),
        ({"expectations": altered(NULL, meta_verdict="fail")}, "a bad test is not a bad node"),
        ({"expectations": altered(PAIR, meta_verdict="pass")}, "not pass"),
        ({"expectations": altered(PAIR, meta_layer=4)}, "layer"),
        ({"expectations": altered(PAIR, meta_severity="info")}, "unknown key severity"),
        ({"expectations": altered(PAIR, meta_code="rows")}, "twice"),
        ({"schema": "nodeworthy.suite/9"}, "schema"),
        ({"teests": []}, "unknown key teests"),
        ({"tests": []}, "at least one row"),
        ({"includes": ["l9"]}, "cannot be read"),
    ],
)
def test_an_unsafe_suite_is_refused(changes: dict[str, Any], says: str) -> None:
    """Whatever would let a row pass unseen in Great Expectations is refused when the suite is loaded."""
    with pytest.raises(Permanent, match=says):
        broken_suite(**changes)


def test_a_plan_names_the_old_xids_that_decide_nothing() -> None:
    """Runs of codes are ranges; behind them stand the codes that a reset of the GPU ends."""
    whom = {"node": "gpu-a01", "serial": "S1", "episode": 1, "nonce": "a" * 64}
    suite = with_old_xids(ShippedFiles().suite("l0"), OldXids(("1", "2", "3", "7", "31"), ("46", "119", "120")))
    plan = plan_document(suite, H100, Scope.HARDWARE, **whom)
    assert {test["test"]: test["arguments"] for test in plan["tests"]}["kernel.log"] == ["1-3,7,31", "46,119-120"]
