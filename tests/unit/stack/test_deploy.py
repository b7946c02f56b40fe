"""What a cluster must hold: the shipped manifests allow what the product asks of Kubernetes, and nothing more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from nodeworthy.ports.pods import TEST_NAMESPACE

from stack.layout import REPOSITORY

CALL = re.compile(
    r"\b(read|list|create|patch|delete|connect_get)_(namespaced_)?(node|pod|event|resource_slice)(_status|_exec|_log)?\b"
)
VERBS = {"read": "get", "connect_get": "get"}
BY_THE_POD_OPERATOR = {
    ("pods", "create"),
    ("pods", "get"),
    ("pods", "list"),
    ("pods", "watch"),
    ("pods", "patch"),
    ("pods", "delete"),
    ("pods/log", "get"),
    ("pods/exec", "get"),
    ("pods/exec", "create"),
    ("events", "get"),
    ("events", "list"),
    ("events", "watch"),
}
"""apache-airflow-providers-cncf-kubernetes, its PodManager and hooks; create of exec is kubectl's way."""


def documents(name: str) -> list[dict[str, Any]]:
    """The objects of one manifest."""
    return list(yaml.safe_load_all((REPOSITORY / "deploy" / name).read_text()))


def asked() -> Iterator[tuple[str, str]]:
    """Every resource and verb that our own code calls the official client for."""
    for path in Path(REPOSITORY / "plugins" / "nodeworthy").rglob("*.py"):
        for verb, _, kind, part in CALL.findall(path.read_text()):
            subresource = part.replace("_", "/") if part else ""
            yield f"{kind.replace('_', '')}s{subresource}", VERBS.get(verb, verb)


def allowed() -> set[tuple[str, str]]:
    """Every resource and verb that the shipped roles allow."""
    roles = [one for one in documents("kubernetes.yaml") if one["kind"] in ("Role", "ClusterRole")]
    rules = [rule for role in roles for rule in role["rules"]]
    return {(resource, verb) for rule in rules for resource in rule["resources"] for verb in rule["verbs"]}


def test_the_roles_allow_what_is_asked_and_nothing_more() -> None:
    """Our own calls by their names in the official client, and those of the pod operator."""
    calls = set(asked())
    assert ("nodes", "patch") in calls
    assert allowed() == calls | BY_THE_POD_OPERATOR


def test_test_pods_have_a_namespace_that_says_its_security_level_and_no_token() -> None:
    """Privileged by a stated reason, images by signature, and the pods' account without credentials."""
    objects = {(one["kind"], one["metadata"]["name"]): one for one in documents("kubernetes.yaml")}
    labels = objects["Namespace", TEST_NAMESPACE]["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "privileged"
    assert labels["policy.sigstore.dev/include"] == "true"
    assert objects["ServiceAccount", "default"]["automountServiceAccountToken"] is False
    bound = [one for one in objects.values() if one["kind"] in ("RoleBinding", "ClusterRoleBinding")]
    assert {subject["name"] for one in bound for subject in one["subjects"]} == {"nodeworthy"}


def test_the_signature_policy_meets_every_test_pod() -> None:
    """It selects by the label that all test pods carry, and names a key."""
    (policy,) = documents("image-policy.yaml")
    (match,) = policy["spec"]["match"]
    assert match["selector"]["matchExpressions"] == [{"key": "nodeworthy.dev/suite", "operator": "Exists"}]
    assert policy["spec"]["authorities"][0]["key"]["secretRef"]["name"]


def test_the_device_plugins_pods_may_be_listed_by_our_account_and_no_more() -> None:
    """Another namespace than the tests', so a role of its own."""
    role, binding = documents("device-plugin.yaml")
    assert role["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["metadata"]["namespace"] == role["metadata"]["namespace"] != TEST_NAMESPACE
    (account,) = binding["subjects"]
    assert (account["name"], account["namespace"]) == ("nodeworthy", TEST_NAMESPACE)
