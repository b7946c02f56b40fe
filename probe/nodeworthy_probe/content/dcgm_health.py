"""DCGM health: the structured log of a preflight check, and what dcgmi health prints.

The preflight log counts failures in a summary and names them after it. A log that ends before
the names is still a failure; a log without its summary is no result.
"""

from __future__ import annotations

import json
import re
from typing import Any

from nodeworthy_probe.parsers.dcgm_catalogue import DiagError
from nodeworthy_probe.parsers.json_document import mapping, whole

from .documents import load_json
from .sheet import Sheet

TOOL = "dcgm health"
_COUNTS = ("passed", "failed", "warned", "skipped")
_OVERALL = re.compile(r"\|\s*Overall Health\s*[|:]\s*(\w+)", re.IGNORECASE)
_INCIDENT = re.compile(r"\|\s*(?:->)?\s*(?:Status|Health)\s*\|\s*(Warning|Failure)\s*\|", re.IGNORECASE)


def read(text: str, sheet: Sheet) -> None:
    """Read whichever form the file has."""
    if "Diagnostic summary" in text or '"event"' in text:
        _structured(text, sheet)
    elif "{" in text:
        _document(load_json(text, sheet), sheet)
    else:
        _overall((_OVERALL.search(text) or ["", ""])[1], sheet)
        for found in _INCIDENT.finditer(text):
            sheet.note("hardware/health", "node", f"health {found[1]}", severity=found[1].upper())
        if "+--" in text and not text.rstrip().endswith("+"):
            sheet.note("document/cut", "file", "the table is cut")


def _structured(text: str, sheet: Sheet) -> None:
    events = []
    for line in text.splitlines():
        if not line.lstrip().startswith("{"):
            continue
        try:
            events.append(mapping(json.loads(line)))
        except (ValueError, RecursionError):
            sheet.note("document/cut", "file", f"a record cannot be read: {line[:80]}")
    sheet.version = next((str(event["version"]) for event in events if "version" in event), None)
    summaries = [event for event in events if event.get("event") == "Diagnostic summary"]
    if len(summaries) != 1:
        code = "document/duplicate" if summaries else "document/cut"
        sheet.note(code, "file", f"{len(summaries)} summaries of the diagnostic where one was expected")
    for summary in summaries:
        _summary(summary, events, sheet)


def _summary(summary: dict[str, Any], events: list[dict[str, Any]], sheet: Sheet) -> None:
    counts = {name: whole(summary.get(name)) for name in _COUNTS}
    for name, count in counts.items():
        sheet.number("node", f"tests_{name}", count, "count")
    total = whole(summary.get("total"))
    sheet.number("node", "tests", total, "count")
    if None in counts.values() or sum(count or 0 for count in counts.values()) != total:
        sheet.note("document/contradiction", "file", "the counts of the summary do not add up")
    named = [event for event in events if str(event.get("event", "")).lower().startswith("test ") and "test" in event]
    for event in named:
        _named(event, sheet)
    for outcome, word in (("failed", "fail"), ("warned", "warn")):
        unnamed = (counts[outcome] or 0) - sum(word in str(event["event"]).lower() for event in named)
        if unnamed > 0:
            code = "hardware/unnamed-failure" if outcome == "failed" else "row/missing"
            sheet.note(code, "node", f"{unnamed} tests {outcome} and are not named")
    if counts["skipped"]:
        code = "test/all-skipped" if counts["skipped"] == total else "test/skipped"
        sheet.note(code, "node", f"{counts['skipped']} of {total} tests were skipped")


def _named(event: dict[str, Any], sheet: Sheet) -> None:
    error = DiagError(whole(event.get("error_code")), None, str(event.get("detail", "")))
    outcome = "fail" if "fail" in str(event["event"]).lower() else "warn"
    sheet.note(error.code, f"gpu/{event.get('gpu', '')}", f"{event['test']}: {error.text}", severity=error.severity,
               category="config" if error.is_config else "hardware", test=str(event["test"]),
                   outcome=outcome)  # fmt: skip


def _document(document: Any, sheet: Sheet) -> None:
    body = mapping(mapping(document).get("body"))
    overall = mapping(body.get("Overall Health"))
    _overall(str(overall.get("value", "")), sheet)


def _overall(word: str, sheet: Sheet) -> None:
    if not word:
        sheet.note("document/unreadable", "file", "no overall health")
        return
    sheet.number("node", "healthy", float(word.lower() == "healthy"), "bool")
    if word.lower() != "healthy":
        sheet.note("hardware/health", "node", f"overall health is {word}", severity=word.upper())
