"""Disruption budgets and the eviction API."""

from __future__ import annotations

from typing import Any

import httpx

from tests.contract.kubernetes.harness import sleeper, wait_for
from tests.contract.kubernetes.test_objects import status_of
from tests.contract.kubernetes.test_pods import run


def evict(raw: httpx.Client, namespace: str, name: str, **options: Any) -> httpx.Response:
    """Ask for an eviction."""
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, "deleteOptions": options}
    return raw.post(f"/api/v1/namespaces/{namespace}/pods/{name}/eviction", json=body)


def budget(raw: httpx.Client, namespace: str, name: str, app: str, **spec: Any) -> None:
    """Create a budget and wait until it was observed."""
    url = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
    body = {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": app}}, **spec}}
    assert raw.post(url, json=body).status_code == 201
    wait_for(lambda: raw.get(f"{url}/{name}").json()["status"].get("observedGeneration"))


def test_an_eviction_deletes_gracefully(core: Any, raw: httpx.Client, namespace: str) -> None:
    """201 Success; the pod gets the condition DisruptionTarget; a foreign uid conflicts, dry run does nothing."""
    run(core, namespace, sleeper("free", "trap 'sleep 1; exit 0' TERM; while true; do sleep 0.1; done"))
    status_of(evict(raw, namespace, "free", preconditions={"uid": "other"}), 409, "Conflict")
    assert evict(raw, namespace, "free", dryRun=["All"]).status_code == 201
    assert core.read_namespaced_pod("free", namespace).metadata.deletion_timestamp is None
    answer = evict(raw, namespace, "free", gracePeriodSeconds=5)
    assert (answer.status_code, answer.json()["status"]) == (201, "Success")
    pod = core.read_namespaced_pod("free", namespace)
    reasons = [item.reason for item in pod.status.conditions if item.type == "DisruptionTarget"]
    assert (reasons, pod.metadata.deletion_grace_period_seconds) == (["EvictionByEvictionAPI"], 5)


def test_a_budget_blocks_without_retry_after(core: Any, raw: httpx.Client, namespace: str) -> None:
    """429 with the cause and its counts; kubectl drain then retries every five seconds."""
    run(core, namespace, sleeper("only"))
    budget(raw, namespace, "one", "only", minAvailable=1)
    answer = evict(raw, namespace, "only")
    body = status_of(answer, 429, "TooManyRequests")
    assert body["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    cause = body["details"]["causes"][0]
    assert cause["reason"] == "DisruptionBudget"
    assert cause["message"] == "The disruption budget one needs 1 healthy pods and has 1 currently"
    assert "retry-after" not in answer.headers


def test_an_unobserved_budget_asks_to_come_back(core: Any, raw: httpx.Client, namespace: str) -> None:
    """429 with Retry-After 10 right after the budget was created."""
    run(core, namespace, sleeper("early"))
    url = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
    raw.post(
        url,
        json={"metadata": {"name": "new"}, "spec": {"minAvailable": 0, "selector": {"matchLabels": {"app": "early"}}}},
    )
    answer = evict(raw, namespace, "early")
    assert (answer.status_code, answer.headers.get("retry-after")) == (429, "10")
    assert "still being processed" in answer.text


def test_an_integer_minimum_lets_bare_pods_go(core: Any, raw: httpx.Client, namespace: str) -> None:
    """minAvailable 0 allows; maxUnavailable never does for pods without a controller."""
    run(core, namespace, sleeper("bare"))
    budget(raw, namespace, "max", "bare", maxUnavailable=1)
    status_of(evict(raw, namespace, "bare"), 429, "TooManyRequests")
    raw.delete(f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/max")
    budget(raw, namespace, "min", "bare", minAvailable=0)
    wait_for(lambda: evict(raw, namespace, "bare").status_code == 201)


def test_two_budgets_are_an_error(core: Any, raw: httpx.Client, namespace: str) -> None:
    """500 without a reason."""
    run(core, namespace, sleeper("twice"))
    for name in ("a", "b"):
        budget(raw, namespace, name, "twice", minAvailable=0)
    answer = evict(raw, namespace, "twice")
    assert (answer.status_code, answer.json().get("reason")) == (500, None)


def test_odd_evictions(core: Any, raw: httpx.Client, namespace: str) -> None:
    """A wrong name or an empty body is 400, a missing pod 404; a finished pod always goes."""
    run(core, namespace, sleeper("done", "true"), "Succeeded")
    url = f"/api/v1/namespaces/{namespace}/pods/done/eviction"
    status_of(raw.post(url, json={"metadata": {"name": "other"}}), 400, "BadRequest")
    status_of(raw.post(url, content=b""), 400, "BadRequest")
    status_of(evict(raw, namespace, "nobody"), 404, "NotFound")
    assert evict(raw, namespace, "done").status_code == 201
