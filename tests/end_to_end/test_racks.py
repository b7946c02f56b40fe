"""M3 over four racks as an operator runs it: a slow port, an Xid, a late GPU and slow uplinks, told from each other."""

from __future__ import annotations

import pytest

from stack.demo import wait_for_dag
from tests.end_to_end.fleet import RACKS, XID_NODE
from tests.end_to_end.running import Running

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(1800)]
NODES = [name for names in RACKS.values() for name in names]


@pytest.fixture(scope="module")
def state(running: Running) -> str:
    """Soak the racks up to burned_in, let one node begin to show an Xid, then run M3 over all of them."""
    wait_for_dag(running.api, "burn_in")
    soak = running.api.trigger("burn_in", {"batch": "racks", "level": "l2"})
    assert running.api.wait("burn_in", soak, patience_seconds=900) == "success"
    running.stack.lab("inject", XID_NODE, "xid-under-load", "--set", "code=48")
    wait_for_dag(running.api, "group_test")
    groups = running.api.trigger("group_test", {"batch": "racks", "suite": "m3"})
    return running.api.wait("group_test", groups, patience_seconds=900)


def test_port_xid_and_late_gpu_are_named_and_quarantined_and_nobody_else(running: Running, state: str) -> None:
    """By the bandwidth beside several partners, by its own kernel log, by its own computing; all others stay."""
    assert state == "failed"
    moved = {node: where for node, where in running.milestones(*NODES).items() if where != "burned_in"}
    assert moved == {"ra-2": "quarantined", "rd-3": "quarantined", XID_NODE: "quarantined"}
    assert "look at its adapters, their cables and leaf ports" in running.reason("ra-2")
    assert "domain.all_reduce" in running.reason("ra-2")
    assert "Xid" in running.reason(XID_NODE)
    assert "while m2 ran over" in running.reason(XID_NODE)
    assert "gpu/3 compute_lag max 12" in running.reason("rd-3")


def test_the_rack_with_slow_uplinks_is_told_and_none_of_its_nodes_blamed(running: Running, state: str) -> None:
    """Its nodes are well among themselves; what is slow is fleet.all_reduce, with two of them in turn."""
    assert state == "failed"
    for node in RACKS["rc"]:
        judged = running.ledger.judgements(node)[0]
        assert judged.verdict.value == "incomplete"
        assert "well among themselves and slow to nodes of other racks (fleet.all_reduce" in judged.sentence


def test_every_other_node_passed_at_home_and_through_the_one_that_stands_for_it(running: Running, state: str) -> None:
    """Both figures stand in the sentence."""
    assert state == "failed"
    for node in ("ra-3", "rb-3", "rd-2"):
        judged = running.ledger.judgements(node)[0]
        assert judged.verdict.value == "pass", judged.sentence
        assert "domain.all_reduce" in judged.sentence
        assert "of its rack reaches fleet.all_reduce" in judged.sentence
