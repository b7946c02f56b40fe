"""Captures of a real BMC: one JSON file or a folder of Redfish bodies, read into a map from path to body.

Three shapes are understood: one JSON object whose keys are the paths that were served; one JSON object that is itself a
resource; a folder tree as crawlers make it (`.../redfish/v1/Systems/index.json`, or `Systems.json` beside its folder).
Keys with and without a slash at the end are one. Collections above what is there are not invented, except a service
root when there is none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_MARK = "redfish/v1"
_ROOT = "/redfish/v1/"
_TOP = ("Systems", "Chassis", "Managers", "UpdateService", "TaskService", "EventService", "Fabrics")


@cache
def load_bundle(source: Path) -> Mapping[str, Any]:
    """Bodies by path below the service root, without slashes at the ends; ValueError if `source` is no capture."""
    bodies = _folder(source) if source.is_dir() else _file(source)
    bundle: dict[str, Any] = {}
    for path, body in bodies.items():
        key = _key(path)
        if key is not None and isinstance(body, dict):
            bundle.setdefault(key, body)
    if not bundle:
        raise ValueError(f"{source} holds no Redfish bodies: expected keys or files below /redfish/v1.")
    root = bundle.get("") or _invented_root(bundle)
    # Sessions are the lab's own, whatever the capture says: a replayed BMC is guarded like any other.
    bundle[""] = {**root, "SessionService": _link("SessionService"), "Links": _links(root)}
    return bundle


def _links(root: Mapping[str, Any]) -> dict[str, Any]:
    return {**root.get("Links", {}), "Sessions": _link("SessionService/Sessions")}


def _invented_root(bundle: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: _link(name) for name in _TOP if any(path.split("/")[0] == name for path in bundle)}
    return {
        "@odata.id": "/redfish/v1/",
        "@odata.type": "#ServiceRoot.v1_15_0.ServiceRoot",
        "Id": "RootService",
        "Name": "Root Service",
        "RedfishVersion": "1.15.0",
        **found,
    }


def _link(path: str) -> dict[str, str]:
    return {"@odata.id": _ROOT + path}


def _key(path: str) -> str | None:
    position = path.find(_MARK)
    return None if position < 0 else path[position + len(_MARK) :].strip("/")


def _file(source: Path) -> Mapping[str, Any]:
    document = json.loads(source.read_text(encoding="utf-8"))
    if not isinstance(document, dict):
        raise ValueError(f"{source} is no JSON object.")
    if "@odata.id" in document:
        return {str(document["@odata.id"]).partition("#")[0]: document}
    return document


def _folder(source: Path) -> Mapping[str, Any]:
    bodies = {}
    for file in sorted(source.rglob("*.json")):
        place = file.relative_to(source.parent).as_posix()
        body = json.loads(file.read_text(encoding="utf-8"))
        path = place.removesuffix(".json").removesuffix("/index")
        own = body.get("@odata.id", path) if isinstance(body, dict) else path
        bodies[path if _MARK in path else own] = body
    return bodies


def host_serial(source: Path) -> str | None:
    """The serial number of the captured server: the chassis of kind RackMount, else a system's, else any chassis'."""
    bundle = load_bundle(source)
    chassis = [body for path, body in bundle.items() if path.startswith("Chassis/") and path.count("/") == 1]
    systems = [body for path, body in bundle.items() if path.startswith("Systems/") and path.count("/") == 1]
    racks = [body for body in chassis if body.get("ChassisType") == "RackMount"]
    hosts = [body for body in systems if "Boot" in body or "Bios" in body]
    for body in (*racks, *hosts, *systems, *chassis):
        serial = str(body.get("SerialNumber") or "").strip()
        if serial:
            return serial
    return None
