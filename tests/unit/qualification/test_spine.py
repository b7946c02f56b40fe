"""A fleet of 232 nodes: how many group tests a screening takes, against 26,796 pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, log2
from random import Random

import pytest
from nodeworthy.qualification.screening import Outcome, Trial, in_groups
from nodeworthy.qualification.spine import Stages

RACK = 18
NODES = tuple((f"n{number:03}", f"rack-{number // RACK:02}") for number in range(232))
NAMES = tuple(name for name, _ in NODES)
RACK_OF = dict(NODES)
DOMAINS = in_groups(NODES, RACK)
HEALTHY = len(DOMAINS) + 1
"""Thirteen racks and the spine. Each test of a rack measures with NVLink and over the wire alone."""
HALVES = 2 * ceil(log2(RACK)) + 1
"""The most that one culprit costs more: two halves a round until it stands alone, and its confirmation."""


def screened(passes: Callable[[Trial], bool]) -> tuple[Outcome, list[Trial]]:
    """Search to the end; no node may stand in two trials of a round."""
    search, trials = Stages(DOMAINS, homes=RACK_OF), []
    while round_ := search.next_round():
        busy = [node for trial in round_ for node in trial.nodes]
        assert len(busy) == len(set(busy))
        trials += round_
        search.take([passes(trial) for trial in round_])
    return search.outcome(), trials


def without(bad: Sequence[str]) -> Callable[[Trial], bool]:
    """A group passes when none of these is in it."""
    return lambda trial: not set(bad) & set(trial.nodes)


def test_a_healthy_fleet_takes_one_test_a_rack_and_one_of_the_spine() -> None:
    """Fourteen tests in two rounds; the last one is over the first node of each rack."""
    outcome, trials = screened(without(()))
    assert (outcome.culprits, outcome.tests, outcome.rounds) == ((), HEALTHY, 2) == ((), 14, 2)
    assert [trial.across for trial in trials].count(True) == 1
    assert trials[-1].nodes == NAMES[::RACK]
    assert set(outcome.stands_for) == set(NAMES)


@pytest.mark.parametrize("culprit", NAMES)
def test_each_single_culprit_is_found_in_logarithmic_time(culprit: str) -> None:
    """At most 11 tests more than a healthy fleet takes, in 8 rounds; confirmed beside a partner of another test."""
    outcome, trials = screened(without([culprit]))
    assert outcome.culprits == (culprit,)
    assert outcome.tests <= HEALTHY + HALVES == 25
    assert outcome.rounds <= 2 + ceil(log2(RACK)) + 1 == 8
    first, second = (trial.padding for trial in trials if trial.suspects == (culprit,))
    assert first != second
    assert culprit not in trials[-1].nodes


@pytest.mark.parametrize("seed", range(20))
def test_five_culprits_at_once_are_all_found_and_nobody_else(seed: int) -> None:
    """Wherever they stand: at most eleven tests for each, and rounds as for one, but for who waits for a partner."""
    bad = Random(seed).sample(NAMES, 5)
    outcome, _ = screened(without(bad))
    assert set(outcome.culprits) == set(bad)
    assert outcome.tests <= HEALTHY + 5 * HALVES == 69
    assert outcome.rounds <= 9


def test_a_whole_rack_that_is_slow_to_others_is_told_and_no_node_is_blamed() -> None:
    """Every node of rack-04 is slow in groups of several racks: halves over the spine, and a second node of it."""

    def passes(trial: Trial) -> bool:
        racks = {RACK_OF[node] for node in trial.nodes}
        return "rack-04" not in racks or len(racks) == 1

    outcome, trials = screened(passes)
    assert (outcome.culprits, outcome.unconfirmed) == ((), ())
    assert outcome.apart == (NAMES[4 * RACK : 5 * RACK],)
    assert outcome.tests <= HEALTHY + 2 * ceil(log2(13)) + 1 + 2
    assert {node for trial in trials[-2:] for node in trial.suspects} == {NAMES[4 * RACK + 1]}


def test_without_a_good_node_in_a_second_rack_the_spine_is_not_tested() -> None:
    """Eighteen good nodes of one rack, and nobody stands for anybody."""
    outcome, trials = screened(lambda trial: {RACK_OF[node] for node in trial.nodes} == {"rack-00"})
    assert not any(trial.across for trial in trials)
    assert outcome.stands_for == {}


def test_a_fault_of_its_own_over_the_spine_leaves_its_rack_to_a_second_node() -> None:
    """The first node of rack-02 shows an Xid over the spine: it is out, and the next one stands for its rack."""
    search = Stages(DOMAINS, homes=RACK_OF)
    bad, second = NAMES[2 * RACK], NAMES[2 * RACK + 1]
    while trials := search.next_round():
        faulty = [{bad} & set(trial.nodes) if trial.across else set() for trial in trials]
        search.take([True] * len(trials), (), faulty)
    outcome = search.outcome()
    assert (outcome.culprits, outcome.unconfirmed) == ((bad,), ())
    assert outcome.stands_for[NAMES[2 * RACK + 5]] == second


@pytest.mark.parametrize("untested", ["rack-04", "rack-12"])
def test_slow_uplinks_blame_no_node_of_a_rack_whose_tests_broke_off(untested: str) -> None:
    """The rack's first tests tell nothing, and single nodes are padded: from their own rack, or nobody is to blame."""
    nodes = [(f"{rack}-{number}", rack) for rack in ("rack-03", "rack-04", "rack-12") for number in range(3)]
    racks = dict(nodes)
    search, whole = Stages(in_groups(nodes, RACK), homes=racks), 0

    def answer(trial: Trial) -> bool | None:
        seen = {racks[node] for node in trial.nodes}
        if seen == {untested} and len(trial.nodes) == 3:
            return None
        return untested not in seen or len(seen) == 1

    while trials := search.next_round():
        whole += len(trials)
        search.take([answer(trial) for trial in trials])
    outcome = search.outcome()
    assert (outcome.culprits, outcome.unconfirmed) == ((), ())
    assert outcome.apart == (tuple(name for name, rack in nodes if rack == untested),)


def test_two_neighbours_that_are_slow_with_every_other_rack_are_not_blamed() -> None:
    """Their pair fails, and each fails with nodes of other racks: without a good neighbour it may be the way out."""
    nodes = [("a1", "a"), ("a2", "a"), ("b1", "b"), ("b2", "b"), ("b3", "b")]
    search = Stages(in_groups(nodes, RACK), homes=dict(nodes))
    while trials := search.next_round():
        search.take([not {"a1", "a2"} & set(trial.nodes) for trial in trials])
    outcome = search.outcome()
    assert outcome.culprits == ()
    assert set(outcome.unconfirmed) == {"a1", "a2"}
