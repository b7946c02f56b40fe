"""What the built-in types look like: unknown fields, wrong JSON types, and how lists merge.

The field table comes from the official client (see make_schema.py); merge keys are those of the Kubernetes API
conventions (patchMergeKey and listType markers in k8s.io/api v1.36) for the fields that the lab serves.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from lab.kubernetes.resources import Json, Resource

_SPECIAL = {("", "Event"): "CoreV1Event", ("events.k8s.io", "Event"): "EventsV1Event"}

# Lists that merge by a key, by field name. `ports` differs between containers and services, see merge_key.
_MERGE_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "env": "name",
    "volumes": "name",
    "imagePullSecrets": "name",
    "secrets": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "conditions": "type",
    "addresses": "type",
    "ownerReferences": "uid",
    "hostAliases": "ip",
    "podIPs": "ip",
    "topologySpreadConstraints": "topologyKey",
    "resourceClaims": "name",
}
# Lists of plain values that merge as sets.
_SETS = ("finalizers",)


def merge_key(field: str, items: list[Any]) -> str | None:
    """The key by which the items of list `field` merge; None when the list is replaced as a whole."""
    if not all(isinstance(item, dict) for item in items):
        return None
    if field == "ports":
        return "containerPort" if any("containerPort" in item for item in items) else "port"
    return _MERGE_KEYS.get(field)


def is_set(field: str) -> bool:
    """Whether a list of plain values merges as a set."""
    return field in _SETS


@cache
def _types() -> dict[str, dict[str, str]]:
    text = (Path(__file__).parent / "schema.json").read_text(encoding="utf-8")
    loaded: dict[str, dict[str, str]] = json.loads(text)
    return loaded


def type_name(resource: Resource) -> str | None:
    """The schema's name of a built-in kind; None for kinds whose fields are not checked."""
    name = _SPECIAL.get((resource.group, resource.kind), f"V1{resource.kind}")
    return name if name in _types() and not resource.custom else None


class TypeMismatch(Exception):
    """A field has another JSON type than the API's."""


_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "datetime": (str,),
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
}
_WORDS = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}


def prune(resource: Resource, obj: Json) -> tuple[Json, list[str]]:
    """The object without fields that the type does not have, and their paths; TypeMismatch for wrong types."""
    name = type_name(resource)
    if name is None:
        return obj, []
    unknown: list[str] = []
    return _prune(obj, name, "", unknown), unknown


def _prune(value: Any, kind: str, path: str, unknown: list[str]) -> Any:
    if value is None or kind == "object":
        return value
    if kind.startswith("list["):
        _require(value, list, kind, path)
        return [_prune(item, kind[5:-1], f"{path}[{index}]", unknown) for index, item in enumerate(value)]
    if kind.startswith("dict["):
        _require(value, dict, kind, path)
        inner = kind[5:-1].split(", ", 1)[1]
        return {key: _value(item, inner, f"{path}.{key}", unknown) for key, item in value.items()}
    fields = _types().get(kind)
    if fields is None:
        return _value(value, kind, path, unknown)
    return _prune_fields(value, fields, path, unknown)


def _prune_fields(value: Any, fields: dict[str, str], path: str, unknown: list[str]) -> Json:
    if not isinstance(value, dict):
        raise TypeMismatch(
            f"cannot unmarshal {_WORDS.get(type(value), 'value')} into field {path.lstrip('.')} of type object"
        )
    kept: Json = {}
    for key, item in value.items():
        where = f"{path}.{key}" if path else key
        if key in fields:
            kept[key] = _prune(item, fields[key], where, unknown)
        else:
            unknown.append(where)
    return kept


def _value(value: Any, kind: str, path: str, unknown: list[str]) -> Any:
    wanted = _JSON_TYPES.get(kind)
    if wanted is None:
        return value if kind not in _types() else _prune(value, kind, path, unknown)
    # Quantities (resources.limits) may be numbers; the client's table calls them strings.
    is_quantity = kind == "str" and not isinstance(value, bool) and isinstance(value, int | float) and _quantity(path)
    if (
        value is not None
        and not is_quantity
        and (not isinstance(value, wanted) or (kind == "int" and isinstance(value, bool)))
    ):
        raise TypeMismatch(
            f"cannot unmarshal {_WORDS.get(type(value), 'value')} into field {path.lstrip('.')} of type {kind}"
        )
    return str(value) if is_quantity else value


def _quantity(path: str) -> bool:
    return any(word in path for word in ("limits.", "requests.", "capacity.", "allocatable.", "sizeLimit"))


def _require(value: Any, wanted: type, kind: str, path: str) -> None:
    if not isinstance(value, wanted):
        raise TypeMismatch(
            f"cannot unmarshal {_WORDS.get(type(value), 'value')} into field {path.lstrip('.')} of type {kind}"
        )
