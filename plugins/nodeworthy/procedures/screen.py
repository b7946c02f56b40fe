"""Screen: test nodes in groups, round by round, until each is cleared, named as a culprit, or left open with a reason.

Rounds are planned by `qualification.screening` from the answers that are in the ledger, so a process that dies between
two of them loses nothing. One validation judges all groups of a round. A group that fails blames nobody by itself: a
node is a culprit when it also fails with a partner that is known to be good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from nodeworthy.errors import NodeworthyError, Refused, Transient
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Judgement, Verdict
from nodeworthy.lifecycle.records import NodeRecord
from nodeworthy.procedures.dossier import Dossier, Judged
from nodeworthy.procedures.isolate import isolate
from nodeworthy.procedures.judge_wave import Judging, Wave
from nodeworthy.procedures.outcome import Done, Waiting
from nodeworthy.procedures.screen_verdicts import judgements_of
from nodeworthy.procedures.trial import SCOPE, Answer, Court, Trial
from nodeworthy.qualification.screening import in_groups
from nodeworthy.qualification.spine import Stages
from nodeworthy.qualification.suites import of_one_node


@dataclass
class Search:
    """The screening of all nodes of one SKU: only their figures can be compared."""

    screening: Stages
    court: Court
    within: Court
    """As `court`, with the suite of what is tested inside a domain."""
    answers: list[Answer] = field(default_factory=list)

    def trials(self, number: int) -> list[Trial]:
        """Return what can be tested now, as round `number` of the run."""
        return [
            Trial(self.court if one.across else self.within, one.nodes, number, one.across)
            for one in self.screening.next_round()
        ]

    def take(self, answers: Sequence[Answer], *, final: bool = False) -> None:
        """Take in the answers of a round. When they are `final`, what has no answer is not asked again."""
        self.answers += answers
        waits = [answer.waits or (final and answer.passed is None) for answer in answers]
        self.screening.take([answer.passed for answer in answers], waits, [answer.faulty for answer in answers])


def screen(court: Court, judging: Judging) -> Done | Waiting:
    """Go on with the screening of a run's nodes. Re-entrant. Done names the culprits; every node has its judgement."""
    if of_one_node(court.suite):
        raise Refused(f"Suite {court.suite.name} tests one node by itself: choose m1, m2 or m3, or start burn_in.")
    searches = searches_of(court)
    number = 0
    while True:
        number += 1
        rounds = [(search, search.trials(number)) for search in searches]
        trials = [trial for _, of_search in rounds for trial in of_search]
        if not trials:
            return _concluded(searches, court)
        waiting = _run(trials, court, judging)
        if waiting is not None:
            return waiting
        for search, of_search in rounds:
            if of_search:
                search.take([answer for trial in of_search if (answer := trial.answer()) is not None])


def searches_of(court: Court) -> list[Search]:
    """Return a search for each SKU, which begins with its racks in groups of the largest size that the suite takes."""
    of_sku: dict[str, list[NodeRecord]] = {}
    for record in sorted(court.records.values(), key=lambda one: (one.node.rack, one.node.position)):
        of_sku.setdefault(record.node.sku, []).append(record)
    spine = bool(court.suite.within)
    within = replace(court, suite=court.work.library.suite(court.suite.within)) if spine else court
    least, most = within.suite.nodes
    searches = []
    for records in of_sku.values():
        groups = in_groups([(one.node.name, one.node.rack) for one in records], most)
        homes = {one.node.name: one.node.rack for one in records}
        searches.append(Search(Stages(groups, smallest=least, homes=homes, spine=spine), court, within))
    return searches


def _run(trials: Sequence[Trial], court: Court, judging: Judging) -> Waiting | None:
    """Bring the trials of a round to their answers; None when all are there."""
    open_ = [trial for trial in trials if trial.answer() is None]
    running = [trial for trial in open_ if not trial.is_home() and _begun(trial) and not trial.is_over()]
    if running:
        names = "; ".join(", ".join(trial.nodes) for trial in running)
        deadline = max(trial.record().intended_at + trial.limit for trial in running) + court.poll
        groups = [trial.group for trial in running]
        return Waiting(f"the groups {names}", court.poll, deadline, {"kind": "pods", "groups": groups})
    home: list[tuple[Trial, tuple[StoredResult, ...]]] = []
    for trial in open_:
        if trial.answer() is None:
            found = trial.collect()
            if isinstance(found, Answer):
                trial.settle(found)
            else:
                home.append((trial, found))
    if home:
        for (trial, _), answer in zip(home, judged_groups(home, court, judging), strict=True):
            trial.settle(answer)
    return None


def _begun(trial: Trial) -> bool:
    """Start what is not started; a group that cannot be gets its answer here."""
    try:
        trial.begin()
    except Transient:
        raise
    except NodeworthyError as error:
        trial.settle(trial.untested(f"it was not tested: {error.sentence}"))
        return False
    return True


def judged_groups(
    home: Sequence[tuple[Trial, tuple[StoredResult, ...]]], court: Court, judging: Judging
) -> list[Answer]:
    """Judge what all groups of a round measured in one validation, and what each node saw on itself in another."""
    nodes = {name: record.node for name, record in court.records.items()}
    wave = Wave(court.run, SCOPE, court.work, judging, nodes)
    done: dict[str, tuple[Judged, Dossier]] = {}
    for suite in dict.fromkeys(stored.suite for _, results in home for stored in results):
        of_suite = [stored for _, results in home for stored in results if stored.suite == suite]
        judgements, validation = wave.validated(of_suite)
        for stored, judgement in zip(of_suite, judgements, strict=True):
            done[stored.node] = wave.written(stored, judgement, validation, court.leases[stored.node])
    return [trial.judged([done[stored.node] for stored in results]) for trial, results in home]


def _concluded(searches: Sequence[Search], court: Court) -> Done:
    """Record every node's judgement and isolate the culprits."""
    judgements = [one for search in searches for one in judgements_of(search.screening, search.answers, court)]
    for judgement in judgements:
        record(judgement, court)
    culprits = [one.node for one in judgements if one.verdict is Verdict.FAIL]
    left_open = [one.node for one in judgements if one.verdict not in (Verdict.PASS, Verdict.FAIL)]
    tests = sum(search.screening.tests for search in searches)
    summary = (
        f"{len(judgements)} nodes in {tests} group tests of {court.suite.name}: "
        f"{', '.join(culprits) or 'nobody'} to blame, {', '.join(left_open) or 'nobody'} left open."
    )
    court.work.say(summary)
    return Done(summary, {"culprits": culprits, "left_open": left_open})


def record(judgement: Judgement, court: Court) -> None:
    """Write a node's judgement down, once, and isolate a culprit."""
    lease, node, ledger = court.leases[judgement.node], court.records[judgement.node].node, court.work.ledger
    known = ledger.judgements(judgement.node, episode=lease.episode)
    if not any(one.sentence == judgement.sentence for one in known):
        ledger.record_judgement(lease, judgement, None)
        court.work.say(judgement.sentence)
    (seen,) = ledger.nodes([judgement.node])
    if judgement.verdict is Verdict.FAIL and court.work.library.lifecycle().transition(seen.milestone, "quarantine"):
        isolate(lease, node, court.work, reason=judgement.sentence)
