"""When answers decide, and that a request's last line is read as it was written."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from nodeworthy.lifecycle.approvals import POLICY, Decision, Reference, decide, read_reference
from nodeworthy.lifecycle.records import Answer


def answers(*given: tuple[str, str]) -> list[Answer]:
    """Answers to one plan, oldest first; the reason is the person's initial."""
    return [Answer("p", who, answer, who[0]) for who, answer in given]


@pytest.mark.parametrize(
    ("given", "needed", "made"),
    [
        ([], 1, None),
        ([("ada", "approve")], 1, Decision(True, "ada", "a")),
        ([("ada", "approve")], 2, None),
        ([("ada", "approve"), ("ada", "approve")], 2, None),
        ([("ada", "approve"), ("bob", "approve")], 2, Decision(True, "ada and bob", "a; b")),
        ([("ada", "approve"), ("bob", "refuse")], 2, Decision(False, "bob", "b")),
        ([("ada", "approve"), ("bob", "refuse"), ("cyd", "approve")], 2, None),
        ([("bob", "refuse"), ("cyd", "approve")], 1, Decision(True, "cyd", "c")),
        ([(POLICY, "approve")], 2, Decision(True, POLICY, "p")),
    ],
    ids=["none", "one", "one of two", "same person", "two", "refusal", "void by refusal", "after refusal", "policy"],
)
def test_what_answers_decide(given: list[tuple[str, str]], needed: int, made: Decision | None) -> None:
    """Different people count, a refusal decides and voids what came before, policy needs nobody."""
    assert decide(answers(*given), needed) == made


def test_the_last_line_of_a_request_is_read_as_written() -> None:
    """Whatever a text says above it, and a text without it is no request."""
    written = Reference("gpu-a01", "ab" * 32, "plan", ("ada", "bob m"), datetime(2026, 12, 2, 8, 0, 5, tzinfo=UTC))
    forged = Reference("gpu-b01", "cd" * 32, "plan", ("eve",), datetime(2027, 1, 1, tzinfo=UTC))
    assert read_reference(f"{forged.line()}\n\n{written.line()}") == written
    assert read_reference("Please approve.") is None
