"""The store under the API: objects by kind, one revision counter, and a bounded history that watches read.

Objects are never changed in place: a write replaces the object, so readers and watchers may keep what they got. The
serialised form is made once per version, which keeps lists of a thousand nodes cheap.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from lab.kubernetes.resources import Json

Place = tuple[str, str]
Key = tuple[str, str]

HISTORY_LENGTH = 4096


def encode(obj: Any) -> bytes:
    """Compact JSON."""
    return json.dumps(obj, separators=(",", ":"), ensure_ascii=False).encode()


def stamped(obj: Json, revision: int) -> Json:
    """The object with another resourceVersion."""
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}


@dataclass(slots=True)
class Entry:
    """One version of an object with its lazily made serialised form."""

    obj: Json
    _encoded: bytes | None = None

    @property
    def encoded(self) -> bytes:
        """The object as JSON."""
        if self._encoded is None:
            self._encoded = encode(self.obj)
        return self._encoded


@dataclass(frozen=True, slots=True)
class Change:
    """One step of history: `before` and `after` are None for a creation and a deletion.

    `last` is what a watcher gets for a deletion: the final state with the revision of the deletion.
    """

    revision: int
    place: Place
    key: Key
    before: Entry | None
    after: Entry | None
    last: Entry | None = None


@dataclass(slots=True)
class _Shelf:
    entries: dict[Key, Entry] = field(default_factory=dict)
    history: deque[Change] = field(default_factory=deque)
    forgotten: int = 0


class Store:
    """All objects. Listeners are called synchronously for every change, in order."""

    def __init__(self, revision: int = 1000) -> None:
        self.revision = revision
        self._shelves: dict[Place, _Shelf] = {}
        self._listeners: list[tuple[Place | None, Callable[[Change], None]]] = []
        self._untold: deque[Change] = deque()
        self._telling = False

    def _shelf(self, place: Place) -> _Shelf:
        if place not in self._shelves:
            self._shelves[place] = _Shelf()
        return self._shelves[place]

    def get(self, place: Place, namespace: str, name: str) -> Json | None:
        """The present object, or None."""
        entry = self._shelf(place).entries.get((namespace, name))
        return entry.obj if entry else None

    def entries(self, place: Place, namespace: str | None = None) -> list[tuple[Key, Entry]]:
        """All entries, or those of a namespace, in key order."""
        items = self._shelf(place).entries.items()
        return sorted(
            (item for item in items if namespace is None or item[0][0] == namespace), key=lambda item: item[0]
        )

    def objects(self, place: Place, namespace: str | None = None) -> Iterable[Json]:
        """All present objects without an order; do not change them."""
        entries = self._shelf(place).entries
        return [entry.obj for key, entry in list(entries.items()) if namespace is None or key[0] == namespace]

    def put(self, place: Place, obj: Json) -> Json:
        """Create or replace; returns the stored object with its new resourceVersion."""
        self.revision += 1
        metadata = {**obj["metadata"], "resourceVersion": str(self.revision)}
        key = (metadata.get("namespace", ""), metadata["name"])
        shelf = self._shelf(place)
        entry = Entry({**obj, "metadata": metadata})
        before = shelf.entries.get(key)
        shelf.entries[key] = entry
        self._record(shelf, Change(self.revision, place, key, before, entry))
        return entry.obj

    def remove(self, place: Place, namespace: str, name: str) -> Json:
        """Delete; returns the last state with the revision of its deletion."""
        self.revision += 1
        shelf = self._shelf(place)
        before = shelf.entries.pop((namespace, name))
        last = stamped(before.obj, self.revision)
        self._record(shelf, Change(self.revision, place, (namespace, name), before, None, Entry(last)))
        return last

    def _record(self, shelf: _Shelf, change: Change) -> None:
        shelf.history.append(change)
        if len(shelf.history) > HISTORY_LENGTH:
            shelf.forgotten = shelf.history.popleft().revision
        self._untold.append(change)
        if self._telling:
            # A listener wrote: everybody hears of it after the change that is being told now.
            return
        self._telling = True
        try:
            while self._untold:
                self._tell(self._untold.popleft())
        finally:
            self._telling = False

    def _tell(self, change: Change) -> None:
        for place, listener in tuple(self._listeners):
            if place is None or place == change.place:
                listener(change)

    def count(self, place: Place) -> int:
        """How many objects there are."""
        return len(self._shelf(place).entries)

    def at(self, place: Place, revision: int) -> list[tuple[Key, Entry]] | None:
        """All entries as they were at `revision`, in key order; None when that history is gone."""
        changes = self.since(place, revision)
        if changes is None:
            return None
        entries = dict(self._shelf(place).entries)
        for change in reversed(changes):
            if change.before is None:
                entries.pop(change.key, None)
            else:
                entries[change.key] = change.before
        return sorted(entries.items(), key=lambda item: item[0])

    def compact(self) -> None:
        """Forget all history, as etcd's compaction does: older watches and continue tokens expire."""
        for shelf in self._shelves.values():
            shelf.history.clear()
            shelf.forgotten = self.revision

    def since(self, place: Place, revision: int) -> list[Change] | None:
        """The changes after `revision`, or None when that history is gone."""
        shelf = self._shelf(place)
        if revision < shelf.forgotten:
            return None
        return [change for change in shelf.history if change.revision > revision]

    def listen(self, listener: Callable[[Change], None], place: Place | None = None) -> Callable[[], None]:
        """Call `listener` on every change (of `place`); returns what ends it."""
        row = (place, listener)
        self._listeners.append(row)

        def stop() -> None:
            if row in self._listeners:
                self._listeners.remove(row)

        return stop
