"""DCGM health: the structured log of a preflight check, and what dcgmi health prints.

The preflight log counts failures in a summary and names them after it, one record a line or spread
by jq. A log that ends before the names is still a failure; a log without its summary is no result.
dcgmi health names an incident below its device, in a tree of rows or of JSON objects, and wraps its
text; without watches it has looked at nothing. Source: NVIDIA/DCGM dcgmi/Health.cpp.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from nodeworthy_probe.parsers.dcgm_catalogue import DiagError
from nodeworthy_probe.parsers.json_document import mapping, sequence, whole

from .documents import load_json
from .sheet import Sheet

TOOL = "dcgm health"
_COUNTS = ("passed", "failed", "warned", "skipped")
_OVERALL = re.compile(r"\|\s*Overall Health\s*[|:]\s*(\w+)", re.IGNORECASE)
_ROW = re.compile(r"^\|(?P<left>[^|]*)\|(?P<right>[^|]*)\|?\s*$")
_BAD = re.compile(r"(?P<word>Warning|Failure|Internal error)\b(?: - (?P<text>.*))?")
_NO_ANSWER = re.compile(r"(Error: .*|.*[Uu]nable to (?:establish|connect).*)")
_UNWATCHED = re.compile(r"Error: Health watches not enabled.*")


def read(text: str, sheet: Sheet) -> None:
    """Read whichever form the file has."""
    if "Diagnostic summary" in text or '"event"' in text:
        _structured(text, sheet)
    elif re.search(r'\{\s*"', text):
        _document(load_json(text, sheet), sheet)
    elif unwatched := _UNWATCHED.search(text):
        sheet.number("node", "watches", 0, "count")
        sheet.note("test/all-skipped", "node", unwatched[0])
    elif not _OVERALL.search(text) and (found := _NO_ANSWER.search(text)):
        sheet.note("tool/failed", "node", found[1])
    else:
        _tree(text, sheet)
        _overall((_OVERALL.search(text) or ["", ""])[1], sheet)
        if "+--" in text and not text.rstrip().endswith("+"):
            sheet.note("document/cut", "file", "the table is cut")


def _tree(text: str, sheet: Sheet) -> None:
    """Rows of devices, of their systems below them, and of texts that wrap over several rows."""
    group, component = "gpu", "node"
    incidents: list[list[str]] = []
    for line in text.splitlines():
        row = _ROW.match(line)
        left, right = (row["left"].strip(), row["right"].strip()) if row else ("", "")
        name = left.removeprefix("->").strip()
        bad = _BAD.match(right.removeprefix(f"{right.partition(':')[0]}: ") if " system: " in right else right)
        if found := re.fullmatch(r"(?:GPU ID: )?(\d+)", name):
            component = f"{group}/{found[1]}"
        elif name and not right and re.fullmatch(r"[A-Za-z]+", name) and name != "Errors":
            group = name.lower()
        elif bad and name != "Overall Health":
            incidents.append([component, name or right.partition(":")[0], bad["word"], bad["text"] or ""])
        elif right and not name and incidents:
            incidents[-1][3] += f" {right}"
    for place, system, word, words in incidents:
        sheet.note("hardware/health", place, f"{system}: {word}: {words.strip()}", severity=word.upper())


def _structured(text: str, sheet: Sheet) -> None:
    events = list(_records(text, sheet))
    sheet.version = next((str(event["version"]) for event in events if "version" in event), None)
    summaries = [event for event in events if event.get("event") == "Diagnostic summary"]
    if len(summaries) != 1:
        code = "document/duplicate" if summaries else "document/cut"
        sheet.note(code, "file", f"{len(summaries)} summaries of the diagnostic where one was expected")
    for summary in summaries:
        _summary(summary, events, sheet)


def _records(text: str, sheet: Sheet) -> Iterator[dict[str, Any]]:
    """The objects of the log, each on a line of its own or over several."""
    decoder = json.JSONDecoder()
    place = 0
    while (start := re.compile(r"^\s*\{", re.MULTILINE).search(text, place)) is not None:
        try:
            record, place = decoder.raw_decode(text, start.end() - 1)
            yield mapping(record)
        except (ValueError, RecursionError):
            end = text.find("\n", start.end())
            place = end if end >= 0 else len(text)
            sheet.note("document/cut", "file", f"a record cannot be read: {text[start.end() - 1 : place][:80]}")


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
        if re.search(r"fail|warn", str(event["event"]).lower()):
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
    for group, devices in body.items():
        for number, device in mapping(mapping(devices).get("children")).items():
            _device(f"{group.lower()}/{number}", mapping(device), sheet)
    _overall(str(overall.get("value", "")), sheet)


def _device(component: str, device: dict[str, Any], sheet: Sheet) -> None:
    errors = mapping(mapping(mapping(device.get("children")).get("Errors")).get("children"))
    for system, incident in errors.items():
        word = str(mapping(incident).get("value", ""))
        if word != "Healthy":
            texts = " ".join(map(str, sequence(mapping(incident).get("overflow"))))
            sheet.note("hardware/health", component, f"{system}: {word}: {texts}", severity=word.upper())


def _overall(word: str, sheet: Sheet) -> None:
    if not word:
        sheet.note("document/unreadable", "file", "no overall health")
        return
    sheet.number("node", "healthy", float(word.lower() == "healthy"), "bool")
    if word.lower() != "healthy":
        sheet.note("hardware/health", "node", f"overall health is {word}", severity=word.upper())
