"""Suites, baselines and verdicts written back as documents, for the dossier: what was judged by, in full.

What is written here reads back to the same values, so a verdict can be made again from a dossier alone, years later,
without the files of today. Nothing here holds a run id or a time of judging.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Judgement
from nodeworthy.qualification.baselines import BASELINE_SCHEMA, Baseline
from nodeworthy.qualification.own_history import History
from nodeworthy.qualification.references import REFERENCE_SCHEMA, Reference
from nodeworthy.qualification.sku import Sku
from nodeworthy.qualification.suite_document import SUITE_SCHEMA
from nodeworthy.qualification.suites import MetricSpec, Suite, TestSpec

VERDICT_SCHEMA = "nodeworthy.verdict/1"


@dataclass(frozen=True, slots=True)
class Basis:
    """What a judgement stands on, besides the result."""

    suite: Suite
    sku: Sku
    baselines: tuple[Baseline, ...]
    firmware_set: str
    serial: str
    history: History | None = None


def suite_to_document(suite: Suite) -> dict[str, Any]:
    """Return a suite with everything that it includes, in the form of a suite file."""
    return {
        "schema": SUITE_SCHEMA,
        "name": suite.name,
        "level": suite.level,
        "version": suite.version,
        **_size(suite),
        "tests": [_test(test) for test in suite.tests],
        "expectations": {"expectations": [dict(row) for row in suite.expectations["expectations"]]},
    }


def _size(suite: Suite) -> dict[str, Any]:
    others = {name: value for name, value in (("each", suite.each), ("within", suite.within)) if value}
    several = {"at_least": suite.nodes[0], "at_most": suite.nodes[1], **others}
    nodes = {} if suite.nodes == (1, 1) else {"nodes": several}
    return {**nodes, **({} if suite.segments == 1 else {"segments": suite.segments})}


def _test(test: TestSpec) -> dict[str, Any]:
    return {
        **_how_often(test),
        "test": test.test,
        "tool": test.tool,
        "arguments": list(test.arguments),
        "timeout_seconds": test.timeout.total_seconds(),
        "parameters": dict(test.parameters),
        "environment": dict(test.environment),
        "transport": list(test.transport),
        "metrics": [_metric(spec) for spec in test.metrics],
        "scopes": [scope.value for scope in test.scopes],
    }


def _how_often(test: TestSpec) -> dict[str, Any]:
    said = {
        "usual_seconds": test.usual.total_seconds(),
        "repeats": test.repeats if test.repeats > 1 else 0,
        "retry": list(test.retry),
        "near_miss_percent": test.near_miss_percent,
        "image": test.image,
        "needs": list(test.needs),
        "only_with": test.only_with,
    }
    return {key: value for key, value in said.items() if value}


def _metric(spec: MetricSpec) -> dict[str, Any]:
    return {**asdict(spec), "per": spec.per.value, "parameters": dict(spec.parameters)}


def baselines_to_document(baselines: Iterable[Baseline]) -> dict[str, Any]:
    """Return one SKU's baselines in the form of a baseline file."""
    found = list(baselines)
    return {
        "schema": BASELINE_SCHEMA,
        "sku": found[0].sku if found else "",
        "version": found[0].version if found else 1,
        "baselines": [_baseline(baseline, found[0]) for baseline in found],
    }


def _baseline(baseline: Baseline, head: Baseline) -> dict[str, Any]:
    whole = asdict(baseline)
    left_out = ["sku", "reference"] + (["version"] if baseline.version == head.version else [])
    row = {
        key: value for key, value in whole.items() if key not in left_out and value is not None and value is not False
    }
    return {**row, "on_failure": baseline.on_failure.value, "parameters": dict(baseline.parameters)}


def references_to_document(baselines: Iterable[Baseline]) -> dict[str, Any] | None:
    """Return the references of one SKU's baselines in the form of a reference file; None when there is none."""
    found = [(baseline.sku, baseline.reference) for baseline in baselines if baseline.reference is not None]
    if not found:
        return None
    sku, first = found[0]
    return {
        "schema": REFERENCE_SCHEMA,
        "sku": sku,
        "version": first.version,
        "simulated": first.simulated,
        "date": first.date,
        "source": first.source,
        "rule": first.rule.document(),
        "metrics": [_reference(reference, first) for _, reference in found],
    }


def _reference(reference: Reference, head: Reference) -> dict[str, Any]:
    plain = ("test", "metric", "statistic", "unit", "median", "sigma", "n")
    own = {
        key: getattr(reference, key)
        for key in ("version", "simulated", "date", "source")
        if getattr(reference, key) != getattr(head, key)
    }
    rule = {} if reference.rule == head.rule else {"rule": reference.rule.document()}
    noise = {key: getattr(reference, key) for key in ("spread", "run") if getattr(reference, key) is not None}
    figures = {key: getattr(reference, key) for key in plain}
    return {**figures, **noise, "parameters": dict(reference.parameters), **own, **rule}


def verdict_document(
    stored: StoredResult, judgement: Judgement, basis: Basis, hashes: Mapping[str, str]
) -> dict[str, Any]:
    """Return a `nodeworthy.verdict/1`; `hashes` are the SHA-256 of what it was made from, by file name."""
    return {
        "schema": VERDICT_SCHEMA,
        "node": judgement.node,
        "serial": basis.serial,
        "episode": stored.episode,
        "scope": judgement.scope.value,
        "suite": judgement.suite,
        "suite_version": basis.suite.version,
        "sku": basis.sku.name,
        "gpus": basis.sku.gpus,
        **({"devices": {kind: list(names) for kind, names in basis.sku.devices.items()}} if basis.sku.devices else {}),
        **({"offers": list(basis.sku.offers)} if basis.sku.offers else {}),
        **({"transports": dict(basis.sku.transports)} if basis.sku.transports else {}),
        **({"switched_off": [dict(row) for row in stored.switched_off]} if stored.switched_off else {}),
        "firmware_set": basis.firmware_set,
        "simulated": judgement.simulated,
        "verdict": judgement.verdict.value,
        "sentence": judgement.sentence,
        "reasons": [{**asdict(reason), "verdict": reason.verdict.value} for reason in judgement.reasons],
        **({"remarks": [asdict(remark) for remark in judgement.remarks]} if judgement.remarks else {}),
        "references": references_to_document(basis.baselines),
        "made_from": dict(hashes),
    }
