"""A Node document as a `ClusterNode`, and the patches that make it show what the ledger says. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from nodeworthy.ports import Agent, ClusterNode, Device, Taint
from nodeworthy.ports.pods import GPU_RESOURCES

OURS = "nodeworthy.dev/"
"""The prefix of taints and annotations that are ours to add and to remove."""
IMAGE = "nodeworthy.dev/image"
EPISODE = "nodeworthy.dev/episode"
REVISION = "nodeworthy.dev/revision"
CORDONED = "nodeworthy.dev/cordoned"
"""Annotation of a node that we cordoned, with the episode; without it a cordon is somebody else's."""
CONDITION = "NodeworthyMilestone"
_TROUBLES = (
    "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "ReadonlyFilesystem", "KernelDeadlock",
)  # fmt: skip
"""Conditions of the kubelet, of network plugins and of node-problem-detector; what others add is theirs to act on."""
_CAPITAL = re.compile(r"(?<!^)([A-Z])")

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a Node shall show. `cordon` None leaves schedulability alone; `revision` 0 is a write without a number."""

    taints: Sequence[Taint]
    labels: Mapping[str, str | None]
    episode: int
    cordon: bool | None = None
    revision: int = 0


@dataclass
class _Changes:
    """A patch as it grows."""

    labels: dict[str, str | None] = field(default_factory=dict)
    annotations: dict[str, str | None] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)


def cluster_node(document: Json) -> ClusterNode:
    """Return what a node's life needs of its Node object; a missing condition counts as not ready."""
    metadata, spec, status = document["metadata"], document.get("spec") or {}, document.get("status") or {}
    info = status.get("nodeInfo") or {}
    conditions = {row.get("type"): row for row in status.get("conditions") or ()}
    labels = metadata.get("labels") or {}
    return ClusterNode(
        name=metadata["name"],
        uid=metadata["uid"],
        ready=conditions.get("Ready", {}).get("status") == "True",
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
        ready_since=_moment(conditions.get("Ready", {}).get("lastTransitionTime")),
        troubles=tuple(
            f"{kind} ({row.get('message') or row.get('reason') or 'no message'})"
            for kind, row in conditions.items()
            if kind in _TROUBLES and row.get("status") == "True"
        ),
        gpus=_gpus(status.get("allocatable") or {}),
        kubelet=info.get("kubeletVersion", ""),
        runtime=info.get("containerRuntimeVersion", ""),
        os=info.get("osImage", ""),
        milestone=_CAPITAL.sub(r"_\1", conditions.get(CONDITION, {}).get("reason", "")).lower(),
    )


def _gpus(allocatable: Json) -> int | None:
    offered = [str(allocatable[name]) for name in GPU_RESOURCES if name in allocatable]
    return sum(int(count) for count in offered) if offered and all(count.isdigit() for count in offered) else None


def agents(document: Json) -> tuple[Agent, ...]:
    """Return the pods of a list; one that is being deleted is not Ready, whatever its condition still says."""
    return tuple(
        Agent(
            row["metadata"]["name"],
            "deletionTimestamp" not in row["metadata"]
            and any(
                one.get("type") == "Ready" and one.get("status") == "True"
                for one in (row.get("status") or {}).get("conditions") or ()
            ),
        )
        for row in document["items"]
    )


def devices(document: Json) -> tuple[Device, ...]:
    """Return the devices of a list of ResourceSlices. A driver replaces a pool by slices of a higher generation."""
    specs = [row["spec"] for row in document["items"]]
    newest: dict[str, int] = {}
    for spec in specs:
        name, generation = spec["pool"]["name"], int(spec["pool"].get("generation", 0))
        newest[name] = max(newest.get(name, 0), generation)
    return tuple(
        Device(row["name"], tuple(_taint(one) for one in row.get("taints") or ()))
        for spec in specs
        if int(spec["pool"].get("generation", 0)) == newest[spec["pool"]["name"]]
        for row in spec.get("devices") or ()
    )


def stale(document: Json, wanted: Wanted) -> str:
    """Return what the Node was written for when that is later than what is wanted; empty when it is not."""
    annotations = document["metadata"].get("annotations") or {}
    episode, revision = int(annotations.get(EPISODE, 0)), int(annotations.get(REVISION, 0))
    if episode > wanted.episode:
        return f"episode {episode} and this is episode {wanted.episode}"
    if wanted.revision and revision > wanted.revision:
        return f"move {revision} and this is move {wanted.revision}"
    return ""


def projection_patch(document: Json, wanted: Wanted) -> Json | None:
    """Return the merge patch that makes the Node show what is wanted; None when it does. Others' taints stay."""
    metadata, spec = document["metadata"], document.get("spec") or {}
    carried = list(spec.get("taints") or ())
    taints = [*(row for row in carried if not row["key"].startswith(OURS)), *_ours(carried, wanted.taints)]
    current, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    changes = _Changes(labels={key: value for key, value in wanted.labels.items() if current.get(key) != value})
    if not _same(carried, taints):
        changes.spec["taints"] = taints
    numbers = {EPISODE: str(wanted.episode), **({REVISION: str(wanted.revision)} if wanted.revision else {})}
    changes.annotations.update({key: value for key, value in numbers.items() if annotations.get(key) != value})
    _cordon(changes, wanted, annotations, cordoned=bool(spec.get("unschedulable", False)))
    if not (changes.labels or changes.annotations or changes.spec):
        return None
    numbered = {"resourceVersion": metadata["resourceVersion"]}
    return {
        "metadata": {**numbered, "labels": changes.labels, "annotations": changes.annotations},
        "spec": changes.spec,
    }


def condition_patch(milestone: str, message: str, now: str) -> Json:
    """Return the strategic merge patch of the status; conditions merge by their type."""
    # The API wants a reason in capitals and one word: in_service is InService.
    reason = "".join(word.capitalize() for word in milestone.split("_"))
    row = {"type": CONDITION, "status": "True", "reason": reason, "message": message}
    return {"status": {"conditions": [{**row, "lastHeartbeatTime": now, "lastTransitionTime": now}]}}


def _cordon(changes: _Changes, wanted: Wanted, annotations: Json, *, cordoned: bool) -> None:
    """Cordon and own it; uncordon only what is ours. A node that somebody cordoned before stays theirs."""
    ours = CORDONED in annotations
    if wanted.cordon and not cordoned:
        changes.spec["unschedulable"] = True
        if not ours:
            changes.annotations[CORDONED] = str(wanted.episode)
    elif wanted.cordon is False and ours:
        changes.annotations[CORDONED] = None
        if cordoned:
            changes.spec["unschedulable"] = None


def _ours(carried: Sequence[Json], taints: Sequence[Taint]) -> list[Json]:
    """Keep a row of ours as it stands (it may bear a timeAdded), add those that are missing."""
    there = {_key(row): row for row in carried}
    rows = [{"key": one.key, "effect": one.effect, **({"value": one.value} if one.value else {})} for one in taints]
    return [there.get(_key(row), row) for row in rows]


def _same(one: Sequence[Json], other: Sequence[Json]) -> bool:
    return {_key(row) for row in one} == {_key(row) for row in other}


def _key(row: Json) -> tuple[str, str, str]:
    return row["key"], row["effect"], row.get("value", "")


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _taint(row: Json) -> Taint:
    return Taint(row["key"], row["effect"], row.get("value", ""))
