"""Distribution similarity: finds stalls that leave every median where it was.

Two samples are compared by 1 - W1 / max, where W1 is the first Wasserstein distance: the mean difference between equal
quantiles. Times relative to a reference read as "what a job loses": a W1 of 0.03 is 3 % of its time. Beside it stands
the share of iterations that no healthy part ever takes, which needs fewer samples. The idea of judging by one-sided
similarity of distributions is that of SuperBench (USENIX ATC 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from nodeworthy.qualification.statistics import robust_sigma

SIMILARITY, STALLED_SHARE = "similarity", "stalled_share"
"""The two statistics of a shape, as suites and baselines name them; both are ratios."""


@dataclass(frozen=True, slots=True)
class ShapeReference:
    """The frozen shape of a healthy population's iterations, relative to the median of their own run.

    `quantiles` are equally spaced, from the lowest to the highest; `stalled` is a time that no healthy iteration takes.
    """

    quantiles: tuple[float, ...]
    stalled: float


@dataclass(frozen=True, slots=True)
class ShapeRule:
    """What is still healthy: similarity at least `similarity`, share of stalled iterations at most `stalled_share`."""

    similarity: float
    stalled_share: float
    sigmas: float
    """How many robust sigmas above the median an iteration counts as stalled."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How a run's iterations compare with the reference."""

    similarity: float
    stalled_share: float

    def healthy(self, rule: ShapeRule) -> bool:
        """Tell whether both halves of the rule hold."""
        return self.similarity >= rule.similarity and self.stalled_share <= rule.stalled_share


def freeze_shape(samples: Sequence[float], rule: ShapeRule, points: int = 101) -> ShapeReference:
    """Return the reference of a healthy population's relative iteration times. ValueError for fewer than `points`."""
    if len(samples) < points:
        raise ValueError(f"A shape of {points} quantiles needs {points} samples at least, not {len(samples)}.")
    ordered = sorted(samples)
    quantiles = tuple(_quantile(ordered, place / (points - 1)) for place in range(points))
    return ShapeReference(quantiles, median(ordered) + rule.sigmas * robust_sigma(ordered))


def shape(samples: Sequence[float], reference: ShapeReference) -> Shape:
    """Compare iteration times with the reference. ValueError when there are none."""
    if not samples:
        raise ValueError("No iterations to compare: a run without samples is incomplete, not similar.")
    return Shape(similarity(samples, reference.quantiles), stalled_share(samples, reference.stalled))


def similarity(samples: Sequence[float], quantiles: Sequence[float]) -> float:
    """Return 1 - W1 / max of iteration times against equally spaced quantiles, two at least."""
    ordered, last = sorted(samples), len(quantiles) - 1
    # Midpoints of equal shares: the two ends, where single values rule, weigh no more than any other share.
    distance = 0.0
    for place in range(last):
        middle = (place + 0.5) / last
        own = _quantile(ordered, middle)
        distance += abs(own - (quantiles[place] + quantiles[place + 1]) / 2) / last
    greatest = max(ordered[-1], quantiles[-1])
    return 1.0 - distance / greatest if greatest > 0 else 0.0


def stalled_share(samples: Sequence[float], stalled: float) -> float:
    """Return the share of iterations that took longer than `stalled`."""
    return sum(sample > stalled for sample in samples) / len(samples)


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
