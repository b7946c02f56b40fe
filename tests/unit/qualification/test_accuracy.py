"""The figures of a node looked at together, and how often that is right, on a small corpus."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import yaml
from nodeworthy.errors import Permanent
from nodeworthy.qualification.fault_model import FaultModel, fault_model
from nodeworthy.qualification.likelihood import Family, evidence
from nodeworthy.qualification.similarity import ShapeRule
from nodeworthy.qualification.statistics import spreads

from benchmarks.accuracy_figures import Tally, oracle_at, rate_among_healthy
from benchmarks.accuracy_judged import judged
from benchmarks.accuracy_oracle import log_ratios
from benchmarks.accuracy_strategies import FixedPercent, Nodeworthy, freeze
from lab.corpus.nodes import blocks
from lab.corpus.parameters import parameters

RULES = yaml.safe_load((Path(__file__).parents[3] / "include" / "statistics" / "combined.yaml").read_text("utf-8"))
CORPUS = parameters()
MODEL = fault_model(RULES["fault_model"])
SHAPES = ShapeRule(**RULES["shape"])
ONE = FaultModel(amounts_percent=(2.0,), whole_node_share=0.0, intermittent_share=0.0, limit=100.0)


def family(values: list[list[list[float]]]) -> Family:
    """One node's family with a spread of 0 and a noise of 1 per cent."""
    figures = np.array([values])
    metrics = figures.shape[2]
    return Family("f", figures, np.zeros(metrics), np.ones(metrics))


def test_one_figure_of_one_component_is_the_plain_likelihood_ratio() -> None:
    """Value -3, fault -2, sigma 1: exp(2 x 3 - 2 x 2 / 2) = e^4."""
    found = evidence([family([[[-3.0]]])], ONE)
    assert float(found.total[0]) == pytest.approx(4.0)
    assert not found.flagged(ONE)[0]


def test_eight_components_share_the_evidence() -> None:
    """Seven others at -1 say neither: e^(2 - 2) = 1 each; with e^4 of the first the mean is (e^4 + 7) / 8."""
    found = evidence([family([[[-3.0]], *([[[-1.0]]] * 7)])], ONE)
    assert float(found.total[0]) == pytest.approx(math.log((math.exp(4.0) + 7.0) / 8.0))
    assert found.culprit(0) == (0, 0)


def test_runs_add_up() -> None:
    """Five runs at -3 with no spread between parts: five times the exponent, 20."""
    assert float(evidence([family([[[-3.0] * 5]])], ONE).total[0]) == pytest.approx(20.0)


def test_what_shows_in_two_runs_of_five_is_found_by_the_runs_and_not_by_their_median() -> None:
    """Runs 0, 0, 0, -6, -6: the median is 0; a model that allows for some runs sees them."""
    often = FaultModel((6.0,), 0.0, 0.5, 100.0)
    assert float(evidence([family([[[0.0, 0.0, 0.0, -6.0, -6.0]]])], often).total[0]) > math.log(1e6)
    assert float(evidence([family([[[0.0]]])], often).total[0]) < 0.0


def test_faster_than_the_reference_is_no_evidence() -> None:
    """Only a shortfall speaks for a fault."""
    assert float(evidence([family([[[5.0]]])], ONE).total[0]) < -10.0


def test_figures_that_are_no_numbers_are_refused() -> None:
    """What is missing was to be sorted out before."""
    with pytest.raises(ValueError, match="finite"):
        evidence([family([[[float("nan")]]])], ONE)
    with pytest.raises(Permanent, match="amounts_percent"):
        fault_model({**RULES["fault_model"], "amounts_percent": [0.0]})


def test_spreads_tell_parts_from_runs() -> None:
    """Parts that differ by 3 per cent with runs that differ by 1 come apart; parts that are alike have no spread."""
    random = np.random.default_rng(1)
    parts = random.normal(0, 3, (2000, 1)) + random.normal(0, 1, (2000, 5))
    assert spreads(parts.tolist()) == pytest.approx((3.0, 1.0), rel=0.1)
    assert spreads([[1.0, 1.0], [1.0, 1.0]]) == (0.0, 0.0)
    odd = [[-40.0] * 5] * 40
    assert spreads([*parts.tolist(), *odd]) == pytest.approx((3.0, 1.0), rel=0.1)
    with pytest.raises(ValueError, match="two runs"):
        spreads([[1.0]])


def test_spreads_use_nearly_all_that_a_reference_says() -> None:
    """Forty references of 100 parts x 5: no error of the runs' deviation is below 1 / sqrt(2 x 400) = 3.5 %."""
    random = np.random.default_rng(3)
    found = [spreads(random.normal(0.0, 1.0, (100, 5)).tolist())[1] for _ in range(40)]
    assert np.std(found) < 0.045
    assert np.mean(found) == pytest.approx(1.0, abs=0.02)


def test_the_oracles_false_alarms_are_what_its_ratios_say() -> None:
    """Of three bad nodes with ratios 10, 5, 2 the first costs (1/10) / 3 of the healthy, the first two (0.3) / 3."""
    ratios = np.log(np.array([5.0, 10.0, 2.0]))
    assert rate_among_healthy(ratios, np.array([False, True, False])) == pytest.approx(0.1 / 3)
    assert oracle_at(ratios, 0.1001).tolist() == [True, True, False]


def test_five_runs_find_what_is_slow_by_three_per_cent_and_stay_beside_the_oracle() -> None:
    """128 bad nodes: at most one material fault is missed, and all in all no more than 2 points below the oracle."""
    ours = Nodeworthy(CORPUS, freeze(CORPUS, 5, SHAPES), MODEL, SHAPES)
    (block,) = blocks(CORPUS, 6, 128, bad_share=1.0)
    flagged = np.array([finding is not None for finding in ours.flag(block, 5)])
    material = np.array([fault is not None and fault.amount_percent >= 3.0 for fault in block.faults])
    assert (material & ~flagged).sum() <= 1
    exact = log_ratios(CORPUS, block, 5)
    assert flagged.mean() >= oracle_at(exact, rate_among_healthy(exact, flagged)).mean() - 0.02


def test_fixed_five_per_cent_misses_half_and_the_rules_beat_it() -> None:
    """What operators use today, on the same nodes."""
    (block,) = blocks(CORPUS, 6, 256, bad_share=1.0)
    tally = Tally()
    tally.add(block.faults, FixedPercent(CORPUS).flag(block, 5))
    assert tally.figures(CORPUS, 5)["recall_material"] < 60.0


def test_the_same_seed_gives_the_same_corpus_and_another_seed_another() -> None:
    """Figures and faults are the seed's alone."""
    (one,), (same,), (other,) = (blocks(CORPUS, seed, 16) for seed in (1, 1, 2))
    assert one.faults == same.faults
    assert np.array_equal(one.gpu, same.gpu)
    assert not np.array_equal(one.gpu, other.gpu)


def test_bad_data_is_never_a_bad_node() -> None:
    """128 nodes through Great Expectations: no healthy node fails, and bad data gets a word about the test."""
    result = judged(CORPUS, freeze(CORPUS, 5, SHAPES), MODEL, SHAPES, 11, 128)
    assert result["figures"]["false_alarms"] == 0
    assert result["bad_data"]
    words = {said.partition(": ")[2] for said in result["bad_data"]}
    assert words <= {"incomplete", "invalid", "impossible", "tool-error", "not-run"}
