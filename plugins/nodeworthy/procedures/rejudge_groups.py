"""Rejudge groups: replay a run's screening from its stored results, by the baselines that are in force now.

It touches only nodes whose newest judgement waits for a baseline of their group. Every group that was measured is
judged again and gets a new dossier; the answers go through the same search as when they were measured. Where the search
would now ask for a group that nobody measured (a group that fails is halved), its nodes stay open for `group_test`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from nodeworthy.errors import Refused
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Judgement, Verdict
from nodeworthy.lifecycle.records import Effect, Lease
from nodeworthy.ports import GroupPods, Work
from nodeworthy.procedures.effect import PROVEN
from nodeworthy.procedures.finish import arrived
from nodeworthy.procedures.judge_wave import Judging, Summary
from nodeworthy.procedures.rejudge import DONE, hold
from nodeworthy.procedures.screen import judged_groups, record, searches_of
from nodeworthy.procedures.screen_verdicts import NO_GROUP_BASELINE, judgements_of
from nodeworthy.procedures.segments import PLAN
from nodeworthy.procedures.trial import SCOPE, TRIAL, Answer, Court, Trial, answer_of

_FURTHER = (
    "by the baselines that are in force now a further group must be measured to tell what was measured so far: run "
    "group_test again."
)


@dataclass(frozen=True)
class _Past:
    """What one run of `group_test` measured: its groups by suite and nodes."""

    trials: dict[tuple[str, tuple[str, ...]], Effect] = field(default_factory=dict)

    @property
    def ended(self) -> datetime:
        return max(effect.intended_at for effect in self.trials.values())

    @property
    def nodes(self) -> set[str]:
        return {node for _, nodes in self.trials for node in nodes}


def rejudge_groups(
    run: str, names: Sequence[str], work: Work, judging: Judging, pods: GroupPods
) -> tuple[Summary, ...]:
    """Judge again what waits for a baseline of a group. Re-entrant; a node that another run holds is left out."""
    waiting = [name for name in names if _waits(name, work)]
    leases = {name: lease for name in waiting if (lease := hold(name, run, work)) is not None}
    summaries: dict[str, Summary] = {}
    for past in sorted(_pasts(leases, work), key=lambda one: one.ended, reverse=True):
        mine = sorted(past.nodes & set(leases) - set(summaries))
        if mine:
            suite = work.library.suite(work.ledger.judgements(mine[0])[0].suite)
            records = {one.node.name: one for one in work.ledger.nodes(sorted(past.nodes))}
            court = Court(run, suite, records, leases, work, pods)
            for judgement in _replayed(past, court, judging):
                if judgement.node in mine:
                    record(judgement, court)
                    summaries[judgement.node] = _summary(judgement, work)
    _give_back(leases, summaries, work)
    return tuple(summaries.values())


def _waits(name: str, work: Work) -> bool:
    judged = work.ledger.judgements(name)
    return bool(judged) and any(reason.code == NO_GROUP_BASELINE for reason in judged[0].reasons)


def _pasts(leases: Mapping[str, Lease], work: Work) -> Iterator[_Past]:
    """Yield the runs that measured these nodes, each with the groups that they led."""
    found: dict[str, _Past] = {}
    for name, lease in leases.items():
        for effect in work.ledger.effects(name, episode=lease.episode):
            if (effect.kind, effect.status) == (TRIAL, PROVEN):
                of_run = effect.key.rsplit("-", 2)[-2]
                key = (str(effect.detail["suite"]), tuple(effect.detail["nodes"]))
                found.setdefault(of_run, _Past()).trials[key] = effect
    yield from found.values()


def _replayed(past: _Past, court: Court, judging: Judging) -> Iterator[Judgement]:
    for search in searches_of(court):
        while trials := search.trials(0):
            search.take(_again(trials, past, judging), final=True)
        yield from judgements_of(search.screening, search.answers, court)


def _again(trials: Sequence[Trial], past: _Past, judging: Judging) -> list[Answer]:
    """Return a round's answers: judged anew, as they were where not all is at hand, none where none was measured."""
    answers: list[Answer | None] = []
    home: list[tuple[Trial, tuple[StoredResult, ...]]] = []
    for trial in trials:
        effect = past.trials.get((trial.court.suite.name, trial.nodes))
        results = _results(trial, effect) if effect is not None else ()
        if results:
            home.append((trial, results))
            answers.append(None)
        else:
            answers.append(trial.untested(_FURTHER) if effect is None else answer_of(effect))
    new = iter(judged_groups(home, home[0][0].court, judging) if home else ())
    return [next(new) if answer is None else answer for answer in answers]


def _results(trial: Trial, effect: Effect) -> tuple[StoredResult, ...]:
    """Return the stored results of a group, its leader's first; none when a node is not held or brought none."""
    court = trial.court
    if not set(trial.nodes) <= set(court.leases):
        return ()
    found = court.work.ledger.results(run=court.run, scope=SCOPE, unjudged=False, every=True)
    by_nonce = {one.document.get("nonce"): one for one in found}
    asked = [
        next((one for one in court.case(node).effects() if (one.kind, one.key) == (PLAN, effect.key)), None)
        for node in (trial.nodes if court.each else trial.nodes[:1])
    ]
    brought = [by_nonce.get(one.detail["plan"]["nonce"]) for one in asked if one is not None]
    whole = tuple(one for one in brought if one is not None)
    return whole if len(whole) == len(asked) else ()


def _summary(judgement: Judgement, work: Work) -> Summary:
    (seen,) = work.ledger.nodes([judgement.node])
    return Summary(judgement.node, SCOPE, judgement.verdict, judgement.sentence, seen.milestone)


def _give_back(leases: Mapping[str, Lease], summaries: Mapping[str, Summary], work: Work) -> None:
    """Release every lease; a node that passed where it stands by has its episode ended too."""
    for name, lease in leases.items():
        (seen,) = work.ledger.nodes([name])
        summary = summaries.get(name)
        over = summary is not None and summary.verdict is Verdict.PASS and arrived(seen, work)
        with suppress(Refused):
            work.ledger.release(lease, close=over, reason=summary.sentence if summary is not None else DONE)
