"""Robust statistics in plain Python: median, spread by the median absolute deviation, and the combined rule.

A population's spread is 1.4826 x MAD, which estimates the standard deviation of normal noise and ignores a minority of
outliers (Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993). It is never taken below a floor in per cent
of the median, so that a quantised or unusually quiet metric does not turn rounding into a fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

MAD_TO_SIGMA = 1.4826
"""Standard deviation of a normal distribution per median absolute deviation: 1 / Phi^-1(3/4)."""


def robust_sigma(values: Sequence[float]) -> float:
    """Return 1.4826 times the median absolute deviation, in the unit of the values."""
    centre = median(values)
    return MAD_TO_SIGMA * median(abs(value - centre) for value in values)


def deviation_percent(value: float, centre: float) -> float:
    """Return how far a value lies from a centre, in per cent of the centre; negative below it."""
    return 100.0 * (value - centre) / centre
