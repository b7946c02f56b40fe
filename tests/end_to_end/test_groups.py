"""A soak in segments and a screening of pairs, as an operator runs them: who has the slow leaf port is named, alone."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from stack.demo import wait_for_dag
from tests.end_to_end.fleet import GROUP_NODES, SLOW_PORT
from tests.end_to_end.running import Running

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]


@dataclass(frozen=True)
class Screened:
    """The runs of one batch: its soak, and the test of its pairs."""

    soak: str
    soak_state: str
    groups: str
    groups_state: str


@pytest.fixture(scope="module")
def done(running: Running) -> Screened:
    """Soak the batch up to burned_in, then screen it in pairs."""
    wait_for_dag(running.api, "burn_in")
    soak = running.api.trigger("burn_in", {"batch": "groups", "level": "l4"})
    soak_state = running.api.wait("burn_in", soak, patience_seconds=300)
    wait_for_dag(running.api, "group_test")
    groups = running.api.trigger("group_test", {"batch": "groups", "suite": "m1"})
    return Screened(soak, soak_state, groups, running.api.wait("group_test", groups, patience_seconds=300))


def test_a_soak_of_two_segments_qualifies_the_hardware(running: Running, done: Screened) -> None:
    """Each node ran two pods in one task, and its newest hardware qualification says L4."""
    assert done.soak_state == "success"
    for node in GROUP_NODES:
        held = [one.suite for one in running.ledger.qualifications(node)] or [
            one.suite for one in running.ledger.judgements(node) if one.verdict.value == "pass"
        ]
        assert held[-1] == "l4", node
    segments = [
        effect.detail["plan"]["segment"]["number"]
        for effect in running.ledger.effects(GROUP_NODES[0])
        if effect.kind == "test-plan" and effect.detail["plan"]["suite"] == "l4"
    ]
    assert segments == [1, 2]


def test_the_node_with_the_slow_port_is_named_and_nobody_else(running: Running, done: Screened) -> None:
    """It is quarantined with its slow adapter and what that moved with its partners; the partners stay and pass."""
    assert done.groups_state == "failed"
    assert running.milestones(*GROUP_NODES) == {
        node: "quarantined" if node == SLOW_PORT else "burned_in" for node in GROUP_NODES
    }
    assert "look at its adapters, their cables and leaf ports" in running.reason(SLOW_PORT)
    # Three of its own, and what a partner reaches without it.
    assert running.reason(SLOW_PORT).count("Gb/s with") == 4
    assert running.reason(SLOW_PORT).startswith(f"{SLOW_PORT} fail: pair.write nic/mlx5_3")
    for node in set(GROUP_NODES) - {SLOW_PORT}:
        assert running.ledger.judgements(node)[0].verdict.value == "pass"
