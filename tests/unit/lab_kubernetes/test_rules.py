"""Small rules: quantities, tolerations, placement, budgets, environment, ages."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest

from lab.kubelet.environment import expand
from lab.kubernetes.api.tables import short_duration
from lab.kubernetes.controllers.disruption import budget_status
from lab.kubernetes.controllers.scheduler import matches_node, requests_of
from lab.kubernetes.controllers.taints import stay_seconds, tolerates
from lab.kubernetes.quantity import parse


@pytest.mark.parametrize(
    ("text", "value"),
    [("8", 8), ("1500m", Fraction(3, 2)), ("2Gi", 2**31), ("1e3", 1000), ("0.5", Fraction(1, 2)), ("1k", 1000), (3, 3)],
)
def test_quantities(text: Any, value: Any) -> None:
    """Exact values of the forms that resources are written in."""
    assert parse(text) == value


@pytest.mark.parametrize("text", ["", "x", "1Kg", "--1", "1 Gi"])
def test_what_is_no_quantity(text: str) -> None:
    """A ValueError, not a guess."""
    with pytest.raises(ValueError, match="not a quantity"):
        parse(text)


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "k", "operator": "Exists"}, True),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "value": "other"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({}, False),
    ],
)
def test_tolerations(toleration: dict[str, str], expected: bool) -> None:
    """Key, operator, value and effect against k=v:NoSchedule."""
    assert tolerates(toleration, {"key": "k", "value": "v", "effect": "NoSchedule"}) is expected


def test_how_long_a_pod_may_stay() -> None:
    """Not at all untolerated, the shortest tolerated time, for ever without one."""
    taints = [{"key": "a", "effect": "NoExecute"}, {"key": "b", "effect": "NoSchedule"}]

    def pod(**toleration: Any) -> dict[str, Any]:
        return {"spec": {"tolerations": [toleration] if toleration else []}}

    assert stay_seconds(pod(), taints) == 0
    assert stay_seconds(pod(key="a", operator="Exists", tolerationSeconds=30), taints) == 30
    assert stay_seconds(pod(operator="Exists"), taints) is None
    assert stay_seconds(pod(), [taints[1]]) is None


def test_requests_count_the_larger_of_init_and_main() -> None:
    """Main containers add up; an init container counts alone."""
    container = {"resources": {"requests": {"cpu": "1", "nvidia.com/gpu": "4"}}}
    init = {"resources": {"requests": {"cpu": "3"}}}
    pod = {"spec": {"containers": [container, container], "initContainers": [init]}}
    assert requests_of(pod) == {"pods": 1, "cpu": 3, "nvidia.com/gpu": 8}


def test_affinity_terms_are_alternatives() -> None:
    """Any term suffices, all expressions of a term must hold, an empty term matches nothing."""
    node = {"metadata": {"name": "n", "labels": {"zone": "a", "size": "5"}}}

    def pod(*terms: Any) -> dict[str, Any]:
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
        return {"spec": {"affinity": {"nodeAffinity": required}}}

    in_a = {"key": "zone", "operator": "In", "values": ["a"]}
    big = {"key": "size", "operator": "Gt", "values": ["7"]}
    assert matches_node(pod({"matchExpressions": [in_a]}), node)
    assert not matches_node(pod({"matchExpressions": [in_a, big]}), node)
    assert matches_node(pod({"matchExpressions": [big]}, {"matchExpressions": [in_a]}), node)
    assert not matches_node(pod({}), node)
    named = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
    assert matches_node(pod(named), node)


@pytest.mark.parametrize(
    ("spec", "owned", "allowed"),
    [
        ({"minAvailable": 1}, False, 1),
        ({"minAvailable": 2}, False, 0),
        ({"maxUnavailable": 1}, False, 0),
        ({"minAvailable": "50%"}, False, 0),
        ({"maxUnavailable": 1}, True, 1),
        ({"minAvailable": "50%"}, True, 1),
    ],
)
def test_budgets(spec: dict[str, Any], owned: bool, allowed: int) -> None:
    """Two healthy pods: bare ones can only be counted by an integer minimum."""
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    owners = [{"uid": "u"}] if owned else []
    pod = {"metadata": {"labels": {"a": "b"}, "ownerReferences": owners}, "status": ready}
    budget = {"metadata": {"generation": 1}, "spec": {"selector": {"matchLabels": {"a": "b"}}, **spec}}
    status = budget_status(budget, [pod, pod], "2026-01-01T00:00:00Z")
    assert (status["disruptionsAllowed"], status["currentHealthy"]) == (allowed, 2)


def test_expansion() -> None:
    """Known names are replaced, unknown ones stay, a doubled dollar is one."""
    assert expand("$(A)/$(B) $$(A) $HOME", {"A": "1"}) == "1/$(B) $(A) $HOME"


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(seconds=119), "119s"),
        (timedelta(minutes=5, seconds=3), "5m3s"),
        (timedelta(minutes=100), "100m"),
        (timedelta(hours=5, minutes=4), "5h4m"),
        (timedelta(hours=30), "30h"),
        (timedelta(days=3, hours=2), "3d2h"),
        (timedelta(days=40), "40d"),
    ],
)
def test_ages(duration: timedelta, text: str) -> None:
    """As kubectl prints them."""
    assert short_duration(duration.total_seconds()) == text
