"""The pods of tests over several nodes: one per node, on the host's network, pinned by selector and tolerations.

The host's network, because its addresses are known before a pod starts and because RDMA devices belong to it. The key
that a group's pods share is made here, lives in their environment, and is known nowhere else: a group that was started
half goes on with the key of the pods that run.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nodeworthy.adapters.cluster_kubernetes import Door
from nodeworthy.errors import Refused
from nodeworthy.ports import GroupMember, PodState
from nodeworthy.ports.pods import TOLERATED, gpu_limits, vendor_of

GROUP_LABEL = "nodeworthy.dev/group"
KEY_VARIABLE = "NODEWORTHY_GROUP_KEY"
PROBE, SIDECAR = "probe", "airflow-xcom-sidecar"
"""The second container keeps the result readable after the probe has ended, as Airflow's does for pods of one node."""
WAIT = "trap 'exit 0' TERM INT; while true; do sleep 1; done"
STUCK = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError"})


class PodsKubernetes:
    """Implements `ports.GroupPods` in one namespace."""

    def __init__(self, door: Door, *, namespace: str, image_of: Callable[[str], str]) -> None:
        self._door = door
        self._namespace = namespace
        self._image_of = image_of

    def address(self, node: str) -> str:
        """Return the node's InternalIP. Refused when there is no Node or it names none."""
        found = self._door.ask(f"reading node {node}", self._door.core.read_node, node)
        rows = found.status.addresses or [] if found is not None else []
        for row in rows:
            if row.type == "InternalIP":
                return str(row.address)
        raise Refused(f"Node {node} tells no InternalIP, so others cannot reach it: look at its kubelet.")

    def start(self, group: str, members: Sequence[GroupMember]) -> None:
        """Create what is not there yet, all with one key."""
        there = self._list(group)
        key = next((found for pod in there if (found := _key_of(pod))), None) or secrets.token_hex(32)
        names = {pod.metadata.name for pod in there}
        for member in members:
            if member.pod not in names:
                manifest = pod_manifest(group, member, key, self._image_of(vendor_of(member.plan)))
                create = self._door.core.create_namespaced_pod
                self._door.ask(f"starting pod {member.pod}", create, self._namespace, manifest)

    def look(self, group: str) -> Mapping[str, PodState]:
        """Return each pod's state as its probe container tells it."""
        return {pod.metadata.name: _state(pod) for pod in self._list(group)}

    def remove(self, group: str) -> None:
        """Delete the group's pods at once: their results are home, or will never be."""
        for pod in self._list(group):
            name, delete = pod.metadata.name, self._door.core.delete_namespaced_pod
            self._door.ask(f"deleting pod {name}", delete, name, self._namespace, grace_period_seconds=0)

    def _list(self, group: str) -> list[Any]:
        what, listing = f"listing the pods of group {group}", self._door.core.list_namespaced_pod
        found = self._door.ask(what, listing, self._namespace, label_selector=f"{GROUP_LABEL}={group}")
        rows = found.items if found is not None else ()
        return [pod for pod in rows if pod.metadata.deletion_timestamp is None]


def pod_manifest(group: str, member: GroupMember, key: str, image: str) -> dict[str, Any]:
    """Return the pod of one member. It is privileged because the fabric's adapters are devices of the host."""
    mount = {"name": "result", "mountPath": "/airflow/xcom"}
    variables = {"NODEWORTHY_PLAN": json.dumps(member.plan), KEY_VARIABLE: key}
    probe = {
        "name": PROBE,
        "image": image,
        "env": [{"name": name, "value": value} for name, value in variables.items()],
        "resources": {"limits": gpu_limits(member.gpus, member.plan)},
        "securityContext": {"privileged": True},
        "volumeMounts": [mount],
    }
    sidecar = {"name": SIDECAR, "image": image, "command": ["/bin/sh", "-c", WAIT], "volumeMounts": [mount]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": member.pod,
            "labels": {
                GROUP_LABEL: group,
                "nodeworthy.dev/node": member.node,
                "nodeworthy.dev/suite": member.plan["suite"],
            },
            "annotations": {
                "nodeworthy.dev/episode": str(member.plan["episode"]),
                "nodeworthy.dev/privileges": "rdma and the host's network for a test over several nodes",
            },
        },
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": int(member.limit.total_seconds()),
            "hostNetwork": True,
            "automountServiceAccountToken": False,
            "nodeSelector": {"kubernetes.io/hostname": member.node},
            "tolerations": [{"key": taint, "operator": "Exists", "effect": "NoSchedule"} for taint in TOLERATED],
            "containers": [probe, sidecar],
            "volumes": [{"name": "result", "emptyDir": {}}],
        },
    }


def _key_of(pod: Any) -> str | None:
    return next((str(row.value) for row in pod.spec.containers[0].env or () if row.name == KEY_VARIABLE), None)


def _state(pod: Any) -> PodState:
    if pod.status.phase in ("Failed", "Succeeded"):
        return PodState(True, f"the pod ended as {pod.status.phase} ({pod.status.reason or 'no reason given'})")
    for status in pod.status.container_statuses or ():
        if status.name != PROBE:
            continue
        if status.state.terminated is not None:
            return PodState(True)
        if status.state.waiting is not None and status.state.waiting.reason in STUCK:
            return PodState(True, f"its image cannot be used ({status.state.waiting.reason})")
    return PodState(False)
