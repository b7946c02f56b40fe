"""Isolate: a node that failed keeps everybody out. Isolation is never refused by a budget, a brake or a hold."""

from __future__ import annotations

from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.records import Lease
from nodeworthy.ports import Work
from nodeworthy.procedures.outcome import Done
from nodeworthy.procedures.projection import show

QUARANTINED = "quarantined"


def isolate(lease: Lease, node: FleetNode, work: Work, *, reason: str) -> Done:
    """Taint the node and move it to quarantine. The taint comes first: a crash in between errs on the safe side."""
    projection = work.library.lifecycle().projection(QUARANTINED)
    there = work.cluster.node(node.name) is not None
    if there:
        work.cluster.project(node.name, taints=projection.taints, labels=projection.labels, episode=lease.episode)
        work.say(f"Node {node.name} carries {', '.join(taint.key for taint in projection.taints)}.")
    work.ledger.advance(lease, "quarantine", {"reason": reason})
    if there:
        show(node.name, work)
    summary = f"{node.name} is quarantined: {reason}"
    work.say(summary)
    return Done(summary, {"reason": reason})
