"""Learning the shape of iteration times: the iterations of all nodes together, frozen, with each node beside it.

What is allowed beside the shape is no matter of the fleet: it is the rule of `include/statistics/combined.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from nodeworthy.qualification.baselines import Baseline
from nodeworthy.qualification.derived import RATIO, SHAPES
from nodeworthy.qualification.frame import Row, read_contexts
from nodeworthy.qualification.learning import LearningRule, Lesson, Past, Population, fit_but_for_value, in_force, used
from nodeworthy.qualification.similarity import SIMILARITY, ShapeRule, freeze_shape, similarity, stalled_share
from nodeworthy.qualification.suites import MetricSpec


@dataclass(slots=True)
class _Gathered:
    """The iterations of all nodes that measured one figure."""

    spec: MetricSpec
    by_node: dict[str, tuple[float, ...]] = field(default_factory=dict)


def shape_lessons(
    past: Sequence[Past], known: Sequence[Baseline], rule: LearningRule, allowed: ShapeRule, *, again: bool = False
) -> tuple[Lesson, ...]:
    """Return a lesson per measured figure of a shape. Those that have a usable baseline are left out unless `again`.

    The iterations of all nodes are one population; a shape is frozen from as many nodes as any other baseline.
    """
    found: dict[tuple[str, str, str], _Gathered] = {}
    chosen, simulated = used(past)
    for one in chosen:
        for row, spec, samples in _of_shapes(one):
            gathered = found.setdefault((row.test, row.metric, row.statistic), _Gathered(spec))
            gathered.by_node[row.node] = samples
    taught = []
    for (test, _, _), gathered in found.items():
        lesson = _lesson(test, gathered, known, (rule, allowed), sku=chosen[0].sku.name, simulated=simulated)
        if lesson.old is None or again:
            taught.append(lesson)
    return tuple(taught)


def _of_shapes(one: Past) -> Iterable[tuple[Row, MetricSpec, tuple[float, ...]]]:
    for context, result, rows in read_contexts([one.context(())]):
        brought = {(m.test, m.metric, m.component): m.samples for m in result.measurements if m.samples}
        for row in rows:
            spec = context.suite.spec(row.test, row.metric, row.statistic)
            if spec is not None and row.statistic in SHAPES and fit_but_for_value(row):
                samples = brought.get((row.test, spec.derived_from, row.component))
                if samples:
                    yield row, spec, samples


def _lesson(
    test: str,
    gathered: _Gathered,
    known: Sequence[Baseline],
    rules: tuple[LearningRule, ShapeRule],
    *,
    sku: str,
    simulated: bool,
) -> Lesson:
    rule, allowed = rules
    spec, by_node = gathered.spec, gathered.by_node
    together = [sample for samples in by_node.values() for sample in samples]
    frozen = freeze_shape(together, allowed)
    quantiles, above = tuple(_short(value) for value in frozen.quantiles), _short(frozen.stalled)
    alike = spec.statistic == SIMILARITY
    values = tuple(
        similarity(samples, quantiles) if alike else stalled_share(samples, above) for samples in by_node.values()
    )
    key = (test, spec.metric, spec.statistic, RATIO)
    population = Population(key, dict(spec.parameters), values, len(by_node), by_component=False, simulated=simulated)
    old = in_force(population, known)
    best = max(values) if alike else min(values)
    healthy = best >= allowed.similarity if alike else best <= allowed.stalled_share
    if len(by_node) < rule.minimum_population:
        why = f"{len(by_node)} nodes were measured and {rule.minimum_population} are needed"
        return Lesson(population, old, None, why)
    if not healthy:
        return Lesson(population, old, None, "no node's iterations are like those of all nodes together")
    shape: Mapping[str, float | tuple[float, ...]] = (
        {"floor": allowed.similarity, "ceiling": 1.0, "quantiles": quantiles}
        if alike
        else {"most": allowed.stalled_share, "least": 0.0, "stalled_above": above}
    )
    return Lesson(population, old, _proposed(population, rule, sku, best, len(together), shape), "")


def _proposed(
    population: Population,
    rule: LearningRule,
    sku: str,
    best: float,
    iterations: int,
    shape: Mapping[str, float | tuple[float, ...]],
) -> Baseline:
    test, metric, statistic, unit = population.key
    whose = "the virtual fleet" if population.simulated else "this fleet"
    limits = {"floor": None, "ceiling": None, **shape}
    return Baseline(
        sku=sku,
        test=test,
        metric=metric,
        statistic=statistic,
        unit=unit,
        source=f"shape of {iterations} iterations of {population.nodes} nodes of {whose}, learnt by the rule of "
        f"{rule.date}; the limit is that of include/statistics/combined.yaml",
        date=rule.date,
        version=1,
        sample_size=population.nodes,
        parameters=population.parameters,
        simulated=population.simulated,
        reached=_short(best),
        **limits,  # type: ignore[arg-type]  # names and types are those of the two kinds above
    )


def _short(value: float) -> float:
    return float(f"{value:.6g}")
