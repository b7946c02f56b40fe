"""Server-side tables: what `kubectl get` shows. Columns and cells follow the printers of Kubernetes v1.36."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from lab.kubernetes.registry import parse_time
from lab.kubernetes.resources import Json, Resource

Column = tuple[str, str, int]  # name, type, priority: 1 shows with -o wide only


def age(stamp: Any) -> str:
    """A duration since a time in kubectl's short form."""
    if not stamp:
        return "<unknown>"
    return short_duration((datetime.now(UTC) - parse_time(str(stamp))).total_seconds())


def short_duration(seconds: float) -> str:
    """apimachinery's HumanDuration, to two units."""
    total = int(seconds)
    if total < 0:
        return "0s" if total >= -1 else "<invalid>"
    if total < 120:
        return f"{total}s"
    minutes, hours, days = total // 60, total // 3600, total // 86400
    if minutes < 10:
        return f"{minutes}m" + (f"{total % 60}s" if total % 60 else "")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h" + (f"{minutes % 60}m" if minutes % 60 else "")
    if hours < 48:
        return f"{hours}h"
    return f"{days}d" + (f"{hours % 24}h" if days < 8 and hours % 24 else "")


def _node_status(obj: Json) -> str:
    ready = [item for item in (obj.get("status") or {}).get("conditions") or [] if item.get("type") == "Ready"]
    words = ["Ready" if item["status"] == "True" else "NotReady" for item in ready] or ["Unknown"]
    return ",".join([*words, *(["SchedulingDisabled"] if obj["spec"].get("unschedulable") else [])])


def _node(obj: Json) -> list[Any]:
    status, labels = obj.get("status") or {}, obj["metadata"].get("labels") or {}
    info = status.get("nodeInfo") or {}
    addresses = {item["type"]: item["address"] for item in status.get("addresses") or []}
    prefix = "node-role.kubernetes.io/"
    roles = sorted(key.removeprefix(prefix) for key in labels if key.startswith(prefix) and key != prefix)
    return [
        obj["metadata"]["name"],
        _node_status(obj),
        ",".join(roles) or "<none>",
        age(obj["metadata"].get("creationTimestamp")),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP", "<none>"),
        addresses.get("ExternalIP", "<none>"),
        info.get("osImage", "<unknown>"),
        info.get("kernelVersion", "<unknown>"),
        info.get("containerRuntimeVersion", "<unknown>"),
    ]


def pod_reason(obj: Json) -> str:
    """The STATUS column of a pod."""
    status = obj.get("status") or {}
    reason = status.get("reason") or status.get("phase", "Unknown")
    for item in status.get("initContainerStatuses") or []:
        state = item.get("state") or {}
        if (state.get("terminated") or {}).get("exitCode") == 0:
            continue
        detail = (state.get("terminated") or state.get("waiting") or {}).get("reason", "")
        return f"Init:{detail}" if detail and detail != "PodInitializing" else "Init:0/1"
    running = False
    for item in reversed(status.get("containerStatuses") or []):
        state = item.get("state") or {}
        running = running or bool(state.get("running"))
        detail = (state.get("waiting") or state.get("terminated") or {}).get("reason")
        reason = detail or reason
    if reason == "Completed" and running:
        reason = "NotReady"
    if obj["metadata"].get("deletionTimestamp") and status.get("phase") not in ("Succeeded", "Failed"):
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    return str(reason)


def _pod(obj: Json) -> list[Any]:
    status, spec = obj.get("status") or {}, obj["spec"]
    states = status.get("containerStatuses") or []
    ready = sum(1 for item in states if item.get("ready"))
    gates = spec.get("readinessGates") or []
    return [
        obj["metadata"]["name"],
        f"{ready}/{len(spec['containers'])}",
        pod_reason(obj),
        str(sum(item.get("restartCount", 0) for item in states)),
        age(obj["metadata"].get("creationTimestamp")),
        status.get("podIP", "<none>"),
        spec.get("nodeName", "<none>"),
        status.get("nominatedNodeName", "<none>"),
        str(len(gates)) if gates else "<none>",
    ]


def _event(obj: Json) -> list[Any]:
    about = obj.get("involvedObject") or {}
    return [
        age(obj.get("lastTimestamp") or obj["metadata"].get("creationTimestamp")),
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{about.get('kind', '').lower()}/{about.get('name', '')}",
        (obj.get("source") or {}).get("component", ""),
        obj.get("message", ""),
        age(obj.get("firstTimestamp")),
        obj.get("count", 1),
        obj["metadata"]["name"],
    ]


def _namespace(obj: Json) -> list[Any]:
    return [
        obj["metadata"]["name"],
        (obj.get("status") or {}).get("phase", ""),
        age(obj["metadata"].get("creationTimestamp")),
    ]


def _budget(obj: Json) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return [
        obj["metadata"]["name"],
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        status.get("disruptionsAllowed", 0),
        age(obj["metadata"].get("creationTimestamp")),
    ]


def _lease(obj: Json) -> list[Any]:
    return [
        obj["metadata"]["name"],
        (obj.get("spec") or {}).get("holderIdentity", ""),
        age(obj["metadata"].get("creationTimestamp")),
    ]


def _config(obj: Json) -> list[Any]:
    return [obj["metadata"]["name"], len(obj.get("data") or {}), age(obj["metadata"].get("creationTimestamp"))]


def _secret(obj: Json) -> list[Any]:
    return [
        obj["metadata"]["name"],
        obj.get("type", ""),
        len(obj.get("data") or {}),
        age(obj["metadata"].get("creationTimestamp")),
    ]


def _columns(*names: str, wide: tuple[str, ...] = ()) -> tuple[Column, ...]:
    return (*((name, "string", 0) for name in names), *((name, "string", 1) for name in wide))


_TABLES: dict[str, tuple[tuple[Column, ...], Any]] = {
    "nodes": (
        _columns(
            "Name",
            "Status",
            "Roles",
            "Age",
            "Version",
            wide=("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
        ),
        _node,
    ),
    "pods": (
        _columns(
            "Name", "Ready", "Status", "Restarts", "Age", wide=("IP", "Node", "Nominated Node", "Readiness Gates")
        ),
        _pod,
    ),
    "events": (
        _columns("Last Seen", "Type", "Reason", "Object", wide=("Source",))
        + _columns("Message", wide=("First Seen", "Count", "Name")),
        _event,
    ),
    "namespaces": (_columns("Name", "Status", "Age"), _namespace),
    "poddisruptionbudgets.policy": (
        _columns("Name", "Min Available", "Max Unavailable", "Allowed Disruptions", "Age"),
        _budget,
    ),
    "leases.coordination.k8s.io": (_columns("Name", "Holder", "Age"), _lease),
    "configmaps": (_columns("Name", "Data", "Age"), _config),
    "secrets": (_columns("Name", "Type", "Data", "Age"), _secret),
}


def _path(obj: Any, path: str) -> Any:
    for part in path.lstrip(".").split("."):
        obj = obj.get(part) if isinstance(obj, dict) else None
    return obj


def _generic(resource: Resource, obj: Json) -> list[Any]:
    cells: list[Any] = [obj["metadata"]["name"]]
    for column in resource.columns:
        value = _path(obj, column["jsonPath"])
        cells.append(age(value) if column.get("type") == "date" and value else value)
    if not resource.columns:
        cells.append(
            age(obj["metadata"].get("creationTimestamp"))
            if not resource.custom
            else age(obj["metadata"]["creationTimestamp"])
        )
    return cells


def _definitions(resource: Resource) -> list[Json]:
    if resource.qualified in _TABLES:
        columns = _TABLES[resource.qualified][0]
    elif resource.columns:
        extra = ((item["name"], "string", item.get("priority", 0)) for item in resource.columns)
        columns = (("Name", "string", 0), *extra)
    else:
        columns = _columns("Name", "Age")
    return [
        {
            "name": name,
            "type": kind,
            "format": "name" if name == "Name" else "",
            "description": name,
            "priority": priority,
        }
        for name, kind, priority in columns
    ]


def render_table(resource: Resource, objects: list[Json], metadata: Json, include: str, *, header: bool = True) -> Json:
    """A Table of objects; `include` is None, Metadata or Object."""
    rows = []
    make = _TABLES[resource.qualified][1] if resource.qualified in _TABLES else None
    for obj in objects:
        row: Json = {"cells": make(obj) if make else _generic(resource, obj)}
        if include == "Object":
            row["object"] = obj
        elif include != "None":
            row["object"] = {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": obj["metadata"],
            }
        rows.append(row)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": _definitions(resource) if header else None,
        "rows": rows,
    }
