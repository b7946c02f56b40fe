"""From failed checks to one judgement per node.

A row's first failed check, in the order of the suite, is its reason. A row that is not fit to be judged (layer 1) says
nothing about the hardware. A figure that was timed counts against the hardware only when its whole test was fit:
the same broken clock or transport made all of them. A count (an Xid, a wrong value) stands for itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from nodeworthy.evidence.measurements import MeasurementStatus
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.results import Result, read_result
from nodeworthy.evidence.verdicts import Judgement, Reason, Remark, Verdict
from nodeworthy.qualification.frame import Row
from nodeworthy.qualification.near_miss import passed_on_second_try
from nodeworthy.qualification.own_history import NO_BASELINE, History, drifts, parts_of, said_remarks
from nodeworthy.qualification.sentences import Failure, judged_sentence, passed_sentence, reason_of
from nodeworthy.qualification.suites import Check, Suite

PRECEDENCE: Final = (
    Verdict.FAIL,
    Verdict.FAIL_CONFIG,
    Verdict.IMPOSSIBLE,
    Verdict.INVALID,
    Verdict.INCOMPLETE,
    Verdict.TOOL_ERROR,
    Verdict.NOT_RUN,
    Verdict.PASS,
)
"""Which verdict a node gets when its rows have several.

What is known for certain about the node comes first; an absent device comes before the tools that broke because of it.
"""

UNFIT: Final = frozenset({Verdict.IMPOSSIBLE, Verdict.INVALID, Verdict.TOOL_ERROR, Verdict.INCOMPLETE, Verdict.NOT_RUN})
"""Verdicts on the test, not on the node."""


@dataclass(frozen=True, slots=True)
class Case:
    """Everything that one node's judgement is made from."""

    stored: StoredResult
    suite: Suite
    rows: tuple[Row, ...]
    failed: Mapping[int, tuple[str, ...]]
    result: Result | None = None
    """The result as it was read for the rows; it is read from the stored document when it is not given."""
    history: History | None = None
    """The node's earlier runs; None when it has none."""


def decide(case: Case) -> Judgement:
    """Return the judgement. No rows, or rows that nobody looked at, are never a pass."""
    result = case.result or read_result(case.stored.document)
    failures = _failures(case)
    reasons = _reasons(case, result, failures)
    verdict = min((reason.verdict for reason in reasons), key=PRECEDENCE.index, default=Verdict.PASS)
    if verdict is Verdict.PASS:
        sentence = passed_sentence(case.stored, case.suite, case.rows)
    else:
        sentence = judged_sentence(case.stored.node, [reason for reason in reasons if reason.verdict is verdict])
    remarks = _remarks(case, result, failures)
    return Judgement(
        node=case.stored.node,
        scope=case.stored.scope,
        suite=case.suite.name,
        verdict=verdict,
        reasons=tuple(reasons),
        sentence=sentence + said_remarks(remarks),
        simulated=result.simulated,
        remarks=remarks,
    )


def _remarks(case: Case, result: Result, failures: Sequence[Failure]) -> tuple[Remark, ...]:
    """Return what was noticed beside the reasons; a figure that is a reason already is not noticed once more."""
    if case.history is None and not any(run.second_try for run in result.tests.values()):
        return ()
    parts = parts_of(case.stored.document)
    explained = case.suite.explained
    unfit = {failure.row.test for failure in failures if failure.verdict in UNFIT}
    told = {(failure.row.test, failure.row.component) for failure in failures}
    rows = [
        row
        for row in case.rows
        if row.test not in unfit
        and (row.test, row.component) not in told
        and (row.test, row.metric, row.statistic) not in explained
    ]
    again = passed_on_second_try(result, rows, frozenset(told), parts)
    return (*again, *(drifts(rows, case.history, parts) if case.history is not None else ()))


def _failures(case: Case) -> list[Failure]:
    bad = [row for row in case.rows if row.row in case.failed] if case.failed else []
    if not bad:
        return []
    checks = {check.code: check for check in case.suite.checks()}
    found = []
    for row in bad:
        deciding = _deciding([checks[code] for code in _telling(row, case.failed[row.row])])
        if deciding is not None:
            found.append(
                Failure(row, deciding, _verdict(row, deciding), case.suite.spec(row.test, row.metric, row.statistic))
            )
    return _explained(_gated(found))


def _telling(row: Row, codes: Sequence[str]) -> Sequence[str]:
    """Leave out that a value is missing where all came and only the baseline, to work it out with, is not there."""
    unlearnt = row.value is None and row.status == MeasurementStatus.OK and NO_BASELINE in codes
    return (NO_BASELINE,) if unlearnt else codes


def _deciding(codes: Sequence[Check]) -> Check | None:
    """Return the check that gives the reason: of the lowest layer that failed, the first in the suite's order."""
    layer = 1 if any(check.layer == 1 for check in codes) else 2
    return min(
        (check for check in codes if layer != 1 or check.layer == 1), key=lambda check: check.order, default=None
    )


def _verdict(row: Row, check: Check) -> Verdict:
    if check.verdict is not None:
        return Verdict(check.verdict)
    return row.limits.on_failure if row.limits is not None else Verdict.INCOMPLETE


def _gated(failures: list[Failure]) -> list[Failure]:
    unfit = {failure.row.test for failure in failures if failure.verdict in UNFIT}
    return [
        failure for failure in failures if failure.counted or failure.verdict in UNFIT or failure.row.test not in unfit
    ]


def _explained(failures: list[Failure]) -> list[Failure]:
    """Leave out what another statistic explains: a GPU's lowest peer is low because the peer is."""
    flagged = {f"{failure.row.metric}/{failure.row.statistic}" for failure in failures if failure.check.layer == 3}
    return [
        failure
        for failure in failures
        if failure.check.layer != 3 or failure.spec is None or failure.spec.explained_by not in flagged
    ]


def _reasons(case: Case, result: Result, failures: Sequence[Failure]) -> list[Reason]:
    if not case.rows:
        return [_nothing_to_judge(case)]
    groups: dict[tuple[str, ...], list[Failure]] = {}
    for failure in failures:
        groups.setdefault(failure.group, []).append(failure)
    reasons = [(reason_of(found, result), found[0]) for found in groups.values()]
    reasons.sort(key=lambda pair: (PRECEDENCE.index(pair[0].verdict), *pair[1].rank))
    return [reason for reason, _ in reasons]


def _nothing_to_judge(case: Case) -> Reason:
    sentence = f"suite {case.suite.name} demands no figure for scope {case.stored.scope}: add tests with metrics to it"
    return Reason(Verdict.INCOMPLETE, "no_rows", "node", "", "at least one row", "none", "count", sentence)


def not_attested(judgement: Judgement, verdict: Verdict, sentence: str) -> Judgement:
    """Return a platform judgement whose quote did not hold: what was measured may be other software than it says."""
    reason = Reason(
        verdict, "not_attested", "node", "quote", "a quote that holds", "none that does", "", sentence.rstrip(".")
    )
    reasons = (reason, *judgement.reasons)
    worst = min((one.verdict for one in reasons), key=PRECEDENCE.index)
    deciding = [one for one in reasons if one.verdict is worst]
    return replace(judgement, verdict=worst, reasons=reasons, sentence=judged_sentence(judgement.node, deciding))
