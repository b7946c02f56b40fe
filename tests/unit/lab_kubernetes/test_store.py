"""The store: revisions, history, snapshots, listeners."""

from __future__ import annotations

from lab.kubernetes.store import Change, Store

PLACE = ("", "configmaps")


def obj(name: str, value: str = "") -> dict[str, object]:
    """A small object."""
    return {"metadata": {"name": name, "namespace": "n"}, "data": {"v": value}}


def test_every_write_moves_the_one_revision() -> None:
    """Objects carry the store's revision of their last write."""
    store = Store(10)
    assert store.put(PLACE, obj("a"))["metadata"]["resourceVersion"] == "11"
    assert store.put(PLACE, obj("b"))["metadata"]["resourceVersion"] == "12"
    assert store.remove(PLACE, "n", "a")["metadata"]["resourceVersion"] == "13"


def test_the_past_can_be_read_until_it_is_compacted() -> None:
    """A snapshot undoes creations, changes and deletions."""
    store = Store()
    store.put(PLACE, obj("a", "old"))
    store.put(PLACE, obj("b"))
    then = store.revision
    store.put(PLACE, obj("a", "new"))
    store.remove(PLACE, "n", "b")
    store.put(PLACE, obj("c"))
    snapshot = store.at(PLACE, then)
    assert snapshot is not None
    assert [(key[1], entry.obj["data"]["v"]) for key, entry in snapshot] == [("a", "old"), ("b", "")]
    store.compact()
    assert store.at(PLACE, then) is None
    assert store.since(PLACE, store.revision) == []


def test_listeners_hear_changes_in_order_even_when_they_write() -> None:
    """A write from inside a listener is told after the change that caused it, to everybody."""
    store = Store()
    heard: list[str] = []

    def echo(change: Change) -> None:
        if change.key[1] == "first":
            store.put(PLACE, obj("second"))

    store.listen(echo, PLACE)
    stop = store.listen(lambda change: heard.append(change.key[1]), PLACE)
    store.put(PLACE, obj("first"))
    assert heard == ["first", "second"]
    stop()
    store.put(PLACE, obj("third"))
    assert heard == ["first", "second"]
