"""Where a node stands before a procedure begins: done already, ready to begin, or not here yet and why."""

from __future__ import annotations

from nodeworthy.errors import Refused
from nodeworthy.evidence.verdicts import Verdict
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.lifecycle.records import NodeRecord
from nodeworthy.ports import Work
from nodeworthy.procedures.outcome import Done


def record_of(node: FleetNode, work: Work) -> NodeRecord:
    """Return the ledger's record. Raises Refused when the ledger does not know the node."""
    records = work.ledger.nodes([node.name])
    if not records:
        raise Refused(f"{node.name} is not in the ledger: import the fleet manifest first.")
    return records[0]


def begin(event: str, node: FleetNode, work: Work) -> Done | None:
    """Return Done when `event` is proven already, None when it may begin now.

    Raises Refused when the node does not stand where `event` begins: with the last judgement's sentence where one
    stopped it, so that the task which comes too late names the cause and not its own place in the order.
    """
    record = record_of(node, work)
    lifecycle = work.library.lifecycle()
    if lifecycle.is_done(record.milestone, event):
        summary = f"{node.name} is {record.milestone}: {event} was proven before and is not repeated."
        work.say(summary)
        return Done(summary)
    if lifecycle.transition(record.milestone, event) is None:
        raise Refused(_why_not(event, record, work))
    return None


def _why_not(event: str, record: NodeRecord, work: Work) -> str:
    name = record.node.name
    judgements = work.ledger.judgements(name, episode=record.episode)
    if judgements and judgements[0].verdict is not Verdict.PASS:
        return judgements[0].sentence
    if record.reason:
        return record.reason
    return f"{name} is {record.milestone} and {event} does not begin there: see the step before for what stopped it."
