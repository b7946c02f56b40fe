"""The three kinds of patches, on examples worked out by hand from their specifications."""

from __future__ import annotations

from typing import Any

import pytest

from lab.kubernetes.patches import PatchFailed, json_patch, merge_patch, strategic_merge


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch(target: Any, patch: Any, expected: Any) -> None:
    """Examples of RFC 7386, appendix A."""
    assert merge_patch(target, patch) == expected


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([{"op": "add", "path": "/baz", "value": "q"}], {"foo": ["a", "b"], "baz": "q"}),
        ([{"op": "add", "path": "/foo/1", "value": "x"}], {"foo": ["a", "x", "b"]}),
        ([{"op": "add", "path": "/foo/-", "value": "x"}], {"foo": ["a", "b", "x"]}),
        ([{"op": "remove", "path": "/foo/0"}], {"foo": ["b"]}),
        ([{"op": "replace", "path": "/foo", "value": 1}], {"foo": 1}),
        ([{"op": "move", "from": "/foo/0", "path": "/bar"}], {"foo": ["b"], "bar": "a"}),
        ([{"op": "add", "path": "/a~1b", "value": 1}], {"foo": ["a", "b"], "a/b": 1}),
    ],
)
def test_json_patch(operations: Any, expected: Any) -> None:
    """Examples in the manner of RFC 6902, appendix A."""
    assert json_patch({"foo": ["a", "b"]}, operations) == expected


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/foo", "value": 2},
        {"op": "remove", "path": "/nothing"},
        {"op": "replace", "path": "/nothing", "value": 1},
        {"op": "add", "path": "/list/9", "value": 1},
        {"op": "unknown", "path": "/foo"},
        {"op": "add", "path": "no-slash", "value": 1},
    ],
)
def test_json_patch_fails_as_a_whole(operation: Any) -> None:
    """A failed operation leaves the target untouched."""
    target = {"foo": 1, "list": [1]}
    with pytest.raises(PatchFailed):
        json_patch(target, [{"op": "add", "path": "/new", "value": 1}, operation])
    assert target == {"foo": 1, "list": [1]}


def test_strategic_merge_by_key() -> None:
    """Conditions merge by type, taints are replaced, an item can be deleted by its key."""
    live = {"taints": [{"key": "a"}], "conditions": [{"type": "A", "status": "1", "x": 1}, {"type": "B"}]}
    patch = {"taints": [{"key": "b"}], "conditions": [{"type": "A", "status": "2"}, {"type": "B", "$patch": "delete"}]}
    assert strategic_merge(live, patch) == {
        "taints": [{"key": "b"}],
        "conditions": [{"type": "A", "status": "2", "x": 1}],
    }


def test_strategic_merge_directives() -> None:
    """Finalizers are a set with its own deletion list; $patch replace and $retainKeys do what they say."""
    live = {"finalizers": ["a", "b"], "spec": {"x": 1, "y": 2}}
    assert strategic_merge(live, {"finalizers": ["c"]})["finalizers"] == ["a", "b", "c"]
    assert strategic_merge(live, {"$deleteFromPrimitiveList/finalizers": ["a"]})["finalizers"] == ["b"]
    assert strategic_merge(live, {"spec": {"$patch": "replace", "z": 3}})["spec"] == {"z": 3}
    assert strategic_merge(live, {"spec": {"$retainKeys": ["x"], "x": 5}})["spec"] == {"x": 5}
    ordered = {"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "a", "image": "new"}]}
    merged = strategic_merge({"containers": [{"name": "a", "image": "old", "args": ["1"]}]}, ordered)
    assert merged == {"containers": [{"name": "a", "image": "new", "args": ["1"]}]}


def test_strategic_merge_needs_the_key() -> None:
    """An item without its merge key cannot be placed."""
    with pytest.raises(PatchFailed, match="merge key: name"):
        strategic_merge({"containers": []}, {"containers": [{"image": "x"}]})
