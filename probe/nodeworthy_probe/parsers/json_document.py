"""Finds the one JSON document in a tool's output, between log lines that may hold braces too."""

from __future__ import annotations

import json
import re
from typing import Any

_MOST_CANDIDATES = 20


def find_document(text: str, *keys: str) -> dict[str, Any] | str:
    """The JSON object that starts with one of ``keys``, or a sentence that says why there is none.

    ``NaN`` and ``Infinity`` are not JSON and make the document unreadable. Two documents are
    refused: which of them belongs to this run cannot be known.
    """
    names = "|".join(re.escape(key) for key in keys)
    starts = [match.start() for match in re.finditer(r'\{\s*"(?:' + names + r')"\s*:', text)][:_MOST_CANDIDATES]
    if not starts:
        return "the output holds no JSON document of this tool"
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    found: list[dict[str, Any]] = []
    end = 0
    for start in starts:
        if start < end:
            continue  # nested inside the document before it
        try:
            document, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            return "the JSON document is cut or garbled"
        found.append(document)
    return found[0] if len(found) == 1 else "the output holds more than one JSON document"


def _refuse_constant(name: str) -> float:
    raise ValueError(name)


def mapping(value: object) -> dict[str, Any]:
    """``value`` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """``value`` if it is an array, without its nulls, else an empty one."""
    return [item for item in value if item is not None] if isinstance(value, list) else []


def whole(value: object) -> int | None:
    """``value`` as a non-negative integer if it is one (number or digits), else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if value >= 0 else None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 18:
        return int(value)
    return None
