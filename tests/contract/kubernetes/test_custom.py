"""Custom resource definitions and their objects."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.contract.kubernetes.harness import wait_for
from tests.contract.kubernetes.test_objects import MERGE, STRATEGIC, status_of

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
URL = "/apis/lab.example.org/v1/namespaces/default/gauges"
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["level"],
            "properties": {"level": {"type": "integer"}, "mode": {"type": "string", "enum": ["a", "b"]}},
        },
        "status": {"type": "object", "properties": {"seen": {"type": "boolean"}}},
    },
}


@pytest.fixture(scope="module")
def gauges(raw: httpx.Client) -> Iterator[str]:
    """A definition that is served."""
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": SCHEMA},
        "subresources": {"status": {}},
    }
    names = {"plural": "gauges", "kind": "Gauge", "shortNames": ["gg"]}
    spec = {"group": "lab.example.org", "scope": "Namespaced", "names": names, "versions": [version]}
    assert raw.post(CRDS, json={"metadata": {"name": "gauges.lab.example.org"}, "spec": spec}).status_code == 201
    answer = raw.get(URL)
    assert (answer.status_code, answer.text) == (404, "404 page not found\n")
    wait_for(lambda: raw.get(URL).status_code == 200)
    yield URL
    raw.delete(f"{CRDS}/gauges.lab.example.org")


def make(name: str, **spec: object) -> dict[str, object]:
    """A gauge."""
    return {"apiVersion": "lab.example.org/v1", "kind": "Gauge", "metadata": {"name": name}, "spec": spec}


def test_objects_are_pruned_and_checked(raw: httpx.Client, gauges: str) -> None:
    """Unknown fields go with a warning; enum and required violations are invalid."""
    made = raw.post(gauges, json=make("one", level=1, extra=True))
    assert made.json()["spec"] == {"level": 1}
    assert made.json()["metadata"]["generation"] == 1
    assert "unknown field" in made.headers["warning"]
    assert status_of(raw.get(f"{gauges}/two"), 404, "NotFound")["message"] == 'gauges.lab.example.org "two" not found'
    status_of(raw.post(gauges, json=make("two", level=1, mode="z")), 422, "Invalid")
    status_of(raw.post(gauges, json=make("two")), 422, "Invalid")
    raw.delete(f"{gauges}/one")


def test_updates_follow_the_rules_of_custom_resources(raw: httpx.Client, gauges: str) -> None:
    """PUT needs a version, strategic merge is refused, status is its own endpoint, spec changes count."""
    raw.post(gauges, json=make("g", level=1))
    url = f"{gauges}/g"
    status_of(raw.put(url, json=make("g", level=2)), 422, "Invalid")
    refused = status_of(raw.patch(url, headers=STRATEGIC, json={"spec": {"level": 2}}), 415, "UnsupportedMediaType")
    assert "application/merge-patch+json" in refused["message"]
    assert raw.patch(url, headers=MERGE, json={"spec": {"level": 2}}).json()["metadata"]["generation"] == 2
    patch = {"status": {"seen": True}, "spec": {"level": 9}, "metadata": {"labels": {"a": "b"}}}
    made = raw.patch(f"{url}/status", headers=MERGE, json=patch).json()
    assert (made["status"], made["spec"], made["metadata"].get("labels")) == ({"seen": True}, {"level": 2}, None)
    raw.delete(url)
