"""Open a wave: turn what an operator asked for into nodes whose leases this run holds.

What cannot be worked on is left out with one sentence each, and the rest goes on: an unknown name, a node that another
run holds, a node that is proven already. An empty answer or a duplicate refuses the whole request, because then it is
unclear what was meant. What one wave has no room for is named for the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from nodeworthy.errors import Refused
from nodeworthy.lifecycle.records import NodeRecord
from nodeworthy.ports import Work
from nodeworthy.procedures.finish import arrived
from nodeworthy.procedures.lease_life import lease_life
from nodeworthy.procedures.segments import stands_to_be_tested

RETEST = "retest"
"""The event that lets a quarantined node be tested again; it voids both scopes."""

LARGEST_WAVE = 256
"""Nodes that one run treats together: expanding a mapped group blocks Airflow's only scheduler about 10 ms a task."""


@dataclass(frozen=True, slots=True)
class WaveRequest:
    """What the form asks for: names, or a rack, or a batch of the manifest, or what an earlier run left unfinished."""

    run: str
    names: tuple[str, ...]
    rack: str
    batch: str
    retry_of: str
    kind: str
    fleet: str
    reached: str = ""
    """For tests of nodes where they stand: the milestone from which on, up to standby, a node is taken as it is."""
    only_reached: bool = False
    """Leave out what has not come to `reached`."""
    largest: int = LARGEST_WAVE
    """How many nodes the wave has room for."""


@dataclass(frozen=True, slots=True)
class Wave:
    """The nodes that this run works on, a sentence for each that it leaves out, and those for which it has no room."""

    nodes: tuple[str, ...]
    left_out: tuple[str, ...]
    later: tuple[str, ...] = ()


def open_wave(request: WaveRequest, work: Work) -> Wave:
    """Import the manifest, choose the nodes and take their leases. Refused when the request itself is unclear."""
    if request.fleet:
        for change in work.ledger.import_fleet(work.library.fleet(request.fleet)):
            work.say(change)
    records, left_out = _chosen(request, work)
    taken: list[str] = []
    later: list[str] = []
    for record in records:
        if len(taken) == request.largest:
            later.append(record.node.name)
        elif refusal := _take(record, request, work):
            left_out.append(refusal)
        else:
            taken.append(record.node.name)
    return Wave(tuple(taken), tuple(left_out), tuple(later))


def _chosen(request: WaveRequest, work: Work) -> tuple[Sequence[NodeRecord], list[str]]:
    given = {
        "nodes": bool(request.names),
        "rack": bool(request.rack),
        "batch": bool(request.batch),
        "retry_of": bool(request.retry_of),
    }
    chosen = [name for name, is_given in given.items() if is_given]
    if len(chosen) != 1:
        what = "none" if not chosen else " and ".join(chosen)
        raise Refused(f"The form must name exactly one of nodes, rack, batch or retry_of, and {what} was given.")
    if request.rack or request.batch:
        return _declared(request, work), []
    names = request.names or work.ledger.run_nodes(request.retry_of)
    if not names:
        raise Refused(f"The run {request.retry_of} held no node: look up the run id in the list of runs of this DAG.")
    return named(names, work)


def _declared(request: WaveRequest, work: Work) -> Sequence[NodeRecord]:
    records = work.ledger.nodes(rack=request.rack, batch=request.batch)
    if not records:
        where = f"rack {request.rack}" if request.rack else f"batch {request.batch}"
        raise Refused(f"The fleet manifest has no node in {where}: check the spelling or the manifest.")
    return records


def named(names: Sequence[str], work: Work) -> tuple[Sequence[NodeRecord], list[str]]:
    """Return the records of these names, and a sentence for each that is unknown. Refused when one stands twice."""
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise Refused(f"The list names {', '.join(twice)} more than once: name each node once.")
    records = work.ledger.nodes(list(names))
    known = {record.node.name for record in records}
    unknown = [f"{name} is not in the fleet manifest and was left out." for name in names if name not in known]
    return records, unknown


def _take(record: NodeRecord, request: WaveRequest, work: Work) -> str:
    """Take one node's lease; return why it was left out, or nothing."""
    if why_not := _not_now(record, request, work):
        return why_not
    try:
        lease = work.ledger.open_episode(
            record.node.name, kind=request.kind, run=request.run, lifetime=lease_life(record.node.pool, work)
        )
        if work.library.lifecycle().transition(record.milestone, RETEST) is not None:
            reason = f"run {request.run} tests it again"
            work.ledger.advance(lease, RETEST, {"reason": reason})
            work.say(f"{record.node.name} was {record.milestone} ({record.reason}); {reason} from its firmware on.")
    except Refused as refusal:
        return f"{record.node.name} was left out: {refusal.sentence}"
    return ""


def _not_now(record: NodeRecord, request: WaveRequest, work: Work) -> str:
    """Return why a node that stands where it does has no part in the request, or nothing."""
    name, lifecycle = record.node.name, work.library.lifecycle()
    if not request.reached:
        return f"{name} is {record.milestone} already and was left out." if arrived(record, work) else ""
    if stands_to_be_tested(lifecycle, record.milestone, request.reached):
        return ""
    if lifecycle.milestone(record.milestone).schedulable:
        return f"{name} is {record.milestone} and was left out: no test runs on a node that may serve a customer."
    coming = record.milestone in {row.from_ for row in lifecycle.path} or lifecycle.transition(record.milestone, RETEST)
    if request.only_reached or not coming:
        return f"{name} is {record.milestone} and was left out: it is tested from {request.reached} on up to standby."
    return ""
