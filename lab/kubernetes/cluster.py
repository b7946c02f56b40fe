"""The cluster that the API shows: store, registry, the lab's world, and what its parts tell each other.

Controllers and the kubelets get this object; so do the API's handlers. It knows no HTTP.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from lab.kubernetes.registry import Registry, utc_text
from lab.kubernetes.resources import Catalogue, Json
from lab.kubernetes.store import Store

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease", "nodeworthy-tests", "customers")
TEST_NAMESPACE = "nodeworthy-tests"
EVENTS_KEPT = 3000


class Clock(Protocol):
    """The part of the lab's clock that is used here."""

    speed: float

    def now(self) -> datetime:
        """The lab time."""
        ...

    def call_later(self, delay: timedelta, callback: Callable[[], None]) -> Any:
        """Run `callback` after a lab duration; the result has `cancel()`."""
        ...

    async def sleep(self, duration: timedelta) -> None:
        """Wait for a lab duration."""
        ...


class World(Protocol):
    """The part of the lab's truth that is used here (lab/truth/world.py)."""

    @property
    def clock(self) -> Clock:
        """The lab's clock."""
        ...

    @property
    def nodes(self) -> Mapping[str, Any]:
        """Lab nodes by name."""
        ...

    def subscribe(self, listener: Callable[[Any], None]) -> None:
        """Call `listener` with every MachineUp and MachineDown."""
        ...

    def view(self, name: str) -> dict[str, Any]:
        """The node view document."""
        ...

    def record_effect(self, kind: str, node: str, effect_id: str | None, **detail: Any) -> None:
        """Count one effect."""
        ...

    def active_faults(self, name: str) -> tuple[Any, ...]:
        """The faults that lie over a node now."""
        ...


class LogSource(Protocol):
    """What the API asks of a kubelet (lab/kubelet)."""

    def reachable(self, node: str) -> bool:
        """Whether the node's kubelet answers."""
        ...

    def running(self, pod: Json, container: str) -> Any:
        """The running container, or None."""
        ...

    def log_file(self, pod: Json, container: str, *, previous: bool) -> Path | None:
        """The container's log, or None when there is none yet."""
        ...


class Cluster:
    """Everything that lives behind one API server."""

    def __init__(self, world: World, state_dir: Path) -> None:
        self.world = world
        self.state_dir = state_dir
        self.store = Store()
        self.catalogue = Catalogue()
        self.registry = Registry(self.store, self.catalogue)
        self.kubelets: Any = None
        self.closing = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._create_namespaces()

    def _create_namespaces(self) -> None:
        for name in NAMESPACES:
            self.registry.create(self.catalogue.by_plural("namespaces"), "", {"metadata": {"name": name}})
            self.registry.create(self.catalogue.by_plural("serviceaccounts"), name, {"metadata": {"name": "default"}})

    @property
    def pods(self) -> Any:
        """The resource row of pods."""
        return self.catalogue.by_plural("pods")

    @property
    def nodes(self) -> Any:
        """The resource row of nodes."""
        return self.catalogue.by_plural("nodes")

    def spawn(self, work: Awaitable[None]) -> asyncio.Task[None]:
        """Run something in the background until close; its errors are logged by the loop's handler."""
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            context = {"message": "A part of the lab's Kubernetes failed", "exception": task.exception(), "task": task}
            task.get_loop().call_exception_handler(context)

    async def stop_tasks(self) -> None:
        """Cancel everything that `spawn` started."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def event(self, about: Json, reason: str, message: str, *, component: str, warning: bool = False) -> None:
        """Write a core Event about an object."""
        metadata = about["metadata"]
        namespace = metadata.get("namespace") or "default"
        now = utc_text(self.registry.now())
        reference = {
            "kind": about["kind"],
            "apiVersion": about["apiVersion"],
            "name": metadata["name"],
            "uid": metadata["uid"] if about["kind"] != "Node" else metadata["name"],
        }
        if metadata.get("namespace"):
            reference |= {"namespace": namespace, "resourceVersion": metadata.get("resourceVersion", "")}
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{metadata['name']}.{uuid.uuid4().hex[:16]}",
                "namespace": namespace,
                "creationTimestamp": now,
                "uid": str(uuid.uuid4()),
            },
            "involvedObject": reference,
            "reason": reason,
            "message": message,
            "source": {"component": component},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": "Warning" if warning else "Normal",
            "eventTime": None,
            "reportingComponent": component,
            "reportingInstance": "",
        }
        self.store.put(("", "events"), event)
        self._trim_events()

    def _trim_events(self) -> None:
        """Old events go when there are many, as a real API server drops them after an hour."""
        if self.store.count(("", "events")) <= EVENTS_KEPT * 1.2:
            return
        entries = self.store.entries(("", "events"))
        entries.sort(key=lambda item: int(item[1].obj["metadata"]["resourceVersion"]))
        for key, _ in entries[: len(entries) - EVENTS_KEPT]:
            self.store.remove(("", "events"), *key)
