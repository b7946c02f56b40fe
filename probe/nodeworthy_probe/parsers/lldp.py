"""Reads the neighbours of ``lldpcli -f json0`` and, as far as it is clear, of ``-f json``.

json0 puts every value into a list; json names interfaces and switches as keys and changes its
shape with the number of neighbours. Both are reduced to interface, switch and port.
Source: lldpd 1.0, lldpcli(8).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, sequence


@dataclass(frozen=True)
class Neighbour:
    """What is at the other end of one interface's cable."""

    interface: str
    switch: str
    port: str


def parse(text: str) -> tuple[Neighbour, ...] | str:
    """All neighbours in the order printed, or a sentence that says why they cannot be read."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return "the output is not JSON"
    if not isinstance(document, dict) or "lldp" not in document:
        return "the output is not a list of LLDP neighbours"
    found: list[Neighbour] = []
    for name, entry in _interfaces(document["lldp"]):
        switch, port = _switch(entry.get("chassis")), _port(entry.get("port"))
        if not name or not switch or not port:
            return f"a neighbour of {name or 'an interface without a name'} lacks its switch or port"
        found.append(Neighbour(name, switch, port))
    return tuple(found)


def _interfaces(root: object) -> Iterator[tuple[str, dict[str, Any]]]:
    for holder in _as_list(root):
        for entry in _as_list(mapping(holder).get("interface")):
            if "chassis" in mapping(entry):
                yield str(entry.get("name", "")), mapping(entry)
            else:
                yield from ((name, mapping(value)) for name, value in mapping(entry).items())


def _switch(chassis: object) -> str:
    for entry in map(mapping, _as_list(chassis)):
        if "name" in entry:
            return _value(entry["name"])
        named = [name for name, value in entry.items() if isinstance(value, dict) and name != "id"]
        return named[0] if named else _value(entry.get("id"))
    return ""


def _port(port: object) -> str:
    for entry in map(mapping, _as_list(port)):
        return _value(entry.get("id"))
    return ""


def _value(node: object) -> str:
    for entry in _as_list(node):
        value = entry.get("value") if isinstance(entry, dict) else entry
        return value if isinstance(value, str) else ""
    return ""


def _as_list(node: object) -> list[Any]:
    return sequence(node) if isinstance(node, list) else [] if node is None else [node]
