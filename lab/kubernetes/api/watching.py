"""Watches: a stream of changes from a revision on, filtered by selectors, with bookmarks and a clean end."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import Any

from lab.kubernetes.api.conversion import encoded, to_version
from lab.kubernetes.api.reading import Form, check_version, partial, selector_of, wanted_form
from lab.kubernetes.api.request import Request, Response, Target
from lab.kubernetes.api.tables import render_table
from lab.kubernetes.cluster import Cluster
from lab.kubernetes.errors import expired
from lab.kubernetes.resources import Json
from lab.kubernetes.selectors import Test
from lab.kubernetes.store import Change, Entry, encode, stamped

BOOKMARK_SECONDS = 60.0
DEFAULT_TIMEOUT_SECONDS = 1800.0


class Watch:
    """One client's watch; `stream` yields event lines until the time-out or the server's end."""

    def __init__(self, cluster: Cluster, request: Request, target: Target, test: Test) -> None:
        self._cluster = cluster
        self._target = target
        self._form: Form = wanted_form(request)
        self._test = test
        self._bookmarks = request.flag("allowWatchBookmarks") if "allowWatchBookmarks" in request.query else False
        self._initial = request.query.get("sendInitialEvents") == "true"
        seconds = request.number("timeoutSeconds")
        self._deadline = time.monotonic() + (seconds or DEFAULT_TIMEOUT_SECONDS)
        self._queue: deque[Change] = deque()
        self._wake = asyncio.Event()
        self._header = True

    def _push(self, change: Change) -> None:
        self._queue.append(change)
        self._wake.set()

    async def stream(self, revision: int) -> AsyncIterator[bytes]:
        """Event lines. `revision` 0 starts with a synthetic ADDED for everything that is there."""
        place = self._target.resource.storage
        stop = self._cluster.store.listen(self._push, place)
        try:
            if revision == 0 or self._initial:
                for line in self._present():
                    yield line
            else:
                changes = self._cluster.store.since(place, revision)
                if changes is None:
                    error = expired(f"too old resource version: {revision} ({self._cluster.store.revision})")
                    yield self._line("ERROR", encode(error.status()))
                    return
                self._queue.extendleft(reversed(changes))
            async for line in self._follow():
                yield line
        finally:
            stop()

    def _present(self) -> Iterator[bytes]:
        for key, entry in self._cluster.store.entries(self._target.resource.storage):
            if self._in_scope(key[0]) and self._test(to_version(self._target.resource, entry.obj)):
                yield self._event("ADDED", entry)
        if self._initial and self._bookmarks:
            yield self._bookmark({"k8s.io/initial-events-end": "true"})

    def _in_scope(self, namespace: str) -> bool:
        return not self._target.namespace or namespace == self._target.namespace

    async def _follow(self) -> AsyncIterator[bytes]:
        next_bookmark = time.monotonic() + BOOKMARK_SECONDS
        closing = asyncio.ensure_future(self._cluster.closing.wait())
        try:
            while True:
                while self._queue:
                    line = self._translate(self._queue.popleft())
                    if line:
                        yield line
                now = time.monotonic()
                if self._bookmarks and now >= next_bookmark:
                    next_bookmark = now + BOOKMARK_SECONDS
                    yield self._bookmark({})
                if self._cluster.closing.is_set() or now >= self._deadline:
                    return
                await self._sleep(min(self._deadline, next_bookmark) - now, closing)
        finally:
            closing.cancel()

    async def _sleep(self, seconds: float, closing: asyncio.Future[Any]) -> None:
        self._wake.clear()
        waiter = asyncio.ensure_future(self._wake.wait())
        try:
            await asyncio.wait((waiter, closing), timeout=max(seconds, 0), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiter.cancel()

    def _translate(self, change: Change) -> bytes | None:
        if not self._in_scope(change.key[0]):
            return None
        resource = self._target.resource
        before = change.before is not None and self._test(to_version(resource, change.before.obj))
        after = change.after is not None and self._test(to_version(resource, change.after.obj))
        if after:
            assert change.after is not None
            return self._event("MODIFIED" if before else "ADDED", change.after)
        if before:
            assert change.before is not None
            gone = change.last or Entry(stamped(change.before.obj, change.revision))
            return self._event("DELETED", gone)
        return None

    def _event(self, kind: str, entry: Entry) -> bytes:
        resource = self._target.resource
        if self._form.kind == "Table":
            obj = to_version(resource, entry.obj)
            metadata = {"resourceVersion": obj["metadata"]["resourceVersion"]}
            table = render_table(resource, [obj], metadata, self._form.include, header=self._header)
            self._header = False
            return self._line(kind, encode(table))
        if self._form.kind:
            return self._line(kind, encode(partial(entry.obj)))
        return self._line(kind, encoded(resource, entry))

    def _bookmark(self, annotations: Json) -> bytes:
        resource = self._target.resource
        metadata: Json = {"resourceVersion": str(self._cluster.store.revision), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        return self._line(
            "BOOKMARK", encode({"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata})
        )

    @staticmethod
    def _line(kind: str, obj: bytes) -> bytes:
        return b'{"type":"' + kind.encode() + b'","object":' + obj + b"}\n"


async def watch_objects(cluster: Cluster, request: Request, target: Target) -> Response:
    """GET with watch=true on a collection."""
    test = selector_of(request, target)
    revision = await check_version(cluster, request.query.get("resourceVersion", ""))
    watch = Watch(cluster, request, target, test)
    return Response(stream=watch.stream(revision))
