"""Distribution similarity: distances worked out by hand, and stalls that no median shows."""

from __future__ import annotations

from random import Random
from statistics import median

import pytest
from nodeworthy.qualification.similarity import ShapeReference, ShapeRule, freeze_shape, shape

RULE = ShapeRule(similarity=0.99, stalled_share=0.008, sigmas=6.0)


def times(seed: int, count: int = 100) -> list[float]:
    """Relative iteration times with 1 % jitter."""
    random = Random(seed)
    return [random.gauss(1.0, 0.01) for _ in range(count)]


REFERENCE = freeze_shape(times(1, 20_000), RULE)


def test_the_same_distribution_is_alike() -> None:
    """Reference quantiles 1, 2, 3 and the sample 1, 2, 3 have the distance 0."""
    assert shape([3.0, 1.0, 2.0], ShapeReference((1.0, 2.0, 3.0), 9.0)).similarity == 1.0


def test_a_shift_costs_its_size() -> None:
    """All times 0.5 later: W1 is 0.5, the greatest time 3.5, so 1 - 1/7."""
    found = shape([3.5, 1.5, 2.5], ShapeReference((1.0, 2.0, 3.0), 9.0))
    assert found.similarity == pytest.approx(1 - 0.5 / 3.5)


def test_stalled_iterations_are_counted() -> None:
    """Two of four lie above the time that no healthy iteration takes."""
    assert shape([1.0, 1.0, 5.0, 6.0], ShapeReference((1.0, 1.0), 4.0)).stalled_share == 0.5


def test_stalls_are_found_though_the_median_stays() -> None:
    """One iteration in ten is 30 % longer: the median moves by less than 0.3 %, the shape is unhealthy."""
    stalled = [time + (0.3 if place % 10 == 0 else 0.0) for place, time in enumerate(times(2))]
    assert abs(median(stalled) - 1.0) < 0.003
    assert not shape(stalled, REFERENCE).healthy(RULE)


def test_healthy_samples_pass() -> None:
    """Of 300 healthy samples of 100 iterations none is flagged."""
    assert all(shape(times(seed), REFERENCE).healthy(RULE) for seed in range(10, 310))


def test_nothing_measured_is_not_alike() -> None:
    """A run without samples is an error of the caller, never a similarity."""
    with pytest.raises(ValueError, match="incomplete"):
        shape([], REFERENCE)
    with pytest.raises(ValueError, match="101"):
        freeze_shape([1.0] * 50, RULE)
