"""Learning: what a population proposes, what it may not be made of, and what it would have decided."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Scope, Verdict
from nodeworthy.qualification.baselines import Baseline
from nodeworthy.qualification.learning import Lesson, Past, changes, lessons, populations
from nodeworthy.qualification.references import references_from_document
from nodeworthy.qualification.versions import laid_over, learnt
from nodeworthy.qualification.written import baselines_to_document, references_to_document

from tests.unit.qualification.written_results import H100, ShippedFiles, find, find_test, healthy

INCLUDE = Path(__file__).resolve().parents[3] / "include"
RULE = YamlLibrary(INCLUDE).learning_rule()
SUITE = ShippedFiles().suite("l1")
BUS = ("collective.all_reduce", "bus_bandwidth", "max", "GB/s")
KNOWN = tuple(row for row in ShippedFiles().baselines("h100-sxm-8") if row.metric != "bus_bandwidth")


def past(document: dict[str, Any]) -> Past:
    """Return a stored result of the hardware scope."""
    stored = StoredResult(
        document["node"], 1, Scope.HARDWARE, "l1", EvidenceReference("b", "0" * 64, 1), document, judged=True
    )
    return Past(stored, SUITE, H100, document["serial"])


def fleet(bandwidths: Sequence[float]) -> list[Past]:
    """Return one healthy node per bus bandwidth."""
    found = []
    for number, value in enumerate(bandwidths):
        document = copy.deepcopy(healthy(f"n{number}"))
        find(document, "bus_bandwidth", "node")["value"] = value
        found.append(past(document))
    return found


def lesson_on(key: tuple[str, str, str, str], found: Sequence[Past], known: tuple[Baseline, ...] = KNOWN) -> Lesson:
    """Return the lesson of one key."""
    (one,) = [
        lesson for lesson in lessons(populations(found), known, RULE, sku="h100-sxm-8") if lesson.population.key == key
    ]
    return one


EIGHT = (470.0, 474.0, 476.0, 478.0, 480.0, 482.0, 484.0, 488.0)
"""Median 479: a floor 10 % below is 431.1, a ceiling 10 % above 526.9."""


def test_limits_follow_the_rule_from_the_median() -> None:
    """Eight nodes are enough; the best of them is what was reached; nothing is said about what has a baseline."""
    found = fleet(EIGHT)
    new = lesson_on(BUS, found).new
    assert new is not None
    assert (new.floor, new.ceiling, new.reached, new.sample_size) == (431.1, 526.9, 488.0, 8)
    assert new.simulated
    assert new.reference is None
    assert [lesson.population.key for lesson in lessons(populations(found), KNOWN, RULE, sku="h100-sxm-8")] == [BUS]


def test_seven_nodes_teach_nothing() -> None:
    """The minimum population is in the file, and the lesson says how many were there."""
    lesson = lesson_on(BUS, fleet(EIGHT[:7]))
    assert lesson.new is None
    assert lesson.why_not == "7 nodes were measured and 8 are needed"


def test_thirty_nodes_freeze_a_reference_too() -> None:
    """From thirty nodes on, peers judge: the median of 29 x 479 and one 200 is 479, and the outlier moves nothing."""
    new = lesson_on(BUS, fleet([479.0] * 29 + [200.0])).new
    assert new is not None
    assert new.floor == 431.1
    assert new.reference is not None
    assert (new.reference.median, new.reference.n) == (479.0, 30)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: find_test(d, "collective.all_reduce").update(transport="NET/IB"),
        lambda d: find_test(d, "collective.all_reduce").update(execution="timed-out"),
        lambda d: find(d, "bus_bandwidth", "node").update(unit="Gb/s"),
        lambda d: find(d, "bus_bandwidth", "node").update(value=None, status="missing"),
        lambda d: find(d, "bus_bandwidth", "node").update(parameters={"size_bytes": 1024}),
        lambda d: d.update(sku="h200-sxm-8"),
    ],
)
def test_a_figure_that_is_not_fit_is_no_evidence(spoil: Any) -> None:
    """Wrong transport, cut run, other unit, other size, other SKU: the eighth node does not count."""
    found = fleet(EIGHT)
    spoil(found[0].stored.document)
    assert lesson_on(BUS, found).population.nodes == 7


def test_real_and_simulated_results_are_never_mixed() -> None:
    """One real node among eight simulated ones: the population is the real one's."""
    found = fleet(EIGHT)
    document = copy.deepcopy(healthy("real"))
    document["simulated"] = False
    (population,) = [one for one in populations([*found, past(document)]) if one.key == BUS]
    assert (population.nodes, population.simulated) == (1, False)


def test_a_simulated_baseline_does_not_keep_real_hardware_from_teaching() -> None:
    """A key whose only baseline is of the virtual fleet has none for a real fleet."""
    new = lesson_on(BUS, fleet(EIGHT)).new
    assert new is not None
    documents = [copy.deepcopy(one.stored.document) for one in fleet(EIGHT)]
    real = [past({**document, "simulated": False}) for document in documents]
    assert lesson_on(BUS, real, (*KNOWN, new)).old is None


def test_counts_are_not_learnt() -> None:
    """Eight nodes that all lost a link teach nobody that seventeen links are right."""
    assert not [one for one in populations(fleet(EIGHT)) if one.key[3] in ("count", "bool")]


def test_what_it_would_have_decided_is_shown() -> None:
    """Every node waited for this baseline; with it they pass, and one at 400 fails."""
    found = fleet([*EIGHT, 400.0])
    new = lesson_on(BUS, found).new
    assert new is not None
    moved = changes(found, KNOWN, laid_over(KNOWN, [new]))
    assert {change.before.verdict for change in moved} == {Verdict.INCOMPLETE}
    assert [change.after.verdict for change in moved] == [Verdict.PASS] * 8 + [Verdict.FAIL]


def test_a_pass_by_another_floor_is_no_other_verdict() -> None:
    """The sentence of a pass names its floors; a lower one decides the same, so nobody is asked to look at it."""
    found = fleet(EIGHT)
    new = lesson_on(BUS, found).new
    assert new is not None
    in_force = laid_over(KNOWN, [new])
    assert new.floor is not None
    lower = replace(new, floor=new.floor - 1.0)
    assert changes(found, in_force, laid_over(KNOWN, [lower])) == ()


def test_a_version_reads_back_to_the_same_baselines() -> None:
    """Rows that were learnt on other days with other rules keep their own words in one document."""
    new = lesson_on(BUS, fleet([479.0] * 30)).new
    assert new is not None
    both = laid_over(ShippedFiles().baselines("h100-sxm-8"), [new])
    document = {"baselines": baselines_to_document(both), "references": references_to_document(both)}
    assert learnt(document, "a version") == both
    assert references_from_document(document["references"] or {})[-1].source.startswith("learnt from 30 nodes")


def with_runs(number: int, *runs: float) -> Past:
    """Return one healthy node whose collective ran several times."""
    document = copy.deepcopy(healthy(f"n{number}"))
    find(document, "bus_bandwidth", "node").update(value=median(runs), runs=list(runs))
    return past(document)


def test_several_runs_tell_the_spread_between_nodes_from_their_noise() -> None:
    """Half the nodes read 470 and half 490, each 2 below and 2 above its own mean.

    A run lies 2 from its mean of two, so 2 x sqrt(2) by one degree of freedom. A normal population cut at 3.5 keeps
    0.993888 of its variance (1 - 7 x 0.000872683 / 0.999535): sqrt(8 / 0.993888) = 2.83711. The means lie 10 from
    their median: 100 / 0.993888 = 100.615, less what two runs leave in a mean, 8.04919 / 2: sqrt(96.5903) = 9.82804.
    """
    found = [with_runs(number, *((468.0, 472.0) if number % 2 else (488.0, 492.0))) for number in range(30)]
    new = lesson_on(BUS, found).new
    assert new is not None
    assert new.reference is not None
    assert (new.reference.run, new.reference.spread) == (2.83711, 9.82804)


def test_runs_of_a_part_of_the_population_tell_nothing() -> None:
    """One node that ran once: the median and its spread are frozen, noise and spread are not told apart."""
    found = [with_runs(number, 478.0, 480.0) for number in range(29)]
    found.append(past(copy.deepcopy(healthy("n99"))))
    new = lesson_on(BUS, found).new
    assert new is not None
    assert new.reference is not None
    assert (new.reference.median, new.reference.spread, new.reference.run) == (479.0, None, None)


def test_a_learnt_reference_looks_at_figures_together() -> None:
    """Its rule names the faults that are looked for; the version's document keeps them and reads back the same."""
    new = lesson_on(BUS, [with_runs(number, 478.0, 480.0, 482.0) for number in range(30)]).new
    assert new is not None
    assert new.reference is not None
    assert new.reference.rule.together == YamlLibrary(INCLUDE).statistics().fault_model
    document = {"baselines": baselines_to_document([new]), "references": references_to_document([new])}
    assert learnt(json.loads(json.dumps(document)), "a version") == (new,)
