"""Learning baselines: from stored measurements to proposed limits, and what these would have decided.

A population is every fit figure of one key: complete, in its unit, over the transport and with the parameters that the
suite demands. Real and simulated results are never mixed, and a node counts once. Counts are not learnt: a counted
thing has one right value whatever the fleet shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.results import read_result
from nodeworthy.evidence.verdicts import Judgement
from nodeworthy.qualification.baselines import Baseline
from nodeworthy.qualification.checks import COMPLETED, failed_checks
from nodeworthy.qualification.columns import RANKS
from nodeworthy.qualification.decision import Case, decide
from nodeworthy.qualification.derived import SHAPES
from nodeworthy.qualification.frame import NODE, Context, Row, build_rows, read_contexts
from nodeworthy.qualification.references import CombinedRule, Reference, freeze
from nodeworthy.qualification.sku import Sku
from nodeworthy.qualification.statistics import spreads
from nodeworthy.qualification.suites import Suite

COUNTED_UNITS = frozenset({"count", "bool"})

Key = tuple[str, str, str, str]
"""Test, metric, statistic, unit."""


@dataclass(frozen=True, slots=True)
class LearningRule:
    """How limits follow from a population (`include/baselines/learning.yaml`); per cent of the median."""

    date: str
    source: str
    minimum_population: int
    floor_percent: float
    ceiling_percent: float
    most_percent: float
    least_percent: float
    low_is_good: frozenset[str]
    spread_percent: float
    reference: CombinedRule


@dataclass(frozen=True, slots=True)
class Past:
    """One stored result with what it is judged by, besides baselines."""

    stored: StoredResult
    suite: Suite
    sku: Sku
    serial: str

    def context(self, baselines: Sequence[Baseline]) -> Context:
        """Return what the rows of this result are joined with."""
        return Context(self.stored, self.suite, self.sku, baselines, self.sku.firmware_set, self.serial)


@dataclass(frozen=True, slots=True)
class Population:
    """The fit figures of one key: all of them, and how many nodes they are of."""

    key: Key
    parameters: Mapping[str, str | int | float]
    values: tuple[float, ...]
    nodes: int
    by_component: bool
    simulated: bool
    runs: tuple[tuple[float, ...], ...] = ()
    """What each run of each part read; empty unless every part brought as many runs, two at least."""
    of: str = "nodes"
    """What `nodes` counts: nodes, or the tests of groups of one size, which their parameters name as ranks."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one key's population says: the baseline in force (if any), the proposed one, or why there is none."""

    population: Population
    old: Baseline | None
    new: Baseline | None
    why_not: str


@dataclass(frozen=True, slots=True)
class Change:
    """What a proposal would have made of one past result."""

    node: str
    scope: str
    suite: str
    before: Judgement
    after: Judgement


def populations(past: Sequence[Past]) -> tuple[Population, ...]:
    """Return the populations of all measured keys; when both real and simulated results stand there, the real ones."""
    chosen, simulated = used(past)
    gathered: dict[tuple[Key, int | None], list[Row]] = {}
    runs: dict[tuple[Key, int | None], list[tuple[float, ...]]] = {}
    for one in chosen:
        ranks = one.context(()).ranks
        for row, of_row in _fit_rows(one):
            key = ((row.test, row.metric, row.statistic, row.expected_unit), ranks)
            gathered.setdefault(key, []).append(row)
            runs.setdefault(key, []).append(of_row)
    parameters = {
        (test.test, spec.metric, spec.statistic): dict(spec.parameters)
        for one in chosen
        for test in one.suite.tests
        for spec in test.metrics
    }
    return tuple(
        Population(
            key=key,
            parameters=parameters[key[:3]] if ranks is None else {**parameters[key[:3]], RANKS: ranks},
            values=tuple(row.value for row in rows if row.value is not None),
            nodes=len({row.node for row in rows}) if ranks is None else len(rows),
            by_component=any(row.component != NODE for row in rows),
            simulated=simulated,
            runs=_alike(runs[key, ranks]),
            of="nodes" if ranks is None else "groups",
        )
        for (key, ranks), rows in gathered.items()
    )


def used(past: Sequence[Past]) -> tuple[list[Past], bool]:
    """Return the results that are learnt from, and whether these are simulated: real ones where there are any."""
    simulated = all(read_result(one.stored.document).simulated for one in past)
    return [one for one in past if read_result(one.stored.document).simulated is simulated], simulated


def _fit_rows(one: Past) -> Iterator[tuple[Row, tuple[float, ...]]]:
    """Yield the fit rows of a result with what each run of them read; a figure derived from others has no runs."""
    for context, result, rows in read_contexts([one.context(())]):
        read = {(m.test, m.metric, m.statistic, m.component): m.runs for m in result.measurements}
        for row in rows:
            spec = context.suite.spec(row.test, row.metric, row.statistic)
            own = spec is not None and not spec.derived_from
            if _fit(row) and row.statistic not in SHAPES:
                yield row, read.get((row.test, row.metric, row.statistic, row.component), ()) if own else ()


def _alike(runs: Sequence[tuple[float, ...]]) -> tuple[tuple[float, ...], ...]:
    """Return the runs when spread and noise can be told apart from them: as many of every part, two at least."""
    many = {len(of_part) for of_part in runs}
    return tuple(runs) if len(many) == 1 and min(many) >= 2 else ()


def _fit(row: Row) -> bool:
    return row.value is not None and row.value > 0 and fit_but_for_value(row)


def fit_but_for_value(row: Row) -> bool:
    """Whether a row was measured as its suite demands, whatever it reads."""
    return (
        row.status == "ok"
        and row.execution == COMPLETED
        and row.demanded == "yes"
        and row.expected_unit not in COUNTED_UNITS
        and (row.unit, row.identity) == (row.expected_unit, row.expected_identity)
        and (row.transport, row.parameters) == (row.expected_transport, row.expected_parameters)
    )


def lessons(
    found: Iterable[Population], known: Sequence[Baseline], rule: LearningRule, *, sku: str, again: bool = False
) -> tuple[Lesson, ...]:
    """Return a lesson per population. Keys that have a usable baseline are left out unless `again`."""
    taught = []
    for population in found:
        old = in_force(population, known)
        if old is None or again:
            taught.append(_lesson(population, old, rule, sku))
    return tuple(taught)


def in_force(population: Population, known: Sequence[Baseline]) -> Baseline | None:
    """Return the baseline that judges this population now; the virtual fleet's does not judge real hardware.

    Of a group's it is the one of its size, else the one of any size.
    """
    exact = dict(population.parameters)
    wider = {name: value for name, value in exact.items() if name != RANKS}
    for baseline in sorted(known, key=lambda one: dict(one.parameters) != exact):
        key = (baseline.test, baseline.metric, baseline.statistic, baseline.unit)
        same = key == population.key and dict(baseline.parameters) in (exact, wider)
        if same and (population.simulated or not baseline.simulated):
            return baseline
    return None


def _lesson(population: Population, old: Baseline | None, rule: LearningRule, sku: str) -> Lesson:
    if population.nodes < rule.minimum_population:
        why = f"{population.nodes} {population.of} were measured and {rule.minimum_population} are needed"
        return Lesson(population, old, None, why)
    return Lesson(population, old, _proposed(population, rule, sku), "")


def _proposed(population: Population, rule: LearningRule, sku: str) -> Baseline:
    test, metric, statistic, unit = population.key
    centre, _ = freeze(population.values)
    plain = Baseline(
        sku=sku,
        test=test,
        metric=metric,
        statistic=statistic,
        unit=unit,
        floor=None,
        ceiling=None,
        source=_source(population, rule),
        date=rule.date,
        version=1,
        sample_size=population.nodes,
        parameters=population.parameters,
        simulated=population.simulated,
    )
    if unit in rule.low_is_good:
        most, least = _beside(centre, rule.most_percent), _beside(centre, rule.least_percent)
        best = min(population.values)
        return replace(plain, most=most, least=min(least, best), reached=best)
    floor, ceiling = _beside(centre, rule.floor_percent), _beside(centre, rule.ceiling_percent)
    best = max(population.values)
    return replace(
        plain,
        floor=floor,
        ceiling=max(ceiling, best),
        reached=best,
        spread_percent=rule.spread_percent if population.by_component else None,
        reference=_reference(population, rule),
    )


def _beside(centre: float, percent: float) -> float:
    return float(f"{centre * (1.0 + percent / 100.0):.4g}")


def _source(population: Population, rule: LearningRule) -> str:
    whose = "the virtual fleet" if population.simulated else "this fleet"
    who = f"{population.nodes} {population.of} of {whose}"
    return f"learnt from {who} by the rule of {rule.date}: median {_median(population)}"


def _median(population: Population) -> str:
    return f"{median(population.values):.4g} {population.key[3]}"


def _reference(population: Population, rule: LearningRule) -> Reference | None:
    if population.nodes < rule.reference.minimum_population:
        return None
    test, metric, statistic, unit = population.key
    centre, sigma = freeze(population.values)
    spread, run = (float(f"{figure:.6g}") for figure in spreads(population.runs)) if population.runs else (None, None)
    return Reference(
        test=test,
        metric=metric,
        statistic=statistic,
        unit=unit,
        median=centre,
        sigma=sigma,
        n=population.nodes,
        rule=rule.reference,
        simulated=population.simulated,
        version=1,
        date=rule.date,
        source=_source(population, rule),
        parameters=population.parameters,
        spread=spread,
        run=run,
    )


def changes(past: Iterable[Past], before: Sequence[Baseline], after: Sequence[Baseline]) -> tuple[Change, ...]:
    """Judge each past result by both sets and return those whose verdict or reason would have been another."""
    found = []
    for one in past:
        old, new = (_judged(one, baselines) for baselines in (before, after))
        if _decided(old) != _decided(new):
            found.append(Change(one.stored.node, one.stored.scope.value, one.suite.name, old, new))
    return tuple(found)


def _decided(judgement: Judgement) -> tuple[object, ...]:
    """Return the verdict and its reasons without figures: a pass that names another floor is the same pass."""
    return judgement.verdict, tuple((one.verdict, one.code, one.component, one.metric) for one in judgement.reasons)


def _judged(one: Past, baselines: Sequence[Baseline]) -> Judgement:
    rows = build_rows([one.context(baselines)])
    return decide(Case(one.stored, one.suite, rows, failed_checks(rows, one.suite.checks())))
