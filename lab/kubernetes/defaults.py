"""What the API server fills in when an object is created: the defaults of k8s.io/api and of the standard admissions."""

from __future__ import annotations

import copy
from typing import Any

from lab.kubernetes.resources import Json, Resource

_NOT_READY = {
    "key": "node.kubernetes.io/not-ready",
    "operator": "Exists",
    "effect": "NoExecute",
    "tolerationSeconds": 300,
}
_UNREACHABLE = {**_NOT_READY, "key": "node.kubernetes.io/unreachable"}


def apply_defaults(resource: Resource, obj: Json) -> Json:
    """A new object with defaults; the status starts as the type prescribes."""
    made = copy.deepcopy(obj)
    make = _MAKERS.get(resource.qualified)
    if make is not None:
        make(made)
    return made


def _node(obj: Json) -> None:
    obj.setdefault("spec", {})
    status = obj.setdefault("status", {})
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])
    taints = obj["spec"].get("taints") or []
    if not any(taint.get("key") == "node.kubernetes.io/not-ready" for taint in taints):
        obj["spec"]["taints"] = [*taints, {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]


def _namespace(obj: Json) -> None:
    obj.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
    obj["status"] = {"phase": "Active"}
    name = obj["metadata"]["name"]
    obj["metadata"]["labels"] = {**(obj["metadata"].get("labels") or {}), "kubernetes.io/metadata.name": name}


def default_pod_spec(spec: Json) -> None:
    """Fill in a pod spec in place."""
    for key, value in (
        ("restartPolicy", "Always"),
        ("terminationGracePeriodSeconds", 30),
        ("dnsPolicy", "ClusterFirst"),
        ("schedulerName", "default-scheduler"),
        ("securityContext", {}),
    ):
        spec.setdefault(key, value)
    for container in [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]:
        if isinstance(container, dict):
            _container(container)
    for volume in spec.get("volumes") or []:
        _volume(volume)


def _container(container: Json) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    image = str(container.get("image", ""))
    tag = image.rsplit("/", 1)[-1].partition(":")[2]
    container.setdefault("imagePullPolicy", "Always" if tag in ("", "latest") and "@" not in image else "IfNotPresent")
    resources = container.setdefault("resources", {})
    limits, requests = resources.get("limits"), resources.get("requests") or {}
    if limits:
        resources["requests"] = {**limits, **requests} if set(limits) - set(requests) else requests
    for port in container.get("ports") or []:
        port.setdefault("protocol", "TCP")


def _volume(volume: Json) -> None:
    for source in ("secret", "configMap", "downwardAPI", "projected"):
        if isinstance(volume.get(source), dict):
            volume[source].setdefault("defaultMode", 420)
    if isinstance(volume.get("hostPath"), dict):
        volume["hostPath"].setdefault("type", "")
    if set(volume) == {"name"}:
        volume["emptyDir"] = {}


def quality_of_service(spec: Json) -> str:
    """BestEffort, Burstable or Guaranteed by the containers' cpu and memory."""
    found: list[tuple[Any, Any]] = []
    for container in spec.get("containers") or []:
        resources = container.get("resources") or {}
        for name in ("cpu", "memory"):
            found.append(((resources.get("requests") or {}).get(name), (resources.get("limits") or {}).get(name)))
    if all(request is None and limit is None for request, limit in found):
        return "BestEffort"
    return "Guaranteed" if all(limit is not None and request == limit for request, limit in found) else "Burstable"


def _pod(obj: Json) -> None:
    spec = obj.setdefault("spec", {})
    default_pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    spec.setdefault("serviceAccountName", "default")
    spec.setdefault("serviceAccount", spec["serviceAccountName"])
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    tolerations = list(spec.get("tolerations") or [])
    for extra in (_NOT_READY, _UNREACHABLE):
        covered = any(
            item.get("key") in (extra["key"], None) and item.get("effect") in ("NoExecute", None, "")
            for item in tolerations
        )
        if not covered:
            tolerations.append(dict(extra))
    spec["tolerations"] = tolerations
    obj["status"] = {"phase": "Pending", "qosClass": quality_of_service(spec)}


def _budget(obj: Json) -> None:
    obj.setdefault("spec", {})
    obj["status"] = {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}


def _workload(obj: Json) -> None:
    spec = obj.setdefault("spec", {})
    obj.setdefault("status", {})
    template = spec.get("template")
    if isinstance(template, dict) and isinstance(template.get("spec"), dict):
        default_pod_spec(template["spec"])


def _secret(obj: Json) -> None:
    import base64

    obj.setdefault("type", "Opaque")
    texts = obj.pop("stringData", None)
    if texts:
        encoded = {key: base64.b64encode(str(value).encode()).decode() for key, value in texts.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}


def _crd(obj: Json) -> None:
    spec = obj.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = str(names.get("kind", ""))
    names.setdefault("singular", kind.lower())
    names.setdefault("listKind", f"{kind}List")
    spec.setdefault("conversion", {"strategy": "None"})
    obj["status"] = {"conditions": [], "acceptedNames": {"kind": "", "plural": ""}, "storedVersions": []}


def _service(obj: Json) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in spec.get("ports") or []:
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))
    obj["status"] = {"loadBalancer": {}}


_MAKERS = {
    "nodes": _node,
    "namespaces": _namespace,
    "pods": _pod,
    "secrets": _secret,
    "services": _service,
    "poddisruptionbudgets.policy": _budget,
    "daemonsets.apps": _workload,
    "replicasets.apps": _workload,
    "deployments.apps": _workload,
    "statefulsets.apps": _workload,
    "jobs.batch": _workload,
    "customresourcedefinitions.apiextensions.k8s.io": _crd,
}
