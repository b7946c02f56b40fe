"""Lists and watches: selectors, pages, versions, expiry, bookmarks."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.kubernetes.harness import Lab, raw_client, wait_for
from tests.contract.kubernetes.test_objects import MERGE, status_of

NODES = "/api/v1/nodes"


@pytest.fixture
def maps(raw: httpx.Client, namespace: str) -> str:
    """The URL of a namespace's config maps, five of them."""
    url = f"/api/v1/namespaces/{namespace}/configmaps"
    for index in range(5):
        raw.post(
            url,
            json={"metadata": {"name": f"m{index}", "labels": {"n": str(index), "half": "a" if index < 2 else "b"}}},
        )
    return url


def names(answer: httpx.Response) -> list[str]:
    """The names in a list."""
    return [item["metadata"]["name"] for item in answer.json()["items"]]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("half=a", ["m0", "m1"]),
        ("half==a,n!=0", ["m1"]),
        ("half!=a", ["m2", "m3", "m4"]),
        ("n in (1, 3)", ["m1", "m3"]),
        ("n notin (1,3),half=b", ["m2", "m4"]),
        ("!n", []),
        ("n", ["m0", "m1", "m2", "m3", "m4"]),
        ("n>2", ["m3", "m4"]),
    ],
)
def test_label_selectors(raw: httpx.Client, maps: str, selector: str, expected: list[str]) -> None:
    """All operators of the API."""
    assert [
        name for name in names(raw.get(maps, params={"labelSelector": selector})) if name.startswith("m")
    ] == expected


def test_selectors_are_checked(raw: httpx.Client, maps: str) -> None:
    """A malformed label selector and an unknown field are bad requests."""
    status_of(raw.get(maps, params={"labelSelector": "n in 1"}), 400, "BadRequest")
    body = status_of(raw.get(NODES, params={"fieldSelector": "spec.taints=x"}), 400, "BadRequest")
    assert "field label not supported: spec.taints" in body["message"]
    assert raw.get(NODES, params={"fieldSelector": "spec.unschedulable=false"}).status_code == 200


def test_pages(raw: httpx.Client, maps: str) -> None:
    """limit gives a continue token and the rest's count; version 0 ignores limit; a bad token is a bad request."""
    raw.request("DELETE", f"{maps}/kube-root-ca.crt")
    first = raw.get(maps, params={"limit": 2}).json()
    assert first["metadata"]["remainingItemCount"] == 3
    rest = raw.get(maps, params={"limit": 9, "continue": first["metadata"]["continue"]})
    assert names(rest) == ["m2", "m3", "m4"]
    selected = raw.get(maps, params={"limit": 1, "labelSelector": "n"}).json()["metadata"]
    assert "continue" in selected
    assert "remainingItemCount" not in selected
    assert len(names(raw.get(maps, params={"limit": 2, "resourceVersion": "0"}))) == 5
    status_of(raw.get(maps, params={"continue": "nonsense"}), 400, "BadRequest")


def test_a_page_is_a_snapshot(raw: httpx.Client, maps: str) -> None:
    """What is deleted after the first page still shows on the second."""
    first = raw.get(maps, params={"limit": 2}).json()["metadata"]["continue"]
    raw.delete(f"{maps}/m4")
    assert "m4" in names(raw.get(maps, params={"continue": first}))


def test_a_compacted_token_expires(raw: httpx.Client, maps: str, lab_only: Lab) -> None:
    """410 with a fresh token that gives an inconsistent rest."""
    first = raw.get(maps, params={"limit": 2}).json()["metadata"]["continue"]
    raw.post(maps, json={"metadata": {"name": "more"}})
    lab_only.call(lab_only.handle.cluster.store.compact)
    body = status_of(raw.get(maps, params={"continue": first}), 410, "Expired")
    assert names(raw.get(maps, params={"continue": body["metadata"]["continue"]})) == ["m2", "m3", "m4", "more"]


def test_a_future_version_times_out(raw: httpx.Client) -> None:
    """504 after about three seconds with Retry-After 1."""
    started = time.monotonic()
    answer = raw.get(NODES, params={"resourceVersion": "999999999"})
    status_of(answer, 504, "Timeout")
    assert answer.headers["retry-after"] == "1"
    assert 2.5 < time.monotonic() - started < 6


class Watch:
    """A watch that is read line by line."""

    def __init__(self, raw: httpx.Client, url: str, **params: Any) -> None:
        self._stream = raw.stream("GET", url, params={"watch": "true", "timeoutSeconds": "5", **params})
        answer = self._stream.__enter__()
        self.status = answer.status_code
        self._lines = answer.iter_lines()

    def next(self) -> tuple[str, dict[str, Any]]:
        """The next event."""
        event = json.loads(next(self._lines))
        return event["type"], event["object"]

    def rest(self) -> list[str]:
        """The types of all that follows until the end."""
        return [json.loads(line)["type"] for line in self._lines]

    def close(self) -> None:
        """Stop reading."""
        self._stream.__exit__(None, None, None)


def test_a_watch_starts_with_what_is_there(raw: httpx.Client, maps: str) -> None:
    """Without a version there are synthetic ADDED events first; then changes follow."""
    watch = Watch(raw, maps, labelSelector="half=a")
    assert [watch.next()[0] for _ in range(2)] == ["ADDED", "ADDED"]
    raw.patch(f"{maps}/m0", headers=MERGE, json={"data": {"a": "b"}})
    assert watch.next()[0] == "MODIFIED"
    watch.close()


def test_a_watch_follows_the_selector(raw: httpx.Client, maps: str) -> None:
    """Leaving the selector is DELETED, entering it is ADDED, with the version of the change."""
    version = raw.get(maps).json()["metadata"]["resourceVersion"]
    watch = Watch(raw, maps, labelSelector="half=a", resourceVersion=version)
    left = raw.patch(f"{maps}/m0", headers=MERGE, json={"metadata": {"labels": {"half": "b"}}}).json()
    kind, obj = watch.next()
    assert (kind, obj["metadata"]["resourceVersion"]) == ("DELETED", left["metadata"]["resourceVersion"])
    raw.patch(f"{maps}/m3", headers=MERGE, json={"metadata": {"labels": {"half": "a"}}})
    assert watch.next()[0] == "ADDED"
    raw.delete(f"{maps}/m3")
    assert watch.next()[0] == "DELETED"
    watch.close()


def test_a_watch_ends_cleanly_at_its_timeout(raw: httpx.Client, maps: str) -> None:
    """timeoutSeconds ends in a clean end of the stream."""
    version = raw.get(maps).json()["metadata"]["resourceVersion"]
    started = time.monotonic()
    assert Watch(raw, maps, resourceVersion=version, timeoutSeconds="1").rest() == []
    assert 0.8 < time.monotonic() - started < 3


def test_a_watch_that_is_too_old_gets_one_error(raw: httpx.Client, maps: str, lab_only: Lab) -> None:
    """HTTP 200, one ERROR event with Status 410, the end."""
    version = raw.get(maps).json()["metadata"]["resourceVersion"]
    raw.post(maps, json={"metadata": {"name": "more"}})
    lab_only.call(lab_only.handle.cluster.store.compact)
    watch = Watch(raw, maps, resourceVersion=version)
    kind, obj = watch.next()
    assert (watch.status, kind, obj["code"], obj["reason"]) == (200, "ERROR", 410, "Expired")
    assert watch.rest() == []


def test_initial_events_end_with_a_bookmark(raw: httpx.Client, maps: str) -> None:
    """sendInitialEvents marks the end of the present state."""
    params = {"sendInitialEvents": "true", "allowWatchBookmarks": "true", "resourceVersionMatch": "NotOlderThan"}
    watch = Watch(raw, maps, labelSelector="half=a", **params)
    events = [watch.next() for _ in range(3)]
    assert [kind for kind, _ in events] == ["ADDED", "ADDED", "BOOKMARK"]
    assert events[2][1]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    watch.close()


def test_a_thousand_nodes_are_listed_quickly(raw: httpx.Client, lab_only: Lab) -> None:
    """A list of a thousand nodes takes well under what a busy real server needed (1.3 s)."""
    cluster = lab_only.handle.cluster

    def create() -> None:
        for index in range(1000):
            cluster.registry.create(cluster.nodes, "", {"metadata": {"name": f"many-{index}", "labels": {"many": "1"}}})

    lab_only.call(create)
    started = time.monotonic()
    assert len(names(raw.get(NODES, params={"labelSelector": "many=1"}))) == 1000
    assert time.monotonic() - started < 1.3
    assert raw.request("DELETE", NODES, params={"labelSelector": "many=1"}).status_code == 200
    wait_for(lambda: not names(raw.get(NODES, params={"labelSelector": "many=1"})))


def test_shutdown_ends_watches_cleanly(tmp_path: Path) -> None:
    """An open watch sees the end of its stream, not a broken connection."""
    lab = Lab(tmp_path)
    with raw_client(tmp_path / "kubeconfig") as raw:
        watch = Watch(raw, NODES, timeoutSeconds="60", fieldSelector="metadata.name=nobody")
        closing = threading.Timer(0.3, lab.close)
        closing.start()
        assert watch.rest() == []
        closing.join()
