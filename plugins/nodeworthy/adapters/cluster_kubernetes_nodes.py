"""A Node document as a `ClusterNode`, and the patch that makes it carry a milestone's projection. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nodeworthy.ports import ClusterNode, Taint

OURS = "nodeworthy.dev/"
"""The prefix of taints and annotations that are ours to add and to remove."""
IMAGE = "nodeworthy.dev/image"
EPISODE = "nodeworthy.dev/episode"

Json = Mapping[str, Any]


def cluster_node(document: Json) -> ClusterNode:
    """Return what a node's life needs of its Node object; a missing condition counts as not ready."""
    metadata, spec, status = document["metadata"], document.get("spec") or {}, document.get("status") or {}
    info = status.get("nodeInfo") or {}
    conditions = {row.get("type"): row.get("status") for row in status.get("conditions") or ()}
    labels = metadata.get("labels") or {}
    return ClusterNode(
        name=metadata["name"],
        uid=metadata["uid"],
        ready=conditions.get("Ready") == "True",
        schedulable=not spec.get("unschedulable", False),
        boot_id=info.get("bootID", ""),
        machine_id=info.get("machineID", ""),
        system_uuid=info.get("systemUUID", ""),
        image=labels.get(IMAGE, ""),
        kernel=info.get("kernelVersion", ""),
        taints=tuple(_taint(row) for row in spec.get("taints") or ()),
        labels=dict(labels),
        annotations=dict(metadata.get("annotations") or {}),
        resource_version=metadata["resourceVersion"],
    )


def projection_patch(
    document: Json, taints: Sequence[Taint], labels: Mapping[str, str | None], episode: int
) -> Json | None:
    """Return the merge patch that leaves exactly these of our taints and labels; None when the node has them."""
    metadata, spec = document["metadata"], document.get("spec") or {}
    carried = list(spec.get("taints") or ())
    wanted = [*(row for row in carried if not row["key"].startswith(OURS)), *_ours(carried, taints)]
    current = metadata.get("labels") or {}
    changed = {key: value for key, value in labels.items() if current.get(key) != value}
    same_episode = (metadata.get("annotations") or {}).get(EPISODE) == str(episode)
    if _same(carried, wanted) and not changed and same_episode:
        return None
    return {
        "metadata": {
            "resourceVersion": metadata["resourceVersion"],
            "labels": changed,
            "annotations": {EPISODE: str(episode)},
        },
        "spec": {"taints": wanted},
    }


def _ours(carried: Sequence[Json], taints: Sequence[Taint]) -> list[Json]:
    """Keep a row of ours as it stands (it may bear a timeAdded), add those that are missing."""
    there = {_key(row): row for row in carried}
    rows = [{"key": one.key, "effect": one.effect, **({"value": one.value} if one.value else {})} for one in taints]
    return [there.get(_key(row), row) for row in rows]


def _same(one: Sequence[Json], other: Sequence[Json]) -> bool:
    return {_key(row) for row in one} == {_key(row) for row in other}


def _key(row: Json) -> tuple[str, str, str]:
    return row["key"], row["effect"], row.get("value", "")


def _taint(row: Json) -> Taint:
    return Taint(row["key"], row["effect"], row.get("value", ""))
