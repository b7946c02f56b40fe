"""A swapped chassis: the old serial retires with all that was proven, the new one begins under the node's name."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from nodeworthy.errors import Refused
from nodeworthy.lifecycle.roles import broke_glass
from nodeworthy.lifecycle.upkeep import Swap, SwapAnswer

from tests.contract.ledger.support import Bench, node

DAY = timedelta(days=1)
SWAP = Swap("S1", "S2", "ada", "baseboard replaced by the vendor")
YES = SwapAnswer("S1", "bob", True, "saw the label")


def reidentify(bench: Bench, swap: Swap = SWAP, answer: SwapAnswer = YES) -> str:
    """Ask for a swap and answer it."""
    bench.ledger.ask_swap(swap, bench.clock.now() + DAY)
    return bench.ledger.answer_swap(answer)


def standing(bench: Bench, milestone: str) -> None:
    """A node n1 of serial S1 at a milestone, with nobody working on it."""
    bench.ledger.import_fleet([node("n1", "S1")])
    lease = bench.take("n1")
    bench.bring(lease, "standby")
    if milestone == "in_service":
        bench.admit(lease)
    bench.ledger.release(lease, close=True, reason="")


def test_the_new_chassis_begins_where_nothing_is_proven(bench: Bench) -> None:
    """The spare's proofs die with its serial; both audits name both serials, and both people."""
    standing(bench, "standby")
    assert "n1 is the chassis S2 now" in reidentify(bench)
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
    reidentify(bench)
    bench.ledger.import_fleet([node("n1", "S2")])


def test_a_stale_actor_of_the_old_chassis_does_nothing(bench: Bench) -> None:
    """A run that worked on the old serial has no lease on the new one, whose name it knows."""
    standing(bench, "standby")
    lease = bench.take("n1", run="late")
    bench.clock.pass_(timedelta(days=1))
    reidentify(bench)
    with pytest.raises(Refused):
        bench.ledger.advance(lease, "discover", {"system_id": "System_0"})


@pytest.mark.parametrize(
    ("milestone", "swap", "why"),
    [
        ("in_service", SWAP, "bring it out of service"),
        ("standby", Swap("S9", "S2", "ada", "x"), "knows no chassis with the serial S9"),
        ("standby", Swap("S1", "S1", "ada", "x"), "knows the serial S1 already"),
    ],
)
def test_what_is_unclear_is_refused(bench: Bench, milestone: str, swap: Swap, why: str) -> None:
    """A serving node, an unknown old serial, a known new one: nothing is written."""
    standing(bench, milestone)
    before = bench.sql("SELECT count(*) FROM audit")
    with pytest.raises(Refused, match=why):
        bench.ledger.ask_swap(swap, bench.clock.now() + DAY)
    assert bench.sql("SELECT count(*) FROM audit") == before


def test_a_node_that_is_worked_on_is_refused(bench: Bench) -> None:
    """A live run is not overtaken."""
    standing(bench, "standby")
    bench.take("n1", run="sweep/1")
    with pytest.raises(Refused, match="held by sweep/1"):
        reidentify(bench)


def test_a_retired_chassis_is_not_swapped_again(bench: Bench) -> None:
    """The end is the end: the next chassis is reidentified from the one that stands there."""
    standing(bench, "standby")
    reidentify(bench)
    with pytest.raises(Refused, match="is retired"):
        reidentify(bench, Swap("S1", "S3", "ada", "again"))


def test_nothing_happens_before_another_person_answers(bench: Bench) -> None:
    """Unasked, by the same person under either name, after its time: refused. It waits where everybody sees it."""
    standing(bench, "standby")
    with pytest.raises(Refused, match="Nobody asks for a swap of S1"):
        bench.ledger.answer_swap(YES)
    bench.ledger.ask_swap(SWAP, bench.clock.now() + DAY)
    for who in ("ada", broke_glass("ada", "root")):
        with pytest.raises(Refused, match="have another person answer it"):
            bench.ledger.answer_swap(replace(YES, who=who))
    (waits,) = bench.ledger.notices("n1")
    assert "ada says that chassis S2 stands where S1 stood" in waits.sentence
    assert bench.ledger.nodes(["n1"])[0].node.serial == "S1"
    bench.clock.pass_(DAY)
    with pytest.raises(Refused, match="Nobody asks"):
        bench.ledger.answer_swap(YES)
    assert bench.ledger.end_swaps() == 1
    assert bench.ledger.notices("n1") == ()
    told = [row["detail"].get("why") for row in bench.ledger.history("n1") if row["action"] == "notice cleared"]
    assert told == ["nobody answered in time"]


def test_a_refused_swap_changes_nothing_and_may_be_asked_again(bench: Bench) -> None:
    """The answer is in the audit; a second, different request while one waits is refused."""
    standing(bench, "standby")
    assert "was refused by bob" in reidentify(bench, answer=replace(YES, approved=False, why="wrong rack"))
    assert bench.ledger.history("n1")[-1]["detail"]["why"] == "refused by bob: wrong rack"
    bench.ledger.ask_swap(SWAP, bench.clock.now() + DAY)
    with pytest.raises(Refused, match="another swap of S1 waits"):
        bench.ledger.ask_swap(replace(SWAP, new="S3"), bench.clock.now() + DAY)
    assert "is the chassis S2 now" in bench.ledger.answer_swap(YES)
