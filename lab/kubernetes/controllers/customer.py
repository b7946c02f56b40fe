"""A customer who always wants a GPU: one tiny pod that tolerates nothing and records where it was ever placed.

It proves from outside that nobody's workload can land on a node before it is admitted. A node where it ran is left
alone until that node's taints change, so that nodes in service do not burn CPU.
"""

from __future__ import annotations

import asyncio
import secrets

from lab.kubernetes.cluster import Cluster
from lab.kubernetes.controllers.scheduler import Scheduler
from lab.kubernetes.resources import Json
from lab.kubernetes.store import Change

NAMESPACE = "customers"
LABEL = "nodeworthy.dev/customer-probe"
PAUSE_SECONDS = 0.05
EFFECT = "customer-pod-scheduled"


class CustomerProbe:
    """Keeps one pending pod, and starts anew when it was placed somewhere."""

    def __init__(self, cluster: Cluster, scheduler: Scheduler) -> None:
        self._cluster = cluster
        self._scheduler = scheduler
        self._seen: dict[str, str] = {}
        self._current = ""
        self._counted = ""
        self._due = False

    def start(self) -> None:
        """Create the first pod and begin to listen."""
        self._cluster.store.listen(self._pod_changed, ("", "pods"))
        self._cluster.store.listen(self._node_changed, ("", "nodes"))
        self._create()

    def _pod_changed(self, change: Change) -> None:
        if change.key != (NAMESPACE, self._current):
            return
        if change.after is None:
            self._later()
            return
        node = change.after.obj["spec"].get("nodeName")
        if node and not change.after.obj["metadata"].get("deletionTimestamp"):
            self._placed(node)

    def _placed(self, name: str) -> None:
        if self._counted == self._current:
            return
        self._counted = self._current
        self._cluster.world.record_effect(EFFECT, name, None, pod=self._current)
        obj = self._cluster.store.get(("", "nodes"), "", name)
        self._seen[name] = _state(obj) if obj is not None else ""
        asyncio.get_running_loop().call_soon(self._end, self._current)

    def _end(self, name: str) -> None:
        if self._cluster.store.get(("", "pods"), NAMESPACE, name) is not None:
            self._cluster.registry.delete(self._cluster.pods, NAMESPACE, name, {"gracePeriodSeconds": 0})

    def _node_changed(self, change: Change) -> None:
        """A node whose taints or cordon changed, or that is new, is tried at once: no moment is too short to count."""
        name = change.key[1]
        state = _state(change.after.obj) if change.after is not None else None
        if name in self._seen and self._seen[name] != state:
            del self._seen[name]
            self._later()
        if change.after is not None and name not in self._seen:
            self._try(change.after.obj)

    def _try(self, node: Json) -> None:
        pod = self._cluster.store.get(("", "pods"), NAMESPACE, self._current)
        if pod is not None and not pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp"):
            # The change may be history by now; what counts is that this state of the node would have taken the pod.
            self._scheduler.place_if_fit(pod, node)

    def _later(self) -> None:
        if not self._due:
            self._due = True
            asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._renew)

    def _renew(self) -> None:
        self._due = False
        if self._cluster.store.get(("", "pods"), NAMESPACE, self._current) is not None:
            self._end(self._current)
            return
        self._create()

    def _create(self) -> None:
        self._current = f"probe-{secrets.token_hex(4)}"
        resources = {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1", "cpu": "1m"}}
        container = {"name": "work", "image": "customer/work:1", "resources": resources}
        spec: Json = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]}
        if self._seen:
            expression = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": sorted(self._seen)}
            required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
            spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        metadata = {"name": self._current, "labels": {LABEL: "true"}}
        self._cluster.registry.create(self._cluster.pods, NAMESPACE, {"metadata": metadata, "spec": spec})


def _state(node: Json) -> str:
    spec = node["spec"]
    taints = sorted((item["key"], item["effect"]) for item in spec.get("taints") or [])
    return f"{node['metadata']['uid']} {bool(spec.get('unschedulable'))} {taints}"
