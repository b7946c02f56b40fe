"""The strategies that are compared: each says which nodes of a block it flags, and where it points.

Nodeworthy's rules come from the product and know only what the product would: a reference frozen from 200 healthy
nodes that were measured before, and how often each subsystem was to blame in 300 confirmed faults of the past. The
three others are what operators use today, on the same figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from nodeworthy.qualification.fault_model import FaultModel
from nodeworthy.qualification.likelihood import Evidence, evidence
from nodeworthy.qualification.likelihood import Family as Figures
from nodeworthy.qualification.similarity import ShapeReference, ShapeRule, freeze_shape, shape
from nodeworthy.qualification.statistics import spreads
from numpy.typing import NDArray

from lab.corpus.nodes import WHOLE_NODE, Block, Fault, blocks
from lab.corpus.parameters import GPU, NODE, Family, Parameters

Array = NDArray[np.float64]
WAVE = 64
ITERATIONS = "iterations"
REFERENCE_NODES = 200
CONFIRMED_FAULTS = 300


@dataclass(frozen=True, slots=True)
class Finding:
    """Where a strategy points: a GPU or the whole node, what is measured per GPU or per node, and the metric."""

    component: int
    family: str
    column: int

    def right(self, fault: Fault) -> bool:
        """Tell whether the fault is there. Any GPU of a node that is slow as a whole is right."""
        where = fault.component in (WHOLE_NODE, self.component)
        if fault.kind == "stall":
            return where and self.family == ITERATIONS
        return where and self.family == fault.family and self.column in fault.columns


class Strategy(Protocol):
    """Flags nodes of a block from their first `repeats` runs."""

    name: str

    def flag(self, block: Block, repeats: int) -> list[Finding | None]:
        """Return per node where the strategy points, None for a node that it lets pass."""


def families_of(parameters: Parameters, block: Block, repeats: int) -> list[tuple[Family, Array]]:
    """Return each family's figures by node, component, metric and run."""
    found = []
    for family in parameters.families:
        whole = block.node[:, None] if family.per == NODE else block.gpu
        found.append((family, whole[:, :, list(family.columns), :repeats]))
    return found


@dataclass(frozen=True, slots=True)
class Frozen:
    """What was learned from healthy nodes: per family centre, spread between parts and between runs; the shape."""

    centre: dict[str, Array]
    spread: dict[str, Array]
    run: dict[str, Array]
    shape: ShapeReference
    weights: dict[str, float]
    """How often each family's subsystem failed, among the faults that were confirmed before."""


def freeze(parameters: Parameters, seed: int, rule: ShapeRule) -> Frozen:
    """Measure `REFERENCE_NODES` healthy nodes and freeze what they read; count `CONFIRMED_FAULTS` of the past."""
    (block,) = blocks(parameters, seed, REFERENCE_NODES, bad_share=0.0)
    centre, spread, run = {}, {}, {}
    for family, figures in families_of(parameters, block, parameters.repeats):
        parts = [figures[:, :, place].reshape(-1, parameters.repeats) for place in range(len(family.metrics))]
        both = [spreads(one.tolist()) for one in parts]
        centre[family.name] = np.array([float(np.median(one)) for one in parts])
        spread[family.name] = np.array([one[0] for one in both])
        run[family.name] = np.array([one[1] for one in both])
    samples = [float(value) for value in block.iterations[:, ::4].reshape(-1)[::7]]
    return Frozen(centre, spread, run, freeze_shape(samples, rule), _history(parameters, seed))


def _history(parameters: Parameters, seed: int) -> dict[str, float]:
    """Return per family how often it was hit among past faults, relative to the mean; one is added to each count."""
    (block,) = blocks(parameters, seed + 100, CONFIRMED_FAULTS, bad_share=1.0)
    counts = {family.name: 1 for family in parameters.families}
    for fault in block.faults:
        if fault is not None and fault.kind != "stall":
            counts[fault.family] += 1
    mean = sum(counts.values()) / len(counts)
    return {name: count / mean for name, count in counts.items()}


class Nodeworthy:
    """The product's combined rule and shape rule, against a frozen reference."""

    name = "nodeworthy"

    def __init__(self, parameters: Parameters, frozen: Frozen, model: FaultModel, rule: ShapeRule) -> None:
        self._parameters, self._frozen, self._rule = parameters, frozen, rule
        self._model = replace(model, subsystem_weights=frozen.weights)

    def flag(self, block: Block, repeats: int) -> list[Finding | None]:
        """Return per node the family and component with most evidence, or the GPU whose iterations stall."""
        found = self.evidence(block, repeats)
        flagged = found.flagged(self._model)
        stalls = self.stalls(block, repeats)
        return [
            self._finding(block, repeats, found, node) if flagged[node] else stalls[node] for node in range(len(block))
        ]

    def evidence(self, block: Block, repeats: int) -> Evidence:
        """Return the likelihood ratios of a block."""
        frozen = self._frozen
        return evidence(
            [
                Figures(family.name, figures - frozen.centre[family.name][:, None], *self._noise(family))
                for family, figures in families_of(self._parameters, block, repeats)
            ],
            self._model,
        )

    def stalls(self, block: Block, repeats: int) -> list[Finding | None]:
        """Return per node the GPU whose iteration times are unlike the reference's."""
        times = block.iterations[:, :, :repeats]
        relative = times / np.median(times, axis=3, keepdims=True)
        flat = relative.reshape(len(block), self._parameters.gpus, -1)
        odd = self._odd(flat).any(axis=1)
        return [self._stalled(node) if is_odd else None for node, is_odd in zip(flat, odd, strict=True)]

    def _odd(self, flat: Any) -> Any:
        """Return which GPUs the product's rule is asked about: all but those far inside both its limits."""
        points = len(self._frozen.shape.quantiles)
        own = np.quantile(flat, np.linspace(0.0, 1.0, points), axis=2).transpose(1, 2, 0)
        apart = abs(own - np.array(self._frozen.shape.quantiles)).mean(axis=2)
        return (apart > (1.0 - self._rule.similarity) / 2) | (flat.max(axis=2) > self._frozen.shape.stalled)

    def _noise(self, family: Family) -> tuple[Array, Array]:
        return self._frozen.spread[family.name], self._frozen.run[family.name]

    def _stalled(self, node: Any) -> Finding | None:
        shapes = [shape(gpu.tolist(), self._frozen.shape) for gpu in node]
        worst = min(range(len(shapes)), key=lambda gpu: shapes[gpu].similarity)
        unhealthy = [gpu for gpu, one in enumerate(shapes) if not one.healthy(self._rule)]
        return Finding(worst if worst in unhealthy else unhealthy[0], ITERATIONS, -1) if unhealthy else None

    def _finding(self, block: Block, repeats: int, found: Evidence, node: int) -> Finding:
        place, component = found.culprit(node)
        family, figures = families_of(self._parameters, block, repeats)[place]
        means = figures[node].mean(axis=2)
        whole = component == means.shape[0] or family.per == NODE
        row = means.mean(axis=0) if whole else means[component]
        return Finding(WHOLE_NODE if whole else component, family.name, family.columns[int(row.argmin())])


class PerRow:
    """Any rule that looks at each figure by itself: the lowest score below a limit decides, and is where it points."""

    def __init__(self, name: str, parameters: Parameters, limit: float) -> None:
        self.name, self._parameters, self._limit = name, parameters, limit

    def flag(self, block: Block, repeats: int) -> list[Finding | None]:
        """Return per node its lowest figure when that lies below the limit."""
        scored = [
            (family, self._scores(np.median(figures, axis=3)))
            for family, figures in families_of(self._parameters, block, repeats)
        ]
        return [self._lowest([(family, scores[node]) for family, scores in scored]) for node in range(len(block))]

    def _lowest(self, scored: Sequence[tuple[Family, Array]]) -> Finding | None:
        family, scores = min(scored, key=lambda pair: float(pair[1].min()))
        if scores.min() >= self._limit:
            return None
        component, place = np.unravel_index(int(scores.argmin()), scores.shape)
        return Finding(WHOLE_NODE if family.per != GPU else int(component), family.name, family.columns[int(place)])

    def _scores(self, figures: Array) -> Array:
        return figures


class FixedPercent(PerRow):
    """Low is what lies 5 % below the reference value."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__("fixed -5 %", parameters, -5.0)


class InWave(PerRow):
    """Low is what lies far from the other nodes of the same wave: a z of some kind, computed anew in each wave."""

    def __init__(self, name: str, parameters: Parameters, limit: float, *, robust: bool) -> None:
        super().__init__(name, parameters, limit)
        self._robust = robust

    def _scores(self, figures: Array) -> Array:
        waves = [figures[first : first + WAVE] for first in range(0, len(figures), WAVE)]
        return np.concatenate([self._z(wave) for wave in waves])

    def _z(self, wave: Array) -> Array:
        if not self._robust:
            return np.asarray((wave - wave.mean(axis=(0, 1))) / wave.std(axis=(0, 1)))
        apart = wave - np.median(wave, axis=(0, 1))
        return np.asarray(0.6745 * apart / np.median(abs(apart), axis=(0, 1)))
