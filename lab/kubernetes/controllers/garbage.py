"""What disappears with something else: pods of deleted nodes, dependents of owners, contents of namespaces."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from lab.kubernetes.api.pods import set_condition
from lab.kubernetes.cluster import Cluster
from lab.kubernetes.registry import utc_text
from lab.kubernetes.resources import Json
from lab.kubernetes.store import Change

ORPHAN_LAB_SECONDS = 40.0


class GarbageCollector:
    """Listens to deletions."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def start(self) -> None:
        """Begin to listen."""
        self._cluster.store.listen(self._changed)

    def _changed(self, change: Change) -> None:
        if change.place == ("", "namespaces") and change.after is not None:
            if change.after.obj["metadata"].get("deletionTimestamp"):
                asyncio.get_running_loop().call_soon(self._empty, change.key[1])
            return
        if change.after is not None or change.before is None or change.place == ("", "events"):
            return
        if change.place == ("", "nodes"):
            name = change.key[1]
            delay = timedelta(seconds=ORPHAN_LAB_SECONDS)
            self._cluster.world.clock.call_later(delay, lambda: self._orphans(name))
        self._dependents(change.before.obj)

    def _orphans(self, name: str) -> None:
        """Pods of a node that has been gone for a while."""
        if self._cluster.store.get(("", "nodes"), "", name) is not None:
            return
        now = utc_text(self._cluster.registry.now())

        def mark(pod: Json) -> Json:
            message = "PodGC: node no longer exists"
            set_condition(pod, "DisruptionTarget", "True", now, "DeletionByPodGC", message)
            if pod["status"].get("phase") not in ("Succeeded", "Failed"):
                pod["status"]["phase"] = "Failed"
            return pod

        for pod in list(self._cluster.store.objects(("", "pods"))):
            if pod["spec"].get("nodeName") == name:
                key = (pod["metadata"]["namespace"], pod["metadata"]["name"])
                self._cluster.registry.mutate(self._cluster.pods, *key, mark)
                self._cluster.registry.delete(self._cluster.pods, *key, {"gracePeriodSeconds": 0})

    def _dependents(self, owner: Json) -> None:
        uid, namespace = owner["metadata"]["uid"], owner["metadata"].get("namespace")
        for resource in self._cluster.catalogue:
            if resource.plural == "events" or resource.verbs == ("create",):
                continue
            for obj in self._cluster.store.objects(resource.storage, namespace):
                owners = obj["metadata"].get("ownerReferences") or []
                if owners and all(item["uid"] == uid for item in owners):
                    key = (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
                    asyncio.get_running_loop().call_soon(self._delete_if_there, resource, *key)

    def _delete_if_there(self, resource: object, namespace: str, name: str) -> None:
        if self._cluster.store.get(resource.storage, namespace, name) is not None:  # type: ignore[attr-defined]
            self._cluster.registry.delete(resource, namespace, name)  # type: ignore[arg-type]

    def _empty(self, namespace: str) -> None:
        """Delete everything in a terminating namespace; the namespace goes when the last object has gone."""
        left = 0
        for resource in self._cluster.catalogue:
            if not resource.namespaced or resource.verbs == ("create",):
                continue
            for obj in list(self._cluster.store.objects(resource.storage, namespace)):
                if self._cluster.store.get(resource.storage, namespace, obj["metadata"]["name"]) is not None:
                    _, gone = self._cluster.registry.delete(resource, namespace, obj["metadata"]["name"])
                    left += not gone
        if left:
            asyncio.get_running_loop().call_later(0.5, self._empty, namespace)
        elif self._cluster.store.get(("", "namespaces"), "", namespace) is not None:
            self._cluster.store.remove(("", "namespaces"), "", namespace)
