"""The same corpus through the judge itself: documents in, verdicts out, by Great Expectations and the shipped checks.

The suite has the corpus' families as tests and the expectations of L1; the baselines have a floor at 80 % and a ceiling
at 120 % of the reference, which no fault of the corpus reaches: what is found, is found by layer 3, and stalls by the
shape of the iterations.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from nodeworthy.adapters.judge_gx import JudgeGx
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Judgement, Scope, Verdict
from nodeworthy.ports import JudgingBatch
from nodeworthy.qualification.baselines import Baseline, baselines_from_document
from nodeworthy.qualification.derived import SHAPES
from nodeworthy.qualification.fault_model import FaultModel
from nodeworthy.qualification.references import references_from_document
from nodeworthy.qualification.similarity import SIMILARITY, STALLED_SHARE, ShapeRule
from nodeworthy.qualification.sku import BmcProfile, Sku
from nodeworthy.qualification.suite_document import suite_from_document
from nodeworthy.qualification.suites import MetricSpec, Per, Suite, TestSpec

from benchmarks.accuracy_figures import Tally
from benchmarks.accuracy_strategies import ITERATIONS as STALLS
from benchmarks.accuracy_strategies import REFERENCE_NODES, Finding, Frozen
from lab.corpus.documents import (
    ITERATION_TIME,
    ITERATIONS,
    REFERENCE,
    SKU,
    SUITE,
    TRANSPORT,
    TRANSPORT_FAMILY,
    UNIT,
    document,
    test_name,
)
from lab.corpus.nodes import WHOLE_NODE, blocks
from lab.corpus.parameters import NODE, Parameters

SUITES = Path(__file__).resolve().parents[1] / "include" / "suites"
DATED = {"source": "the corpus of lab/data/corpus.yaml", "date": "2026-11-30"}
MEDIAN_OF_FIVE = 0.5355
"""Standard deviation of the median of five normal values, in standard deviations of one."""


def suite_of(parameters: Parameters) -> Suite:
    """Return the corpus' suite."""

    def shipped(name: str) -> Suite:
        return suite_from_document(json.loads((SUITES / f"{name}.json").read_text()), shipped, name)

    tests = tuple(
        TestSpec(
            test_name(family),
            "corpus",
            (),
            timedelta(minutes=1),
            transport=(TRANSPORT,) if family.name == TRANSPORT_FAMILY else (),
            metrics=tuple(
                MetricSpec(metric, Per.NODE if family.per == NODE else Per.GPU, UNIT, "median")
                for metric in family.metrics
            ),
        )
        for family in parameters.families
    )
    shapes = tuple(
        MetricSpec(statistic, Per.GPU, "ratio", statistic, derived_from=ITERATION_TIME)
        for statistic in (SIMILARITY, STALLED_SHARE)
    )
    times = MetricSpec(ITERATION_TIME, Per.GPU, "us", "median", judged=False)
    stalls = TestSpec(ITERATIONS, "corpus", (), timedelta(minutes=1), metrics=(times, *shapes))
    return replace(shipped("l1"), name=SUITE, tests=(*tests, stalls))


def baselines_of(parameters: Parameters, frozen: Frozen, model: FaultModel, allowed: ShapeRule) -> tuple[Baseline, ...]:
    """Return the corpus' baselines with the frozen references, whose rule looks at the figures together."""
    weights = {test_name(family): frozen.weights[family.name] for family in parameters.families}
    together = replace(model, subsystem_weights=weights).document()
    rule = {"z": -4.5, "percent": -3.0, "sigma_floor_percent": 0.3, "minimum_population": 30, "together": together}
    references, limits = [], []
    for family in parameters.families:
        for place, metric in enumerate(family.metrics):
            key = {"test": test_name(family), "metric": metric, "statistic": "median", "unit": UNIT}
            run, spread = float(frozen.run[family.name][place]), float(frozen.spread[family.name][place])
            sigma = (spread**2 + (MEDIAN_OF_FIVE * run) ** 2) ** 0.5
            centre = REFERENCE * (1.0 + float(frozen.centre[family.name][place]) / 100.0)
            noise = {"sigma": sigma, "spread": spread, "run": run, "n": REFERENCE_NODES}
            references.append({**key, "median": centre, **noise})
            limits.append({**key, "floor": 80, "ceiling": 120, "reached": 100, "sample_size": REFERENCE_NODES, **DATED})
    head = {"sku": SKU, "version": 1}
    known = references_from_document(
        {"schema": "nodeworthy.reference/1", **head, "simulated": True, **DATED, "rule": {**rule, **DATED_SOURCE}}
        | {"metrics": references}
    )
    limits += _shapes(frozen, allowed)
    return baselines_from_document({"schema": "nodeworthy.baseline/1", **head, "baselines": limits}, known)


def _shapes(frozen: Frozen, allowed: ShapeRule) -> list[dict[str, Any]]:
    head = {"test": ITERATIONS, "unit": "ratio", "sample_size": REFERENCE_NODES, **DATED}
    alike = {"floor": allowed.similarity, "ceiling": 1, "reached": 0.999, "quantiles": list(frozen.shape.quantiles)}
    share = {"most": allowed.stalled_share, "least": 0, "reached": 0, "stalled_above": frozen.shape.stalled}
    return [
        {**head, "metric": SIMILARITY, "statistic": SIMILARITY, **alike},
        {**head, "metric": STALLED_SHARE, "statistic": STALLED_SHARE, **share},
    ]


DATED_SOURCE = {"source": DATED["source"]}


@dataclass(frozen=True, slots=True)
class _Files:
    made: Suite
    limits: tuple[Baseline, ...]

    def suite(self, name: str) -> Suite:
        return self.made

    def baselines(self, sku: str) -> tuple[Baseline, ...]:
        return self.limits


def judged(
    parameters: Parameters, frozen: Frozen, model: FaultModel, allowed: ShapeRule, seed: int, nodes: int
) -> dict[str, Any]:
    """Return how the judge decides on a corpus of five repeats, and what it says of bad data."""
    files = _Files(suite_of(parameters), baselines_of(parameters, frozen, model, allowed))
    sku = Sku(SKU, 1, (), (), BmcProfile(""), "corpus", parameters.gpus, 18)
    judge, tally, of_bad_data = JudgeGx(files), Tally(), Counter[str]()  # type: ignore[arg-type]
    for block in blocks(parameters, seed + 3, nodes):
        stored = tuple(
            _stored(document(parameters, block, number, parameters.repeats, seed)) for number in range(len(block))
        )
        batch = JudgingBatch(Scope.HARDWARE, stored, {one.node: sku for one in stored}, {})
        for number, judgement in enumerate(judge.judge(batch)[0]):
            fault, spoilt = block.faults[number], block.bad_data[number]
            if spoilt:
                of_bad_data[f"{spoilt}: {judgement.verdict}"] += 1
            else:
                tally.add([fault], [_finding(parameters, judgement)])
    return {"nodes": nodes, "figures": tally.figures(parameters, parameters.repeats), "bad_data": dict(of_bad_data)}


def _stored(whole: dict[str, Any]) -> StoredResult:
    reference = EvidenceReference(f"{whole['serial']}/1/hardware/bundle.tar.gz", "c" * 64, 1000)
    return StoredResult(whole["node"], 1, Scope.HARDWARE, SUITE, reference, whole, judged=False)


def _finding(parameters: Parameters, judgement: Judgement) -> Finding | None:
    if judgement.verdict is Verdict.PASS:
        return None
    return _named(parameters, judgement)


def _named(parameters: Parameters, judgement: Judgement) -> Finding:
    first = judgement.reasons[0]
    if first.metric in SHAPES:
        return Finding(int(first.component.removeprefix("gpu/")), STALLS, -1)
    for family in parameters.families:
        if first.metric in family.metrics:
            component = WHOLE_NODE if first.component == "node" else int(first.component.removeprefix("gpu/"))
            return Finding(component, family.name, family.columns[family.metrics.index(first.metric)])
    return Finding(WHOLE_NODE, "", -1)
