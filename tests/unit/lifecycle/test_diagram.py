"""The page about the lifecycle is made from its rows."""

from __future__ import annotations

from nodeworthy.lifecycle.diagram import document
from nodeworthy.lifecycle.table import Lifecycle

from tests.unit.lifecycle.tables import SHIPPED, shipped, small

PAGE = SHIPPED.parents[2] / "docs" / "lifecycle.md"


def test_committed_page_is_the_table() -> None:
    """docs/lifecycle.md is what the shipped table gives; `nodeworthy documents` writes it anew."""
    assert PAGE.read_text() == document(Lifecycle.from_document(shipped()))


def test_page_shows_every_row() -> None:
    """Each milestone with its deadline, each transition with what it voids, stands on the page."""
    page = document(Lifecycle.from_document(small()))
    for line in (
        "    fresh --> tested: test",
        "    tested --> fresh: interrupt [hardware, platform]",
        "| `ready` | onboarding | The node is ready. | no | 2 d; slow: 3 d 12 h | `fail` | stays |",
        "| `ready`, `serving` | `fail` | `broken` | fail | none | - | - | reason | hardware |",
    ):
        assert line in page
