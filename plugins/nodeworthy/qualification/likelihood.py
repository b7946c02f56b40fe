"""How much more likely a node's figures are under a fault than without one: the combined rule over all its figures.

One figure 1.5 % low says nothing at 1 % noise; four figures of one subsystem of one GPU, each 1.5 % low in five runs,
do. The likelihood ratio (Neyman and Pearson, 1933) adds such evidence up. The fault model is general: one subsystem
(the figures of one test), one component or all of them, one metric or more, in every run or in some, by an amount from
a list. Because the ratio is a mean over that list, a limit L flags at most one healthy node in L, however many figures
and components are looked at (Markov's inequality), provided that the reference's spreads are right.

This is the one module of its room that imports numpy; it is imported only where a rule asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodeworthy.qualification.fault_model import FaultModel

Array = NDArray[np.float64]
_CLIP = 150.0
"""Exponents are cut here, so that four of them multiply without overflow; far above any limit."""


@dataclass(frozen=True, slots=True)
class Family:
    """Figures of one subsystem: deviations from the reference in per cent by node, component, metric and run.

    `spread_percent` and `run_percent` are the standard deviations, per metric, between healthy parts and between runs.
    """

    name: str
    deviations_percent: Array
    spread_percent: Array
    run_percent: Array


def family_of(
    name: str,
    values: Sequence[Sequence[Sequence[float]]],
    medians: Sequence[float],
    spreads: Sequence[float],
    runs: Sequence[float],
) -> Family:
    """Return the family of one node: values by component, metric and run; the rest per metric, in the same unit."""
    centre = np.array(medians)
    percent = 100.0 / centre
    deviations = (np.array(values) - centre[:, None]) * percent[:, None]
    return Family(name, deviations[None], np.array(spreads) * percent, np.array(runs) * percent)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Natural logarithms of likelihood ratios: of each node, and of each family's components; the last is all of them.

    `by_family` has the shape (node, component + 1) for each family, in the order given.
    """

    total: Array
    by_family: tuple[Array, ...]

    def flagged(self, model: FaultModel) -> NDArray[np.bool_]:
        """Return which nodes lie above the model's limit."""
        return np.asarray(self.total > math.log(model.limit))

    def culprit(self, node: int) -> tuple[int, int]:
        """Return the family and the component that most of a node's evidence points at; the last component is all."""
        best = max(range(len(self.by_family)), key=lambda place: float(self.by_family[place][node].max()))
        return best, int(self.by_family[best][node].argmax())


def evidence(families: Sequence[Family], model: FaultModel) -> Evidence:
    """Return the evidence for a fault in each node. Missing figures must have been sorted out before: NaN is refused.

    ValueError when there is no family or a figure is not finite.
    """
    if not families or not all(np.isfinite(family.deviations_percent).all() for family in families):
        raise ValueError("Evidence needs at least one family of figures, and every figure finite.")
    weights = [model.subsystem_weights.get(family.name, 1.0) for family in families]
    parts = [weight * ratios for weight, ratios in zip(weights, _ratios(families, model), strict=True)]
    total = sum(_weighted(part, model) for part in parts) / sum(weights)
    with np.errstate(divide="ignore"):
        return Evidence(np.log(total), tuple(np.log(part) for part in parts))


def _weighted(part: Array, model: FaultModel) -> Any:
    return (1.0 - model.whole_node_share) * part[:, :-1].mean(axis=1) + model.whole_node_share * part[:, -1]


def _patterns(runs: int, model: FaultModel) -> tuple[Array, Array]:
    """Return which runs a fault may show in, as rows of 0 and 1, and how likely each is."""
    some = [hit for many in range(1, runs) for hit in combinations(range(runs), many)]
    rows = np.zeros((1 + len(some), runs))
    rows[0] = 1.0
    for number, hit in enumerate(some, start=1):
        rows[number, list(hit)] = 1.0
    weights = np.full(len(rows), model.intermittent_share / max(1, len(some)))
    weights[0] = 1.0 - model.intermittent_share if some else 1.0
    return rows, weights


def _ratios(families: Sequence[Family], model: FaultModel) -> list[Array]:
    """Return each family's ratios; of one node, families of one shape are worked out in one go."""
    found: dict[int, Array] = {}
    shapes: dict[tuple[int, ...], list[int]] = {}
    for place, family in enumerate(families):
        shape = family.deviations_percent.shape
        shapes.setdefault(shape if shape[0] == 1 else (*shape, place), []).append(place)
    for places in shapes.values():
        alike = [families[place] for place in places]
        ratios = _ratio(
            np.concatenate([family.deviations_percent for family in alike]),
            np.stack([family.spread_percent for family in alike]),
            np.stack([family.run_percent for family in alike]),
            model,
        )
        found.update(dict(zip(places, np.split(ratios, len(alike)), strict=True)))
    return [found[place] for place in range(len(families))]


def _ratio(figures: Array, spread_percent: Array, run_percent: Array, model: FaultModel) -> Array:
    """Return likelihood ratios by node and component, with one more column for all components together.

    The spreads are given per metric for each node, or once for all.
    """
    nodes, components, _, runs = figures.shape
    rows, weights = _patterns(runs, model)
    hits = rows.sum(axis=1)
    run_variance = (run_percent**2)[:, None, :, None]
    spread_variance = (spread_percent**2)[:, None, :, None]
    shared = spread_variance / (run_variance + runs * spread_variance)
    seen = figures @ rows.T - (hits * shared) * figures.sum(axis=3)[..., None]
    expected = hits - shared * hits**2
    amounts = np.array(model.amounts_percent).reshape(-1, 1, 1, 1, 1)
    exponents = -(amounts * seen + 0.5 * amounts**2 * expected) / run_variance
    ratios = np.empty((nodes, components + 1))
    ratios[:, :components] = (_subsets(exponents) @ weights).mean(axis=0)
    ratios[:, components] = (_subsets(exponents.sum(axis=2)) @ weights).mean(axis=0)
    return ratios


def _subsets(exponents: Array) -> Array:
    """Return the mean likelihood ratio over how many of a family's metrics are hit, and over which (axis -2)."""
    ratios = np.exp(np.minimum(exponents, _CLIP))
    metrics = ratios.shape[-2]
    products: list[Any] = [1.0] + [0.0] * metrics
    for place in range(metrics):
        for many in range(place + 1, 0, -1):
            products[many] = products[many] + products[many - 1] * ratios[..., place, :]
    return np.asarray(sum(products[many] / math.comb(metrics, many) for many in range(1, metrics + 1)) / metrics)
