"""The CUSUM of a node's own history: what it adds up, when it alarms, and that noise alone rarely does."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from nodeworthy.qualification.drift import DriftRule, drift, own_drift
from nodeworthy.qualification.statistics import run_sigma

RULE = DriftRule(k=0.5, h=5.0, settle=5, margin=0.0)


def test_sums_are_those_worked_out_by_hand() -> None:
    """Shortfalls 2, 0, 3, 3 less 0.5 each: 1.5, 1.0, 3.5, 6.0; the last passes 5, and it began with the first."""
    found = drift([98.0, 100.0, 97.0, 97.0], 100.0, 1.0, RULE)
    assert found.sums == pytest.approx((1.5, 1.0, 3.5, 6.0))
    assert (found.began, found.alarmed, found.drifted) == (0, 3, True)


def test_what_recovers_starts_anew() -> None:
    """Good runs bring the sum to zero; the drift that alarms later began after them."""
    found = drift([98.0, 103.0, 103.0, 97.0, 97.0, 97.0], 100.0, 1.0, RULE)
    assert found.sums[1:3] == (0.0, 0.0)
    assert (found.began, found.alarmed) == (3, 5)


def test_better_than_before_is_no_drift() -> None:
    """The rule looks one way: a node that became faster raises no suspicion."""
    assert not drift([104.0] * 50, 100.0, 1.0, RULE).drifted


def test_a_history_settles_first() -> None:
    """Five runs make the reference: nothing is said with five, and the sixth is judged by their median.

    The steps are 1, 1, 1, 0 and 8; a spread of 1.4826 / sqrt(2) = 1.0484. 8 / 1.0484 - 0.5 = 7.131.
    """
    first = [99.0, 100.0, 101.0, 100.0, 100.0]
    assert own_drift(first, 1.0, RULE) is None
    found = own_drift([*first, 92.0], 1.0, RULE)
    assert found is not None
    assert found.sums == pytest.approx((7.131,), abs=1e-3)


def test_few_runs_make_an_unsure_reference() -> None:
    """Two standard errors of a median of five are allowed: 7.131 - 2 x sqrt(pi / 10) = 6.010."""
    found = own_drift([99.0, 100.0, 101.0, 100.0, 100.0, 92.0], 1.0, replace(RULE, margin=2.0))
    assert found is not None
    assert found.sums == pytest.approx((6.010,), abs=1e-3)


def test_a_decline_does_not_widen_the_spread() -> None:
    """Runs that fall by 1 each have a spread of 1.0484 from run to run, however far they fall together."""
    assert run_sigma([100.0 - run for run in range(40)]) == pytest.approx(1.0484, abs=1e-4)
    with pytest.raises(ValueError, match="two runs"):
        run_sigma([1.0])


def test_without_a_spread_there_is_no_drift_to_tell() -> None:
    """A counted thing has no standard deviation."""
    with pytest.raises(ValueError, match="equality"):
        drift([8.0], 8.0, 0.0, RULE)


def test_noise_rarely_alarms_and_two_sigmas_always_do() -> None:
    """Of 500 histories of 30 runs at most 5 % alarm; with two sigmas less each does, within ten runs."""
    random = Random(7)
    noise = [[random.gauss(0.0, 1.0) for _ in range(30)] for _ in range(500)]
    assert sum(drift(history, 0.0, 1.0, RULE).drifted for history in noise) <= 25
    shifted = [drift([value - 2.0 for value in history], 0.0, 1.0, RULE).alarmed for history in noise]
    assert all(alarm is not None and alarm < 12 for alarm in shifted)
