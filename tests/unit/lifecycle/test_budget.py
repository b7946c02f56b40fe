"""Budgets: who counts, what a limit means in nodes, and the words of a refusal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from nodeworthy.lifecycle.budget import Absence, Budgets, Dimension, Group, Limit, no_room, room
from nodeworthy.lifecycle.policy_error import PolicyError

NOW = datetime(2026, 12, 1, 13, 0, tzinfo=UTC)
FAULT = Absence("node-3", 31, False, "Xid 79", NOW.replace(hour=10, minute=2))
PLANNED = Absence("node-7", 32, True, "maintenance", NOW.replace(hour=11, minute=40))
TWO = Budgets.from_document({"pool": 2})


def pool(*absences: Absence, capacity: int = 40) -> Group:
    """Return the group of pool h200-a."""
    return Group(Dimension.POOL, "h200-a", capacity, absences)


@pytest.mark.parametrize(
    ("limit", "capacity", "nodes"),
    [
        (Limit(nodes=3), 200, 3),
        (Limit(percent=5), 40, 2),
        (Limit(percent=5), 19, 0),
        (Limit(percent=12.5), 16, 2),
        (Limit(percent=100), 7, 7),
        # 29 % of 100 is 28.999999999999996 in binary floating point.
        (Limit(percent=29), 100, 29),
    ],
)
def test_a_limit_is_a_number_of_nodes(limit: Limit, capacity: int, nodes: int) -> None:
    """A share is rounded down, exactly."""
    assert limit.of(capacity) == nodes


def test_a_refusal_explains_itself() -> None:
    """It names the group, its limit, and who is out since when and why, a fault as well as a plan."""
    said = no_room([pool(PLANNED, FAULT)], TWO, NOW)
    assert said == (
        "pool h200-a has 2 of 2 nodes out of service "
        "(node-3 since 10:02 for Xid 79, node-7 since 11:40 for maintenance)"
    )


def test_one_more_may_leave_while_there_is_room() -> None:
    """One of two is out: room for one, and nothing to say."""
    assert no_room([pool(FAULT)], TWO, NOW) == ""
    assert room([pool(FAULT)], TWO) == {"pool h200-a": 1}


def test_involuntary_outages_may_exceed_a_limit() -> None:
    """Five faults in a budget of two are five of two, and room is never below zero; old times get their date."""
    many = [Absence(f"n{i}", i, False, "Xid 79.", NOW - timedelta(days=1)) for i in range(7)]
    said = no_room([pool(*many)], TWO, NOW)
    assert said.startswith("pool h200-a has 7 of 2 nodes out of service (n0 since 2026-11-30 13:00 for Xid 79, n1 ")
    assert said.endswith("n4 since 2026-11-30 13:00 for Xid 79, and 2 more)")
    assert room([pool(*many)], TWO) == {"pool h200-a": 0}


def test_every_group_must_have_room() -> None:
    """A pool with room does not help a full rack; the rack is what the sentence names."""
    rack = Group(Dimension.RACK, "r7", 16, (FAULT,))
    said = no_room([pool(FAULT), rack], Budgets.from_document({"pool": "10%", "rack": 1}), NOW)
    assert said == "rack r7 has 1 of 1 nodes out of service (node-3 since 10:02 for Xid 79)"


def test_a_share_says_of_how_many() -> None:
    """5 % of 40 is two."""
    said = no_room([pool(PLANNED, FAULT)], Budgets.from_document({"pool": "5%"}), NOW)
    assert said.startswith("pool h200-a has 2 of 2 (5 % of 40) nodes out of service (")


def test_a_limit_of_nothing_says_so() -> None:
    """A policy without budgets lets nothing out voluntarily, and says it."""
    said = no_room([pool()], Budgets(), NOW)
    assert said == "pool h200-a has 0 of 0 nodes out of service: its budget lets none out voluntarily"


@pytest.mark.parametrize("wrong", [{"pool": -1}, {"pool": "101%"}, {"pool": "many"}, {"pool": True}, {"planet": 1}])
def test_what_is_no_limit_is_refused_with_its_place(wrong: dict[str, object]) -> None:
    """The place names the key, so that the reader of the file can name the line."""
    with pytest.raises(PolicyError) as refused:
        Budgets.from_document(wrong)
    assert refused.value.place == ("budgets", next(iter(wrong)))
