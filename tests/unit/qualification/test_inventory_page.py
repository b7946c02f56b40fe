"""docs/tests.md lists every test that the suites hold, and names only faults that the virtual fleet has."""

from __future__ import annotations

import re
from pathlib import Path

from nodeworthy.adapters.library_yaml import YamlLibrary

from lab.truth.faults import catalogue

REPOSITORY = Path(__file__).resolve().parents[3]
PAGE = (REPOSITORY / "docs" / "tests.md").read_text()
FIRST = PAGE[: PAGE.index("\n\n", PAGE.index("|---"))]
ROWS = [line.split("|")[1:-1] for line in FIRST.splitlines() if line.startswith("|")][2:]


def test_every_test_of_a_suite_stands_on_the_page() -> None:
    """By its name, or by its family where the page says `family.*`."""
    library = YamlLibrary(REPOSITORY / "include")
    named = set(re.findall(r"`([a-z0-9_]+(?:\.(?:[a-z0-9_]+|\*))+)`", PAGE))
    tests = {test.test for name in library.suite_names() for test in library.suite(name).tests}
    absent = {test for test in tests if test not in named and f"{test.partition('.')[0]}.*" not in named}
    assert not absent
    assert {name for name in named if not name.endswith(".*")} <= tests


def test_every_fault_on_the_page_exists() -> None:
    """The last column holds names of the catalogue, or a dash."""
    faults = {name for row in ROWS for name in re.findall(r"`([a-z-]+)`", row[4])}
    assert faults
    assert faults <= set(catalogue())
