"""Getting at a JSON document or at lines, with the complaints that every reader shares."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from .sheet import Sheet

_START = re.compile(r'(?:\{\s*["}]|\[\s*[\[{"\]])')
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class _NotFinite(ValueError):
    """NaN or Infinity where JSON allows none."""


def load_json(text: str, sheet: Sheet, *, repeated_keys: bool = False) -> Any:
    """The document behind any lines of log, or None with a note that says why there is none."""
    found = _START.search(text)
    if found is None:
        sheet.note("document/unreadable", "file", "the file holds no JSON document")
        return None
    hook = None if repeated_keys else _unique(sheet)
    decoder = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=hook)
    try:
        document, end = decoder.raw_decode(text, found.start())
    except _NotFinite as constant:
        sheet.note("value/not-a-number", "file", f"the JSON document holds {constant}")
        return None
    except (ValueError, RecursionError):
        sheet.note("document/cut", "file", "the JSON document is cut or garbled")
        return None
    rest = text[end:].strip()
    if _START.match(rest):
        sheet.note("document/duplicate", "file", "the file holds more than one JSON document")
    elif rest[:1] in ("}", "]"):
        sheet.note("document/cut", "file", "the JSON document is followed by the end of another")
    return document


def load_documents(text: str, sheet: Sheet) -> list[Any]:
    """All documents of a file that holds one after another from its first sign on; a note where they end too early."""
    decoder, place = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_unique(sheet)), 0
    found: list[Any] = []
    while place < len(text) and text[place] in "[{":
        try:
            document, end = decoder.raw_decode(text, place)
        except _NotFinite as constant:
            sheet.note("value/not-a-number", "file", f"the JSON document holds {constant}")
            return found
        except (ValueError, RecursionError):
            sheet.note("document/cut", "file", "a JSON document is cut or garbled")
            return found
        found.append(document)
        place = len(text) - len(text[end:].lstrip())
    if text[place:].strip():
        sheet.note("document/cut", "file", f"a JSON document is followed by '{text[place:].strip()[:40]}'")
    return found


def _unique(sheet: Sheet) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        twice = [name for name, count in Counter(name for name, _ in items).items() if count > 1]
        for name in twice:
            sheet.note("document/duplicate", "file", f"the key {name[:60]} is written twice in one object")
        return dict(items)

    return pairs


def _refuse(name: str) -> float:
    raise _NotFinite(name)


def plain_lines(text: str) -> list[str]:
    """The lines without colour codes, carriage returns and trailing space."""
    return [_ANSI.sub("", line).rstrip() for line in text.replace("\r\n", "\n").split("\n")]


def note_duplicates(sheet: Sheet, names: Iterable[str], what: str) -> None:
    """One note per name that is there twice."""
    for name, count in Counter(names).items():
        if count > 1:
            sheet.note("document/duplicate", name, f"{what} {name} is there {count} times")


def note_gaps(sheet: Sheet, numbers: Iterable[int], what: str, first: int | None = 0) -> None:
    """One note per number that is missing below the highest; ``first`` None starts at the lowest."""
    seen = set(numbers)
    if not seen:
        return
    low = min(seen) if first is None else first
    for number in range(low, min(max(seen), low + 4096)):
        if number not in seen:
            sheet.note("row/missing", f"{what}/{number}", f"{what} {number} is missing below {what} {max(seen)}")


def uneven(sheet: Sheet, fields: dict[str, set[str]], what: str) -> None:
    """A note for every field that some components have and others lack."""
    every = set().union(*fields.values()) if fields else set()
    for component, names in fields.items():
        for name in sorted(every - names)[:20]:
            sheet.note("row/missing", component, f"{what} {name} is given for others and not for {component}")
