"""What an operator's own check says: one JSON document (``nodeworthy.check-result/1``) on standard output.

Read strictly: another schema, a text where a number belongs or a missing unit makes the whole output unusable, so that
a check with a slip in it is a broken tool and never a pass.
"""

from __future__ import annotations

import json
from typing import Any

from nodeworthy_probe.parsers.numbers import finite
from nodeworthy_probe.records import Measurement, Reading, missing

from .context import Context

SCHEMA = "nodeworthy.check-result/1"


def read(text: str, _context: Context) -> Reading:
    """One row per measurement of the document; the problem names the first thing that is not as agreed."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Reading(problem=f"the output is no JSON document ({error})"[:300])
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        return Reading(problem=f"the output is no {SCHEMA} document")
    entries = document.get("measurements")
    if not isinstance(entries, list):
        return Reading(problem="the document has no list of measurements")
    rows = [_row(entry) for entry in entries]
    wrong = next((row for row in rows if isinstance(row, str)), None)
    measured = tuple(row for row in rows if isinstance(row, Measurement))
    if wrong is not None:
        return Reading(problem=wrong)
    version = document.get("version")
    transport = document.get("transport")
    return Reading(
        measurements=measured,
        tool_version=version if isinstance(version, str) else None,
        transport=transport if isinstance(transport, str) else None,
        lines=tuple(f"{row.component} {row.metric}: {row.value} {row.unit}" for row in measured[:20]),
    )


def _row(entry: Any) -> Measurement | str:
    if not isinstance(entry, dict):
        return "a measurement is not an object"
    words = {name: entry.get(name) for name in ("component", "metric", "unit")}
    for name, word in words.items():
        if not isinstance(word, str) or not word:
            return f"a measurement has no {name}"
    statistic = entry.get("statistic", "single")
    if not isinstance(statistic, str):
        return "a measurement's statistic is not a word"
    if entry.get("value") is None:
        return missing(str(words["component"]), str(words["metric"]), str(words["unit"]), statistic=statistic)
    raw = entry["value"]
    value = finite(raw) if isinstance(raw, int | float) and not isinstance(raw, bool) else None
    if value is None:
        return f"{words['metric']} of {words['component']} is {str(raw)[:40]}, not a finite number"
    return Measurement(str(words["component"]), str(words["metric"]), value, str(words["unit"]), statistic)
