"""Learning the shape of iteration times from the fleet, and what it then says of one node's stalls."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import pytest
from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Scope, Verdict
from nodeworthy.qualification.learning import Past, changes, populations
from nodeworthy.qualification.learning_shapes import shape_lessons
from nodeworthy.qualification.versions import laid_over, learnt
from nodeworthy.qualification.written import baselines_to_document

from tests.unit.qualification.written_results import H100, ShippedFiles, healthy

LIBRARY = YamlLibrary(Path(__file__).resolve().parents[3] / "include")
RULE, ALLOWED = LIBRARY.learning_rule(), LIBRARY.statistics().shape
L2 = ShippedFiles().suite("l2")
SUITE = L2.without({test.test for test in L2.tests} - {"collective.stalls"})
KNOWN = tuple(
    row for row in ShippedFiles().baselines("h100-sxm-8") if row.statistic not in ("similarity", "stalled_share")
)


def times(seed: int, stalled: int = 0) -> list[float]:
    """500 iterations with 1 % jitter, relative to their median; the first ones take three times as long."""
    random = Random(seed)
    found = [random.gauss(1.0, 0.01) * (3.0 if number < stalled else 1.0) for number in range(500)]
    return [round(time / median(found), 4) for time in found]


def past(number: int, samples: Sequence[float], **changes_: Any) -> Past:
    """Return a stored result of the test of stalls alone."""
    document = copy.deepcopy(healthy(f"n{number}"))
    run = next(test for test in document["tests"] if test["test"] == "collective.all_reduce")
    size = {"size_bytes": 268435456}
    row = {"test": "collective.stalls", "component": "node", "status": "ok", "transport": None, "parameters": size}
    counts = (("wrong_values", 0, "count"), ("correctness_checked", 1, "bool"), ("ranks", 8, "count"))
    series = {"metric": "iteration_time", "value": 1100.0, "unit": "us", "statistic": "median"}
    series |= {"samples": list(samples), "parameters": {**size, "iterations": 250}}
    document["suite"] = "l2"
    document["tests"] = [{**run, "test": "collective.stalls"}]
    document["measurements"] = [
        {**row, **series, **changes_},
        *({**row, "metric": name, "value": value, "unit": unit, "statistic": "single"} for name, value, unit in counts),
    ]
    stored = StoredResult(
        document["node"], 1, Scope.HARDWARE, "l2", EvidenceReference("b", "0" * 64, 1), document, judged=True
    )
    return Past(stored, SUITE, H100, document["serial"])


def test_eight_nodes_teach_their_shape() -> None:
    """4,000 iterations: the limits are the rule's, a stall is six robust deviations of 1 % above the median."""
    alike, stalled = shape_lessons([past(one, times(one)) for one in range(8)], KNOWN, RULE, ALLOWED)
    assert alike.new is not None
    assert stalled.new is not None
    assert (alike.new.floor, alike.new.ceiling, len(alike.new.quantiles or ())) == (0.99, 1.0, 101)
    assert (stalled.new.most, stalled.new.least, stalled.new.reached) == (0.008, 0.0, 0.0)
    assert stalled.new.stalled_above == pytest.approx(1.06, abs=0.004)
    document = {"baselines": baselines_to_document([alike.new, stalled.new]), "references": None}
    assert learnt(document, "a version") == (alike.new, stalled.new)


def test_what_was_learnt_tells_a_node_that_stalls_from_the_others() -> None:
    """All waited for a baseline; with it eight pass, and the one whose ten of 500 iterations stall fails."""
    found = [past(one, times(one)) for one in range(8)] + [past(8, times(8, stalled=10))]
    new = [lesson.new for lesson in shape_lessons(found, KNOWN, RULE, ALLOWED) if lesson.new is not None]
    moved = changes(found, KNOWN, laid_over(KNOWN, new))
    assert {change.before.verdict for change in moved} == {Verdict.INCOMPLETE}
    assert [change.after.verdict for change in moved] == [Verdict.PASS] * 8 + [Verdict.FAIL]
    assert "2.0% of the iterations" in moved[-1].after.sentence


def test_seven_nodes_teach_no_shape() -> None:
    """The minimum population is the one of all baselines; a node with another size or a cut run is none of them."""
    unfit = [past(7, times(7), parameters={"size_bytes": 1024, "iterations": 250}), past(8, times(8), value=None)]
    for found in ([], unfit):
        lessons = shape_lessons([past(one, times(one)) for one in range(7)] + found, KNOWN, RULE, ALLOWED)
        assert {lesson.why_not for lesson in lessons} == {"7 nodes were measured and 8 are needed"}
        assert not [lesson for lesson in lessons if lesson.new is not None]


def test_a_fleet_that_stalls_everywhere_teaches_nothing() -> None:
    """Ten of 500 iterations stall on every node: no node is inside the rule, and nobody learns that this is healthy."""
    _, stalled = shape_lessons([past(one, times(one, stalled=10)) for one in range(8)], KNOWN, RULE, ALLOWED)
    assert stalled.new is None
    assert "no node's iterations" in stalled.why_not


def test_the_rule_of_other_figures_teaches_no_shape() -> None:
    """Ten per cent below a median similarity would let every stall pass: shapes are no population of figures."""
    assert populations([past(one, times(one)) for one in range(8)]) == ()


def test_a_shape_in_force_is_left_alone_unless_asked() -> None:
    """As every baseline: proposed once, and anew on request."""
    found = [past(one, times(one)) for one in range(8)]
    new = [lesson.new for lesson in shape_lessons(found, KNOWN, RULE, ALLOWED) if lesson.new is not None]
    assert shape_lessons(found, new, RULE, ALLOWED) == ()
    assert [lesson.old for lesson in shape_lessons(found, new, RULE, ALLOWED, again=True)] == new
