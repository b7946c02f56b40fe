"""The page about the lifecycle is made from its rows."""

from __future__ import annotations

from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.lifecycle.diagram import document
from nodeworthy.lifecycle.table import Lifecycle

from tests.unit.lifecycle.tables import SHIPPED, shipped, small

POLICY = YamlLibrary(SHIPPED.parents[1]).pool_policy("default")
PAGE = SHIPPED.parents[2] / "docs" / "lifecycle.md"


def test_committed_page_is_the_table() -> None:
    """docs/lifecycle.md is what the shipped table gives; `nodeworthy documents` writes it anew."""
    assert PAGE.read_text() == document(Lifecycle.from_document(shipped()), POLICY)


def test_page_shows_every_row() -> None:
    """Each milestone with its deadline, each transition with what it voids, stands on the page."""
    page = document(Lifecycle.from_document(small()), POLICY)
    for line in (
        "    fresh --> tested: test",
        "    tested --> fresh: interrupt [hardware, platform]",
        "| `ready` | onboarding | The node is ready. | no | 2 d; slow: 3 d 12 h | `fail` | stays |",
        "| `ready`, `serving` | `fail` | `broken` | fail | none | - | - | reason | hardware |",
        "| `fail` | `broken` | `ready`, `serving` | automatic | always: no guard may object | platform |",
        "| `admit` | `serving` | `ready` | approved | admit: approve | platform |",
        "| `retire` | `gone` | `broken` | never | cannot be undone: two people answer each time | platform |",
    ):
        assert line in page
