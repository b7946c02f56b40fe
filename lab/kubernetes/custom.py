"""Custom resources: pruning, defaulting and checking by a CRD's openAPIV3Schema (without CEL rules)."""

from __future__ import annotations

import re
from typing import Any

from lab.kubernetes.errors import cause
from lab.kubernetes.resources import Json, Resource
from lab.kubernetes.validation import bad_value, required, unsupported

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}


_NAMES: dict[type, str] = {dict: "object", list: "array", str: "string"}


def prune_custom(resource: Resource, obj: Json) -> tuple[Json, list[str]]:
    """The object without fields that its schema does not know (metadata is free), and their paths."""
    schema = resource.schema or {"x-kubernetes-preserve-unknown-fields": True}
    unknown: list[str] = []
    top = {key: obj[key] for key in ("apiVersion", "kind", "metadata") if key in obj}
    rest = {key: value for key, value in obj.items() if key not in top}
    properties = {key: value for key, value in (schema.get("properties") or {}).items() if key not in top}
    pruned = _prune(rest, {**schema, "properties": properties}, "", unknown)
    return {**top, **pruned}, unknown


def _prune(value: Any, schema: Json, path: str, unknown: list[str]) -> Any:
    if isinstance(value, list):
        inner = schema.get("items") or {}
        return [_prune(item, inner, f"{path}[{index}]", unknown) for index, item in enumerate(value)]
    if not isinstance(value, dict) or schema.get("x-kubernetes-int-or-string"):
        return value
    properties, extra = schema.get("properties") or {}, schema.get("additionalProperties")
    keep = schema.get("x-kubernetes-preserve-unknown-fields") or extra is True
    kept: Json = {}
    for key, item in value.items():
        where = f"{path}.{key}" if path else key
        if key in properties:
            kept[key] = _prune(item, properties[key], where, unknown)
        elif isinstance(extra, dict):
            kept[key] = _prune(item, extra, where, unknown)
        elif keep:
            kept[key] = item
        else:
            unknown.append(where)
    return kept


def fill_defaults(value: Any, schema: Json) -> Any:
    """The value with the schema's defaults, one level after the other."""
    if isinstance(value, list):
        return [fill_defaults(item, schema.get("items") or {}) for item in value]
    if not isinstance(value, dict):
        return value
    made = dict(value)
    for key, inner in (schema.get("properties") or {}).items():
        if key not in made and "default" in inner:
            made[key] = inner["default"]
        if key in made:
            made[key] = fill_defaults(made[key], inner)
    return made


def check_custom(resource: Resource, obj: Json) -> list[Json]:
    """Causes to refuse a custom resource."""
    schema = resource.schema or {}
    causes: list[Json] = []
    for key, inner in (schema.get("properties") or {}).items():
        if key in obj and key not in ("metadata", "apiVersion", "kind"):
            _check(obj[key], inner, key, causes)
    causes += [required(key) for key in schema.get("required") or [] if key not in obj]
    return causes


def _check(value: Any, schema: Json, path: str, causes: list[Json]) -> None:
    if value is None and schema.get("nullable"):
        return
    wanted = _TYPES.get(str(schema.get("type")))
    if wanted and (not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted)):
        name = "integer" if isinstance(value, int) else _NAMES.get(type(value), "null")
        text = f'Invalid value: "{name}": {path} in body must be of type {schema["type"]}: "{name}"'
        causes.append(cause(path, text, "FieldValueTypeInvalid"))
        return
    if schema.get("enum") and value not in schema["enum"]:
        causes.append(unsupported(path, value, tuple(str(item) for item in schema["enum"])))
    _check_bounds(value, schema, path, causes)
    if isinstance(value, dict):
        _check_mapping(value, schema, path, causes)
    for index, item in enumerate(value if isinstance(value, list) else ()):
        _check(item, schema.get("items") or {}, f"{path}[{index}]", causes)


def _check_mapping(value: Json, schema: Json, path: str, causes: list[Json]) -> None:
    causes += [required(f"{path}.{key}") for key in schema.get("required") or [] if key not in value]
    extra = schema.get("additionalProperties")
    for key, item in value.items():
        inner = (schema.get("properties") or {}).get(key, extra if isinstance(extra, dict) else None)
        if isinstance(inner, dict):
            _check(item, inner, f"{path}.{key}", causes)


def _check_bounds(value: Any, schema: Json, path: str, causes: list[Json]) -> None:
    if isinstance(value, str) and schema.get("pattern") and not re.search(schema["pattern"], value):
        causes.append(bad_value(path, value, f"{path} in body should match '{schema['pattern']}'"))
    if isinstance(value, int | float) and not isinstance(value, bool):
        if "minimum" in schema and value < schema["minimum"]:
            causes.append(
                bad_value(path, value, f"{path} in body should be greater than or equal to {schema['minimum']}")
            )
        if "maximum" in schema and value > schema["maximum"]:
            causes.append(bad_value(path, value, f"{path} in body should be less than or equal to {schema['maximum']}"))
    size = len(value) if isinstance(value, str | list | dict) else 0
    for word, key in (("at least", "minItems"), ("at least", "minLength")):
        if key in schema and isinstance(value, list if key == "minItems" else str) and size < schema[key]:
            causes.append(bad_value(path, value, f"{path} in body should have {word} {schema[key]} items"))
