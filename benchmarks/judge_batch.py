"""A judging batch of any size: results written as a probe writes them, with a suite, baselines and a frozen reference.

The suite takes its expectations from the shipped suite L1; its tests are five, with six figures per GPU each.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.ports import JudgingBatch
from nodeworthy.qualification.baselines import Baseline, baselines_from_document
from nodeworthy.qualification.references import references_from_document
from nodeworthy.qualification.sku import BmcProfile, Sku
from nodeworthy.qualification.suite_document import suite_from_document
from nodeworthy.qualification.suites import MetricSpec, Per, Suite, TestSpec

SUITES = Path(__file__).resolve().parents[1] / "include" / "suites"
TESTS, FIGURES, GPUS = 5, 6, 8
METRICS = TESTS * FIGURES
REFERENCE = 400.0
SLOW_NODE, SLOW_GPU = 7, 3
SHARES = {"whole_node_share": 0.2, "intermittent_share": 0.2}
SKU = Sku("bench-8", 1, (), (), BmcProfile(""), "bench-2026.11", GPUS, 18)


def names() -> Iterator[tuple[str, str]]:
    """Yield the thirty figures as (test, metric)."""
    for test in range(TESTS):
        for metric in range(FIGURES):
            yield f"bench.test{test}", f"figure{metric}"


def suite() -> Suite:
    """Return the suite: thirty figures per GPU, the expectations of L1."""

    def shipped(name: str) -> Suite:
        return suite_from_document(json.loads((SUITES / f"{name}.json").read_text()), shipped, name)

    tests: dict[str, tuple[MetricSpec, ...]] = {}
    for test, metric in names():
        tests[test] = (*tests.get(test, ()), MetricSpec(metric, Per.GPU, "GB/s", "median"))
    return replace(
        shipped("l1"),
        name="bench",
        tests=tuple(
            TestSpec(test, "bench", (), timedelta(minutes=1), metrics=metrics) for test, metrics in tests.items()
        ),
    )


def baselines() -> tuple[Baseline, ...]:
    """Return a baseline with floor, ceiling, spread and reference for every figure."""
    key = {"statistic": "median", "unit": "GB/s"}
    rule: dict[str, Any] = {
        "z": -4.0,
        "percent": -3.0,
        "sigma_floor_percent": 0.5,
        "minimum_population": 30,
        "source": "benchmark",
    }
    rule["together"] = {"amounts_percent": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "limit": 1e6, **SHARES}
    dated = {"source": "benchmark", "date": "2026-11-30"}
    references = references_from_document(
        {
            "schema": "nodeworthy.reference/1",
            "sku": SKU.name,
            "version": 1,
            "simulated": True,
            "rule": rule,
            **dated,
            "metrics": [
                {"test": test, "metric": metric, **key, "median": REFERENCE, "sigma": 2.0, "n": 200}
                for test, metric in names()
            ],
        }
    )
    limits = {"floor": 300, "ceiling": 450, "reached": 400, "sample_size": 200, "spread_percent": 6, **dated}
    document = [{"test": test, "metric": metric, **key, **limits} for test, metric in names()]
    return baselines_from_document(
        {"schema": "nodeworthy.baseline/1", "sku": SKU.name, "version": 1, "baselines": document}, references
    )


@dataclass(frozen=True, slots=True)
class Files:
    """The judge's library: one suite, one SKU."""

    made: Suite
    limits: tuple[Baseline, ...]

    def suite(self, name: str) -> Suite:
        """Return the suite, whatever it is called."""
        return self.made

    def baselines(self, sku: str) -> tuple[Baseline, ...]:
        """Return the SKU's baselines."""
        return self.limits


def batch(nodes: int, seed: int) -> JudgingBatch:
    """Return results of so many nodes; one GPU of one node is 6 % slow in everything."""
    results = tuple(_stored(f"gpu-{number:05}", number, seed) for number in range(nodes))
    return JudgingBatch(Scope.HARDWARE, results, {one.node: SKU for one in results}, {})


def _stored(node: str, number: int, seed: int) -> StoredResult:
    chance = random.Random(f"{seed}/{number}")  # noqa: S311 - made-up figures
    rows = [
        {
            "test": test,
            "component": f"gpu/{gpu}",
            "metric": metric,
            "value": REFERENCE
            * (1 + chance.gauss(0.0, 0.005))
            * (0.94 if (number, gpu) == (SLOW_NODE, SLOW_GPU) else 1.0),
            "unit": "GB/s",
            "statistic": "median",
            "status": "ok",
            "parameters": {},
            "transport": None,
        }
        for test, metric in names()
        for gpu in range(GPUS)
    ]
    document: dict[str, Any] = {
        "schema": "nodeworthy.result/1",
        "simulated": True,
        "node": node,
        "serial": f"SN-{node}",
        "episode": 1,
        "suite": "bench",
        "sku": SKU.name,
        "versions": {"driver": "570.86.15"},
        "tests": [{"test": f"bench.test{test}", "execution": "completed", "exit_code": 0} for test in range(TESTS)],
        "measurements": rows,
        "findings": [],
    }
    reference = EvidenceReference(f"SN-{node}/1/hardware/bundle.tar.gz", "c" * 64, 1000)
    return StoredResult(node, 1, Scope.HARDWARE, "bench", reference, document, judged=False)
