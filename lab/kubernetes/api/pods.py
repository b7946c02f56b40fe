"""Subresources of pods and service accounts: binding, eviction, log and token."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any

from lab.kubernetes import errors
from lab.kubernetes.api.auth import Gate
from lab.kubernetes.api.request import Request, Response, Target, answer
from lab.kubernetes.cluster import Cluster
from lab.kubernetes.controllers.disruption import refuse_eviction
from lab.kubernetes.errors import ApiError, success
from lab.kubernetes.registry import utc_text
from lab.kubernetes.resources import Json


def bind(cluster: Cluster, request: Request, target: Target) -> Response:
    """POST pods/binding: assign a node once."""
    body = request.document() or {}
    node = ((body.get("target") or {}).get("name")) or ""
    pod = cluster.registry.get(target.resource, target.namespace, target.name)
    if pod["spec"].get("nodeName"):
        why = f'pod {target.name} is already assigned to node "{pod["spec"]["nodeName"]}"'
        raise errors.conflict(target.resource, target.name, why, kind="pods/binding")
    assign(cluster, pod, node)
    return answer({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}, 201)


def assign(cluster: Cluster, pod: Json, node: str) -> None:
    """Write a scheduling decision into the pod."""

    def change(obj: Json) -> Json:
        obj["spec"]["nodeName"] = node
        set_condition(obj, "PodScheduled", "True", utc_text(cluster.registry.now()))
        return obj

    metadata = pod["metadata"]
    cluster.registry.mutate(cluster.pods, metadata["namespace"], metadata["name"], change)


def set_condition(obj: Json, kind: str, status: str, now: str, reason: str = "", message: str = "") -> None:
    """Set one condition of a status in place; the transition time moves only with the status."""
    conditions = obj.setdefault("status", {}).setdefault("conditions", [])
    old = next((item for item in conditions if item["type"] == kind), None)
    new: Json = {"type": kind, "status": status, "lastProbeTime": None}
    new["lastTransitionTime"] = old["lastTransitionTime"] if old and old["status"] == status else now
    if reason:
        new["reason"] = reason
    if message:
        new["message"] = message
    if old:
        conditions[conditions.index(old)] = new
    else:
        conditions.append(new)


def evict(cluster: Cluster, request: Request, target: Target) -> Response:
    """POST pods/eviction: delete the pod unless a disruption budget forbids it."""
    body = request.document()
    if not isinstance(body, dict) or not body:
        raise errors.bad_request(
            'Eviction in version "v1" cannot be handled as a Eviction: unexpected end of JSON input'
        )
    name = (body.get("metadata") or {}).get("name", target.name)
    if name != target.name:
        raise errors.bad_request(f"name in URL does not match name in Eviction object: {name}")
    pod = cluster.registry.get(target.resource, target.namespace, target.name)
    options = body.get("deleteOptions") or {}
    dry_run = request.dry_run or options.get("dryRun") == ["All"]
    refuse_eviction(cluster, pod, consume=not dry_run)
    if not dry_run:
        _mark(cluster, pod)
    cluster.registry.delete(target.resource, target.namespace, target.name, options, dry_run=dry_run)
    return answer({**success(), "code": 201}, 201)


def _mark(cluster: Cluster, pod: Json) -> None:
    def change(obj: Json) -> Json:
        now = utc_text(cluster.registry.now())
        set_condition(obj, "DisruptionTarget", "True", now, "EvictionByEvictionAPI", "Eviction API: evicting")
        return obj

    if not pod["metadata"].get("deletionTimestamp"):
        cluster.registry.mutate(cluster.pods, pod["metadata"]["namespace"], pod["metadata"]["name"], change)


def token(cluster: Cluster, gate: Gate, request: Request, target: Target) -> Response:
    """POST serviceaccounts/token: a short-lived bearer token of the account."""
    cluster.registry.get(target.resource, target.namespace, target.name)
    body: Json = request.document() or {}
    seconds = int((body.get("spec") or {}).get("expirationSeconds") or 3600)
    if seconds < 600:
        raise errors.bad_request(
            "spec.expirationSeconds: Invalid value: may not specify a duration less than 10 minutes"
        )
    text, expires = gate.issue(target.namespace, target.name, timedelta(seconds=seconds))
    made = copy.deepcopy(body)
    made.update(apiVersion="authentication.k8s.io/v1", kind="TokenRequest")
    made["metadata"] = {"name": target.name, "namespace": target.namespace}
    made["status"] = {"token": text, "expirationTimestamp": utc_text(expires)}
    return answer(made, 201)


# -- log ------------------------------------------------------------------------------------------------------------


def container_of(pod: Json, wanted: str, *, annotated: bool = False) -> str:
    """The container that is meant; 400 when it is unnamed among several, or unknown."""
    spec = pod["spec"]
    names = [item["name"] for item in spec["containers"]]
    inits = [item["name"] for item in spec.get("initContainers") or []]
    pod_name = pod["metadata"]["name"]
    if not wanted and len(names) == 1:
        return str(names[0])
    if not wanted:
        listed = " ".join(names)
        more = f" or one of the init containers: [{' '.join(inits)}]" if inits else ""
        raise errors.bad_request(
            f"a container name must be specified for pod {pod_name}, choose one of: [{listed}]{more}"
        )
    if wanted not in (*names, *inits):
        raise errors.bad_request(f"container {wanted} is not valid for pod {pod_name}")
    return wanted


def _log_options(request: Request) -> Json:
    options: Json = {name: request.number(name) for name in ("tailLines", "sinceSeconds", "limitBytes")}
    causes = []
    for name, least in (("tailLines", 0), ("sinceSeconds", 1), ("limitBytes", 1)):
        value = options[name]
        if value is not None and value < least:
            causes.append(errors.cause(name, f"Invalid value: {value}: must be greater than or equal to {least}"))
    if causes:
        text = f'PodLogOptions.core "" is invalid: {causes[0]["field"]}: {causes[0]["message"]}'
        raise ApiError(422, "Invalid", text, {"kind": "PodLogOptions", "causes": causes})
    options |= {name: request.query.get(name, "").lower() == "true" for name in ("follow", "timestamps", "previous")}
    options["sinceTime"] = request.query.get("sinceTime", "")
    return options


def kubelet_down(cluster: Cluster, pod: Json, what: str) -> ApiError:
    """500 when the node's kubelet does not answer."""
    node = pod["spec"]["nodeName"]
    url = f"https://{node}:10250/{what}"
    text = f'Get "{url}": dial tcp: connect: connection refused'
    return ApiError(500, "InternalError", f"Internal error occurred: {text}" if what.startswith("exec") else text)


def log(cluster: Cluster, request: Request, target: Target) -> Response:
    """GET pods/log: text, chunked while following."""
    pod = cluster.registry.get(target.resource, target.namespace, target.name)
    options = _log_options(request)
    container = container_of(pod, request.query.get("container", ""))
    plain = "text/plain"
    if not pod["spec"].get("nodeName"):
        return Response(status=204, content_type=plain)
    kubelets: Any = cluster.kubelets
    if kubelets is None or not kubelets.reachable(pod["spec"]["nodeName"]):
        where = f"containerLogs/{target.namespace}/{target.name}/{container}"
        raise kubelet_down(cluster, pod, where)
    if kubelets.log_file(pod, container, previous=options["previous"]) is None:
        raise errors.bad_request(_no_log(pod, container, previous=options["previous"]))
    return Response(content_type=plain, stream=kubelets.read_log(pod, container, options))


def _no_log(pod: Json, container: str, *, previous: bool) -> str:
    name = pod["metadata"]["name"]
    if previous:
        return f'previous terminated container "{container}" in pod "{name}" not found'
    status = pod.get("status") or {}
    rows = [*(status.get("containerStatuses") or []), *(status.get("initContainerStatuses") or [])]
    waiting = next((row.get("state", {}).get("waiting") for row in rows if row["name"] == container), None) or {}
    reason = waiting.get("reason", "ContainerCreating")
    if reason in ("ErrImagePull", "ImagePullBackOff"):
        image = next(
            item["image"]
            for item in pod["spec"]["containers"] + (pod["spec"].get("initContainers") or [])
            if item["name"] == container
        )
        return (
            f'container "{container}" in pod "{name}" is waiting to start: trying and failing to pull image ({image})'
        )
    return f'container "{container}" in pod "{name}" is waiting to start: {reason}'
