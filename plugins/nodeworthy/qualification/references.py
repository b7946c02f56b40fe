"""Frozen references: what a healthy population of one key reads, and how far below it a node may lie.

A floor from a data sheet finds broken parts, not slow ones. A reference is the population's median and robust spread,
frozen with a version, so that who else is in a wave cannot change a verdict. The combined rule flags a value only when
it is both improbable (z) and materially low (per cent). A reference frozen from the virtual fleet says so and judges
only results of the virtual fleet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist, median
from typing import Any

from nodeworthy.errors import Permanent
from nodeworthy.qualification.documents import figure, optional_figure, refuse_unknown_keys, text
from nodeworthy.qualification.fault_model import FaultModel, fault_model
from nodeworthy.qualification.statistics import deviation_percent, robust_sigma

REFERENCE_SCHEMA = "nodeworthy.reference/1"
_KEYS = ("schema", "sku", "version", "simulated", "date", "source", "population", "rule", "metrics")
_RULE_KEYS = ("z", "percent", "sigma_floor_percent", "minimum_population", "source", "together")
_OWN_KEYS = ("version", "simulated", "date", "source", "rule")
"""What a row may say for itself where it differs from the head of its document: it was frozen another day."""
_ROW_KEYS = ("test", "metric", "statistic", "unit", "median", "sigma", "n", "parameters", "spread", "run", *_OWN_KEYS)


@dataclass(frozen=True, slots=True)
class CombinedRule:
    """A value is low when it lies beyond `z` sigmas *and* beyond `percent` of the median; both are negative."""

    z: float
    percent: float
    sigma_floor_percent: float
    minimum_population: int
    source: str
    together: FaultModel | None = None
    """What the figures of a node are looked at together for; None where each is judged by itself alone."""

    def document(self) -> dict[str, Any]:
        """Return the rule as it stands in a file."""
        together = {} if self.together is None else {"together": self.together.document()}
        plain = ("z", "percent", "sigma_floor_percent", "minimum_population", "source")
        return {**{key: getattr(self, key) for key in plain}, **together}


@dataclass(frozen=True, slots=True)
class Reference:
    """Median and spread of one metric over a healthy population; `n` counts nodes, `sigma` is robust."""

    test: str
    metric: str
    statistic: str
    unit: str
    median: float
    sigma: float
    n: int
    rule: CombinedRule
    simulated: bool
    version: int
    date: str
    source: str
    parameters: Mapping[str, str | int | float] = field(default_factory=dict)
    spread: float | None = None
    """Standard deviation between healthy parts, in the metric's unit; None where it was not told apart from `run`."""
    run: float | None = None
    """Standard deviation from one run to the next, in the metric's unit."""

    @property
    def effective_sigma(self) -> float:
        """The spread that z is counted in: never below the rule's floor."""
        return max(self.sigma, self.median * self.rule.sigma_floor_percent / 100.0)

    def low(self, components: int = 1) -> float:
        """The lowest value that is not flagged: below it both halves of the rule say low.

        The rule's z holds for a node, not for each of its `components`: eight looks have eight chances of a false
        alarm, so each look's own chance is an eighth.
        """
        by_z = self.median + z_for(self.rule.z, components) * self.effective_sigma
        by_percent = self.median * (1.0 + self.rule.percent / 100.0)
        return min(by_z, by_percent)

    def z(self, value: float) -> float:
        """Return how many sigmas a value lies from the median."""
        return (value - self.median) / self.effective_sigma

    def percent(self, value: float) -> float:
        """Return how many per cent a value lies from the median."""
        return deviation_percent(value, self.median)


def z_for(z: float, components: int) -> float:
    """Return the z of one look so that `components` independent looks together flag no more often than one at `z`."""
    normal = NormalDist()
    return z if components <= 1 else normal.inv_cdf(normal.cdf(z) / components)


def freeze(values: Sequence[float]) -> tuple[float, float]:
    """Return (median, robust sigma) of a population, rounded to six significant digits so that files stay readable."""
    return float(f"{median(values):.6g}"), float(f"{robust_sigma(values):.6g}")


def references_from_document(document: Mapping[str, Any], where: str = "the reference file") -> tuple[Reference, ...]:
    """Read a reference file. Raises Permanent with one sentence for the first thing that makes it useless."""
    refuse_unknown_keys(document, _KEYS, where)
    if document.get("schema") != REFERENCE_SCHEMA:
        raise Permanent(
            f"{where}: schema is {document.get('schema')!r}, expected {REFERENCE_SCHEMA!r}: convert the file."
        )
    if not isinstance(document.get("simulated"), bool):
        raise Permanent(f"{where}: `simulated` must say true or false: state where the population was measured.")
    rule = _rule(document.get("rule"), where)
    text(document, "date", where)
    text(document, "source", where)
    return tuple(_reference(row, document, rule, where) for row in document.get("metrics", ()))


def _rule(row: Any, where: str) -> CombinedRule:
    if not isinstance(row, Mapping):
        raise Permanent(f"{where}: `rule` is missing: state z, percent, sigma_floor_percent and minimum_population.")
    refuse_unknown_keys(row, _RULE_KEYS, f"{where}, rule")
    z, percent = figure(row, "z", where), figure(row, "percent", where)
    if z >= 0 or percent >= 0:
        raise Permanent(f"{where}: rule z {z} and percent {percent} must both be negative: they are shortfalls.")
    floor = figure(row, "sigma_floor_percent", where)
    population = int(figure(row, "minimum_population", where))
    together = fault_model(row["together"], f"{where}, together") if row.get("together") else None
    return CombinedRule(z, percent, floor, population, text(row, "source", where), together)


def _reference(row: Mapping[str, Any], document: Mapping[str, Any], rule: CombinedRule, where: str) -> Reference:
    here = f"{where}, {row.get('metric', 'a row without metric')}"
    refuse_unknown_keys(row, _ROW_KEYS, here)
    rule = _rule(row["rule"], here) if "rule" in row else rule
    document = {**document, **{key: row[key] for key in _OWN_KEYS if key in row}}
    centre, sigma, n = figure(row, "median", here), figure(row, "sigma", here), int(figure(row, "n", here))
    if n < rule.minimum_population:
        raise Permanent(
            f"{here}: the population is {n} nodes, the rule needs {rule.minimum_population}: measure more nodes first."
        )
    if centre <= 0 or sigma < 0:
        raise Permanent(f"{here}: median {centre} and sigma {sigma} must be positive: freeze the reference anew.")
    return Reference(
        test=text(row, "test", here),
        metric=text(row, "metric", here),
        statistic=text(row, "statistic", here),
        unit=text(row, "unit", here),
        median=centre,
        sigma=sigma,
        n=n,
        rule=rule,
        simulated=bool(document["simulated"]),
        version=int(document.get("version", 1)),
        date=str(document["date"]),
        source=str(document["source"]),
        parameters=dict(row.get("parameters", {})),
        spread=optional_figure(row, "spread", here),
        run=optional_figure(row, "run", here),
    )
