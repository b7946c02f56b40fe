"""Small builders for Redfish JSON: every resource, collection and link of the lab is made by these."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Document = dict[str, Any]
ROOT = "/redfish/v1/"
OK = {"State": "Enabled", "Health": "OK", "HealthRollup": "OK"}


def link(path: str) -> Document:
    """A reference to a path below the service root."""
    return {"@odata.id": ROOT + path}


def resource(path: str, kind: str, name: str, **fields: Any) -> Document:
    """A resource of the schema version `kind` (such as `Chassis.v1_25_0`); its id is the path's last segment."""
    schema = kind.partition(".")[0]
    return {
        "@odata.id": ROOT + path,
        "@odata.type": f"#{kind}.{schema}",
        "Id": path.rsplit("/", 1)[-1],
        "Name": name,
        **fields,
    }


def collection(path: str, kind: str, members: Iterable[str]) -> Document:
    """A collection whose members are the given ids, which need no escaping."""
    rows = [link(f"{path}/{member}") for member in members]
    return {
        "@odata.id": ROOT + path,
        "@odata.type": f"#{kind}Collection.{kind}Collection",
        "Name": f"{kind} Collection",
        "Members@odata.count": len(rows),
        "Members": rows,
    }


def links(paths: Iterable[str]) -> list[Document]:
    """References to several paths."""
    return [link(path) for path in paths]
