"""What an operator reads: one sentence per reason, with the figure, the limit, the unit and what to do.

Rows that fail for the same reason are one sentence. What to do comes from the suite: the metric's action, or the
check's. Figures carry four significant digits, shortfalls one decimal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.results import Result
from nodeworthy.evidence.verdicts import Reason, Verdict
from nodeworthy.qualification.frame import NODE, Row
from nodeworthy.qualification.similarity import SIMILARITY, STALLED_SHARE
from nodeworthy.qualification.statistics import deviation_percent
from nodeworthy.qualification.suites import Check, MetricSpec, Per, Suite

OF_WHOLE_DOCUMENT = frozenset({"wrong_document", "version_unknown"})
"""Codes that say the same of every row of a result."""
_BEFORE_THE_TESTS = ("xid_awaiting_boot",)
"""Counts of what came after the boot and before the tests; the others count what came during them."""
NAMED = 4
"""How many components or findings a sentence names before it counts the rest."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One row with the check that decides about it."""

    row: Row
    check: Check
    verdict: Verdict
    spec: MetricSpec | None

    @property
    def counted(self) -> bool:
        """Whether the row is a count, which stands for itself, rather than a figure that was timed."""
        return self.row.limits is not None and self.row.limits.equals is not None

    @property
    def group(self) -> tuple[str, ...]:
        """Failures of one group are one reason."""
        if self.check.code in OF_WHOLE_DOCUMENT:
            return (self.check.code,)
        if self.check.layer == 1:
            return (self.check.code, self.row.test)
        by_component = "" if self.spec is not None and self.spec.per is Per.PAIR else self.row.component
        return (self.check.code, self.row.test, self.row.metric, self.row.statistic, by_component)

    @property
    def rank(self) -> tuple[int, int, float, int]:
        """The order of reasons of one verdict: counts first, then what names a GPU, then the largest shortfall."""
        per = self.spec.per if self.spec is not None else Per.NODE
        timed = self.check.layer > 1 and not self.counted
        order = (Per.GPU, Per.NIC, Per.GPU_NIC, Per.ROCE, Per.DRIVE, Per.SCRATCH, Per.NODE, Per.PAIR)
        return (int(timed), order.index(per), _shortfall(self.row), self.row.row)


def reason_of(failures: Sequence[Failure], result: Result) -> Reason:
    """Return the reason of one group of failures; the first and worst speaks for all."""
    worst = min(failures, key=lambda failure: (_shortfall(failure.row), failure.row.row))
    expected, seen, cause = _said(worst, failures, result)
    sentence = f"{cause}{_on_second_try(worst.row, result)}{_and_others(worst, failures)}"
    action = _action(worst)
    return Reason(
        verdict=worst.verdict,
        code=worst.check.code,
        component=_component(worst, failures),
        metric=worst.row.metric,
        expected=expected,
        seen=seen,
        unit=worst.row.expected_unit,
        sentence=f"{sentence}: {action}" if action else sentence,
    )


def _on_second_try(row: Row, result: Result) -> str:
    run = result.tests.get(row.test)
    key = (row.component, row.metric, row.statistic)
    for again in run.second_try if run is not None else ():
        if (again.component, again.metric, again.statistic) == key:
            return f" on the second try, after {_figure(again.first)} on the first"
    return ""


def _action(worst: Failure) -> str:
    """Return the metric's advice where the metric is to blame, the check's where the test is."""
    blames_test = worst.check.layer == 1 or worst.verdict is Verdict.IMPOSSIBLE
    if blames_test or worst.spec is None:
        return worst.check.action
    return worst.spec.action or worst.check.action


def judged_sentence(node: str, reasons: Sequence[Reason]) -> str:
    """Return the sentence for a node that did not pass: the deciding reason, and how many more there are."""
    more = len(reasons) - 1
    tail = f" (and {more} more {'reason' if more == 1 else 'reasons'})" if more else ""
    return f"{node} {reasons[0].verdict}: {reasons[0].sentence}{tail}."


def passed_sentence(stored: StoredResult, suite: Suite, rows: Sequence[Row]) -> str:
    """Return the sentence for a node that passed: how much was proven, and its headline figures."""
    headlines = [row for row in rows if row.component == NODE and _is_headline(suite, row)]
    names = [row.metric for row in headlines]
    shown = [
        f"{row.metric if names.count(row.metric) == 1 else f'{row.test} {row.metric}'} {_figure(row.value)} "
        f"{row.expected_unit} ({_limit(row)})"
        for row in headlines
    ]
    figures = f": {', '.join(shown)}" if shown else ""
    return (
        f"{stored.node} passed suite {suite.name}: all {len(rows)} figures complete and inside their limits{figures}."
    )


def _limit(row: Row) -> str:
    """Return the limit that a good figure is compared with: its floor, or the most it may be."""
    return f"at most {_figure(row.most)}" if math.isinf(row.floor) else f"floor {_figure(row.floor)}"


def _is_headline(suite: Suite, row: Row) -> bool:
    spec = suite.spec(row.test, row.metric, row.statistic)
    return spec is not None and spec.headline


def _shortfall(row: Row) -> float:
    if row.value is None or row.limits is None:
        return 0.0
    if row.limits.reference is not None:
        return row.limits.reference.percent(row.value)
    if row.slot_median:
        return deviation_percent(row.value, row.slot_median)
    return 0.0


def _component(worst: Failure, failures: Sequence[Failure]) -> str:
    names = list(dict.fromkeys(failure.row.component for failure in failures))
    return worst.row.component if worst.check.layer > 1 else _some(names)


def _and_others(worst: Failure, failures: Sequence[Failure]) -> str:
    others = len({failure.row.component for failure in failures}) - 1
    return f" (and {others} more like it)" if worst.check.layer > 1 and others else ""


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMED])
    return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED} more"


def _figure(value: float | None) -> str:
    if value is None or math.isinf(value):
        return "nothing"
    if value == int(value) and abs(value) < 1e9:
        return str(int(value))
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.1f}"


def _said(worst: Failure, failures: Sequence[Failure], result: Result) -> tuple[str, str, str]:
    """Return (expected, seen, what happened) in words."""
    row, code = worst.row, worst.check.code
    if worst.check.layer == 1:
        return _said_unfit(worst, failures, result)
    said = [row.component, row.metric, *_said_statistic(row), _figure(row.value), row.expected_unit]
    name = " ".join(said)
    if code == "below_reference":
        return _said_against_reference(row, name)
    if code == "below_own_node":
        return _said_against_own_node(row, name)
    if code == "below_together":
        return _said_together(row, name)
    if worst.counted:
        expected = _figure(row.floor)
        return expected, _figure(row.value), f"{_counted(row)} is not {expected}{_named_findings(row, result)}"
    if code in ("below_floor", "above_most") and row.statistic in (SIMILARITY, STALLED_SHARE):
        return _said_shape(row)
    return _said_outside(row, code, name)


def _said_outside(row: Row, code: str, name: str) -> tuple[str, str, str]:
    """Return the words for a figure outside one of its limits, or one that fails a check of the suite's own."""
    beyond = "which the hardware cannot reach"
    words = {
        "above_ceiling": (f"at most {_figure(row.ceiling)}", f"is above {_figure(row.ceiling)}, {beyond}"),
        "below_least": (f"at least {_figure(row.least)}", f"is below {_figure(row.least)}, {beyond}"),
        "above_most": (f"at most {_figure(row.most)}", f"is above the limit {_figure(row.most)}"),
        "below_floor": (f"at least {_figure(row.floor)}", f"is below the floor {_figure(row.floor)}"),
    }
    expected, said = words.get(code, (f"passes {code}", f"fails the suite's own check {code}"))
    return expected, _figure(row.value), f"{name} {said}"


def _said_shape(row: Row) -> tuple[str, str, str]:
    """Return the words for iteration times that are not those of a healthy node."""
    value = row.value if row.value is not None else math.nan
    if row.statistic == STALLED_SHARE:
        above = row.limits.stalled_above if row.limits is not None else None
        longer = f"longer than {_figure(above)} times their median"
        cause = f"{row.component}: {value:.1%} of the iterations of {row.test} took {longer} (limit {row.most:.1%})"
        return f"at most {_figure(row.most)}", _figure(value), cause
    apart = f"differ from those of healthy nodes by {1 - value:.1%} (limit {1 - row.floor:.1%})"
    return (
        f"at least {_figure(row.floor)}",
        _figure(value),
        f"{row.component}: the times of the iterations of {row.test} {apart}",
    )


def _said_statistic(row: Row) -> list[str]:
    """Return the statistic where it adds something to the metric's name."""
    return [] if row.statistic == "single" or row.metric.endswith(f"_{row.statistic}") else [row.statistic]


def _counted(row: Row) -> str:
    unit = "" if row.expected_unit in ("count", "bool") else f" {row.expected_unit}"
    return f"{row.component} {row.metric} {_figure(row.value)}{unit}"


def _said_against_reference(row: Row, name: str) -> tuple[str, str, str]:
    reference = row.limits.reference if row.limits is not None else None
    value = row.value if row.value is not None else math.nan
    if reference is None:
        return "a reference", _figure(row.value), f"{name} has no reference"
    rule = reference.rule
    cause = (
        f"{name} is {-reference.percent(value):.1f} % below the reference {_figure(reference.median)} "
        f"{row.expected_unit} (limit {-rule.percent:g} %, z {reference.z(value):.1f})"
    )
    return f"at least {_figure(row.reference_low)} (reference {_figure(reference.median)})", _figure(row.value), cause


def _said_together(row: Row, name: str) -> tuple[str, str, str]:
    reference = row.limits.reference if row.limits is not None else None
    low = -reference.percent(row.value) if reference is not None and row.value is not None else math.nan
    ratio, limit = math.exp(min(row.evidence, 700.0)), math.exp(row.evidence_most)
    cause = (
        f"{name} is {low:.1f} % below its reference, and all figures of {row.test} together are {ratio:.2g} times "
        f"likelier under a fault than without one (limit {limit:.0f})"
    )
    return f"at most {limit:.0f} times likelier under a fault", f"{ratio:.2g} times", cause


def _said_against_own_node(row: Row, name: str) -> tuple[str, str, str]:
    centre = row.slot_median or math.nan
    limit = row.limits.spread_percent if row.limits is not None else None
    value = row.value if row.value is not None else math.nan
    cause = (
        f"{name} is {-deviation_percent(value, centre):.1f} % below the median {_figure(centre)} {row.expected_unit} "
        f"of its own node (limit {limit:g} %)"
    )
    return f"at least {_figure(row.slot_low)} (own node)", _figure(row.value), cause


def _named_findings(row: Row, result: Result) -> str:
    """Return the findings behind a count: those of the row's test, on the row's component where it names one."""
    source = row.test.split(".")[0]
    lines = [
        f"{finding.code} on {finding.component}"
        for finding in result.findings
        if (finding.during == "before") == (row.metric in _BEFORE_THE_TESTS)
        and _behind(finding.code, row, source)
        and row.component in (NODE, finding.component)
    ]
    return f" ({_some(list(dict.fromkeys(lines)))})" if lines else ""


def _behind(code: str, row: Row, source: str) -> bool:
    family = code.split("/")[0]
    return family == row.metric.split("_")[0] or (
        family == "dcgm" and source == "gpu" and row.metric.startswith("diag")
    )


def _said_unfit(worst: Failure, failures: Sequence[Failure], result: Result) -> tuple[str, str, str]:
    row, code = worst.row, worst.check.code
    names = _some(list(dict.fromkeys(failure.row.component for failure in failures)))
    metrics = _some(list(dict.fromkeys(failure.row.metric for failure in failures)))
    run = result.tests.get(row.test)
    why = f" ({run.reason})" if run is not None and run.reason else ""
    said = {
        "wrong_document": (row.expected_identity, row.identity, f"the result is not this node's: {row.identity}"),
        "not_run": ("completed", row.execution, f"{row.test} was not run: {row.execution}{why}"),
        "tool_error": ("completed", row.execution, f"{row.test} broke: {row.execution}{why}"),
        "test_absent": ("completed", row.execution, f"{row.test} does not stand in the result"),
        "not_checked": ("ok", row.status, f"{row.test} {metrics} was not checked on {names}: {row.status}"),
        "missing": ("a number", row.status, f"{row.test} brought no {metrics} for {names} ({row.status}){why}"),
        "wrong_unit": (
            row.expected_unit,
            row.unit,
            f"{row.test} {metrics} has unit {row.unit}, not {row.expected_unit}",
        ),
        "duplicate": ("one row", "two or more", f"{row.test} brought {metrics} for {names} more than once"),
        "not_demanded": ("no such component", row.component, f"{row.test} saw {names}, which the SKU does not have"),
        "version_unknown": ("a driver version", "none", "the result does not say which driver was installed"),
        "wrong_transport": (row.expected_transport, row.transport or "none proven", _said_transport(row)),
        "wrong_parameters": (row.expected_parameters, row.parameters, _said_parameters(row)),
        "no_baseline": ("a baseline", _figure(row.value), _said_no_baseline(row, metrics)),
    }
    return said.get(code, (f"passes {code}", _figure(row.value), f"{row.test} {metrics} on {names} is not fit: {code}"))


def _said_transport(row: Row) -> str:
    return f"{row.test} used {row.transport or 'a transport that is not proven'} instead of {row.expected_transport}"


def _said_parameters(row: Row) -> str:
    return f"{row.test} ran with {row.parameters} instead of {row.expected_parameters}"


def _said_no_baseline(row: Row, metrics: str) -> str:
    return f"{row.test} {metrics} has no baseline of this key" + (f", {row.note}" if row.note else "")
