"""ibnetdiscover: every link of an InfiniBand fabric, as each of its two ends tells of it.

A link stands in the file twice, once under each of its nodes; one that stands there once, or whose ends disagree, was
cut or damaged. Adapters become rows: their lanes, with the host and device of their node description, the switch and
its port. Source: infiniband-diags, ibnetdiscover(8), "Topology file format"; node descriptions as rdma-ndd and
switches write them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .documents import plain_lines
from .sheet import Sheet

TOOL = "ibnetdiscover"
_NODE = re.compile(r'^(?P<kind>Switch|Ca|Rt)\s+(?P<ports>\d+)\s+"(?P<id>[SHR]-[0-9a-f]{16})"\s+#\s+"(?P<said>[^"]*)"')
_PORT = re.compile(
    r'^\[(?P<own>\d+)\](?:\[ext \d+\])?(?:\([0-9a-f]+\))?\s+"(?P<id>[SHR]-[0-9a-f]{16})"\[(?P<far>\d+)\]'
    r"(?:\[ext \d+\])?(?:\([0-9a-f]+\))?\s+#(?P<rest>.*)$"
)
_RATE = re.compile(r"\b(?P<lanes>1|2|4|8|12)x(?P<speed>SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR|XDR)$")
_SWITCH = re.compile(r"^(?:MF0;)?(?P<name>[^:;]+)(?::[^:]*)?$")

End = tuple[str, int]
"""A node's id and the number of one of its ports."""


@dataclass
class _Node:
    """One node as its own head tells of it, and what its ports are joined to."""

    kind: str
    ports: int
    said: str
    links: dict[int, tuple[End, str]] = field(default_factory=dict)


def read(text: str, sheet: Sheet) -> None:
    """Read the whole file; nothing is believed of one whose ends contradict each other."""
    nodes = _nodes(plain_lines(text), sheet)
    if not nodes:
        sheet.note("document/cut", "file", "no node of a fabric is named")
    for name, node in nodes.items():
        for port, (far, rate) in node.links.items():
            _check((name, port), far, rate, nodes, sheet)
            if node.kind == "Ca":
                _row(name, node, port, nodes, sheet)


def _nodes(lines: list[str], sheet: Sheet) -> dict[str, _Node]:
    found: dict[str, _Node] = {}
    current: _Node | None = None
    for line in lines:
        if head := _NODE.match(line):
            if head["id"] in found:
                sheet.note("document/duplicate", "file", f"{head['id']} stands there twice")
            current = found[head["id"]] = _Node(head["kind"], int(head["ports"]), head["said"])
        elif port := _PORT.match(line):
            _joined(current, port, sheet)
        elif line.startswith(("[", "Switch", "Ca", "Rt")):
            sheet.note("row/unreadable", "file", line[:120])
    return found


def _joined(node: _Node | None, port: re.Match[str], sheet: Sheet) -> None:
    own, rate = int(port["own"]), _RATE.search(port["rest"].strip())
    if node is None or rate is None:
        sheet.note("row/unreadable", "file", port[0][:120])
    elif own in node.links or not 0 < own <= node.ports + 1:
        sheet.note("document/contradiction", "file", f"port {own} of {node.said}: {port[0][:100]}")
    else:
        node.links[own] = (port["id"], int(port["far"])), rate[0]


def _check(own: End, far: End, rate: str, nodes: dict[str, _Node], sheet: Sheet) -> None:
    other = nodes[far[0]].links.get(far[1]) if far[0] in nodes else None
    if other is None:
        sheet.note(
            "row/missing", "file", f"{own[0]} port {own[1]} is joined to {far[0]} port {far[1]}, which is not there"
        )
    elif other != (own, rate):
        sheet.note("document/contradiction", "file", f"{own[0]} port {own[1]} and {far[0]} port {far[1]} disagree")


def _row(name: str, node: _Node, port: int, nodes: dict[str, _Node], sheet: Sheet) -> None:
    (far, far_port), rate = node.links[port]
    told = _SWITCH.match(nodes[far].said.strip()) if far in nodes else None
    words = node.said.split() or [name]
    parts = _RATE.search(rate)
    details = {
        "host": words[0],
        "device": words[-1] if len(words) > 1 else "",
        "port": port,
        "switch": told["name"] if told else far,
        "switch_port": far_port,
        "speed": parts["speed"] if parts else "",
    }
    sheet.number(f"port/{name}/{port}", "lanes", parts["lanes"] if parts else None, "count", parameters=details)
