"""Finish: a verified node enters standby; any other keeps its milestone and says why it stopped there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nodeworthy.evidence.verdicts import Verdict
from nodeworthy.lifecycle.approvals import UNANSWERED
from nodeworthy.lifecycle.records import Lease, NodeRecord
from nodeworthy.ports import Work
from nodeworthy.procedures.projection import show
from nodeworthy.procedures.segments import soaked

DESTINATION = "standby"
REFUSED_BY_PERSON = "The plan was refused"


@dataclass(frozen=True, slots=True)
class End:
    """How a run ended for one node."""

    reached: bool
    stopped_by_person: bool
    sentence: str


def arrived(record: NodeRecord, work: Work) -> bool:
    """Tell whether the node is where onboarding ends, or beyond."""
    return work.library.lifecycle().has_reached(record.milestone, DESTINATION)


def refused_by_person(record: NodeRecord) -> bool:
    """Tell whether a person said no to the node's plan, or nobody answered in time: no failure of the node."""
    return record.reason.startswith((REFUSED_BY_PERSON, UNANSWERED))


def where_it_stands(record: NodeRecord) -> str:
    """Return one line about a node: its milestone and, when it stopped, why."""
    return f"{record.node.name}: {record.milestone}" + (f" - {record.reason}" if record.reason else "")


def finish(take_lease: Callable[[], Lease], record: NodeRecord, work: Work) -> End:
    """Let a verified node enter standby, prove its taints in the cluster and close its episode. Re-entrant."""
    name = record.node.name
    lifecycle = work.library.lifecycle()
    if not lifecycle.has_reached(record.milestone, "verified"):
        return stopped(record, work)
    if record.episode is not None:
        lease = take_lease()
        if not arrived(record, work):
            work.ledger.advance(lease, "enter_standby", {})
        show(name, work)
        work.ledger.release(lease, close=True, reason="")
    return End(True, False, f"{name} is proven spare capacity: standby, tainted until it is admitted.")


def stopped(record: NodeRecord, work: Work) -> End:
    """Return why a node that stands before its destination does not go on."""
    name = record.node.name
    if record.episode is not None:
        refusal = next((j for j in work.ledger.judgements(name, episode=record.episode)), None)
        if not record.reason and refusal is not None and refusal.verdict is not Verdict.PASS:
            return End(False, False, refusal.sentence)
    reason = record.reason or f"{name} stopped at {record.milestone}: see its last task for what happened."
    return End(False, refused_by_person(record), reason)


def finish_soak(take_lease: Callable[[], Lease], record: NodeRecord, work: Work, suite: str) -> End:
    """Give a soaked node back: at standby its episode ends, before it the episode waits for a bring-up. Re-entrant."""
    name = record.node.name
    granted = soaked(record, suite, work)
    if granted is None:
        return stopped(record, work)
    there = arrived(record, work)
    if record.episode is not None:
        work.ledger.release(take_lease(), close=there, reason="")
    rest = "" if there else "; bring_up takes it on from there"
    until = granted.expires_at.isoformat(timespec="minutes")
    return End(
        True, False, f"{name} passed {suite} and is {record.milestone}; its hardware is qualified until {until}{rest}."
    )


def screened(record: NodeRecord, work: Work, suite: str) -> End:
    """Return what the newest group test of a suite said of a node in this episode, or in the newest."""
    found = work.ledger.judgements(record.node.name, episode=record.episode)
    judged = next((one for one in found if one.suite == suite), None)
    if judged is None:
        return stopped(record, work)
    return End(judged.verdict is Verdict.PASS, False, judged.sentence)


def finish_screened(take_lease: Callable[[], Lease], record: NodeRecord, work: Work, suite: str) -> End:
    """Give a node back after a group test; its episode ends where it stands by. Re-entrant."""
    end = screened(record, work, suite)
    if end.reached and record.episode is not None:
        work.ledger.release(take_lease(), close=arrived(record, work), reason=end.sentence)
    return end
