"""What a test's arguments ask for, and rows of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping
from nodeworthy_probe.records import Measurement, Reading, missing

NODE = "node"


def document(text: str) -> Mapping[str, Any]:
    """Return the look that a test printed; empty for a text that is none."""
    try:
        return mapping(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def wanted(arguments: Sequence[str]) -> dict[str, list[str]]:
    """Return the words of each option: ``--modules a,b`` gives ``{"modules": ["a", "b"]}``."""
    pairs = zip(arguments[::2], arguments[1::2], strict=False)
    return {name.removeprefix("--"): [word for word in words.split(",") if word] for name, words in pairs}


def rows(values: Mapping[str, float | None], units: Mapping[str, str]) -> tuple[Measurement, ...]:
    """Return a row of the node for each metric; one without a value is a missing row."""
    return tuple(
        missing(NODE, name, unit) if (value := values.get(name)) is None else Measurement(NODE, name, value, unit)
        for name, unit in units.items()
    )


def nothing(units: Mapping[str, str], problem: str) -> Reading:
    """Return missing rows, and why nothing is known."""
    return Reading(rows({}, units), problem=problem)


def count_of(found: Sequence[object] | None) -> float | None:
    """Return how many there are; None where nobody could look."""
    return None if found is None else float(len(found))


def named(found: Sequence[str] | None, what: str, unknown: str) -> str:
    """Return a line for the log: what was found, by name."""
    if found is None:
        return unknown
    return f"{what}: {', '.join(found) if found else 'none'}"
