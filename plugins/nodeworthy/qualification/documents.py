"""Reading documents that people wrote: each refusal names the place, what stands there, and what should.

JSON Schema checks the shape when a file is loaded; what stands here is checked again, because an unsafe suite or
baseline must not enter by any other door either.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from nodeworthy.errors import Permanent


def refuse_unknown_keys(document: Mapping[str, Any], known: Collection[str], where: str) -> None:
    """Raise Permanent when a mapping holds a key that nobody reads: a misspelt limit would silently not exist."""
    unknown = sorted(set(document) - set(known))
    if unknown:
        raise Permanent(f"{where}: unknown key {', '.join(unknown)}: use one of {', '.join(known)}.")


def text(document: Mapping[str, Any], key: str, where: str) -> str:
    """Return a text that must stand there. Raises Permanent when it is missing or empty."""
    value = document.get(key)
    if not isinstance(value, str) or not value.strip():
        raise Permanent(f"{where}: `{key}` is missing: write it down.")
    return value


def figure(document: Mapping[str, Any], key: str, where: str) -> float:
    """Return a finite number that must stand there. Raises Permanent otherwise."""
    value = optional_figure(document, key, where)
    if value is None:
        raise Permanent(f"{where}: `{key}` is missing: write a number.")
    return value


def optional_figure(document: Mapping[str, Any], key: str, where: str) -> float | None:
    """Return a finite number, or None where there is none. Raises Permanent for anything else."""
    value = document.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise Permanent(f"{where}: `{key}` is {value!r}: write a finite number.")
    return float(value)


def rows(document: Mapping[str, Any], key: str, where: str) -> list[Mapping[str, Any]]:
    """Return a non-empty list of mappings that must stand there. Raises Permanent otherwise."""
    value = document.get(key)
    if not isinstance(value, list) or not value or not all(isinstance(row, Mapping) for row in value):
        raise Permanent(f"{where}: `{key}` must be a list with at least one row.")
    return value
