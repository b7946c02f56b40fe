"""Drift of a node over its own history: a one-sided CUSUM on standardised residuals.

Each run's shortfall below the node's own reference, in standard deviations and less an allowance `k`, is added up and
never goes below zero; above `h` the node has drifted (NIST/SEMATECH e-Handbook of Statistical Methods, 6.3.2.3). A slow
decline that no single run shows is found, and the run in which it began is known. It raises suspicion; it fails nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import pi, sqrt
from statistics import median

from nodeworthy.qualification.statistics import run_sigma


@dataclass(frozen=True, slots=True)
class DriftRule:
    """Allowance `k` and limit `h` in standard deviations; the first `settle` runs make a node's own reference.

    That reference is a median of few runs and may lie high: the allowance grows by `margin` of its standard errors.
    """

    k: float
    h: float
    settle: int
    margin: float


@dataclass(frozen=True, slots=True)
class Drift:
    """What a history shows. `began` and `alarmed` are numbers of runs from 0; None where there is no drift."""

    sums: tuple[float, ...]
    began: int | None
    alarmed: int | None

    @property
    def drifted(self) -> bool:
        """Whether the limit was passed at any time."""
        return self.alarmed is not None


def drift(values: Sequence[float], centre: float, sigma: float, rule: DriftRule) -> Drift:
    """Return the CUSUM of a history, oldest first, below `centre`. ValueError when `sigma` is not above zero."""
    if sigma <= 0:
        raise ValueError("A drift needs a spread above zero: give counted things an equality rule.")
    total, rising, began, alarmed, sums = 0.0, 0, None, None, []
    for run, value in enumerate(values):
        if total == 0.0:
            rising = run
        total = max(0.0, total + (centre - value) / sigma - rule.k)
        sums.append(total)
        if alarmed is None and total > rule.h:
            began, alarmed = rising, run
    return Drift(tuple(sums), began, alarmed)


def own_drift(values: Sequence[float], sigma_floor: float, rule: DriftRule) -> Drift | None:
    """Return the drift of a node against its own first runs; None while it has no more than those.

    The first `settle` runs give the median. The spread is that from each run to the next, which a slow decline does not
    widen, and never below `sigma_floor`, in the same unit.
    """
    if len(values) <= rule.settle:
        return None
    # The standard error of a median of n normal values is sqrt(pi / 2 n) of their standard deviation.
    widened = replace(rule, k=rule.k + rule.margin * sqrt(pi / 2.0 / rule.settle))
    sigma = max(run_sigma(values), sigma_floor)
    return drift(values[rule.settle :], median(values[: rule.settle]), sigma, widened)
