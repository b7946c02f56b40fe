"""From a file's text to its verdict as both sides of the document make it, in one process."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from nodeworthy.adapters.library_faults import FaultLibrary
from nodeworthy.evidence.findings import Catalogue
from nodeworthy.qualification.content import ContentContext, ContentVerdict, judge_content
from nodeworthy.qualification.content_rules import ContentRules
from nodeworthy_probe.content.kinds import read

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = Path(os.environ.get("NODEWORTHY_SAMPLES") or ROOT.parent / "shared" / "samples")


@cache
def rules() -> tuple[ContentRules, Catalogue]:
    """The rules and catalogues that the product ships."""
    library = FaultLibrary(ROOT / "include")
    return library.rules(), library.catalogue()


def parsed(kind: str, text: str) -> dict[str, Any]:
    """The document as it crosses from the probe to the product."""
    document: dict[str, Any] = json.loads(json.dumps(read(kind, text).document()))
    return document


def judged(kind: str, text: str, context: ContentContext | None = None) -> ContentVerdict:
    """The verdict on a text."""
    return judge_content(parsed(kind, text), *rules(), context)


def value(
    document: dict[str, Any], component: str, metric: str, statistic: str | None = None, **parameters: Any
) -> float:
    """The one measurement of that component and metric (and statistic and parameters, where given)."""
    found = [
        row["value"]
        for row in document["measurements"]
        if (row["component"], row["metric"]) == (component, metric)
        and statistic in (None, row["statistic"])
        and all(row["parameters"].get(name) == wanted for name, wanted in parameters.items())
    ]
    assert len(set(found)) == 1, (component, metric, found)
    return float(found[0])
