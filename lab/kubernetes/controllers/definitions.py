"""Custom resource definitions: served about two seconds after their creation, gone with their objects when deleted."""

from __future__ import annotations

import asyncio

from lab.kubernetes.cluster import Cluster
from lab.kubernetes.registry import utc_text
from lab.kubernetes.resources import Json, Resource
from lab.kubernetes.store import Change

PLACE = ("apiextensions.k8s.io", "customresourcedefinitions")
ESTABLISH_SECONDS = 2.0


def rows_of(definition: Json) -> list[Resource]:
    """The resource rows of a definition, one per served version."""
    spec, names = definition["spec"], definition["spec"]["names"]
    rows = []
    for version in spec.get("versions") or []:
        if not version.get("served", True):
            continue
        subresources = tuple(name for name in ("status", "scale") if name in (version.get("subresources") or {}))
        rows.append(
            Resource(
                spec["group"],
                version["name"],
                names["plural"],
                names["kind"],
                spec["scope"] == "Namespaced",
                tuple(names.get("shortNames") or ()),
                tuple(name for name in subresources if name == "status"),
                categories=tuple(names.get("categories") or ()),
                custom=True,
                schema=(version.get("schema") or {}).get("openAPIV3Schema"),
                columns=tuple(version.get("additionalPrinterColumns") or ()),
            )
        )
    return rows


class DefinitionController:
    """Keeps the catalogue in line with the definitions."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def start(self) -> None:
        """Begin to listen."""
        self._cluster.store.listen(self._changed, PLACE)

    def _changed(self, change: Change) -> None:
        if change.after is None:
            assert change.before is not None
            self._remove(change.before.obj)
            return
        definition = change.after.obj
        if change.before is None:
            asyncio.get_running_loop().call_later(ESTABLISH_SECONDS, self._establish, change.key[1])
        elif change.before.obj["spec"] != definition["spec"] and _established(definition):
            self._serve(definition)

    def _establish(self, name: str) -> None:
        now = utc_text(self._cluster.registry.now())

        def change(obj: Json) -> Json:
            spec = obj["spec"]
            condition = {"status": "True", "lastTransitionTime": now, "message": ""}
            obj["status"] = {
                "conditions": [
                    {"type": "NamesAccepted", "reason": "NoConflicts", **condition, "message": "no conflicts found"},
                    {"type": "Established", "reason": "InitialNamesAccepted", **condition},
                ],
                "acceptedNames": spec["names"],
                "storedVersions": [item["name"] for item in spec["versions"] if item.get("storage")],
            }
            return obj

        resource = self._cluster.catalogue.by_plural(PLACE[1], PLACE[0])
        made = self._cluster.registry.mutate(resource, "", name, change)
        if made is not None:
            self._serve(made)

    def _serve(self, definition: Json) -> None:
        names = definition["spec"]["names"]
        self._cluster.catalogue.remove(definition["spec"]["group"], names["plural"])
        for row in rows_of(definition):
            self._cluster.catalogue.add(row)

    def _remove(self, definition: Json) -> None:
        group, plural = definition["spec"]["group"], definition["spec"]["names"]["plural"]
        for key, _ in self._cluster.store.entries((group, plural)):
            self._cluster.store.remove((group, plural), *key)
        self._cluster.catalogue.remove(group, plural)


def _established(definition: Json) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or []
    return any(item["type"] == "Established" and item["status"] == "True" for item in conditions)
