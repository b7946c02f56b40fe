"""The best that is possible: the exact likelihood ratio of the corpus, with every parameter known.

It knows the true spreads, kinds, shares, families, amounts and stall shares of `corpus.yaml`, so by Neyman and Pearson
no rule of the same false-alarm rate finds more. It shares no code with the product.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.corpus.nodes import Block
from lab.corpus.parameters import GPU, NODE, Family, Parameters

Array = NDArray[np.float64]
AMOUNTS = 11
STALL_SHARES, STALL_AMOUNTS = 3, 6
QUIET = 1.02
"""Iterations below this time are five deviations from any stall: their own chance of being one is left out."""


def log_ratios(parameters: Parameters, block: Block, repeats: int) -> Array:
    """Return the logarithm of each node's likelihood ratio, bad against healthy, from its first `repeats` runs."""
    by_family = {family.name: _Ratios(parameters, block, family, repeats) for family in parameters.families}
    per_gpu = parameters.of(GPU)
    load = parameters.of(GPU, load=True)
    always = _patterns_always(repeats)
    sometimes = _patterns_sometimes(parameters, repeats)
    kinds = {
        "one-gpu": lambda: _mean([by_family[family.name].one(always) for family in per_gpu]),
        "under-load": lambda: _mean([by_family[family.name].one(always) for family in load]),
        "intermittent": lambda: _mean([by_family[family.name].one(sometimes) for family in per_gpu]),
        "whole-node": lambda: _mean([ratios.whole(always) for ratios in by_family.values()]),
        "stall": lambda: _stall_ratio(parameters, block, repeats),
    }
    total = sum(share * kinds[kind]() for kind, share in parameters.kinds.items())
    return np.asarray(np.log(total))


def _mean(ratios: list[Array]) -> Array:
    return np.asarray(sum(ratios) / len(ratios))


Patterns = list[tuple[float, NDArray[np.float64], float]]
"""Probability of each pattern of runs that are hit, the pattern, and how much more than the mean a hit run loses."""


def _patterns_always(repeats: int) -> Patterns:
    return [(1.0, np.ones(repeats), 1.0)]


def _patterns_sometimes(parameters: Parameters, repeats: int) -> Patterns:
    low, high = parameters.intermittent_runs
    found: dict[tuple[tuple[float, ...], float], float] = {}
    for many in range(low, high + 1):
        for hit in combinations(range(parameters.repeats), many):
            seen = tuple(1.0 if run in hit else 0.0 for run in range(repeats))
            key = (seen, parameters.repeats / many)
            found[key] = found.get(key, 0.0) + 1.0 / comb(parameters.repeats, many) / (high - low + 1)
    return [(chance, np.array(pattern), factor) for (pattern, factor), chance in found.items()]


class _Ratios:
    """Likelihood ratios of one family of metrics in one block."""

    def __init__(self, parameters: Parameters, block: Block, family: Family, repeats: int) -> None:
        whole = block.node[:, None] if family.per == NODE else block.gpu
        self._figures = whole[:, :, list(family.columns), :repeats]
        self._parameters, self._repeats = parameters, repeats

    def one(self, patterns: Patterns) -> Array:
        """Return the ratio for one component of the family's, each equally likely."""
        return np.asarray(self._over(patterns, whole=False).mean(axis=1))

    def whole(self, patterns: Patterns) -> Array:
        """Return the ratio for all components together."""
        return self._over(patterns, whole=True)

    def _over(self, patterns: Patterns, *, whole: bool) -> Array:
        parameters, repeats = self._parameters, self._repeats
        run, part = parameters.run_percent**2, parameters.spread_percent**2
        # The inverse of run * I + part * (all ones), by Sherman and Morrison.
        inverse = (np.eye(repeats) - part / (run + repeats * part)) / run
        weighed = self._figures @ inverse
        total: Any = 0.0
        low, high = parameters.amount_percent
        step = (high - low) / AMOUNTS
        for chance, pattern, factor in patterns:
            seen, norm = weighed @ pattern, float(pattern @ inverse @ pattern)
            for place in range(AMOUNTS):
                loss = factor * (low + (place + 0.5) * step)
                exponents = -loss * seen - 0.5 * loss**2 * norm
                exponents = exponents.sum(axis=1) if whole else exponents
                total = total + chance / AMOUNTS * _any_subset(exponents)
        return np.asarray(total)


def _any_subset(exponents: Array) -> Array:
    """Return the mean over sizes, and over subsets of that size, of the product of the metrics' ratios (last axis)."""
    ratios = np.exp(np.minimum(exponents, 150.0))
    metrics = ratios.shape[-1]
    total: Any = 0.0
    for size in range(1, metrics + 1):
        subsets = [ratios[..., list(subset)].prod(axis=-1) for subset in combinations(range(metrics), size)]
        total = total + sum(subsets) / len(subsets) / metrics
    return np.asarray(total)


def _stall_ratio(parameters: Parameters, block: Block, repeats: int) -> Array:
    times = block.iterations[:, :, :repeats].reshape(len(block), parameters.gpus, -1)
    nodes, gpus, places = np.nonzero(times > QUIET)
    late = times[nodes, gpus, places].astype(np.float64) - 1.0
    cell = nodes * parameters.gpus + gpus
    loud = np.bincount(cell, minlength=len(block) * parameters.gpus)
    variance = (parameters.iteration_percent / 100) ** 2
    total = np.zeros(len(loud))
    for share in _middles(parameters.stall_share, STALL_SHARES):
        for amount in _middles(parameters.amount_percent, STALL_AMOUNTS):
            longer = amount / 100 / share
            exponents = np.minimum((longer * late - 0.5 * longer**2) / variance, 300.0)
            one = np.log(1.0 - share + share * np.exp(exponents))
            log_ratio = np.bincount(cell, one, minlength=len(loud)) + (times.shape[2] - loud) * np.log(1.0 - share)
            total += np.exp(np.minimum(log_ratio, 600.0)) / STALL_SHARES / STALL_AMOUNTS
    return np.asarray(total.reshape(len(block), parameters.gpus).mean(axis=1))


def _middles(bounds: tuple[float, float], count: int) -> list[float]:
    low, high = bounds
    return [low + (place + 0.5) * (high - low) / count for place in range(count)]
