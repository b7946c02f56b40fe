"""What a real API server refuses with 422, for the fields that the lab's users depend on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from lab.kubernetes import quantity
from lab.kubernetes.errors import cause
from lab.kubernetes.resources import Json, Resource

_LABEL_NAME = re.compile(r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$")
_SUBDOMAIN = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
_MICRO_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)$")
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
Causes = Iterator[Json]


def bad_value(field: str, value: Any, why: str) -> Json:
    """`Invalid value`."""
    return cause(field, f"Invalid value: {json.dumps(value)}: {why}")


def required(field: str, why: str = "") -> Json:
    """`Required value`."""
    return cause(field, "Required value" + (f": {why}" if why else ""), "FieldValueRequired")


def unsupported(field: str, value: Any, allowed: tuple[str, ...]) -> Json:
    """`Unsupported value`."""
    listed = ", ".join(f'"{item}"' for item in allowed)
    return cause(field, f"Unsupported value: {json.dumps(value)}: supported values: {listed}", "FieldValueNotSupported")


def qualified_name(key: Any) -> bool:
    """Whether `key` is a valid label, annotation or taint key."""
    prefix, slash, name = str(key).rpartition("/")
    if slash and (not _SUBDOMAIN.match(prefix) or len(prefix) > 253):
        return False
    return bool(_LABEL_NAME.match(name)) and len(name) <= 63


def _metadata(obj: Json) -> Causes:
    metadata = obj["metadata"]
    if not metadata.get("name"):
        yield required("metadata.name", "name or generateName is required")
    elif not _SUBDOMAIN.match(metadata["name"]) or len(metadata["name"]) > 253:
        yield bad_value("metadata.name", metadata["name"], _SUBDOMAIN_TEXT)
    for key, value in (metadata.get("labels") or {}).items():
        if not qualified_name(key):
            yield bad_value(
                "metadata.labels", key, "name part must consist of alphanumeric characters, '-', '_' or '.'"
            )
        if value and (not _LABEL_NAME.match(value) or len(value) > 63):
            yield bad_value(
                "metadata.labels", value, _VALUE_TEXT if len(value) <= 63 else "must be no more than 63 bytes"
            )
    for key in metadata.get("annotations") or {}:
        if not qualified_name(key.lower()):
            yield bad_value(
                "metadata.annotations", key, "name part must consist of alphanumeric characters, '-', '_' or '.'"
            )


def _taints(taints: list[Json]) -> Causes:
    seen = set()
    for index, taint in enumerate(taints):
        field = f"metadata.taints[{index}]"
        if not qualified_name(taint.get("key", "")):
            yield bad_value(
                f"{field}.key",
                taint.get("key", ""),
                "name part must be non-empty and consist of alphanumeric characters",
            )
        if not taint.get("effect"):
            yield required(f"{field}.effect")
        elif taint["effect"] not in EFFECTS:
            yield unsupported(f"{field}.effect", taint["effect"], EFFECTS)
        pair = (taint.get("key"), taint.get("effect"))
        if pair in seen:
            text = f"Duplicate value: {json.dumps(taint)}: taints must be unique by key and effect pair"
            yield cause(field, text, "FieldValueDuplicate")
        seen.add(pair)


def _quantities(field: str, values: Json) -> Causes:
    for name, value in values.items():
        try:
            number = quantity.parse(value)
        except ValueError:
            yield bad_value(
                f"{field}[{name}]",
                value,
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            )
            continue
        if number < 0:
            yield bad_value(f"{field}[{name}]", value, "must be greater than or equal to 0")
        if "/" in name and number.denominator != 1:
            yield bad_value(f"{field}[{name}]", value, "must be an integer")


def _node(obj: Json, old: Json | None) -> Causes:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    yield from _taints(spec.get("taints") or [])
    for part in ("capacity", "allocatable"):
        yield from _quantities(f"status.{part}", status.get(part) or {})
    before = ((old or {}).get("spec") or {}).get("providerID")
    if before and spec.get("providerID") != before:
        text = 'Forbidden: node updates may not change providerID except from "" to valid'
        yield cause("spec.providerID", text, "FieldValueForbidden")


def _resources(field: str, resources: Json) -> Causes:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    yield from _quantities(f"{field}.limits", limits)
    yield from _quantities(f"{field}.requests", requests)
    for name, value in requests.items():
        extended = "/" in name and not name.startswith("kubernetes.io/")
        if extended and name not in limits:
            yield required(f"{field}.limits", "Limit must be set for non overcommitable resources")
        elif extended and _parsed(value) != _parsed(limits[name]):
            yield bad_value(f"{field}.requests", value, f"must be equal to {name} limit of {limits[name]}")
        elif name in limits and _parsed(value) > _parsed(limits[name]):
            yield bad_value(f"{field}.requests", value, f"must be less than or equal to {name} limit of {limits[name]}")


def _parsed(value: Any) -> Fraction:
    try:
        return quantity.parse(value)
    except ValueError:
        return Fraction(0)


def _containers(spec: Json) -> Causes:
    volumes = {volume.get("name") for volume in spec.get("volumes") or []}
    names: set[str] = set()
    for part in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(part) or []):
            field = f"spec.{part}[{index}]"
            if not container.get("name"):
                yield required(f"{field}.name")
            elif container["name"] in names:
                yield cause(f"{field}.name", f"Duplicate value: {json.dumps(container['name'])}", "FieldValueDuplicate")
            names.add(container.get("name", ""))
            if not container.get("image"):
                yield required(f"{field}.image")
            yield from _resources(f"{field}.resources", container.get("resources") or {})
            for number, mount in enumerate(container.get("volumeMounts") or []):
                if mount.get("name") not in volumes:
                    yield cause(
                        f"{field}.volumeMounts[{number}].name",
                        f"Not found: {json.dumps(mount.get('name'))}",
                        "FieldValueNotFound",
                    )


_MUTABLE = ("activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations", "schedulingGates")
_POD_UPDATE = (
    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def _frozen(spec: Json) -> Json:
    kept = {key: value for key, value in spec.items() if key not in _MUTABLE}
    for part in ("containers", "initContainers"):
        kept[part] = [{key: value for key, value in item.items() if key != "image"} for item in spec.get(part) or []]
    return kept


def _pod(obj: Json, old: Json | None) -> Causes:
    spec = obj.get("spec") or {}
    if old is not None:
        if _frozen(spec) != _frozen(old["spec"]):
            yield cause("spec", _POD_UPDATE, "FieldValueForbidden")
        return
    if not spec.get("containers"):
        yield required("spec.containers")
    if spec.get("restartPolicy") not in ("Always", "OnFailure", "Never"):
        yield unsupported("spec.restartPolicy", spec.get("restartPolicy"), ("Always", "OnFailure", "Never"))
    yield from _containers(spec)
    for index, item in enumerate(spec.get("tolerations") or []):
        if item.get("effect") not in (None, "", *EFFECTS):
            yield unsupported(f"spec.tolerations[{index}].effect", item["effect"], EFFECTS)
        if item.get("operator") not in (None, "Exists", "Equal"):
            yield unsupported(f"spec.tolerations[{index}].operator", item["operator"], ("Equal", "Exists"))


def _lease(obj: Json, old: Json | None) -> Causes:
    for name in ("renewTime", "acquireTime"):
        value = (obj.get("spec") or {}).get(name)
        if value is not None and not _MICRO_TIME.match(str(value)):
            yield bad_value(
                f"spec.{name}", value, "must be a time with microseconds (2006-01-02T15:04:05.000000Z07:00)"
            )


def _event(obj: Json, old: Json | None) -> Causes:
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    if not about.get("namespace") and obj["metadata"].get("namespace") not in ("default", "kube-system"):
        yield bad_value("involvedObject.namespace", "", "does not match event.namespace")


def _budget(obj: Json, old: Json | None) -> Causes:
    spec = obj.get("spec") or {}
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        yield bad_value("spec", spec, "minAvailable and maxUnavailable cannot be both set")


def _crd(obj: Json, old: Json | None) -> Causes:
    spec = obj.get("spec") or {}
    names = spec.get("names") or {}
    if obj["metadata"].get("name") != f"{names.get('plural')}.{spec.get('group')}":
        yield bad_value("metadata.name", obj["metadata"].get("name"), 'must be spec.names.plural+"."+spec.group')
    if spec.get("scope") not in ("Namespaced", "Cluster"):
        yield unsupported("spec.scope", spec.get("scope", ""), ("Cluster", "Namespaced"))
    if not spec.get("versions"):
        yield required("spec.versions", "must have exactly one version marked as storage version")


_CHECKS = {
    "nodes": _node,
    "pods": _pod,
    "events": _event,
    "events.events.k8s.io": _event,
    "leases.coordination.k8s.io": _lease,
    "poddisruptionbudgets.policy": _budget,
    "customresourcedefinitions.apiextensions.k8s.io": _crd,
}


def check(resource: Resource, obj: Json, old: Json | None = None) -> list[Json]:
    """All causes to refuse `obj` as the successor of `old` (None: a creation)."""
    causes = list(_metadata(obj))
    rule = _CHECKS.get(resource.qualified)
    if rule is not None:
        causes += list(rule(obj, old))
    return causes
