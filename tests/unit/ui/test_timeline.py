"""The life of a node reads as sentences, one line per thing that happened, and hides nothing that is still open."""

from __future__ import annotations

from typing import Any

from nodeworthy.ui.timeline import as_text, timeline


def row(second: int, action: str, **detail: Any) -> dict[str, Any]:
    """One audit row of a node's first minute."""
    return {"at": f"2026-12-01T08:00:{second:02}+00:00", "action": action, "detail": detail}


def effect(second: int, action: str, **more: Any) -> dict[str, Any]:
    """A row about one reset."""
    return row(second, action, id="fx-1", kind="reset", key="provision/1", **more)


def texts(*rows: dict[str, Any]) -> list[str]:
    """The lines' texts."""
    return [line.text for line in timeline(rows)]


def test_an_effect_is_one_line_with_its_proof_and_its_time() -> None:
    """Intent and outcome are told together, at the time of the outcome."""
    rows = (
        effect(1, "effect intended", episode=4, detail={}),
        effect(21, "effect settled", status="proven", proof={"boot_id": "b2"}),
    )
    assert texts(*rows) == ["reset provision/1: proven after 20 s (boot_id b2)"]


def test_an_effect_without_outcome_stands_at_the_end() -> None:
    """It is still so, whatever happened since."""
    rows = (
        effect(1, "effect intended", episode=4, detail={}),
        row(5, "lease expired", episode=4, run="bring_up/x", expired="2026-12-01T08:00:05+00:00"),
    )
    assert texts(*rows) == ["the lease of bring_up/x expired", "reset provision/1 has no outcome yet (fx-1)"]


def test_an_outcome_that_housekeeping_found_says_so() -> None:
    """Nobody who sent it was alive."""
    settled = effect(9, "effect settled", status="unknown", proof={}, by="looking", run="housekeeping/1")
    assert texts(settled) == ["reset provision/1: unknown by looking at the world"]


def test_people_and_judgements_are_told_with_their_words() -> None:
    """Who, why, and where the dossier lies."""
    told = texts(
        row(1, "approval", plan_sha256="ab" * 32, answer="refuse", who="ada", why="not on a Friday"),
        row(2, "hold", scope="both", who="ada", why="vendor", until=None),
        row(
            3,
            "judgement",
            scope="hardware",
            verdict="fail",
            suite="l1",
            sentence="GPU 3 is slow.",
            dossier={"path": "nodes/s/1/manifest.json"},
        ),
    )
    assert told == [
        "plan abababababab: refuse by ada: not on a Friday",
        "held (both) by ada until released: vendor",
        "hardware judged fail by suite l1: GPU 3 is slow. [nodes/s/1/manifest.json]",
    ]


def test_what_only_a_program_needs_is_left_out() -> None:
    """Nonces and readings."""
    assert texts(row(1, "nonce minted", nonce="x"), effect(2, "effect settled", status="proven", proof={})) == [
        "reset provision/1: proven"
    ]
    reading = row(3, "effect settled", id="fx-2", kind="reading", key="inventory/1", status="proven", proof={})
    assert texts(reading) == []


def test_an_action_that_is_new_is_shown_as_it_is() -> None:
    """Nothing of the audit is hidden because this page is older than it."""
    assert texts(row(1, "painted", colour="green", episode=3)) == ["painted: colour green"]


def test_days_and_episodes_are_headings() -> None:
    """Each is named once, where it begins."""
    rows = (
        row(1, "episode opened", episode=4, kind="onboarding"),
        row(2, "lease taken", episode=4, run="bring_up/x"),
    )
    assert as_text(timeline(rows)).splitlines() == [
        "2026-12-01 (UTC)",
        "  episode 4",
        "    08:00:01  episode opened: onboarding",
        "    08:00:02  taken up by bring_up/x",
    ]
