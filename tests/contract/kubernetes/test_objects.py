"""Objects over plain HTTP: errors, conflicts, patches, apply, as a v1.36 API server answers them."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

NODES = "/api/v1/nodes"
MERGE = {"content-type": "application/merge-patch+json"}
STRATEGIC = {"content-type": "application/strategic-merge-patch+json"}
JSON_PATCH = {"content-type": "application/json-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}


def status_of(answer: httpx.Response, code: int, reason: str) -> dict[str, Any]:
    """The Status of a refusal."""
    body: dict[str, Any] = answer.json()
    assert (answer.status_code, body["kind"], body.get("reason")) == (code, "Status", reason), body
    return body


def apply(raw: httpx.Client, node: str, manager: str, body: dict[str, Any], **query: str) -> httpx.Response:
    """Server-side apply on a node."""
    document = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}, **body}
    return raw.patch(
        f"{NODES}/{node}", params={"fieldManager": manager, **query}, headers=APPLY, content=json.dumps(document)
    )


def test_a_duplicate_is_refused(raw: httpx.Client, node: str) -> None:
    """409 AlreadyExists names the object and its plural."""
    body = status_of(raw.post(NODES, json={"metadata": {"name": node}}), 409, "AlreadyExists")
    assert body["message"] == f'nodes "{node}" already exists'
    assert body["details"] == {"name": node, "kind": "nodes"}


def test_a_missing_object_is_not_found(raw: httpx.Client) -> None:
    """404 with the words of the real server; PUT does not create."""
    body = status_of(raw.get(f"{NODES}/nobody"), 404, "NotFound")
    assert body["message"] == 'nodes "nobody" not found'
    status_of(raw.put(f"{NODES}/nobody", json={"metadata": {"name": "nobody"}}), 404, "NotFound")


def test_an_unknown_group_is_plain_text(raw: httpx.Client) -> None:
    """Unknown API groups answer without a Status."""
    answer = raw.get("/apis/nobody.example/v1/things")
    assert (answer.status_code, answer.text) == (404, "404 page not found\n")


def test_a_stale_version_conflicts(raw: httpx.Client, node: str) -> None:
    """PUT, merge patch and apply with an old resourceVersion get 409 and the text that clients retry on."""
    old = raw.get(f"{NODES}/{node}").json()
    raw.patch(f"{NODES}/{node}", headers=MERGE, json={"metadata": {"labels": {"a": "1"}}})
    version = old["metadata"]["resourceVersion"]
    text = (
        f'Operation cannot be fulfilled on nodes "{node}": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert status_of(raw.put(f"{NODES}/{node}", json=old), 409, "Conflict")["message"] == text
    stale = {"metadata": {"resourceVersion": version, "labels": {"b": "1"}}}
    assert status_of(raw.patch(f"{NODES}/{node}", headers=MERGE, json=stale), 409, "Conflict")["message"] == text
    body = {"metadata": {"name": node, "resourceVersion": version, "labels": {"c": "1"}}}
    status_of(apply(raw, node, "me", body), 409, "Conflict")


def test_identity_is_checked(raw: httpx.Client, node: str) -> None:
    """A wrong uid conflicts, a wrong name is a bad request, a node's PUT needs no version."""
    obj = raw.get(f"{NODES}/{node}").json()
    wrong = {**obj, "metadata": {**obj["metadata"], "uid": "someone-else"}}
    status_of(raw.put(f"{NODES}/{node}", json=wrong), 409, "Conflict")
    named = {**obj, "metadata": {**obj["metadata"], "name": "other"}}
    status_of(raw.put(f"{NODES}/{node}", json=named), 400, "BadRequest")
    del obj["metadata"]["resourceVersion"]
    assert raw.put(f"{NODES}/{node}", json=obj).status_code == 200


def test_a_delete_with_a_foreign_precondition_conflicts(raw: httpx.Client, node: str) -> None:
    """409 with the singular kind in details."""
    answer = raw.request("DELETE", f"{NODES}/{node}", json={"preconditions": {"uid": "someone-else"}})
    assert status_of(answer, 409, "Conflict")["details"]["kind"] == "Node"


def test_methods_and_media_types_are_checked(raw: httpx.Client, node: str) -> None:
    """405, 406 and 415."""
    status_of(raw.post(f"{NODES}/{node}", json={}), 405, "MethodNotAllowed")
    status_of(raw.get(NODES, headers={"accept": "text/csv"}), 406, "NotAcceptable")
    status_of(raw.patch(f"{NODES}/{node}", json={}), 415, "UnsupportedMediaType")


def test_no_effect_keeps_the_version(raw: httpx.Client, node: str) -> None:
    """A patch that changes nothing does not move resourceVersion; nodes have no generation."""
    before = raw.get(f"{NODES}/{node}").json()
    after = raw.patch(
        f"{NODES}/{node}", headers=MERGE, json={"metadata": {"labels": before["metadata"].get("labels")}}
    ).json()
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert "generation" not in after["metadata"]


def test_a_failed_json_patch_is_generic(raw: httpx.Client, node: str) -> None:
    """A failed test or a missing path is 422, so compare-and-swap needs the resourceVersion."""
    failing = [{"op": "test", "path": "/metadata/name", "value": "x"}]
    status_of(raw.patch(f"{NODES}/{node}", headers=JSON_PATCH, content=json.dumps(failing)), 422, "Invalid")
    missing = [{"op": "remove", "path": "/spec/nothing"}]
    status_of(raw.patch(f"{NODES}/{node}", headers=JSON_PATCH, content=json.dumps(missing)), 422, "Invalid")
    version = [{"op": "test", "path": "/metadata/resourceVersion", "value": "1"}]
    assert raw.patch(f"{NODES}/{node}", headers=JSON_PATCH, content=json.dumps(version)).status_code in (409, 422)


def test_taints_are_replaced_as_a_whole(raw: httpx.Client, node: str) -> None:
    """Strategic merge replaces spec.taints; conditions merge by type under it and are replaced by a merge patch."""
    one = {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}
    two = {"spec": {"taints": [{"key": "b", "effect": "NoSchedule"}]}}
    raw.patch(f"{NODES}/{node}", headers=STRATEGIC, json=one)
    assert [
        item["key"] for item in raw.patch(f"{NODES}/{node}", headers=STRATEGIC, json=two).json()["spec"]["taints"]
    ] == ["b"]
    for kind in ("Ready", "Custom"):
        patch = {"status": {"conditions": [{"type": kind, "status": "True", "reason": "r", "message": "m"}]}}
        raw.patch(f"{NODES}/{node}/status", headers=STRATEGIC, json=patch)
    kinds = {item["type"] for item in raw.get(f"{NODES}/{node}").json()["status"]["conditions"]}
    assert kinds == {"Ready", "Custom"}
    replaced = raw.patch(f"{NODES}/{node}/status", headers=MERGE, json=patch).json()["status"]["conditions"]
    assert [item["type"] for item in replaced] == ["Custom"]


def test_endpoints_own_their_part(raw: httpx.Client, node: str) -> None:
    """The main endpoint ignores status; the status endpoint ignores spec but takes labels."""
    patch = {"spec": {"podCIDR": "10.0.0.0/24"}, "status": {"phase": "Running"}, "metadata": {"labels": {"k": "v"}}}
    assert "phase" not in raw.patch(f"{NODES}/{node}", headers=MERGE, json=patch).json().get("status", {})
    patch = {"spec": {"podCIDR": "10.9.0.0/24"}, "status": {"phase": "Running"}, "metadata": {"labels": {"l": "w"}}}
    made = raw.patch(f"{NODES}/{node}/status", headers=MERGE, json=patch).json()
    assert made["spec"]["podCIDR"] == "10.0.0.0/24"
    assert (made["status"]["phase"], made["metadata"]["labels"]["l"]) == ("Running", "w")


def test_apply_owns_fields(raw: httpx.Client, node: str) -> None:
    """A second manager of the taints conflicts, force wins, and fields that are left out go away."""
    taint = {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}
    assert (
        apply(raw, node, "one", {**taint, "metadata": {"name": node, "labels": {"x": "1"}}}, force="true").status_code
        == 200
    )
    other = {"spec": {"taints": [{"key": "b", "effect": "NoSchedule"}]}}
    refused = status_of(apply(raw, node, "two", other), 409, "Conflict")
    assert refused["details"]["causes"][0]["reason"] == "FieldManagerConflict"
    assert refused["details"]["causes"][0]["field"] == ".spec.taints"
    won = apply(raw, node, "two", other, force="true").json()
    assert [item["key"] for item in won["spec"]["taints"]] == ["b"]
    left = apply(raw, node, "one", {}).json()
    assert "x" not in (left["metadata"].get("labels") or {})
    assert [item["key"] for item in left["spec"]["taints"]] == ["b"]


def test_apply_needs_a_manager_and_no_managed_fields(raw: httpx.Client, core: Any) -> None:
    """422 without fieldManager, 400 with managedFields, 201 when it creates."""
    document = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "applied"}}
    url = f"{NODES}/applied"
    status_of(raw.patch(url, headers=APPLY, content=json.dumps(document)), 422, "Invalid")
    managed = {**document, "metadata": {"name": "applied", "managedFields": [{"manager": "x"}]}}
    status_of(
        raw.patch(url, params={"fieldManager": "m"}, headers=APPLY, content=json.dumps(managed)), 400, "BadRequest"
    )
    assert raw.patch(url, params={"fieldManager": "m"}, headers=APPLY, content=json.dumps(document)).status_code == 201
    core.delete_node("applied")


def test_unknown_fields_warn_or_refuse(raw: httpx.Client, node: str) -> None:
    """Warn answers 200 with a Warning header; Strict is 400 on create and 422 on patch."""
    unknown = {"metadata": {"name": "strict"}, "spec": {"nonsense": 1}}
    warned = raw.patch(f"{NODES}/{node}", headers=MERGE, json={"spec": {"nonsense": 1}})
    assert warned.status_code == 200
    assert warned.headers["warning"] == '299 - "unknown field \\"spec.nonsense\\""'
    status_of(raw.post(NODES, params={"fieldValidation": "Strict"}, json=unknown), 400, "BadRequest")
    strict = raw.patch(
        f"{NODES}/{node}", params={"fieldValidation": "Strict"}, headers=MERGE, json={"spec": {"nonsense": 1}}
    )
    status_of(strict, 422, "Invalid")


def test_a_dry_run_persists_nothing(raw: httpx.Client) -> None:
    """201 and then 404."""
    answer = raw.post(NODES, params={"dryRun": "All"}, json={"metadata": {"name": "dry"}})
    assert answer.status_code == 201
    assert raw.get(f"{NODES}/dry").status_code == 404


@pytest.mark.parametrize(
    ("taints", "field"),
    [
        ([{"key": "a", "effect": "Sometimes"}], "metadata.taints[0].effect"),
        ([{"key": "not a key", "effect": "NoSchedule"}], "metadata.taints[0].key"),
        ([{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}], "metadata.taints[1]"),
    ],
)
def test_bad_taints_are_invalid(raw: httpx.Client, node: str, taints: list[dict[str, str]], field: str) -> None:
    """422 with the field; the same key with two effects is allowed."""
    body = status_of(raw.patch(f"{NODES}/{node}", headers=MERGE, json={"spec": {"taints": taints}}), 422, "Invalid")
    assert body["details"]["causes"][0]["field"] == field
    both = [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}]
    assert raw.patch(f"{NODES}/{node}", headers=MERGE, json={"spec": {"taints": both}}).status_code == 200


def test_node_values_are_checked(raw: httpx.Client, node: str) -> None:
    """A provider id never changes, GPUs are whole, allocatable follows capacity."""
    assert raw.patch(f"{NODES}/{node}", headers=MERGE, json={"spec": {"providerID": "lab://1"}}).status_code == 200
    status_of(raw.patch(f"{NODES}/{node}", headers=MERGE, json={"spec": {"providerID": "lab://2"}}), 422, "Invalid")
    half = {"status": {"capacity": {"nvidia.com/gpu": "500m"}}}
    status_of(raw.patch(f"{NODES}/{node}/status", headers=MERGE, json=half), 422, "Invalid")
    made = raw.post(NODES, json={"metadata": {"name": "sized"}, "status": {"capacity": {"cpu": "4"}}}).json()
    assert made["status"]["allocatable"] == {"cpu": "4"}
    assert made["spec"]["taints"][0]["key"] == "node.kubernetes.io/not-ready"
    raw.delete(f"{NODES}/sized")


def test_leases_and_events_are_checked(raw: httpx.Client, namespace: str) -> None:
    """A lease's renewTime has microseconds; events about nodes belong into `default`."""
    url = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    coarse = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "x", "renewTime": "2026-01-01T00:00:00Z"}}
    status_of(raw.post(url, json=coarse), 422, "Invalid")
    coarse["spec"]["renewTime"] = "2026-01-01T00:00:00.000000Z"
    assert raw.post(url, json=coarse).status_code == 201
    event = {"metadata": {"name": "e"}, "involvedObject": {"kind": "Node", "name": "n"}, "reason": "r"}
    status_of(raw.post(f"/api/v1/namespaces/{namespace}/events", json=event), 422, "Invalid")
    assert raw.post("/api/v1/namespaces/default/events", json=event).status_code == 201
    raw.delete("/api/v1/namespaces/default/events/e")


def test_both_kinds_of_events_are_one(raw: httpx.Client) -> None:
    """An event written as events.k8s.io/v1 reads as a core event, and the other way round."""
    event = {
        "metadata": {"name": "double"},
        "regarding": {"kind": "Node", "name": "n"},
        "reason": "Seen",
        "note": "hello",
        "type": "Normal",
        "action": "Look",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "example.org/me",
        "reportingInstance": "me-1",
    }
    url = "/apis/events.k8s.io/v1/namespaces/default/events"
    assert raw.post(url, json=event).status_code == 201
    core = raw.get("/api/v1/namespaces/default/events/double").json()
    assert (core["message"], core["involvedObject"]["name"], core["kind"]) == ("hello", "n", "Event")
    assert raw.get(f"{url}/double").json()["note"] == "hello"
    selected = raw.get("/api/v1/namespaces/default/events", params={"fieldSelector": "involvedObject.name=n"})
    assert [item["metadata"]["name"] for item in selected.json()["items"]] == ["double"]
    raw.delete(f"{url}/double")
