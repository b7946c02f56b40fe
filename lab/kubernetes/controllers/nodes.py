"""Node lifecycle: readiness taints, the unschedulable taint, silent nodes, and eviction by NoExecute taints.

Delays are lab time. A heartbeat that is missing for four intervals makes a node unknown; its pods then leave after the
time that they tolerate, as far as anybody can tell: a dead kubelet does not confirm.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from lab.kubelet import heartbeat
from lab.kubernetes.api.pods import set_condition
from lab.kubernetes.cluster import Cluster
from lab.kubernetes.controllers import taints
from lab.kubernetes.registry import utc_text
from lab.kubernetes.resources import Json
from lab.kubernetes.store import Change

READY_TAINT_LAB_SECONDS = 0.6
UNKNOWN_MESSAGE = "Kubelet stopped posting node status."


def ready_status(node: Json) -> str:
    """`True`, `False`, `Unknown`, or an empty text without such a condition."""
    conditions = (node.get("status") or {}).get("conditions") or []
    return next((str(item["status"]) for item in conditions if item["type"] == "Ready"), "")


class NodeController:
    """Keeps the taints of nodes in line with their conditions and with `spec.unschedulable`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._timers: dict[str, Any] = {}
        self._evictions: dict[tuple[str, str], Any] = {}

    def start(self) -> None:
        """Begin to listen."""
        self._cluster.store.listen(self._node_changed, ("", "nodes"))
        self._cluster.store.listen(self._pod_changed, ("", "pods"))

    # -- taints -----------------------------------------------------------------------------------------------------

    def _node_changed(self, change: Change) -> None:
        name = change.key[1]
        if change.after is None:
            return
        node = change.after.obj
        if self._wanted_taints(node) != (node["spec"].get("taints") or []) and name not in self._timers:
            delay = timedelta(seconds=READY_TAINT_LAB_SECONDS)
            self._timers[name] = self._cluster.world.clock.call_later(delay, lambda: self._sync(name))
        self._evict_from(node, change.before.obj if change.before else None)

    def _wanted_taints(self, node: Json) -> list[Json]:
        found: list[Json] = node["spec"].get("taints") or []
        now = utc_text(self._cluster.registry.now())
        ready = ready_status(node)
        found = self._readiness(found, ready, now)
        if node["spec"].get("unschedulable"):
            return taints.with_taint(found, taints.UNSCHEDULABLE, "NoSchedule", now)
        return taints.without_taint(found, taints.UNSCHEDULABLE)

    @staticmethod
    def _readiness(found: list[Json], ready: str, now: str) -> list[Json]:
        if ready == "True":
            return taints.without_taint(taints.without_taint(found, taints.NOT_READY), taints.UNREACHABLE)
        if ready == "":
            return found
        key = taints.UNREACHABLE if ready == "Unknown" else taints.NOT_READY
        other = taints.NOT_READY if ready == "Unknown" else taints.UNREACHABLE
        found = taints.without_taint(found, other)
        return taints.with_taint(taints.with_taint(found, key, "NoSchedule", now), key, "NoExecute", now)

    def _sync(self, name: str) -> None:
        self._timers.pop(name, None)

        def change(node: Json) -> Json:
            wanted = self._wanted_taints(node)
            if wanted:
                node["spec"]["taints"] = wanted
            else:
                node["spec"].pop("taints", None)
            return node

        self._cluster.registry.mutate(self._cluster.nodes, "", name, change)

    # -- silent nodes -----------------------------------------------------------------------------------------------

    def check_silent(self) -> None:
        """Mark nodes whose heartbeat is overdue; called after each round of heartbeats."""
        cluster = self._cluster
        limit = heartbeat.interval(cluster, len(cluster.world.nodes)) * heartbeat.GRACE_INTERVALS
        now = cluster.world.clock.now()
        beats = cluster.kubelets.beats
        for node in list(cluster.store.objects(("", "nodes"))):
            name = node["metadata"]["name"]
            if name in beats and now - beats[name] > limit and ready_status(node) != "Unknown":
                self._mark_unknown(name)

    def _mark_unknown(self, name: str) -> None:
        now = utc_text(self._cluster.registry.now())

        def change(node: Json) -> Json:
            for item in node["status"].get("conditions") or []:
                if item["type"] in {kind for kind, *_ in _KUBELET_CONDITIONS} and item["status"] != "Unknown":
                    item.update(
                        status="Unknown", reason="NodeStatusUnknown", message=UNKNOWN_MESSAGE, lastTransitionTime=now
                    )
            return node

        made = self._cluster.registry.mutate(self._cluster.nodes, "", name, change)
        if made is not None:
            self._cluster.event(
                made, "NodeNotReady", f"Node {name} status is now: NodeNotReady", component="node-controller"
            )
        for pod in list(self._cluster.store.objects(("", "pods"))):
            if pod["spec"].get("nodeName") == name:
                self._unready(pod, now)

    def _unready(self, pod: Json, now: str) -> None:
        def change(obj: Json) -> Json:
            set_condition(obj, "Ready", "False", now, "NodeNotReady")
            return obj

        phase = (pod.get("status") or {}).get("phase")
        if phase not in ("Succeeded", "Failed"):
            self._cluster.registry.mutate(
                self._cluster.pods, pod["metadata"]["namespace"], pod["metadata"]["name"], change
            )

    # -- NoExecute --------------------------------------------------------------------------------------------------

    def _evict_from(self, node: Json, before: Json | None) -> None:
        def strict(obj: Json | None) -> list[Json]:
            return [item for item in (obj or {"spec": {}})["spec"].get("taints") or [] if item["effect"] == "NoExecute"]

        if strict(node) == strict(before):
            return
        for pod in list(self._cluster.store.objects(("", "pods"))):
            if pod["spec"].get("nodeName") == node["metadata"]["name"]:
                self._plan(pod, strict(node))

    def _pod_changed(self, change: Change) -> None:
        if change.after is None:
            timer = self._evictions.pop(change.key, None)
            if timer is not None:
                timer.cancel()
            return
        pod, before = change.after.obj, change.before.obj if change.before else None
        bound = pod["spec"].get("nodeName")
        if not bound or (before and before["spec"].get("nodeName") == bound):
            return
        node = self._cluster.store.get(("", "nodes"), "", bound)
        if node is not None:
            self._plan(pod, node["spec"].get("taints") or [])

    def _plan(self, pod: Json, node_taints: list[Json]) -> None:
        key = (pod["metadata"]["namespace"], pod["metadata"]["name"])
        timer = self._evictions.pop(key, None)
        if timer is not None:
            timer.cancel()
        seconds = taints.stay_seconds(pod, node_taints)
        if seconds is None or pod["metadata"].get("deletionTimestamp"):
            return
        uid = pod["metadata"]["uid"]
        self._evictions[key] = self._cluster.world.clock.call_later(
            timedelta(seconds=seconds), lambda: self._delete(key, uid)
        )

    def _delete(self, key: tuple[str, str], uid: str) -> None:
        self._evictions.pop(key, None)
        pod = self._cluster.store.get(("", "pods"), *key)
        if pod is None or pod["metadata"]["uid"] != uid:
            return
        now = utc_text(self._cluster.registry.now())

        def change(obj: Json) -> Json:
            message = "Taint manager: deleting due to NoExecute taint"
            set_condition(obj, "DisruptionTarget", "True", now, "DeletionByTaintManager", message)
            return obj

        self._cluster.registry.mutate(self._cluster.pods, *key, change)
        self._cluster.event(
            pod,
            "TaintManagerEviction",
            f"Marking for deletion Pod {key[0]}/{key[1]}",
            component="taint-eviction-controller",
        )
        self._cluster.registry.delete(self._cluster.pods, *key)


_KUBELET_CONDITIONS = (("Ready",), ("MemoryPressure",), ("DiskPressure",), ("PIDPressure",))
