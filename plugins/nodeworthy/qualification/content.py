"""A verdict by the content of one file alone: no baseline, no node, no history.

Every note that the parser wrote, every limit and every figure above physics asks for a verdict; the gravest wins. A
pass means that something was measured, nothing is missing and nothing contradicts itself, no more: its scope is
`content`, and no ledger takes it for a qualification.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nodeworthy.evidence.findings import Catalogue
from nodeworthy.evidence.verdicts import Verdict
from nodeworthy.qualification.content_figures import figure_causes
from nodeworthy.qualification.content_rules import ContentRules

SCOPE = "content"
_CATALOGUED = ("xid", "sxid", "dcgm", "redfish")


@dataclass(frozen=True, slots=True)
class ContentContext:
    """What the operator says about the file; nothing of it is needed."""

    sku: str | None = None
    gpus: int | None = None
    line_rate_gbps: float | None = None
    ports: int | None = None


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a verdict is asked for."""

    verdict: Verdict
    code: str
    component: str
    sentence: str


@dataclass(frozen=True, slots=True)
class ContentVerdict:
    """The verdict, its deciding code and one line for the operator."""

    verdict: Verdict
    code: str
    reason: str
    causes: tuple[Cause, ...] = ()


def judge_content(
    parsed: Mapping[str, Any], rules: ContentRules, catalogue: Catalogue, context: ContentContext | None = None
) -> ContentVerdict:
    """Judge one `nodeworthy.parsed/1` document."""
    context = context or ContentContext()
    causes = list(_note_causes(parsed, rules, catalogue))
    causes += [Cause(*found) for found in figure_causes(parsed, rules, context)]
    measured = parsed["measurements"]
    if not measured:
        causes.append(Cause(Verdict.INCOMPLETE, "document/nothing-measured", "file", "nothing was measured"))
    rank = {verdict: place for place, verdict in enumerate(rules.order)}
    grave = sorted((cause for cause in causes if cause.verdict in rank), key=lambda cause: rank[cause.verdict])
    if grave:
        first = grave[0]
        reason = _reason(first, grave, parsed, rules)
        return ContentVerdict(first.verdict, first.code, reason, tuple(causes))
    told = [cause.sentence for cause in causes if cause.code != "note/waived"]
    more = f"; told and not judged: {told[0]}" if told else ""
    again = f" and {len(told) - 1} more" if len(told) > 1 else ""
    return ContentVerdict(
        Verdict.PASS,
        "complete",
        f"{len(measured)} figures, nothing missing, nothing contradicts itself{more}{again}",
        tuple(causes),
    )


def _note_causes(parsed: Mapping[str, Any], rules: ContentRules, catalogue: Catalogue) -> Iterator[Cause]:
    for finding in parsed["findings"]:
        family, _, code = finding["code"].partition("/")
        if family in _CATALOGUED:
            yield _catalogued(family, code, finding, catalogue)
        else:
            yield Cause(rules.verdict_of(finding["code"]), finding["code"], finding["component"], finding["line"])


def _catalogued(family: str, code: str, finding: Mapping[str, Any], catalogue: Catalogue) -> Cause:
    details = {**finding["details"], "severity": finding["severity"]}
    if family == "dcgm":
        return _diagnosed(code, finding, catalogue)
    if family != "redfish" and not code.isdigit():
        return Cause(
            Verdict.INCOMPLETE, finding["code"], finding["component"], f"an event cannot be read: {finding['line']}"
        )
    meaning = catalogue.explain(family, code, details)
    name = meaning.fault.name if meaning.fault else "not in the catalogue"
    kind = {"xid": "Xid", "sxid": "SXid", "redfish": "the BMC's event"}[family]
    sentence = f"{kind} {code} ({name}) on {finding['component']}: {meaning.action.advice}"
    return Cause(meaning.verdict, finding["code"], finding["component"], sentence)


def _diagnosed(code: str, finding: Mapping[str, Any], catalogue: Catalogue) -> Cause:
    """A failed test of DCGM fails, by class; a warning counts as much as its id's severity."""
    config = finding["category"] == "config"
    verdict = Verdict.FAIL_CONFIG if config else Verdict.FAIL
    if finding["details"].get("outcome") == "warn" and code.isdigit():
        verdict = catalogue.explain("dcgm", code).verdict
    what = "a setting of the host" if config else "hardware until shown otherwise"
    return Cause(verdict, finding["code"], finding["component"], f"{finding['component']}: {finding['line']} ({what})")


def _reason(first: Cause, grave: list[Cause], parsed: Mapping[str, Any], rules: ContentRules) -> str:
    near = _near_miss(parsed, rules) if first.verdict is Verdict.FAIL else ""
    more = f" (and {len(grave) - 1} more)" if len(grave) > 1 else ""
    where = "" if first.component in first.sentence or first.component in ("file", "node") else f"{first.component}: "
    return " ".join(f"{where}{first.sentence}{near}{more}".split())[:600]


def _near_miss(parsed: Mapping[str, Any], rules: ContentRules) -> str:
    for row in parsed["measurements"]:
        required = row["parameters"].get("required")
        if required and 0 < (required - row["value"]) / required * 100 <= rules.near_miss_percent:
            figures = f"{row['value']:g} of {required:g} {row['unit']}"
            return f"; a near miss ({figures}): retry once before any verdict on hardware"
    return ""
