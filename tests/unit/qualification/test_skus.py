"""Every shipped SKU: its definition loads, its figures cover L1, and none of them could never fail."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.errors import Permanent
from nodeworthy.qualification.baselines import baseline_from_document, baselines_from_document, to_learn_from_document

INCLUDE = Path(__file__).resolve().parents[3] / "include"
SKUS = tuple(sorted(path.stem for path in (INCLUDE / "skus").glob("*.yaml")))
LIBRARY = YamlLibrary(INCLUDE)
GOOD = {"test": "t.a", "metric": "m", "statistic": "single", "unit": "ns", "source": "somebody", "date": "2026-11-30"}


def test_the_named_families_are_there() -> None:
    """A100 (both sizes), H100, H200, B200, GB200, L40S and MI300X ship."""
    families = ("a100-sxm4-40", "a100-sxm4-80", "h100", "h200", "b200", "gb200", "l40s", "mi300x")
    assert all(any(name.startswith(family) for name in SKUS) for family in families)


@pytest.mark.parametrize("sku", SKUS)
def test_every_judged_figure_of_l1_has_limits_or_says_that_it_must_be_learnt(sku: str) -> None:
    """No key of L1 is forgotten, no key has both, and every file fits its schema."""
    document = json.loads((INCLUDE / "baselines" / f"{sku}.json").read_text())
    jsonschema.validate(document, json.loads((INCLUDE / "schemas" / "baseline-1.json").read_text()))
    limited = [(row.test, row.metric, row.statistic, row.unit) for row in baselines_from_document(document)]
    learnt = [(row.test, row.metric, row.statistic, row.unit) for row in to_learn_from_document(document)]
    of_sku = LIBRARY.sku(sku)
    suite = LIBRARY.suite("l1").on(of_sku.vendor).without([one.test for one in of_sku.waives])
    judged = {
        (test.test, spec.metric, spec.statistic, spec.unit)
        for test in suite.tests
        for spec in test.metrics
        if spec.judged
    }
    assert of_sku.name == sku
    assert not set(limited) & set(learnt)
    assert judged <= set(limited) | set(learnt)


@pytest.mark.parametrize(
    ("figures", "complaint"),
    [
        ({"most": 800, "least": 300}, "must all be given"),
        ({"most": 800, "least": 300, "reached": 900}, "never reached"),
        ({"most": 800, "least": 300, "reached": 200}, "below least"),
        ({"most": 800, "least": 900, "reached": 850}, "nothing could pass"),
        ({"most": 800, "least": 300, "reached": 620, "floor": 1}, "high or when low"),
        ({"equals": 0, "most": 1}, "one right value"),
        ({"floor": 0, "ceiling": 10, "reached": 5}, "can never fail"),
        ({"floor": 5, "ceiling": 10, "reached": 4}, "never reached"),
        ({"floor": 5, "ceiling": 10, "reached": 11}, "above ceiling"),
    ],
)
def test_a_row_that_could_not_fail_or_was_never_reached_is_refused(figures: dict[str, float], complaint: str) -> None:
    """Such rows exist in public tables; the loader names the row and what is wrong with it."""
    with pytest.raises(Permanent, match=complaint):
        baseline_from_document({**GOOD, **figures}, "x", 1)


def test_a_figure_that_should_be_low_loads() -> None:
    """620 ns was reached, 800 is too much, below 300 nothing can have been measured."""
    baseline = baseline_from_document({**GOOD, "most": 800, "least": 300, "reached": 620}, "x", 1)
    assert (baseline.most, baseline.least, baseline.floor) == (800, 300, None)


def test_a_row_to_learn_names_its_reason_and_no_limit() -> None:
    """`learn` beside a limit is two answers to one question."""
    row = {key: GOOD[key] for key in ("test", "metric", "statistic", "unit", "date")}
    document = {"schema": "nodeworthy.baseline/1", "sku": "x", "version": 1}
    assert baselines_from_document({**document, "baselines": [{**row, "learn": "nobody published it"}]}) == ()
    with pytest.raises(Permanent, match="unknown key floor"):
        baselines_from_document({**document, "baselines": [{**row, "learn": "nobody published it", "floor": 1}]})
