"""Who may do what: anonymous, unknown tokens, and the short-lived token of the test namespace."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.contract.kubernetes.harness import Lab, raw_client, sleeper
from tests.contract.kubernetes.test_objects import status_of


def test_anonymous_and_unknown(kubeconfig: Path, raw: httpx.Client) -> None:
    """403 for system:anonymous, 401 for a bad token; the version is public."""
    with raw_client(kubeconfig, None) as nobody:
        body = status_of(nobody.get("/api/v1/nodes"), 403, "Forbidden")
        assert (
            'User "system:anonymous" cannot list resource "nodes" in API group "" at the cluster scope'
            in body["message"]
        )
        assert nobody.get("/version").status_code == 200
    with raw_client(kubeconfig, "wrong") as stranger:
        status_of(stranger.get("/api/v1/nodes"), 401, "Unauthorized")


@pytest.fixture
def tester(lab_only: Lab) -> httpx.Client:
    """The test namespace's account."""
    return raw_client(lab_only.state_dir / "kubeconfig-tests")


def test_the_test_account_reaches_its_namespace_only(tester: httpx.Client) -> None:
    """Pods, logs, exec and events there; nothing elsewhere, nothing of the cluster."""
    pods = "/api/v1/namespaces/nodeworthy-tests/pods"
    assert tester.post(pods, json=sleeper("mine", nodeSelector={"no": "where"})).status_code == 201
    assert tester.delete(f"{pods}/mine").status_code == 200
    assert tester.get("/api/v1/namespaces/nodeworthy-tests/events").status_code == 200
    status_of(tester.get("/api/v1/namespaces/customers/pods"), 403, "Forbidden")
    status_of(tester.get("/api/v1/nodes"), 403, "Forbidden")
    status_of(tester.get("/api/v1/namespaces/nodeworthy-tests/secrets"), 403, "Forbidden")
    review = {"spec": {"resourceAttributes": {"verb": "create", "resource": "pods", "namespace": "nodeworthy-tests"}}}
    answer = tester.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", json=review)
    assert answer.json()["status"]["allowed"] is True


def test_tokens_can_be_asked_for(raw: httpx.Client, kubeconfig: Path) -> None:
    """A token request gives a working bearer token with an end."""
    url = "/api/v1/namespaces/nodeworthy-tests/serviceaccounts/default/token"
    status = raw.post(url, json={"spec": {"expirationSeconds": 600}}).json()["status"]
    assert status["expirationTimestamp"]
    with raw_client(kubeconfig, status["token"]) as account:
        assert account.get("/apis").status_code == 200
