"""The scheduler: binds pending pods by node selector, node affinity, taints and resources, or says why it cannot."""

from __future__ import annotations

import asyncio
from collections import Counter
from fractions import Fraction
from typing import Any

from lab.kubernetes import quantity
from lab.kubernetes.api.pods import assign, set_condition
from lab.kubernetes.cluster import Cluster
from lab.kubernetes.controllers import taints
from lab.kubernetes.registry import utc_text
from lab.kubernetes.resources import Json
from lab.kubernetes.selectors import matches_labels
from lab.kubernetes.store import Change

PAUSE_SECONDS = 0.05
Amounts = dict[str, Fraction]


def requests_of(pod: Json) -> Amounts:
    """What a pod asks for: the sum of its containers, or its largest init container, and one pod slot."""
    total: Amounts = {"pods": Fraction(1)}
    for container in pod["spec"]["containers"]:
        for name, value in _requests(container).items():
            total[name] = total.get(name, Fraction(0)) + value
    for container in pod["spec"].get("initContainers") or []:
        for name, value in _requests(container).items():
            total[name] = max(total.get(name, Fraction(0)), value)
    return total


def _requests(container: Json) -> Amounts:
    found = (container.get("resources") or {}).get("requests") or {}
    return {name: quantity.parse(value) for name, value in found.items()}


def matches_node(pod: Json, node: Json) -> bool:
    """Node selector and required node affinity."""
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (pod["spec"].get("nodeSelector") or {}).items()):
        return False
    affinity = ((pod["spec"].get("affinity") or {}).get("nodeAffinity")) or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    return any(_term(term, labels, node) for term in required.get("nodeSelectorTerms") or [])


def _term(term: Json, labels: dict[str, str], node: Json) -> bool:
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return False
    named = {"metadata.name": node["metadata"]["name"]}
    return matches_labels({"matchExpressions": expressions}, labels) and matches_labels(
        {"matchExpressions": fields}, named
    )


class Scheduler:
    """Runs shortly after pods or nodes changed."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._due = False

    def start(self) -> None:
        """Begin to listen."""
        self._cluster.store.listen(self._pod_changed, ("", "pods"))
        self._cluster.store.listen(self._node_changed, ("", "nodes"))

    def _pod_changed(self, change: Change) -> None:
        before = change.before.obj if change.before else None
        after = change.after.obj if change.after else None
        done = ("Succeeded", "Failed")
        if (
            after is None
            or (after["status"].get("phase") in done and (before or {}).get("status", {}).get("phase") not in done)
            or (not after["spec"].get("nodeName") and (before is None or before["spec"] != after["spec"]))
        ):
            self._soon()

    def _node_changed(self, change: Change) -> None:
        if change.after is None:
            return
        before, after = change.before.obj if change.before else None, change.after.obj
        if before is None or any(
            _relevant(before, part) != _relevant(after, part) for part in ("spec", "labels", "allocatable")
        ):
            self._soon()

    def place_if_fit(self, pod: Json, node: Json) -> bool:
        """Bind a pod to this node right now if nothing speaks against it; True when it was bound."""
        name = node["metadata"]["name"]
        here = [item for item in self._cluster.store.objects(("", "pods")) if item["spec"].get("nodeName") == name]
        if _refusal(pod, node, requests_of(pod), self._usage(here).get(name, {})):
            return False
        assign(self._cluster, pod, name)
        return True

    def _soon(self) -> None:
        if not self._due:
            self._due = True
            asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._run)

    def _run(self) -> None:
        self._due = False
        pods = list(self._cluster.store.objects(("", "pods")))
        pending = [pod for pod in pods if not pod["spec"].get("nodeName") and _schedulable(pod)]
        if not pending:
            return
        nodes = list(self._cluster.store.objects(("", "nodes")))
        used = self._usage(pods)
        for pod in sorted(pending, key=lambda item: int(item["metadata"]["resourceVersion"])):
            self._place(pod, nodes, used)

    @staticmethod
    def _usage(pods: list[Json]) -> dict[str, Amounts]:
        used: dict[str, Amounts] = {}
        for pod in pods:
            node = pod["spec"].get("nodeName")
            if node and (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
                _add(used.setdefault(node, {}), requests_of(pod))
        return used

    def _place(self, pod: Json, nodes: list[Json], used: dict[str, Amounts]) -> None:
        wanted = requests_of(pod)
        reasons: Counter[str] = Counter()
        fitting = []
        for node in nodes:
            why = _refusal(pod, node, wanted, used.get(node["metadata"]["name"], {}))
            if why:
                reasons.update(why)
            else:
                fitting.append(node)
        if not fitting:
            self._unschedulable(pod, reasons, len(nodes))
            return
        name = min(fitting, key=lambda node: _load(node, used))["metadata"]["name"]
        _add(used.setdefault(name, {}), wanted)
        assign(self._cluster, pod, name)
        metadata = pod["metadata"]
        text = f"Successfully assigned {metadata['namespace']}/{metadata['name']} to {name}"
        self._cluster.event(pod, "Scheduled", text, component="default-scheduler")

    def _unschedulable(self, pod: Json, reasons: Counter[str], total: int) -> None:
        listed = ", ".join(
            f"{count} {text}" for text, count in sorted(reasons.items(), key=lambda item: f"{item[1]} {item[0]}")
        )
        message = f"0/{total} nodes are available: {listed}." if listed else "no nodes available to schedule pods"
        if listed:
            message += f" preemption: 0/{total} nodes are available: {total} Preemption is not helpful for scheduling."
        conditions = (pod.get("status") or {}).get("conditions") or []
        if any(item["type"] == "PodScheduled" and item.get("message") == message for item in conditions):
            return
        now = utc_text(self._cluster.registry.now())

        def change(obj: Json) -> Json:
            set_condition(obj, "PodScheduled", "False", now, "Unschedulable", message)
            return obj

        self._cluster.registry.mutate(self._cluster.pods, pod["metadata"]["namespace"], pod["metadata"]["name"], change)
        self._cluster.event(pod, "FailedScheduling", message, component="default-scheduler", warning=True)


def _relevant(node: Json, part: str) -> Any:
    if part == "labels":
        return node["metadata"].get("labels")
    return (node.get("status") or {}).get(part) if part == "allocatable" else node.get(part)


def _schedulable(pod: Json) -> bool:
    spec, status = pod["spec"], pod.get("status") or {}
    own = spec.get("schedulerName", "default-scheduler") == "default-scheduler"
    return (
        own
        and status.get("phase") == "Pending"
        and not pod["metadata"].get("deletionTimestamp")
        and not spec.get("schedulingGates")
    )


def _add(total: Amounts, more: Amounts) -> None:
    for name, value in more.items():
        total[name] = total.get(name, Fraction(0)) + value


def _load(node: Json, used: dict[str, Amounts]) -> tuple[Fraction, str]:
    name = node["metadata"]["name"]
    return used.get(name, {}).get("pods", Fraction(0)), name


def _refusal(pod: Json, node: Json, wanted: Amounts, used: Amounts) -> list[str]:
    """Why a node does not take a pod, in the scheduler's words; the first failing filter speaks."""
    if node["spec"].get("unschedulable") and not _tolerates_cordon(pod):
        return ["node(s) were unschedulable"]
    taint = taints.untolerated(pod, node["spec"].get("taints") or [], ("NoSchedule", "NoExecute"))
    if taint is not None:
        return [f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value') or ''}}}"]
    if not matches_node(pod, node):
        return ["node(s) didn't match Pod's node affinity/selector"]
    free = {
        name: quantity.parse(value) for name, value in ((node.get("status") or {}).get("allocatable") or {}).items()
    }
    short = [
        name for name, value in wanted.items() if value > free.get(name, Fraction(0)) - used.get(name, Fraction(0))
    ]
    return ["Too many pods" if name == "pods" else f"Insufficient {name}" for name in short]


def _tolerates_cordon(pod: Json) -> bool:
    taint = {"key": taints.UNSCHEDULABLE, "effect": "NoSchedule"}
    return any(taints.tolerates(item, taint) for item in pod["spec"].get("tolerations") or [])
