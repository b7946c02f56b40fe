"""JSON patch (RFC 6902), JSON merge patch (RFC 7386) and Kubernetes' strategic merge patch.

All return a new object. A failed JSON-patch test or path raises PatchFailed, which the API turns into a 422.
"""

from __future__ import annotations

import copy
from typing import Any

from lab.kubernetes.resources import Json
from lab.kubernetes.schema import is_set, merge_key


class PatchFailed(Exception):
    """The patch does not fit the object."""


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def json_patch(target: Json, operations: Any) -> Json:
    """RFC 6902; applies all operations or none."""
    document: Any = copy.deepcopy(target)
    if not isinstance(operations, list):
        raise PatchFailed("the patch is not a list of operations")
    for operation in operations:
        document = _operate(document, operation)
    assert isinstance(document, dict)
    return document


def _operate(document: Any, operation: Json) -> Any:
    op, path = operation.get("op"), str(operation.get("path", ""))
    if op == "test":
        if _read(document, path) != operation.get("value"):
            raise PatchFailed(f"testing value {path} failed")
        return document
    if op == "remove":
        return _write(document, path, None, "remove")
    if op in ("add", "replace"):
        return _write(document, path, operation.get("value"), op)
    if op in ("move", "copy"):
        value = copy.deepcopy(_read(document, str(operation.get("from", ""))))
        if op == "move":
            document = _write(document, str(operation["from"]), None, "remove")
        return _write(document, path, value, "add")
    raise PatchFailed(f"unexpected kind: {op}")


def _tokens(path: str) -> list[str]:
    if path and not path.startswith("/"):
        raise PatchFailed(f"the path {path} does not start with a slash")
    return [token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:]]


def _step(node: Any, token: str) -> Any:
    try:
        return node[int(token)] if isinstance(node, list) else node[token]
    except (KeyError, ValueError, IndexError, TypeError):
        raise PatchFailed(f"there is no {token}") from None


def _read(document: Any, path: str) -> Any:
    for token in _tokens(path):
        document = _step(document, token)
    return document


def _write(document: Any, path: str, value: Any, op: str) -> Any:
    tokens = _tokens(path)
    if not tokens:
        return value
    parent = document
    for token in tokens[:-1]:
        parent = _step(parent, token)
    if op != "add":
        _step(parent, tokens[-1])
    if isinstance(parent, list):
        _write_item(parent, tokens[-1], value, op)
    elif isinstance(parent, dict):
        if op == "remove":
            del parent[tokens[-1]]
        else:
            parent[tokens[-1]] = value
    else:
        raise PatchFailed(f"there is nothing to change at {path}")
    return document


def _write_item(items: list[Any], last: str, value: Any, op: str) -> None:
    if op == "remove":
        del items[int(last)]
    elif op == "replace":
        items[int(last)] = value
    elif last == "-":
        items.append(value)
    else:
        try:
            index = int(last)
        except ValueError:
            raise PatchFailed(f"{last} is not an index") from None
        if not 0 <= index <= len(items):
            raise PatchFailed(f"the index {index} is out of bounds")
        items.insert(index, value)


_DIRECTIVES = ("$setElementOrder/", "$deleteFromPrimitiveList/", "$retainKeys", "$patch")


def strategic_merge(target: Any, patch: Any) -> Any:
    """Kubernetes' strategic merge of a mapping: lists with a merge key merge by it, all others are replaced."""
    if not isinstance(patch, dict):
        return patch
    if patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    result = dict(target) if isinstance(target, dict) else {}
    if "$retainKeys" in patch:
        result = {key: value for key, value in result.items() if key in patch["$retainKeys"]}
    for key, value in patch.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            field = key.split("/", 1)[1]
            result[field] = [item for item in result.get(field) or [] if item not in value]
        elif not key.startswith(_DIRECTIVES):
            _merge_field(result, key, value)
    return result


def _merge_field(result: Json, key: str, value: Any) -> None:
    if value is None or (isinstance(value, dict) and value.get("$patch") == "delete"):
        result.pop(key, None)
    elif isinstance(value, list):
        result[key] = _merge_list(key, result.get(key) or [], value)
    else:
        result[key] = strategic_merge(result.get(key), value)


def _merge_list(field: str, present: list[Any], patch: list[Any]) -> list[Any]:
    if is_set(field):
        return [*present, *(item for item in patch if item not in present)]
    key = merge_key(
        field, [item for item in (*present, *patch) if not (isinstance(item, dict) and set(item) == {"$patch"})]
    )
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if item.get("$patch") != "replace"]
    if key is None:
        return patch
    merged = {item.get(key): item for item in present}
    for item in patch:
        if key not in item:
            raise PatchFailed(f"map: {item} does not contain declared merge key: {key}")
        if item.get("$patch") == "delete":
            merged.pop(item[key], None)
        else:
            merged[item[key]] = strategic_merge(merged.get(item[key]), item)
    return list(merged.values())
