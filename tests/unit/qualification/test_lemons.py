"""Parts and places that fail too often."""

from __future__ import annotations

import math

import pytest
from nodeworthy.qualification.lemons import LemonRule, PartFault, at_least, lemons

RULE = LemonRule(false_lemons=0.2, minimum=3)
FLEET = {(f"S{number}", "gpu"): 365.0 for number in range(1000)}
ORDINARY = [PartFault(f"S{number}", "gpu", f"node-{number}/slot-0") for number in range(0, 500, 10)]


@pytest.mark.parametrize(("count", "expected"), [(0, 1.0), (1, 1 - math.exp(-0.5)), (2, 1 - 1.5 * math.exp(-0.5))])
def test_the_tail_of_poisson(count: int, expected: float) -> None:
    """For a mean of 0.5: 1, 1 - e^-0.5, 1 - 1.5 e^-0.5."""
    assert at_least(count, 0.5) == pytest.approx(expected)


def test_a_small_chance_keeps_its_digits() -> None:
    """Ten or more with a mean of 0.01 is 0.01^10 / 10! to within a part in a thousand."""
    assert at_least(10, 0.01) == pytest.approx(0.01**10 / math.factorial(10), rel=0.01)


def test_one_fault_each_makes_no_lemon() -> None:
    """Fifty parts with one fault each are what chance brings."""
    assert lemons(ORDINARY, FLEET, RULE) == ()


def test_a_part_that_fails_wherever_it_is_put_is_a_lemon() -> None:
    """Four faults in three nodes, where 0.05 would be usual: the part is named, with its places."""
    again = [
        PartFault("S7", "gpu", place) for place in ("node-1/slot-3", "node-2/slot-3", "node-9/slot-0", "node-9/slot-0")
    ]
    (found,) = lemons([*ORDINARY, *again], FLEET, RULE)
    assert (found.name, found.faults, found.is_place) == ("S7", 4, False)
    assert found.expected == pytest.approx(0.051, abs=0.001)
    assert "node-1/slot-3, node-2/slot-3, node-9/slot-0" in found.sentence


def test_a_place_in_which_every_part_fails_is_to_blame_itself() -> None:
    """Four different parts failed in one slot: the slot is named, no part is."""
    slot = [PartFault(f"S{number}", "gpu", "node-4/slot-2") for number in (901, 902, 903, 904)]
    (found,) = lemons([*ORDINARY, *slot], FLEET, RULE)
    assert (found.name, found.is_place) == ("node-4/slot-2", True)
    assert "slot" in found.sentence


def test_kinds_are_counted_apart() -> None:
    """Drives fail more often than GPUs: three faults of a drive among many are nothing."""
    drives = {(f"D{number}", "drive"): 365.0 for number in range(100)}
    faults = [PartFault(f"D{number % 100}", "drive", f"node-{number % 100}/bay-0") for number in range(300)]
    assert lemons([*ORDINARY, *faults], {**FLEET, **drives}, RULE) == ()


def test_a_part_that_nobody_knows_is_left_out() -> None:
    """Without a time in service there is no rate to compare with."""
    unknown = [PartFault("S-unknown", "gpu", f"node-{number}/slot-0") for number in range(5)]
    assert lemons(unknown, FLEET, RULE) == ()
