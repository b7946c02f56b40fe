"""Rejudge: decide from stored evidence, by the baselines that are in force now, without running a test again.

It touches only what waits for a baseline: a node whose newest judgement says nothing else than `no_baseline`. The new
judgement gets its own dossier; the old one stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from nodeworthy.errors import Permanent, Refused
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Judgement, Scope
from nodeworthy.lifecycle.records import Lease
from nodeworthy.ports import Work
from nodeworthy.procedures.judge_wave import Judging, Summary, Wave
from nodeworthy.procedures.lease_life import lease_life
from nodeworthy.qualification.suites import of_one_node

NO_BASELINE = "no_baseline"
DONE = "judged again by the baselines in force"


def rejudge(run: str, names: Sequence[str], work: Work, judging: Judging) -> tuple[Summary, ...]:
    """Judge again what waits for a baseline on these nodes. Re-entrant; a node that another run holds is left out.

    Raises Permanent when the evidence of some node could not be kept, after all others were treated.
    """
    held = [name for name in names if _waits(name, work) and hold(name, run, work) is not None]
    summaries: list[Summary] = []
    broken: list[str] = []
    nodes = {record.node.name: record.node for record in work.ledger.nodes(held)} if held else {}
    for scope in Scope:
        results = [one for one in work.ledger.results(run=run, scope=scope, unjudged=False) if _for_baseline(one, work)]
        wave = Wave(run, scope, work, judging, nodes)
        for suite in dict.fromkeys(one.suite for one in results):
            judged = wave.judge([one for one in results if one.suite == suite])
            summaries += [one for one in judged if one is not None]
        broken += wave.broken
    _give_back(run, summaries, work)
    if broken:
        raise Permanent(" ".join(broken))
    return tuple(summaries)


def _give_back(run: str, summaries: Sequence[Summary], work: Work) -> None:
    """Release every lease of this run, also those of an attempt that was killed."""
    for name in work.ledger.run_nodes(run):
        with suppress(Refused):
            work.ledger.release(work.ledger.lease(name, run), close=False, reason=_reason(name, summaries))


def _reason(name: str, summaries: Sequence[Summary]) -> str:
    return next((one.sentence for one in summaries if one.node == name), DONE)


def _waits(name: str, work: Work) -> bool:
    judged = work.ledger.judgements(name)
    return bool(judged) and waits_for_baseline(judged[0])


def waits_for_baseline(judgement: Judgement) -> bool:
    """Tell whether a judgement has no other reason than a missing baseline."""
    return bool(judgement.reasons) and all(reason.code == NO_BASELINE for reason in judgement.reasons)


def hold(name: str, run: str, work: Work) -> Lease | None:
    """Take a node for this run; None, with a sentence, when another one holds it."""
    (record,) = work.ledger.nodes([name])
    try:
        return work.ledger.open_episode(name, kind="onboarding", run=run, lifetime=lease_life(record.node.pool, work))
    except Refused as refusal:
        work.say(f"{name} is left out: {refusal.sentence}")
        return None


def _for_baseline(stored: StoredResult, work: Work) -> bool:
    """Tell whether this is the newest judged result of a node that waits for a baseline."""
    judged = work.ledger.judgements(stored.node, episode=stored.episode)
    newest = judged[0] if judged else None
    same = newest is not None and (newest.scope, newest.suite) == (stored.scope, stored.suite)
    same = same and of_one_node(work.library.suite(stored.suite))
    return stored.judged and same and newest is not None and waits_for_baseline(newest)
