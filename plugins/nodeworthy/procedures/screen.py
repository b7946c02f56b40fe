"""Screen: test nodes in groups, round by round, until each is cleared, named as a culprit, or left open with a reason.

Rounds are planned by `qualification.screening` from the answers that are in the ledger, so a process that dies between
two of them loses nothing. One validation judges all groups of a round. A group that fails blames nobody by itself: a
node is a culprit when it also fails with a partner that is known to be good.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nodeworthy.errors import NodeworthyError, Refused, Transient
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Judgement, Reason, Verdict
from nodeworthy.lifecycle.records import NodeRecord
from nodeworthy.procedures.dossier import Dossier, Judged
from nodeworthy.procedures.isolate import isolate
from nodeworthy.procedures.judge_wave import Judging, Wave
from nodeworthy.procedures.outcome import Done, Waiting
from nodeworthy.procedures.own_look import OwnLook
from nodeworthy.procedures.trial import SCOPE, Answer, Court, Trial
from nodeworthy.qualification.screening import Outcome, Screening, in_groups
from nodeworthy.qualification.suites import Suite, of_one_node

WHOLE_FLEET = "M3"
"""The level whose groups may cross racks."""


@dataclass
class Search:
    """The screening of all nodes of one SKU: only their figures can be compared."""

    screening: Screening
    answers: list[Answer] = field(default_factory=list)


def screen(court: Court, judging: Judging) -> Done | Waiting:
    """Go on with the screening of a run's nodes. Re-entrant. Done names the culprits; every node has its judgement."""
    if of_one_node(court.suite):
        raise Refused(f"Suite {court.suite.name} tests one node by itself: choose m1, m2 or m3, or start burn_in.")
    searches = [Search(Screening(groups, smallest=court.suite.nodes[0])) for groups in first_groups(court)]
    number = 0
    while True:
        number += 1
        rounds = [(search, _trials(search, court, number)) for search in searches]
        trials = [trial for _, of_search in rounds for trial in of_search]
        if not trials:
            return _concluded(searches, court)
        waiting = _run(trials, court, judging)
        if waiting is not None:
            return waiting
        for search, of_search in rounds:
            if of_search:
                answers = [answer for trial in of_search if (answer := trial.answer()) is not None]
                search.answers += answers
                waits = [answer.waits for answer in answers]
                faulty = [answer.faulty for answer in answers]
                search.screening.take([answer.passed for answer in answers], waits, faulty)


def first_groups(court: Court) -> list[tuple[tuple[str, ...], ...]]:
    """Return the first groups of each SKU: of the suite's largest size, within a rack unless the whole fleet is one."""
    of_sku: dict[str, list[NodeRecord]] = {}
    for record in sorted(court.records.values(), key=lambda one: (one.node.rack, one.node.position)):
        of_sku.setdefault(record.node.sku, []).append(record)
    across = court.suite.level == WHOLE_FLEET
    return [
        in_groups([(one.node.name, "" if across else one.node.rack) for one in records], court.suite.nodes[1])
        for records in of_sku.values()
    ]


def _trials(search: Search, court: Court, number: int) -> list[Trial]:
    return [Trial(court, trial.nodes, number) for trial in search.screening.next_round()]


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
        _judge(home, court, judging)
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


def _judge(home: Sequence[tuple[Trial, tuple[StoredResult, ...]]], court: Court, judging: Judging) -> None:
    """Judge what all groups of a round measured in one validation, and what each node saw on itself in another."""
    nodes = {name: record.node for name, record in court.records.items()}
    wave = Wave(court.run, SCOPE, court.work, judging, nodes)
    done: dict[str, tuple[Judged, Dossier]] = {}
    for suite in dict.fromkeys(stored.suite for _, results in home for stored in results):
        of_suite = [stored for _, results in home for stored in results if stored.suite == suite]
        judgements, validation = wave.validated(of_suite)
        for stored, judgement in zip(of_suite, judgements, strict=True):
            done[stored.node] = wave.written(stored, judgement, validation, court.leases[stored.node])
    for trial, results in home:
        trial.settle(trial.judged([done[stored.node] for stored in results]))


def _concluded(searches: Sequence[Search], court: Court) -> Done:
    """Record every node's judgement and isolate the culprits."""
    judgements = [one for search in searches for one in _judgements(search, court)]
    for judgement in judgements:
        _record(judgement, court)
    culprits = [one.node for one in judgements if one.verdict is Verdict.FAIL]
    left_open = [one.node for one in judgements if one.verdict not in (Verdict.PASS, Verdict.FAIL)]
    tests = sum(search.screening.tests for search in searches)
    summary = (
        f"{len(judgements)} nodes in {tests} group tests of {court.suite.name}: "
        f"{', '.join(culprits) or 'nobody'} to blame, {', '.join(left_open) or 'nobody'} left open."
    )
    court.work.say(summary)
    return Done(summary, {"culprits": culprits, "left_open": left_open})


def _record(judgement: Judgement, court: Court) -> None:
    lease, node, ledger = court.leases[judgement.node], court.records[judgement.node].node, court.work.ledger
    known = ledger.judgements(judgement.node, episode=lease.episode)
    if not any(one.sentence == judgement.sentence for one in known):
        ledger.record_judgement(lease, judgement, None)
        court.work.say(judgement.sentence)
    (record,) = ledger.nodes([judgement.node])
    if judgement.verdict is Verdict.FAIL and court.work.library.lifecycle().transition(record.milestone, "quarantine"):
        isolate(lease, node, court.work, reason=judgement.sentence)


def _judgements(search: Search, court: Court) -> Iterator[Judgement]:
    outcome = search.screening.outcome()
    for node in sorted({name for answer in search.answers for name in answer.nodes} | _given(search)):
        judgement = _of_look(_own_look(node, search.answers), court)
        if judgement is None or judgement.verdict is not Verdict.FAIL:
            of_group = _of_group(node, outcome, search.answers, court)
            judgement = of_group if judgement is None or of_group.verdict is Verdict.FAIL else judgement
        yield replace(judgement, simulated=any(answer.simulated for answer in search.answers))


def _of_look(look: OwnLook | None, court: Court) -> Judgement | None:
    if look is None:
        return None
    return Judgement(
        look.node, SCOPE, court.suite.name, look.verdict, look.reasons, look.sentence, False, dossier=look.dossier
    )


def _of_group(node: str, outcome: Outcome, answers: Sequence[Answer], court: Court) -> Judgement:
    verdict, code, sentence = _verdict(node, outcome, answers, court.suite)
    decisive = _decisive(node, answers, passed=verdict is Verdict.PASS)
    dossier = EvidenceReference(**decisive.dossier) if decisive is not None and decisive.dossier else None
    reasons = () if verdict is Verdict.PASS else (_reason(verdict, code, sentence),)
    return Judgement(node, SCOPE, court.suite.name, verdict, reasons, sentence, False, dossier=dossier)


def _own_look(node: str, answers: Sequence[Answer]) -> OwnLook | None:
    """Return why a node did not pass on its own: a fault for good, anything else until a later look is a good one."""
    looks = [answer.look(node) for answer in answers if node in answer.nodes and answer.dossier]
    faults = [look for look in looks if look is not None and look.verdict is Verdict.FAIL]
    return faults[0] if faults else next(reversed(looks), None)


def _given(search: Search) -> set[str]:
    return {node for group in search.screening.groups for node in group}


def _decisive(node: str, answers: Sequence[Answer], *, passed: bool) -> Answer | None:
    """Return the newest answer about a node of the kind that its verdict stands on, or any newest."""
    own = [answer for answer in answers if node in answer.nodes]
    fitting = [answer for answer in own if answer.passed is passed]
    return next(reversed(fitting or own), None)


def _reason(verdict: Verdict, code: str, sentence: str) -> Reason:
    return Reason(verdict, code, "node", "bus_bandwidth", "that of its peers", "see the sentence", "GB/s", sentence)


def _verdict(node: str, outcome: Outcome, answers: Sequence[Answer], suite: Suite) -> tuple[Verdict, str, str]:
    """Return a node's verdict, its reason code, and the sentence that names the measurements with its partners."""
    failed = [answer for answer in answers if node in answer.nodes and answer.passed is False]
    if node in outcome.culprits:
        test = failed[-1].failed_test
        own = " and ".join(_with_partners(node, answer, test) for answer in failed)
        return (
            Verdict.FAIL,
            "group_culprit",
            (
                f"{node} fail: {test} {own}, where {_peers(node, answers, test)}: look at its adapters, "
                "their cables and leaf ports."
            ),
        )
    between = [group for group in outcome.between if node in group]
    passed = [answer for answer in answers if node in answer.nodes and answer.passed]
    if between:
        return (
            Verdict.INCOMPLETE,
            "between_nodes",
            (
                f"{node} incomplete: the group {', '.join(between[-1])} fails and its halves pass, so the fault lies "
                "between them: look at the switches and cables that join them; no node is to blame."
            ),
        )
    if passed:
        test, figure = next(iter(passed[-1].figures.items()), (suite.name, 0.0))
        partners = _others(node, passed[-1])
        return Verdict.PASS, "", f"{node} pass: {test} {figure:.0f} GB/s with {partners}."
    if node in outcome.unconfirmed:
        return (
            Verdict.INCOMPLETE,
            "no_good_partner",
            (f"{node} incomplete: no partner that is known to be good was left to test it with: test it with others."),
        )
    last = next((answer for answer in reversed(answers) if node in answer.nodes), None)
    if last is not None and last.waits:
        return Verdict.INCOMPLETE, "no_group_baseline", f"{node} incomplete: {_waiting(last)}"
    why = last.sentence if last is not None else "it had no partner"
    return Verdict.INCOMPLETE, "not_tested", f"{node} incomplete: its group was not tested: {why}"


def _waiting(answer: Answer) -> str:
    """Tell what a group measured for which there is no baseline yet."""
    seen = ", ".join(f"{test} {figure:.0f} GB/s" for test, figure in answer.figures.items())
    return (
        f"its group {', '.join(answer.nodes)} measured {seen}, and not all of that has a baseline for groups of its "
        "size: run learn_baselines when enough groups were measured, then group_test again."
    )


def _others(node: str, answer: Answer) -> str:
    return ", ".join(name for name in answer.nodes if name != node)


def _with_partners(node: str, answer: Answer, test: str) -> str:
    return f"{answer.figures.get(test, 0.0):.0f} GB/s with {_others(node, answer)}"


def _peers(node: str, answers: Sequence[Answer], test: str) -> str:
    """Tell what the partners reach without the node."""
    good: Mapping[str, Answer] = {
        name: answer for answer in answers if answer.passed for name in answer.nodes if node not in answer.nodes
    }
    met = [name for answer in answers if node in answer.nodes for name in answer.nodes if name in good]
    if not met:
        return "no partner was measured without it"
    partner = met[-1]
    return f"{partner} reaches {good[partner].figures.get(test, 0.0):.0f} GB/s with {_others(partner, good[partner])}"
