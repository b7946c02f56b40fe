"""The host's processes and mounts, from one look at its /proc.

Arguments of ``host-processes``: ``--zombies SECONDS``, from which age on a zombie counts. Of ``host-services``:
``--demand A,B``, names of processes. Of ``host-mounts``: ``--demand /a,/b``, places where a file system must be mounted
to write to. The kernel keeps fifteen characters of a process's name, so no more are compared (proc_pid_comm(5)).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, sequence
from nodeworthy_probe.parsers.numbers import finite
from nodeworthy_probe.records import Reading

from .context import Context
from .demands import count_of, document, named, nothing, rows, wanted

_NAME_LENGTH = 15
_UNITS = {"processes_stuck": "count", "zombies": "count", "file_systems_read_only": "count"}
_SERVICES = {"services_missing": "count"}
_MOUNTS = {"mounts_missing": "count"}
_NO_PROC = "the host's /proc is not mounted in the pod"


def read(text: str, context: Context) -> Reading:
    """Processes that do not leave uninterruptible sleep, old zombies, and file systems that turned read-only."""
    state = document(text)
    if not state:
        return nothing(_UNITS, _NO_PROC)
    stuck, zombies = _told(state, "stuck"), _old(state, wanted(context.test.arguments).get("zombies", []))
    turned = _turned(state)
    values = {
        "processes_stuck": count_of(stuck),
        "zombies": count_of(zombies),
        "file_systems_read_only": count_of(turned),
    }
    lines = (
        named(stuck, "processes stuck in uninterruptible sleep", _NO_PROC),
        named(zombies, "old zombies", _NO_PROC),
        named(turned, "file systems that the kernel made read-only", _NO_PROC),
    )
    return Reading(rows(values, _UNITS), lines=lines)


def read_services(text: str, context: Context) -> Reading:
    """How many of the demanded services have no process."""
    state = document(text)
    names, lacking = state.get("names"), None
    if isinstance(names, list):
        asked = wanted(context.test.arguments).get("demand", [])
        lacking = [one for one in asked if one[:_NAME_LENGTH] not in names]
    line = named(lacking, "services that do not run", _NO_PROC)
    return Reading(rows({"services_missing": count_of(lacking)}, _SERVICES), lines=(line,))


def read_mounts(text: str, context: Context) -> Reading:
    """At how many of the demanded places no file system is mounted that can be written to."""
    state = document(text)
    lacking = None
    if isinstance(state.get("mounts"), list):
        rowed = [mapping(row) for row in sequence(state.get("mounts"))]
        there = {row.get("at") for row in rowed if row.get("writable") is True and row.get("mount_writable") is True}
        lacking = [one for one in wanted(context.test.arguments).get("demand", []) if one not in there]
    line = named(lacking, "places without a writable file system", _NO_PROC)
    return Reading(rows({"mounts_missing": count_of(lacking)}, _MOUNTS), lines=(line,))


def _told(state: Mapping[str, Any], key: str) -> list[str] | None:
    if not isinstance(state.get(key), list):
        return None
    return [f"{row.get('name')} ({row.get('pid')})" for row in map(mapping, sequence(state.get(key)))]


def _old(state: Mapping[str, Any], limit: list[str]) -> list[str] | None:
    """Zombies from the asked age on: a younger one may just wait for its parent."""
    if not isinstance(state.get("zombies"), list) or len(limit) != 1 or not limit[0].isdigit():
        return None
    found = [mapping(row) for row in sequence(state.get("zombies"))]
    return [
        f"{row.get('name')} ({row.get('pid')}, child of {row.get('parent')})"
        for row in found
        if (finite(row.get("age_seconds")) or 0.0) >= int(limit[0])
    ]


def _turned(state: Mapping[str, Any]) -> list[str] | None:
    """File systems that were mounted to be written and are not any more: ext4 and XFS turn so on an error."""
    if not isinstance(state.get("mounts"), list):
        return None
    found = [mapping(row) for row in sequence(state.get("mounts"))]
    return [
        f"{row.get('at')} ({row.get('type')})"
        for row in found
        if row.get("mount_writable") is True and row.get("writable") is False
    ]
