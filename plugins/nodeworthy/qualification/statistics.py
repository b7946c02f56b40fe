"""Robust statistics in plain Python: median, spread by the median absolute deviation, and the combined rule.

A population's spread is 1.4826 x MAD, which estimates the standard deviation of normal noise and ignores a minority of
outliers (Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993). It is never taken below a floor in per cent
of the median, so that a quantised or unusually quiet metric does not turn rounding into a fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import erf, exp, pi, sqrt
from statistics import median

MAD_TO_SIGMA = 1.4826
"""Standard deviation of a normal distribution per median absolute deviation: 1 / Phi^-1(3/4)."""
NEAR = 3.5
"""From this many robust standard deviations on a value is an outlier (Iglewicz and Hoaglin 1993, page 11)."""


def robust_sigma(values: Sequence[float]) -> float:
    """Return 1.4826 times the median absolute deviation, in the unit of the values."""
    centre = median(values)
    return MAD_TO_SIGMA * median(abs(value - centre) for value in values)


def run_sigma(values: Sequence[float]) -> float:
    """Return the robust standard deviation from run to run of a series: from its steps, so that no trend is in it.

    A step between two independent runs has sqrt(2) times their standard deviation. ValueError for less than two values.
    """
    if len(values) < 2:
        raise ValueError("A spread from run to run needs two runs.")
    return MAD_TO_SIGMA * median(abs(after - before) for before, after in pairwise(values)) / sqrt(2.0)


def deviation_percent(value: float, centre: float) -> float:
    """Return how far a value lies from a centre, in per cent of the centre; negative below it."""
    return 100.0 * (value - centre) / centre


def spreads(parts: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return (between parts, between runs): standard deviations of a population measured in several runs.

    Each part is one component's values, one per run, at least two each; ValueError otherwise. What the runs' noise
    leaves in the means of the parts is taken out of the spread between them, which is therefore 0 at the least. Values
    far off are left out. A median absolute deviation alone would not do: it uses little more than a third of what
    normal values say (37 %, Huber 1981, section 5.1), and the combined rule flags by how well these two are known.
    """
    if not parts or any(len(runs) < 2 for runs in parts):
        raise ValueError("Spreads need at least one part, and two runs of each.")
    means = [sum(runs) / len(runs) for runs in parts]
    within = [
        (value - mean) * (len(runs) / (len(runs) - 1)) ** 0.5
        for runs, mean in zip(parts, means, strict=True)
        for value in runs
    ]
    of_runs = _sigma_of_the_near(within, 0.0)
    runs = sum(len(part) for part in parts) / len(parts)
    between = _sigma_of_the_near(means, median(means)) ** 2 - of_runs**2 / runs
    return max(0.0, between) ** 0.5, of_runs


def _sigma_of_the_near(values: Sequence[float], centre: float) -> float:
    """Return the standard deviation about a centre, of the values within `NEAR` robust ones of it.

    What a normal population loses by the cut is put back: its variance is 1 - 2 k f(k) / (2 F(k) - 1) within k, with f
    and F of the standard normal (Johnson, Kotz, Balakrishnan 1994, section 13.10.1).
    """
    limit = NEAR * MAD_TO_SIGMA * median(abs(value - centre) for value in values)
    near = [value - centre for value in values if abs(value - centre) <= limit]
    density, inside = exp(-(NEAR**2) / 2) / sqrt(2 * pi), erf(NEAR / sqrt(2))
    kept = 1.0 - 2 * NEAR * density / inside
    return sqrt(sum(value**2 for value in near) / len(near) / kept)
