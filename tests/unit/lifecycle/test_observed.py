"""What policy would have done against what was done."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from nodeworthy.lifecycle.observed import Agreement, Deed, compare, counts, events_of
from nodeworthy.lifecycle.policy import Action

from tests.doubles.bench import library

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
LIFECYCLE = library().lifecycle()


def deed(node: str, hours: float, kind: str, /, **detail: Any) -> Deed:
    """One row of the audit, hours after noon."""
    return Deed(node, NOON + timedelta(hours=hours), kind, detail)


def drained(node: str, hours: float) -> Deed:
    """A drain that a run made."""
    return deed(node, hours, "moved", **{"event": "drain", "from": "cordoned", "to": "drained", "run": "remediate/1"})


def would_drain(node: str) -> Deed:
    """Policy would drain at noon."""
    return deed(node, 0, "observed", action="drain", what="XID 79")


def test_the_same_move_agrees_and_a_person_who_holds_does_otherwise() -> None:
    """n1 is drained an hour later, n2 is held by a person, n3 is left alone, n4 is drained too late to count."""
    deeds = [
        *(would_drain(f"n{number}") for number in (1, 2, 3, 4)),
        drained("n1", 1),
        deed("n2", 2, "hold", who="ada", why="customer asked", scope="both"),
        deed("n3", 3, "approval", who="policy", answer="approve", why="none needed"),
        drained("n4", 25),
    ]
    found = compare(deeds, LIFECYCLE, DAY)
    assert [(row.node, row.agreement) for row in found] == [
        ("n1", Agreement.SAME),
        ("n2", Agreement.OTHERWISE),
        ("n3", Agreement.NOTHING),
        ("n4", Agreement.NOTHING),
    ]
    assert found[0].deeds == ("2026-12-01 13:00 UTC: cordoned -> drained by drain (remediate/1)",)
    assert found[1].deeds == ("2026-12-01 14:00 UTC: held (both) by ada: customer asked",)
    assert counts(found) == {"drain": {"same": 1, "otherwise": 1, "nothing": 2}}


def test_what_was_done_before_or_to_another_node_does_not_count() -> None:
    """A drain an hour before the observation, and one of another node."""
    found = compare([drained("n1", -1), would_drain("n1"), drained("n2", 1)], LIFECYCLE, DAY)
    assert [row.agreement for row in found] == [Agreement.NOTHING]


def test_an_action_leads_to_the_events_of_the_procedures_that_use_it() -> None:
    """Both ways out of service use drain; admission is its own."""
    assert events_of(Action.DRAIN, LIFECYCLE) == {"drain", "begin_maintenance"}
    assert events_of(Action.ADMIT, LIFECYCLE) == {"admit"}
