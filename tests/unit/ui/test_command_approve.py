"""Which request is meant by a node and the first digits of a plan."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from nodeworthy.adapters.airflow_rest import Waiting
from nodeworthy.errors import Refused
from nodeworthy.lifecycle.approvals import Reference
from nodeworthy.ui.command_approve import chosen, listed

UNTIL = datetime(2026, 12, 2, 8, 0, tzinfo=UTC)


def waiting(node: str, plan: str, **approved: str) -> Waiting:
    """One request."""
    reference = Reference(node, plan, "plan", ("ada", "bob"), UNTIL)
    return Waiting("bring_up", "run-1", "prove_hardware.approve", 3, f"{node}: 2 resets", "body", reference, approved)


ALL = (waiting("n1", "ab" * 32), waiting("n1", "ac" * 32), waiting("n2", "ab" * 32))


def test_a_request_is_listed_with_who_may_answer_until_when() -> None:
    """Two lines a request, and one for each approval so far, whose giver may not answer again."""
    assert listed(ALL[:1]) == [
        "n1  abababababab  plan  n1: 2 resets",
        "    ada, bob may answer until 2026-12-02 08:00 UTC; run bring_up/run-1",
    ]
    assert listed([waiting("n1", "ab" * 32, ada="window 12")])[1:] == [
        "    bob may answer until 2026-12-02 08:00 UTC; run bring_up/run-1",
        "    Approved so far by ada: window 12.",
    ]


def test_the_plan_is_named_by_its_first_digits() -> None:
    """Also in capitals; the same digits of another node are another request."""
    assert chosen(ALL, "n1", "ACACACAC") is ALL[1]
    assert chosen(ALL, "n2", "abababab") is ALL[2]


@pytest.mark.parametrize(
    ("node", "plan", "words"),
    [
        ("n3", "abababab", "Nothing about n3 waits"),
        ("n1", "", "at least 8 digits; waiting: abababababab, acacacacacac"),
        ("n1", "a", "at least 8 digits"),
        ("n1", "abababac", "0 requests of n1 are about a plan abababac"),
    ],
)
def test_what_names_no_one_request_is_refused_with_what_waits(node: str, plan: str, words: str) -> None:
    """Nothing is answered by guessing."""
    with pytest.raises(Refused, match=words):
        chosen(ALL, node, plan)
