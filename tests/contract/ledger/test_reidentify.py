"""A swapped chassis: the old serial retires with all that was proven, the new one begins under the node's name."""

from __future__ import annotations

from datetime import timedelta

import pytest
from nodeworthy.errors import Refused
from nodeworthy.lifecycle.upkeep import Swap

from tests.contract.ledger.support import Bench, node

SWAP = Swap("S1", "S2", "ada", "bob", "baseboard replaced by the vendor")


def standing(bench: Bench, milestone: str) -> None:
    """A node n1 of serial S1 at a milestone, with nobody working on it."""
    bench.ledger.import_fleet([node("n1", "S1")])
    lease = bench.take("n1")
    bench.bring(lease, "standby")
    if milestone == "in_service":
        bench.ledger.advance(lease, "admit", {})
    bench.ledger.release(lease, close=True, reason="")


def test_the_new_chassis_begins_where_nothing_is_proven(bench: Bench) -> None:
    """The spare's proofs die with its serial; both audits name both serials, and both people."""
    standing(bench, "standby")
    assert "n1 is the chassis S2 now" in bench.ledger.reidentify(SWAP)
    (old, new) = sorted(bench.ledger.nodes(), key=lambda record: record.node.serial)
    assert (old.node.name, old.milestone) == ("n1.was.S1", "retired")
    assert (new.node.name, new.node.serial, new.milestone) == ("n1", "S2", "declared")
    assert bench.ledger.qualifications("n1.was.S1") == ()
    assert bench.ledger.certificate("n1.was.S1") is None
    linked = bench.sql("SELECT node, detail FROM audit WHERE action = 'reidentified' ORDER BY node")
    assert [row[0] for row in linked] == ["S1", "S2"]
    assert all(word in row[1] for row in linked for word in ("S1", "S2", "ada", "bob"))
    assert bench.ledger.verify_audit() == ()


def test_the_manifest_with_the_new_serial_is_imported(bench: Bench) -> None:
    """What the import refused before says how, and passes afterwards."""
    standing(bench, "standby")
    with pytest.raises(Refused, match=r"nodeworthy reidentify S1 S2"):
        bench.ledger.import_fleet([node("n1", "S2")])
    bench.ledger.reidentify(SWAP)
    bench.ledger.import_fleet([node("n1", "S2")])


def test_a_stale_actor_of_the_old_chassis_does_nothing(bench: Bench) -> None:
    """A run that worked on the old serial has no lease on the new one, whose name it knows."""
    standing(bench, "standby")
    lease = bench.take("n1", run="late")
    bench.clock.pass_(timedelta(days=1))
    bench.ledger.reidentify(SWAP)
    with pytest.raises(Refused):
        bench.ledger.advance(lease, "discover", {"system_id": "System_0"})


@pytest.mark.parametrize(
    ("milestone", "swap", "why"),
    [
        ("in_service", SWAP, "bring it out of service"),
        ("standby", Swap("S1", "S2", "ada", "ada", "x"), "another person"),
        ("standby", Swap("S9", "S2", "ada", "bob", "x"), "knows no chassis with the serial S9"),
        ("standby", Swap("S1", "S1", "ada", "bob", "x"), "knows the serial S1 already"),
    ],
)
def test_what_is_unclear_is_refused(bench: Bench, milestone: str, swap: Swap, why: str) -> None:
    """A serving node, one's own approval, an unknown old serial, a known new one: nothing is written."""
    standing(bench, milestone)
    before = bench.sql("SELECT count(*) FROM audit")
    with pytest.raises(Refused, match=why):
        bench.ledger.reidentify(swap)
    assert bench.sql("SELECT count(*) FROM audit") == before


def test_a_node_that_is_worked_on_is_refused(bench: Bench) -> None:
    """A live run is not overtaken."""
    standing(bench, "standby")
    bench.take("n1", run="sweep/1")
    with pytest.raises(Refused, match="held by sweep/1"):
        bench.ledger.reidentify(SWAP)


def test_a_retired_chassis_is_not_swapped_again(bench: Bench) -> None:
    """The end is the end: the next chassis is reidentified from the one that stands there."""
    standing(bench, "standby")
    bench.ledger.reidentify(SWAP)
    with pytest.raises(Refused, match="is retired"):
        bench.ledger.reidentify(Swap("S1", "S3", "ada", "bob", "again"))
