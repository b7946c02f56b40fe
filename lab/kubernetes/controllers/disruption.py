"""Pod disruption budgets: their status, and the eviction API's refusals."""

from __future__ import annotations

import asyncio
import math
from typing import Any

from lab.kubernetes.cluster import Cluster
from lab.kubernetes.errors import ApiError
from lab.kubernetes.registry import utc_text
from lab.kubernetes.resources import Json, Resource
from lab.kubernetes.selectors import matches_labels
from lab.kubernetes.store import Change

PLACE = ("policy", "poddisruptionbudgets")
OBSERVE_SECONDS = 0.2


def _healthy(pod: Json) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    ready = any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)
    return ready and not pod["metadata"].get("deletionTimestamp")


def _bound(value: Any, total: int, *, up: bool = True) -> int:
    if isinstance(value, str) and value.endswith("%"):
        share = total * float(value[:-1]) / 100
        return math.ceil(share) if up else math.floor(share)
    return int(value)


def budget_status(budget: Json, pods: list[Json], now: str) -> Json:
    """The status of a budget. Bare pods have no scale, so only an integer minAvailable lets them be evicted."""
    spec = budget["spec"]
    chosen = [pod for pod in pods if matches_labels(spec.get("selector"), pod["metadata"].get("labels") or {})]
    chosen = [pod for pod in chosen if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")]
    healthy = sum(1 for pod in chosen if _healthy(pod))
    minimum, maximum = spec.get("minAvailable"), spec.get("maxUnavailable")
    scaled = all(pod["metadata"].get("ownerReferences") for pod in chosen)
    allowed, desired = 0, 0
    if isinstance(minimum, int):
        desired = minimum
        allowed = max(healthy - desired, 0)
    elif scaled and (minimum is not None or maximum is not None):
        total = len(chosen)
        desired = _bound(minimum, total) if minimum is not None else max(total - _bound(maximum, total), 0)
        allowed = max(healthy - desired, 0)
    allowed = allowed if chosen else 0
    reason = "SufficientPods" if allowed else "InsufficientPods"
    if not scaled and not isinstance(minimum, int):
        reason = "SyncFailed"
    condition = {
        "type": "DisruptionAllowed",
        "status": "True" if allowed else "False",
        "reason": reason,
        "message": "",
        "observedGeneration": budget["metadata"]["generation"],
        "lastTransitionTime": now,
    }
    old = next(iter((budget.get("status") or {}).get("conditions") or []), None)
    if old and old["status"] == condition["status"]:
        condition["lastTransitionTime"] = old["lastTransitionTime"]
    return {
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": len(chosen),
        "observedGeneration": budget["metadata"]["generation"],
        "conditions": [condition],
    }


class DisruptionController:
    """Recomputes the budgets of a namespace shortly after its pods or budgets changed."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._due: set[str] = set()

    def start(self) -> None:
        """Begin to listen."""
        self._cluster.store.listen(self._changed, PLACE)
        self._cluster.store.listen(self._changed, ("", "pods"))

    def _changed(self, change: Change) -> None:
        namespace = change.key[0]
        if namespace in self._due or (change.place != PLACE and not self._has_budget(namespace)):
            return
        self._due.add(namespace)
        asyncio.get_running_loop().call_later(OBSERVE_SECONDS, self._sync, namespace)

    def _has_budget(self, namespace: str) -> bool:
        store = self._cluster.store
        return bool(store.count(PLACE)) and any(key[0] == namespace for key, _ in store.entries(PLACE))

    def _sync(self, namespace: str) -> None:
        self._due.discard(namespace)
        pods = list(self._cluster.store.objects(("", "pods"), namespace))
        now = utc_text(self._cluster.registry.now())
        resource = self._cluster.catalogue.by_plural("poddisruptionbudgets", "policy")
        for budget in list(self._cluster.store.objects(PLACE, namespace)):
            self._write(resource, budget, budget_status(budget, pods, now))

    def _write(self, resource: Resource, budget: Json, status: Json) -> None:
        metadata = budget["metadata"]
        self._cluster.registry.mutate(
            resource, metadata["namespace"], metadata["name"], lambda obj: {**obj, "status": status}
        )


def _never_blocked(pod: Json) -> bool:
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Pending", "Succeeded", "Failed") or bool(pod["metadata"].get("deletionTimestamp"))


def _too_many(message: str, causes: list[Json], **headers: str) -> ApiError:
    details: Json = {"causes": causes}
    if headers:
        details["retryAfterSeconds"] = int(headers["Retry_After"])
    return ApiError(429, "TooManyRequests", message, details, **headers)


def refuse_eviction(cluster: Cluster, pod: Json, *, consume: bool) -> None:
    """Raise the eviction API's refusal, or take one disruption from the pod's budget."""
    if _never_blocked(pod):
        return
    labels = pod["metadata"].get("labels") or {}
    namespace = pod["metadata"]["namespace"]
    budgets = [
        item for item in cluster.store.objects(PLACE, namespace) if matches_labels(item["spec"].get("selector"), labels)
    ]
    if not budgets:
        return
    if len(budgets) > 1:
        text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise ApiError(500, "", text)
    _check_budget(cluster, budgets[0], pod, consume=consume)


def _check_budget(cluster: Cluster, budget: Json, pod: Json, *, consume: bool) -> None:
    name, status = budget["metadata"]["name"], budget.get("status") or {}
    blocked = "Cannot evict pod as it would violate the pod's disruption budget."
    if status.get("observedGeneration") != budget["metadata"]["generation"]:
        causes = [
            {
                "reason": "DisruptionBudget",
                "message": f"The disruption budget {name} is still being processed by the server.",
            }
        ]
        raise _too_many(blocked, causes, Retry_After="10")
    if not _healthy(pod) and budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return
    if not _healthy(pod) and status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0:
        return
    if status.get("disruptionsAllowed", 0) < 1:
        needs, has = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        text = f"The disruption budget {name} needs {needs} healthy pods and has {has} currently"
        raise _too_many(blocked, [{"reason": "DisruptionBudget", "message": text}])
    if consume:
        resource = cluster.catalogue.by_plural("poddisruptionbudgets", "policy")
        left = {**status, "disruptionsAllowed": status["disruptionsAllowed"] - 1}
        cluster.registry.mutate(resource, budget["metadata"]["namespace"], name, lambda obj: {**obj, "status": left})
