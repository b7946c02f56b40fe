"""The combined rule, and that a reference is what its population says."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.errors import Permanent
from nodeworthy.evidence.verdicts import Judgement, Verdict
from nodeworthy.qualification.frame import build_rows
from nodeworthy.qualification.references import freeze, references_from_document, z_for

from tests.unit.qualification.reference_population import FIGURES, SHAPE_RULE, reference, shape_rows, written
from tests.unit.qualification.written_results import INCLUDE, context, degraded, healthy, judge_context, noisy, stored


def document(**changes: Any) -> dict[str, Any]:
    """A reference file with one metric: median 100, sigma 1."""
    metric = {"test": "t", "metric": "m", "statistic": "max", "unit": "GB/s", "median": 100.0, "sigma": 1.0, "n": 200}
    rule = {"z": -4, "percent": -3, "sigma_floor_percent": 0.5, "minimum_population": 30, "source": "a simulation"}
    whole = {
        "schema": "nodeworthy.reference/1",
        "sku": "s",
        "version": 1,
        "simulated": True,
        "date": "2026-11-30",
        "source": "the lab",
        "rule": rule,
        "metrics": [metric],
    }
    return {**whole, **changes}


def with_metric(**changes: Any) -> dict[str, Any]:
    """The same file with another metric row."""
    whole = document()
    return {**whole, "metrics": [{**whole["metrics"][0], **changes}]}


def test_a_value_is_low_only_beyond_both_limits() -> None:
    """Sigma 1: four sigmas, 96.0, decide. Sigma 0.1: the floor makes it 0.5, so 98.0, and 3 per cent, 97.0, decide."""
    (wide,) = references_from_document(document())
    assert wide.low() == pytest.approx(96.0)
    assert wide.z(96.0) == pytest.approx(-4.0)
    (narrow,) = references_from_document(with_metric(sigma=0.1))
    assert narrow.effective_sigma == pytest.approx(0.5)
    assert narrow.low() == pytest.approx(97.0)
    assert narrow.percent(97.0) == pytest.approx(-3.0)


@pytest.mark.parametrize(
    ("broken", "names"),
    [
        (with_metric(n=29), "29 nodes"),
        (with_metric(median=0), "median"),
        (with_metric(median=float("nan")), "finite"),
        (with_metric(sigm=1), "unknown key sigm"),
        (document(simulated="no"), "simulated"),
        (document(source=""), "source"),
        (document(schema="nodeworthy.reference/2"), "schema"),
        (document(rule={**document()["rule"], "z": 4}), "negative"),
    ],
)
def test_a_useless_reference_is_refused_with_its_reason(broken: dict[str, Any], names: str) -> None:
    """Too few nodes, no source, a rule that can flag nothing: each is named."""
    with pytest.raises(Permanent, match=names):
        references_from_document(broken, "here")


def test_eight_looks_share_one_chance_of_a_false_alarm() -> None:
    """z -4 is 3.17e-5; an eighth of it, 3.96e-6, is z -4.47 (normal tables)."""
    assert z_for(-4.0, 1) == -4.0
    assert z_for(-4.0, 8) == pytest.approx(-4.466, abs=0.005)
    (wide,) = references_from_document(document())
    assert wide.low(8) == pytest.approx(95.53, abs=0.01)


def test_freezing_ignores_a_minority_of_outliers() -> None:
    """Median and 1.4826 MAD of 1..9 and one wild value, worked out by hand: 5.5 and 1.4826 x 2.5."""
    assert freeze([1, 2, 3, 4, 5, 6, 7, 8, 9, 1000]) == (5.5, 3.7065)


@pytest.mark.parametrize("sku", sorted(FIGURES))
def test_the_shipped_references_can_be_made_again(sku: str) -> None:
    """The population's recipe gives the shipped file, byte for byte."""
    assert (INCLUDE / "baselines" / f"{sku}-reference.json").read_text() == written(reference(sku))


@pytest.mark.parametrize("sku", sorted(FIGURES))
def test_the_shipped_shapes_can_be_made_again(sku: str) -> None:
    """Shape and limits are those of the recipe, and the limits those of the statistical rules in force."""
    document = json.loads((INCLUDE / "baselines" / f"{sku}-simulated.json").read_text())
    assert [row for row in document["baselines"] if row["test"] == "collective.stalls"] == shape_rows()
    assert YamlLibrary(INCLUDE).statistics().shape == SHAPE_RULE


def judge_by_a_noisy_population() -> Callable[[dict[str, Any]], Judgement]:
    """Return a judge whose references were frozen from 200 nodes with 1 % run noise and 0.3 % spread."""
    given = context(stored(healthy()))
    population = [replace(given, stored=stored(healthy(noise=noisy(f"population {seed}")))) for seed in range(200)]
    samples: dict[tuple[str, str], list[float]] = {}
    for row in build_rows(population):
        samples.setdefault((row.metric, row.statistic), []).append(row.value or 0.0)
    baselines = []
    for baseline in given.baselines:
        if baseline.reference is not None:
            centre, sigma = freeze(samples[baseline.metric, baseline.statistic])
            baseline = replace(baseline, reference=replace(baseline.reference, median=centre, sigma=sigma))
        baselines.append(baseline)
    return lambda result: judge_context(replace(given, stored=stored(result), baselines=tuple(baselines)))


def test_one_per_cent_noise_fails_no_healthy_node_and_hides_no_four_per_cent() -> None:
    """Two hundred healthy nodes pass; of forty with one GPU's links 4 % slow all are found, with the GPU's name."""
    judge = judge_by_a_noisy_population()
    healthy_ones = [judge(healthy(noise=noisy(f"healthy {seed}"))) for seed in range(200)]
    assert [one.sentence for one in healthy_ones if one.verdict is not Verdict.PASS] == []
    missed = []
    for seed in range(40):
        result = healthy(noise=noisy(f"slow {seed}"))
        degraded(result, gpu=4, amount=0.04)
        judgement = judge(result)
        if judgement.verdict is not Verdict.FAIL or "gpu/4" not in judgement.sentence:
            missed.append(f"{seed}: {judgement.sentence}")
    assert missed == []


def test_the_shipped_files_are_json_with_one_metric_a_line() -> None:
    """A change of one metric is one line of a diff."""
    for path in (INCLUDE / "baselines").glob("*-reference.json"):
        text = path.read_text()
        assert text.count('"metric":') == len(json.loads(text)["metrics"])
