"""Who owns which field: `managedFields` and server-side apply.

A field set is a set of paths; a path is a tuple of FieldsV1 elements (`f:name`, `k:{"type":"Ready"}`, `v:"x"`). Lists
without a merge key are atomic: one path stands for the whole list, which is why two managers of `spec.taints` conflict.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lab.kubernetes.resources import Json
from lab.kubernetes.schema import is_set, merge_key

Path = tuple[str, ...]
MergeKey = Callable[[str, list[Any]], str | None]

_IDENTITY = {("f:apiVersion",), ("f:kind",), ("f:metadata",)}
_METADATA = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "selfLink",
)
_UNOWNED = {("f:metadata", f"f:{name}") for name in _METADATA}


def _element(key: str, item: Json) -> str:
    names = [key, "protocol"] if key in ("containerPort", "port") and "protocol" in item else [key]
    return "k:" + json.dumps({name: item.get(name) for name in names}, separators=(",", ":"))


def paths(obj: Any, keys: MergeKey = merge_key, prefix: Path = ()) -> Iterator[Path]:
    """The paths of all leaves; empty mappings and atomic lists are leaves."""
    for name, value in obj.items():
        path = (*prefix, f"f:{name}")
        if path in _UNOWNED or (path in _IDENTITY and path != ("f:metadata",)):
            continue
        if isinstance(value, dict) and value:
            yield from paths(value, keys, path)
        elif isinstance(value, list) and value:
            yield from _list_paths(name, value, keys, path)
        elif path != ("f:metadata",):
            yield path


def _list_paths(name: str, items: list[Any], keys: MergeKey, path: Path) -> Iterator[Path]:
    key = keys(name, items)
    if is_set(name):
        yield from ((*path, "v:" + json.dumps(item)) for item in items)
    elif key is None:
        yield path
    else:
        for item in items:
            yield from paths(item, keys, (*path, _element(key, item)))


def to_fields(found: set[Path]) -> Json:
    """FieldsV1 of a set of paths."""
    root: Json = {}
    for path in sorted(found):
        node = root
        for element in path:
            node = node.setdefault(element, {})
    return root


def from_fields(fields: Json, prefix: Path = ()) -> Iterator[Path]:
    """The leaves of a FieldsV1 document."""
    for element, inner in fields.items():
        if element == ".":
            continue
        path = (*prefix, element)
        if set(inner) - {"."}:
            yield from from_fields(inner, path)
        else:
            yield path


def value_at(obj: Any, path: Path) -> Any:
    """What stands at a path; None when it is absent."""
    for element in path:
        obj = _step(obj, element)
        if obj is None:
            return None
    return obj


def _step(obj: Any, element: str) -> Any:
    kind, rest = element[:2], element[2:]
    if kind == "f:":
        return obj.get(rest) if isinstance(obj, dict) else None
    if not isinstance(obj, list):
        return None
    wanted = json.loads(rest)
    if kind == "v:":
        return wanted if wanted in obj else None
    return next((item for item in obj if all(item.get(name) == value for name, value in wanted.items())), None)


def remove_at(obj: Any, path: Path) -> None:
    """Delete what stands at a path, and list items and mappings that become empty by it."""
    parent = value_at(obj, path[:-1]) if len(path) > 1 else obj
    if parent is None:
        return
    kind, rest = path[-1][:2], path[-1][2:]
    if kind == "f:" and isinstance(parent, dict):
        parent.pop(rest, None)
    elif isinstance(parent, list):
        found = _step(parent, path[-1])
        if found in parent:
            parent.remove(found)
    only_key = path[-2:-1] and path[-2].startswith("k:") and set(parent) <= set(json.loads(path[-2][2:]))
    if len(path) > 2 and (not parent or only_key):
        remove_at(obj, path[:-1])


@dataclass(slots=True)
class Manager:
    """One row of managedFields."""

    name: str
    operation: str
    subresource: str
    fields: set[Path]
    row: Json

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes a manager the same manager."""
        return (self.name, self.operation, self.subresource)


def managers_of(obj: Json) -> list[Manager]:
    """The parsed managedFields."""
    rows = obj["metadata"].get("managedFields") or []
    return [
        Manager(
            row["manager"],
            row["operation"],
            row.get("subresource", ""),
            set(from_fields(row.get("fieldsV1") or {})),
            row,
        )
        for row in rows
    ]


def render(managers: list[Manager]) -> list[Json]:
    """managedFields from managers; those that own nothing disappear."""
    return [{**manager.row, "fieldsV1": to_fields(manager.fields)} for manager in managers if manager.fields]


def new_row(name: str, operation: str, api_version: str, time: str, subresource: str = "") -> Manager:
    """An empty manager."""
    row: Json = {
        "manager": name,
        "operation": operation,
        "apiVersion": api_version,
        "time": time,
        "fieldsType": "FieldsV1",
    }
    if subresource:
        row["subresource"] = subresource
    return Manager(name, operation, subresource, set(), row)


def after_update(old: Json | None, new: Json, manager: Manager, keys: MergeKey = merge_key) -> list[Json]:
    """managedFields after an ordinary write: the writer owns what it changed, others lose it."""
    after = set(paths(new, keys))
    changed = after if old is None else {path for path in after if value_at(old, path) != value_at(new, path)}
    managers = managers_of(old) if old is not None else []
    for other in managers:
        other.fields = {path for path in other.fields if value_at(new, path) is not None}
        if other.key != manager.key:
            other.fields -= changed
    mine = next((other for other in managers if other.key == manager.key), None)
    if mine is None:
        managers.append(manager)
        mine = manager
    elif changed - mine.fields:
        mine.row = {**mine.row, "time": manager.row["time"]}
    mine.fields |= changed
    return render(managers)


@dataclass(frozen=True, slots=True)
class Clash:
    """A field that another manager owns with another value."""

    manager: Manager
    path: Path

    @property
    def field(self) -> str:
        """The path as in a conflict's cause: `.spec.taints`, `.status.conditions[type="Ready"].status`."""
        text = ""
        for element in self.path:
            if element.startswith("f:"):
                text += "." + element[2:]
            elif element.startswith("k:"):
                pairs = json.loads(element[2:]).items()
                text += "[" + ",".join(f"{name}={json.dumps(value)}" for name, value in pairs) + "]"
            else:
                text += f"[={element[2:]}]"
        return text


def clashes(live: Json, applied: Json, wanted: set[Path], manager: Manager) -> list[Clash]:
    """Fields of `wanted` that others own with another value."""
    found = []
    for other in managers_of(live):
        if other.key == manager.key:
            continue
        for path in sorted(other.fields):
            overlap = [mine for mine in wanted if mine[: len(path)] == path or path[: len(mine)] == mine]
            if any(value_at(live, mine) != value_at(applied, mine) for mine in overlap):
                found.append(Clash(other, path))
    return found


def merge_applied(live: Json, applied: Json, keys: MergeKey = merge_key) -> Json:
    """The live object with the applied configuration laid over it."""
    return dict(_merge(copy.deepcopy(live), applied, keys))


def _merge(live: Any, applied: Any, keys: MergeKey) -> Any:
    if not isinstance(live, dict) or not isinstance(applied, dict):
        return copy.deepcopy(applied)
    for name, value in applied.items():
        if isinstance(value, list) and isinstance(live.get(name), list):
            live[name] = _merge_items(name, live[name], value, keys)
        else:
            live[name] = _merge(live.get(name), value, keys)
    return live


def _merge_items(name: str, live: list[Any], applied: list[Any], keys: MergeKey) -> list[Any]:
    if is_set(name):
        return [*live, *(item for item in applied if item not in live)]
    key = keys(name, [*live, *applied])
    if key is None:
        return copy.deepcopy(applied)
    merged = {item.get(key): item for item in live}
    for item in applied:
        merged[item.get(key)] = _merge(merged.get(item.get(key)), item, keys)
    return list(merged.values())


def after_apply(live: Json, applied: Json, manager: Manager, lost: list[Clash], keys: MergeKey = merge_key) -> Json:
    """The object after an apply that won: fields that the manager left out go, fields it took leave their owners."""
    wanted = set(paths(applied, keys))
    merged = merge_applied(live, applied, keys)
    managers = managers_of(live)
    mine = next((other for other in managers if other.key == manager.key), None)
    others = [other for other in managers if other is not mine]
    taken = {clash.path for clash in lost}
    for other in others:
        other.fields -= taken
    kept = {path for other in others for path in other.fields}
    for path in sorted((mine.fields if mine else set()) - wanted, reverse=True):
        if path not in kept and not any(other[: len(path)] == path for other in wanted):
            remove_at(merged, path)
    row = {**manager.row, "time": mine.row["time"]} if mine and mine.fields == wanted and not lost else manager.row
    me = Manager(manager.name, manager.operation, manager.subresource, wanted, row)
    merged["metadata"]["managedFields"] = render([*others, me])
    return dict(merged)
