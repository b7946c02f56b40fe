"""The brake: trips for a shared cause and names it, stays quiet for chance, lets go by itself."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from nodeworthy.lifecycle.brake import (
    FLEET,
    MONTH,
    TOGETHER,
    BrakeRules,
    Cause,
    Suspect,
    evaluate,
    false_trips,
    gone,
    needed,
)
from nodeworthy.lifecycle.policy_error import PolicyError

from benchmarks.brake import NODES, fleet, months_that_trip, rules

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
RULES = rules()
CAUSES, POPULATION = fleet()
RACK_7 = tuple(node for node in NODES if Cause("rack", "rack-7") in CAUSES[node])


def suspects(nodes: tuple[str, ...], apart: timedelta = MINUTE) -> list[Suspect]:
    """Return suspects that came one after the other, the last one now."""
    return [Suspect(node, NOW - apart * back, CAUSES[node]) for back, node in enumerate(nodes)]


def test_a_rack_that_fails_is_named_at_once() -> None:
    """All 16 nodes of one rack of a fleet of 256: one evaluation, one cause, the rack."""
    (found,) = evaluate(suspects(RACK_7), POPULATION, RULES, NOW)
    assert found.cause == Cause("rack", "rack-7")
    assert (set(found.nodes), found.population, found.last) == (set(RACK_7), 16, NOW)
    assert found.sentence == ("16 of 16 nodes of rack rack-7 became suspect within 60 min; 4 are too many to be chance")


def test_a_part_of_a_rack_is_enough() -> None:
    """Four of 16 within the hour trip it, three do not."""
    assert [found.cause.value for found in evaluate(suspects(RACK_7[:4], MINUTE * 10), POPULATION, RULES, NOW)] == [
        "rack-7"
    ]
    assert evaluate(suspects(RACK_7[:3], MINUTE * 10), POPULATION, RULES, NOW) == ()


def test_a_switch_over_two_racks_is_one_cause() -> None:
    """32 nodes under one leaf switch in two racks are the switch's, not two racks'."""
    under = tuple(node for node in NODES if Cause("switch", "leaf-3") in CAUSES[node])
    assert len(under) == 32
    assert [found.cause for found in evaluate(suspects(under), POPULATION, RULES, NOW)] == [Cause("switch", "leaf-3")]


def test_two_racks_without_anything_in_common_are_two_causes() -> None:
    """What the first cause explains is taken away; the rest is looked at again."""
    rack_2 = tuple(node for node in NODES if Cause("rack", "rack-2") in CAUSES[node])
    found = evaluate([*suspects(RACK_7), *suspects(rack_2)], POPULATION, RULES, NOW)
    assert {one.cause.value for one in found} == {"rack-7", "rack-2"}


def test_a_hall_that_fails_is_one_incident() -> None:
    """Every node of six racks under six switches: not six causes but the fleet's."""
    half = tuple(node for node in NODES if any(Cause("rack", f"rack-{at}") in CAUSES[node] for at in range(0, 12, 2)))
    (found,) = evaluate(suspects(half, timedelta(seconds=1)), POPULATION, RULES, NOW)
    assert (found.cause.dimension, len(found.nodes)) == (TOGETHER, 96)


def test_one_moment_in_many_racks_is_a_cause() -> None:
    """Four nodes of four racks in the same two minutes, seen an hour's evaluation later, were hit together."""
    apart = tuple(node for node in NODES if node.endswith("-01"))[::4]
    seen = [replace(one, at=one.at - MINUTE * 40) for one in suspects(apart[:4], timedelta(seconds=20))]
    assert [found.cause.dimension for found in evaluate(seen, POPULATION, RULES, NOW)] == [TOGETHER]


def test_too_many_for_chance_without_a_shared_cause_trips_the_fleet() -> None:
    """Six nodes of six racks over an hour are more than a fleet of 256 has by chance."""
    apart = tuple(node for node in NODES if node.endswith("-01"))[::2]
    (found,) = evaluate(suspects(apart[:6], MINUTE * 9), POPULATION, RULES, NOW)
    assert found.cause.dimension == FLEET
    assert "6 of 256 nodes of the whole fleet became suspect" in found.sentence
    assert [cause.value for cause in found.also] == ["2026.11"]


def test_causes_that_explain_the_same_are_named_together() -> None:
    """Where one switch serves one rack, the rack is named and the switch beside it."""
    causes = {node: frozenset({Cause("rack", "r"), Cause("switch", "s")}) for node in RACK_7}
    groups = {Cause("rack", "r"): 16, Cause("switch", "s"): 16, Cause(FLEET): 256, Cause(TOGETHER): 256}
    (found,) = evaluate([Suspect(node, NOW, causes[node]) for node in RACK_7], groups, RULES, NOW)
    assert (found.cause.dimension, [cause.value for cause in found.also]) == ("rack", ["s"])
    assert "(they also share leaf switch s)" in found.sentence


def test_a_node_counts_once_and_old_faults_not_at_all() -> None:
    """A node that flaps is one suspect; faults older than the window are history."""
    flapping = [Suspect(RACK_7[0], NOW - MINUTE * minute, CAUSES[RACK_7[0]]) for minute in range(10)]
    old = [replace(one, at=one.at - timedelta(hours=1)) for one in suspects(RACK_7)]
    assert evaluate([*flapping, *old], POPULATION, RULES, NOW) == ()


def test_the_count_that_trips_is_the_one_of_the_formula() -> None:
    """A rack of 16, by hand: 4 * 8 faults per 2,111 GPU-days are 0.01516 per node-day.

    In an hour the rack expects m = 16 * 0.01516 / 24 = 0.010106 and in 30 days 7.276. Its share of 0.01 trips a month
    is 0.01 / 5 dimensions / 16 racks = 1.25e-4. P(X >= 2) = m^2/2 = 5.07e-5 gives 3.7e-4 clusters of three: too many;
    P(X >= 3) = m^3/6 = 1.71e-7 gives 1.2e-6 of four.
    """
    assert len({cause.dimension for cause in POPULATION}) == 5
    assert needed(Cause("rack", "rack-7"), POPULATION, RULES) == 4
    alone = {Cause("rack", "only"): 16}
    single = replace(RULES, false_trips_per_month=4e-4)
    assert needed(Cause("rack", "only"), alone, single) == 3
    mean = 16 / 65.96875 / 24
    by_hand = 16 / 65.96875 * 30 * (1 - math.exp(-mean) * (1 + mean))
    assert false_trips(alone, single) == pytest.approx(by_hand, rel=1e-6)


@pytest.mark.parametrize("nodes", [1, 16, 256, 4096, 100_000])
def test_the_whole_brake_stays_below_its_rate(nodes: int) -> None:
    """Whatever the fleet's size, the bound over all groups is at most what the policy says, and counts grow slowly."""
    groups = {Cause(FLEET): nodes, Cause(TOGETHER): nodes} | {Cause("rack", str(i)): 16 for i in range(nodes // 16)}
    assert 0 < false_trips(groups, RULES) <= 0.01
    counts = [needed(Cause(FLEET), {Cause(FLEET): size}, RULES) for size in (1, 16, 256, 4096, 100_000)]
    assert all(small <= large for small, large in pairwise(counts))


def test_chance_does_not_trip_it() -> None:
    """Independent faults at four times one per 2,111 GPU-days: at most 1 of 20 months; the benchmark has more."""
    assert months_that_trip(range(20)) <= 1
    assert timedelta(days=30) == MONTH


def test_an_incident_ends_by_itself() -> None:
    """When its cause brought nobody new for long enough, or all of its nodes serve again; else it stays."""
    last = NOW - timedelta(hours=3)
    assert gone(last, ["a", "b"], frozenset({"a"}), RULES, NOW) == ""
    assert gone(last, ["a", "b"], frozenset({"a", "b"}), RULES, NOW) == "all of its nodes are back in service"
    assert (
        gone(last - timedelta(hours=1), ["a"], frozenset(), RULES, NOW) == "no new suspect since 2026-12-01 08:00 UTC"
    )


def test_rules_that_contradict_each_other_are_refused() -> None:
    """An incident that ends before its window would open again at once."""
    good = {"window": "PT1H", "together": "PT2M", "gpu_days_per_fault": 2111, "gpus_per_node": 8}
    good |= {"tolerated_factor": 4, "false_trips_per_month": 0.01, "at_least": 3, "clear_after": "PT30M"}
    with pytest.raises(PolicyError, match="it would trip again"):
        BrakeRules.from_document(good)
