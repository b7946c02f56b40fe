"""Field ownership: paths, updates and applies."""

from __future__ import annotations

from typing import Any

from lab.kubernetes.ownership import after_apply, after_update, clashes, from_fields, new_row, paths, to_fields

NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n", "labels": {"a/b": "1"}, "finalizers": ["f"]},
    "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
}


def test_paths_follow_the_list_kinds() -> None:
    """Atomic lists are one path, keyed lists one per item and field, sets one per value; identity is not owned."""
    assert set(paths(NODE)) == {
        ("f:metadata", "f:labels", "f:a/b"),
        ("f:metadata", "f:finalizers", 'v:"f"'),
        ("f:spec", "f:taints"),
        ("f:status", "f:conditions", 'k:{"type":"Ready"}', "f:type"),
        ("f:status", "f:conditions", 'k:{"type":"Ready"}', "f:status"),
    }


def test_fields_survive_the_round_trip() -> None:
    """FieldsV1 and path sets are two forms of one thing."""
    found = set(paths(NODE))
    assert set(from_fields(to_fields(found))) == found


def test_an_update_takes_what_it_changes() -> None:
    """The writer owns the changed field; the former owner loses just that."""
    first = after_update(None, NODE, new_row("one", "Update", "v1", "t1"))
    old = {**NODE, "metadata": {**NODE["metadata"], "managedFields": first}}
    new = {**old, "spec": {"taints": []}}
    rows = {row["manager"]: row["fieldsV1"] for row in after_update(old, new, new_row("two", "Update", "v1", "t2"))}
    assert rows["two"] == {"f:spec": {"f:taints": {}}}
    assert "f:spec" not in rows["one"]


def test_the_same_value_is_shared_and_another_clashes() -> None:
    """Two managers may apply the same value; another value is a clash with the field's name."""
    first = after_apply({"metadata": {"name": "n"}}, NODE, new_row("one", "Apply", "v1", "t"), [])
    second = new_row("two", "Apply", "v1", "t")
    assert clashes(first, NODE, set(paths(NODE)), second) == []
    other = {"metadata": {"labels": {"a/b": "2"}}}
    found = clashes(first, other, set(paths(other)), second)
    assert [clash.field for clash in found] == [".metadata.labels.a/b"]


def test_leaving_a_field_out_removes_it_unless_shared() -> None:
    """What the manager no longer applies goes, except where another manager owns it as well."""
    one, two = new_row("one", "Apply", "v1", "t"), new_row("two", "Apply", "v1", "t")
    both = {"metadata": {"labels": {"shared": "1", "mine": "1"}}}
    live = after_apply({"metadata": {"name": "n"}}, both, one, [])
    live = after_apply(live, {"metadata": {"labels": {"shared": "1"}}}, two, [])
    live = after_apply(live, {"metadata": {}}, new_row("one", "Apply", "v1", "t"), [])
    assert live["metadata"]["labels"] == {"shared": "1"}
