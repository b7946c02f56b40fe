"""Which node gets which suite: risk by hand, the budget, the order, and the comparison with everything on everyone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from nodeworthy.errors import Permanent
from nodeworthy.qualification.selection import NodeRisk, probability, select, selection_model

from benchmarks.selection import by_risk, escaped, everyone
from lab.corpus.fleet import fleet

SHIPPED = yaml.safe_load(
    (Path(__file__).parents[3] / "include" / "statistics" / "selection.yaml").read_text(encoding="utf-8")
)
MODEL = selection_model(SHIPPED)
QUIET = NodeRisk("gpu-a01", 400.0, 10.0, 0, (), 8)


def test_risk_is_the_product_of_its_factors() -> None:
    """0.001 a day for 10 days is 1 - 0.999^10 = 0.996 %; odds 0.01006 halved are 0.00503, a chance of 0.5005 %."""
    risk = replace(MODEL.risk, daily=0.001, no_finding_odds=0.5)
    assert probability(QUIET, risk) == pytest.approx(0.0050047, rel=1e-3)


@pytest.mark.parametrize(
    "worse",
    [
        replace(QUIET, age_days=5.0),
        replace(QUIET, age_days=1400.0),
        replace(QUIET, days_since_qualification=60.0),
        replace(QUIET, past_faults=2),
        replace(QUIET, findings=("xid/94",)),
    ],
    ids=["infant", "worn", "long ago", "history", "finding"],
)
def test_each_reason_for_worry_raises_the_risk(worse: NodeRisk) -> None:
    """Young, old, long untested, often broken, or with a finding."""
    assert probability(worse, MODEL.risk) > probability(QUIET, MODEL.risk)


def test_what_factors_add_up_to_has_ends_that_stand_in_the_file() -> None:
    """Past faults count to `most_past_faults`; 0.4 a day times 2 is held at 0.5, so two days hide 1 - 0.5^2 = 75 %."""
    three, many = (replace(QUIET, past_faults=count) for count in (3, 9))
    assert probability(many, MODEL.risk) == probability(three, MODEL.risk)
    assert probability(many, replace(MODEL.risk, most_past_faults=9)) > probability(three, MODEL.risk)
    steep = replace(MODEL.risk, daily=0.4, per_past_fault=2.0, most_daily=0.5, no_finding_odds=1.0)
    node = replace(QUIET, past_faults=1, days_since_qualification=2.0)
    assert probability(node, steep) == pytest.approx(0.75)


def test_hours_go_to_the_riskiest_and_never_beyond_the_budget() -> None:
    """With hours for one L3, the node with the finding gets it, and the sentence says why."""
    nodes = [QUIET, replace(QUIET, node="gpu-a02", findings=("xid/94",)), replace(QUIET, node="gpu-a03")]
    choices = select(nodes, MODEL, 20.0)
    assert [choice.suite for choice in choices] == ["", "L3", ""]
    assert sum(choice.gpu_hours for choice in choices) <= 20.0
    assert choices[1].sentence.startswith("gpu-a02 gets L3 (20 GPU-hours)")
    assert "findings: xid/94" in choices[1].sentence
    assert "is not tested" in choices[0].sentence


def test_capacity_at_risk_counts() -> None:
    """Of two like nodes the one with more GPUs comes first."""
    small, large = replace(QUIET, gpus_at_risk=4), replace(QUIET, node="gpu-a02")
    assert [choice.suite for choice in select([small, large], MODEL, 0.7)] == ["", "L1"]


def test_with_all_the_hours_everyone_gets_the_most() -> None:
    """A budget without end leaves no step out."""
    assert {choice.suite for choice in select([QUIET] * 3, MODEL, 1e6)} == {"L3 twice"}


def test_no_hours_no_tests() -> None:
    """Nothing can be bought with nothing, and every node still gets its sentence."""
    choices = select([QUIET], MODEL, 0.0)
    assert (choices[0].suite, choices[0].left_over) == ("", choices[0].probability)


@pytest.mark.parametrize(
    "changes", [{"kinds": {"hard": 0.5}}, {"risk": {"daily": 0.1}}, {"risk": {**SHIPPED["risk"], "luck": 1}}]
)
def test_a_broken_model_is_refused(changes: dict[str, Any]) -> None:
    """Shares that are not 1, a missing factor, an unknown one."""
    with pytest.raises(Permanent):
        selection_model({**SHIPPED, **changes})


def test_a_fifth_of_the_hours_finds_what_everything_on_everyone_finds() -> None:
    """Two fleets of 4,000 nodes: no more faults escape than two standard errors above everything on everyone."""
    missed = all_missed = faults = 0
    for seed in (41, 42):
        nodes = fleet(seed, 4000)
        suites, hours = everyone(nodes, MODEL)
        choices = by_risk(nodes, MODEL, hours / 5)
        assert sum(choice.gpu_hours for choice in choices) <= hours / 5
        escaped_here, bad = escaped(nodes, [choice.suite for choice in choices], seed)
        missed, faults = missed + escaped_here, faults + bad
        all_missed += escaped(nodes, suites, seed)[0]
    assert missed <= all_missed + 2 * (2 * max(1, all_missed)) ** 0.5
    assert faults > 100
