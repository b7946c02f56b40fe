"""Again: a node that a judgement refused is measured anew once a person clears the task that refused it.

Airflow starts a task again for two reasons: by itself, after a loss, and because a person cleared it. Only the second
is a wish to measure. So the task that refuses a node for a verdict writes that down with how many tries Airflow had
given it by then: a clear gives more, a retry does not. Whatever dies in between, the next start reads the same record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from nodeworthy.errors import Refused
from nodeworthy.evidence.verdicts import Judgement, Scope, Verdict
from nodeworthy.lifecycle.path import Stage
from nodeworthy.lifecycle.records import Lease, NodeRecord
from nodeworthy.ports import Work
from nodeworthy.procedures.effect import INTENDED, PROVEN
from nodeworthy.procedures.finish import refused_by_person
from nodeworthy.procedures.judge_wave import Judging, judge_wave
from nodeworthy.procedures.open_wave import RETEST

REFUSAL = "verdict-refusal"
"""The kind of the record: nothing is sent to anybody."""


@dataclass(frozen=True, slots=True)
class Start:
    """One start of a task of one node. `tries`: how many Airflow has given it so far; only a person's clear adds."""

    task: str
    tries: int


def asked_again(lease: Lease, work: Work, start: Start) -> bool:
    """Tell whether a person cleared this task since it refused the node for its newest bad verdict.

    The first task of a run that meets a bad verdict writes its refusal down here, and it alone measures again, through
    every stage of the way. Refused while a hold keeps automation off the node.
    """
    key = _key(work.ledger.judgements(lease.node, episode=lease.episode), lease.run)
    if not key:
        return False
    kept = work.ledger.intend(lease, REFUSAL, key, {"task": start.task, "tries": start.tries})
    if kept.status == INTENDED:
        work.ledger.settle(lease, kept, PROVEN, {})
        work.say(f"Once the cause is gone, clear this task: {lease.node} is measured again then.")
    return kept.detail["task"] == start.task and int(kept.detail["tries"]) < start.tries


def is_bad(record: NodeRecord, work: Work) -> bool:
    """Tell whether a verdict of the open episode refused the node; not for a node that a person stopped."""
    if record.episode is None or refused_by_person(record):
        return False
    return any(one.verdict is not Verdict.PASS for one in _judged(record, work))


def is_passed(record: NodeRecord, scope: Scope, work: Work) -> bool:
    """Tell whether the newest verdict of the open episode is a pass of this scope."""
    judged = _judged(record, work)
    return bool(judged) and (judged[0].scope, judged[0].verdict) == (scope, Verdict.PASS)


def was_refused(record: NodeRecord, run: str, work: Work) -> bool:
    """Tell whether a task of the run has refused the node for its newest verdict, and so measures it when cleared."""
    judged = _judged(record, work)
    if not judged or judged[0].verdict is Verdict.PASS:
        return False
    effects = work.ledger.effects(record.node.name, episode=record.episode)
    return any((one.kind, one.key) == (REFUSAL, _key(judged, run)) for one in effects)


def begin_again(lease: Lease, record: NodeRecord, work: Work, why: str) -> None:
    """Let a quarantined node be tested again, from its firmware on. A node that a verdict left where it was stays."""
    if work.library.lifecycle().transition(record.milestone, RETEST) is not None:
        work.ledger.advance(lease, RETEST, {"reason": why})
        work.say(f"{record.node.name} was {record.milestone} ({record.reason}); {why}, from its firmware on.")


def next_stage(record: NodeRecord, stages: tuple[Stage, ...], work: Work) -> Stage:
    """Return the first of some stages that a node has not behind it; the last, to be done in place, when it has all."""
    lifecycle, milestone = work.library.lifecycle(), record.milestone
    begins = {row.from_ for stage in stages for row in stage.rows}
    if milestone not in begins and not lifecycle.has_reached(milestone, stages[-1].ends):
        raise Refused(f"{record.node.name} is {milestone}, and no test leads on from there: see what brought it there.")
    return next((stage for stage in stages if not lifecycle.has_reached(milestone, stage.ends)), stages[-1])


def judge_again(node: str, run: str, scope: Scope, work: Work, judging: Judging) -> bool:
    """Judge what waits of this one node, or finish what was judged and not moved; tell whether there was anything.

    Raises Refused with the judgement's sentence when it is no pass.
    """
    judged = judge_wave(run, scope, work, judging, only=node)
    bad = next((one for one in judged if one.verdict is not Verdict.PASS), None)
    if bad is not None:
        raise Refused(bad.sentence)
    return bool(judged)


def _judged(record: NodeRecord, work: Work) -> tuple[Judgement, ...]:
    """Return the verdicts of the open episode, newest first."""
    return () if record.episode is None else work.ledger.judgements(record.node.name, episode=record.episode)


def _key(judged: Sequence[Judgement], run: str) -> str:
    """Return the name of the newest bad verdict among the refusals of a run; empty when there is none."""
    number = next((len(judged) - later for later, one in enumerate(judged) if one.verdict is not Verdict.PASS), 0)
    return f"{sha256(run.encode()).hexdigest()[:8]}/{number}" if number else ""
