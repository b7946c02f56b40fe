"""How long a plan's tests may take: what the pod, its group and housekeeping all wait for."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.qualification.near_miss import told_limits
from nodeworthy.qualification.plans import JOIN_SECONDS, group_limit, group_plan, longest, plan_document, pod_limit

from tests.doubles.bench import library

NARROW = {
    "metric": "bus_bandwidth",
    "statistic": "max",
    "unit": "GB/s",
    "beyond": "below",
    "limit": 450.0,
    "last": 445.5,
}
EXACT = {"metric": "wrong_values", "statistic": "single", "unit": "count", "equals": 0}


@pytest.mark.parametrize(
    ("more", "seconds"),
    [
        ({}, 60),
        ({"repeats": 5}, 300),
        ({"retry": ["crashed"]}, 120),
        ({"limits": [EXACT]}, 60),
        ({"limits": [EXACT, NARROW]}, 120),
        ({"repeats": 5, "retry": ["timed-out"], "limits": [NARROW]}, 1200),
    ],
    ids=["once", "five-runs", "one-more-try", "nothing-narrow", "near-miss", "all-of-it"],
)
def test_a_test_may_take_all_its_runs_and_all_its_second_tries(more: dict[str, Any], seconds: int) -> None:
    """Every run may be tried again after a bad end, and all of that once more after a near miss."""
    assert longest([{"timeout_seconds": 60, **more}]) == timedelta(seconds=seconds)


@pytest.mark.parametrize("name", ["l1", "l2", "l3"])
def test_a_plan_that_tells_all_limits_may_take_what_its_suite_may(name: str) -> None:
    """The plan is read as the suite is meant: the worst case of `cost` is the worst case of the pod."""
    suite, sku = library().suite(name), library().sku("h100-sxm-8")
    limits = told_limits(suite, sku, Scope.HARDWARE, library().baselines(sku.name))
    given = {"node": "n1", "serial": "S1", "episode": 1, "nonce": "0" * 64}
    plan = plan_document(suite, sku, Scope.HARDWARE, (), 1, limits, **given)
    assert longest(plan["tests"]) == sum((test.longest for test in suite.for_scope(Scope.HARDWARE, sku)), timedelta(0))


@pytest.mark.parametrize("name", ["l4", "l5"])
def test_the_pod_of_a_segment_ends_within_four_hours_whatever_is_tried_again(name: str) -> None:
    """Every test tried again would take more than six hours: the plan bounds them, and pod and cost keep to it."""
    suite, sku = library().suite(name), library().sku("h100-sxm-8")
    given = {"node": "n1", "serial": "S1", "episode": 1, "nonce": "0" * 64}
    plan = plan_document(suite, sku, Scope.HARDWARE, (), 1, {}, **given)
    assert longest(plan["tests"]) > timedelta(hours=6)
    assert plan["within_seconds"] == 4 * 3600
    assert pod_limit(plan) == timedelta(hours=4)
    once = sum(test["timeout_seconds"] * test.get("repeats", 1) for test in plan["tests"])
    assert once <= plan["within_seconds"]
    assert suite.cost(8).most == timedelta(hours=4) * suite.segments


def test_a_plan_whose_second_tries_all_fit_is_not_bounded() -> None:
    """L1: its pod may take what its tests may."""
    suite, sku = library().suite("l1"), library().sku("h100-sxm-8")
    given = {"node": "n1", "serial": "S1", "episode": 1, "nonce": "0" * 64}
    plan = plan_document(suite, sku, Scope.HARDWARE, (), 1, {}, **given)
    assert "within_seconds" not in plan
    assert pod_limit(plan) == longest(plan["tests"])


def test_who_follows_in_a_group_waits_as_long_as_who_leads_may_measure() -> None:
    """As long as the leader's tests may take, and the time in which pods may start after one another."""
    own = [{"test": "kernel.log", "tool": "kernel-log", "timeout_seconds": 60}]
    members = [("n1", "192.0.2.1"), ("n2", "192.0.2.2")]
    plan = group_plan({"node": "n2", "tests": own}, members, 28517, timedelta(seconds=600))
    assert [test["timeout_seconds"] for test in plan["tests"]] == [600 + JOIN_SECONDS, 60]
    assert group_plan({"node": "n1", "tests": own}, members, 28517, timedelta(0))["tests"] == own


def test_a_group_may_take_what_its_suite_may_and_twice_the_time_to_join() -> None:
    """m1: its tests with all their tries."""
    suite = library().suite("m1")
    assert group_limit(suite) == suite.cost(8).most + timedelta(seconds=2 * JOIN_SECONDS)
