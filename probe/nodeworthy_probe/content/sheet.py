"""What one file says: numbers, texts and notes, gathered row by row.

A value that was expected and is not a finite number keeps its row with a status, and a note says
so. A note's code is ``family/what``; the family (document, value, hardware, config ...) is what a
judge's rules are written for. Nothing here raises for bad input.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nodeworthy_probe.parsers.numbers import finite
from nodeworthy_probe.records import Measurement, Status, Text

SCHEMA = "nodeworthy.parsed/1"
_MOST_NOTES = 500
_QUANTITY = re.compile(r"\s*(?P<number>\S+?)\s*(?P<unit>[A-Za-z%/][^\s\[]*(?:\(s\))?)?\s*")
_ABSENT_WORDS = frozenset({"n/a", "[n/a]", "not supported", "[not supported]", "none", "unknown", ""})


@dataclass(frozen=True)
class Note:
    """Something that a judge should know: ``code`` is family/what, ``line`` the words of the file."""

    code: str
    component: str
    line: str
    severity: str | None = None
    category: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


class Sheet:
    """The growing document of one file."""

    def __init__(self, kind: str, tool: str) -> None:
        self.kind = kind
        self.tool = tool
        self.version: str | None = None
        self.rows: list[Measurement] = []
        self.texts: list[Text] = []
        self.notes: list[Note] = []

    def number(self, component: str, metric: str, raw: object, unit: str, **details: Any) -> float | None:
        """Add a number; anything that is not finite becomes a missing row and a note."""
        value = finite(raw)
        if value is None:
            self.absent(component, metric, unit, Status.NOT_A_NUMBER, **details)
            self.note("value/not-a-number", component, f"{metric}: {str(raw)[:60]}")
            return None
        self.rows.append(Measurement(component, metric, value, unit, **details))
        return value

    def quantity(self, component: str, metric: str, raw: object, unit: str, **details: Any) -> float | None:
        """Add a number that is printed with its unit; N/A is a missing row, another unit a note."""
        text = str(raw).strip() if raw is not None else ""
        if text.lower() in _ABSENT_WORDS or "deprecated" in text:
            self.absent(component, metric, unit, **details)
            return None
        found = _QUANTITY.fullmatch(text)
        if found is None or (found["unit"] or "") != unit:
            self.absent(component, metric, unit, Status.NOT_A_NUMBER, **details)
            code = "value/unit" if found and finite(found["number"]) is not None else "value/not-a-number"
            self.note(code, component, f"{metric}: {text[:60]} where {unit or 'a bare number'} was expected")
            return None
        return self.number(component, metric, found["number"], unit, **details)

    def absent(self, component: str, metric: str, unit: str, status: Status = Status.MISSING, **details: Any) -> None:
        """Add the row of something that was expected and not measured."""
        self.rows.append(Measurement(component, metric, None, unit, status=status, **details))

    def text(self, component: str, name: str, value: object) -> None:
        """Add a named string, if there is one."""
        if isinstance(value, str | int) and str(value).strip():
            self.texts.append(Text(component, name, str(value).strip()[:200]))

    def note(self, code: str, component: str, line: str, **details: Any) -> None:
        """Add a note; the same one twice is one."""
        known = {name: details.pop(name, None) for name in ("severity", "category")}
        note = Note(code, component, line.strip()[:1200], known["severity"], known["category"], details)
        if len(self.notes) < _MOST_NOTES:
            self.notes.append(note)

    def document(self) -> dict[str, Any]:
        """The finished document; missing rows stand apart from the numbers."""
        return {
            "schema": SCHEMA,
            "kind": self.kind,
            "tool": self.tool,
            "version": self.version,
            "measurements": [_measured(row) for row in self.rows if row.value is not None],
            "missing": [_missing(row) for row in self.rows if row.value is None],
            "texts": [text.as_json() for text in self.texts],
            "findings": [_finding(note) for note in self.notes],
        }


def _measured(row: Measurement) -> dict[str, Any]:
    return {
        "component": row.component,
        "metric": row.metric,
        "value": row.value,
        "unit": row.unit,
        "statistic": row.statistic,
        "parameters": dict(row.parameters),
    }


def _missing(row: Measurement) -> dict[str, Any]:
    return {
        "component": row.component,
        "metric": row.metric,
        "unit": row.unit,
        "status": str(row.status),
        "parameters": dict(row.parameters),
    }


def _finding(note: Note) -> dict[str, Any]:
    return {
        "code": note.code,
        "component": note.component,
        "severity": note.severity,
        "category": note.category,
        "line": note.line,
        "details": dict(note.details),
    }
