"""Counts from outside what clients did to nodes: deletions, removed taints, cordons."""

from __future__ import annotations

from lab.kubernetes.cluster import Cluster
from lab.kubernetes.resources import Json
from lab.kubernetes.store import Change

ANNOTATION = "nodeworthy.dev/effect"
_OWN = "node.kubernetes.io/"


def _keys(node: Json) -> set[str]:
    return {
        f"{item['key']}:{item['effect']}"
        for item in node["spec"].get("taints") or []
        if not item["key"].startswith(_OWN)
    }


class EffectCounter:
    """Tells the world about changes of nodes; `nodeworthy.dev/effect` on the node names the effect."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def start(self) -> None:
        """Begin to listen."""
        self._cluster.store.listen(self._changed, ("", "nodes"))

    def _changed(self, change: Change) -> None:
        if change.before is None:
            return
        before, name = change.before.obj, change.key[1]
        after = change.after.obj if change.after is not None else None
        effect = ((after or before)["metadata"].get("annotations") or {}).get(ANNOTATION)
        record = self._cluster.world.record_effect
        if after is None:
            record("node-delete", name, effect, uid=before["metadata"]["uid"])
            return
        for key in sorted(_keys(before) - _keys(after)):
            record("taint-removed", name, effect, taint=key)
        for key in sorted(_keys(after) - _keys(before)):
            record("taint-added", name, effect, taint=key)
        was, now = bool(before["spec"].get("unschedulable")), bool(after["spec"].get("unschedulable"))
        if was != now:
            record("cordon" if now else "uncordon", name, effect)
