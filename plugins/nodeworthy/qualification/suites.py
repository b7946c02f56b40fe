"""Suites: which tests run with which parameters, and what their results are expected to be.

A suite file (`include/suites/*.json`) holds our test plan and, in Great Expectations' own form, the expectations.
Levels are cumulative: a suite names the suites that it includes, and gets their tests and expectations first. Each
expectation says in its `meta` to which of the three layers it belongs, which verdict it means and its reason code.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any

from nodeworthy.evidence.verdicts import Scope
from nodeworthy.qualification.sku import Sku, Vendor


class Per(StrEnum):
    """What one row of a metric stands for: the node, each GPU, ordered pair of GPUs, fabric adapter or drive.

    A scratch drive is one whose content may be destroyed; a gpu_nic is an adapter that reads GPU memory beside it,
    a roce one that carries RoCE.
    """

    NODE = "node"
    GPU = "gpu"
    PAIR = "pair"
    NIC = "nic"
    DRIVE = "drive"
    SCRATCH = "scratch"
    GPU_NIC = "gpu_nic"
    ROCE = "roce"


LONGEST_SEGMENT = timedelta(hours=4)
"""How long the tests of one node's pod may take, whatever of them is tried again."""


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """One metric that a test must bring: a row per node, GPU or pair, in this unit, with this statistic."""

    metric: str
    per: Per
    unit: str
    statistic: str
    judged: bool = True
    """False for what is only recorded."""
    parameters: Mapping[str, str | int | float] = field(default_factory=dict)
    """What the row's own parameters must hold for the test to have tested what it claims."""
    derived_from: str = ""
    """The metric whose rows this one is the median of; the judge computes it, the probe does not bring it."""
    explained_by: str = ""
    """A `metric/statistic` that names the culprit better: when it is flagged, this one's shortfall is not repeated."""
    headline: bool = False
    """Shown in the sentence of a node that passed."""
    action: str = ""
    """What an operator does about a failure."""


@dataclass(frozen=True, slots=True)
class TestSpec:
    """One test of a plan: the tool, its arguments and time-out, and the metrics that must come out of it."""

    __test__ = False

    test: str
    tool: str
    arguments: tuple[str, ...]
    timeout: timedelta
    parameters: Mapping[str, str | int | float] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    transport: tuple[str, ...] = ()
    """Transports that prove the test tested what it claims; empty where there is none to prove."""
    metrics: tuple[MetricSpec, ...] = ()
    scopes: tuple[Scope, ...] = (Scope.HARDWARE, Scope.PLATFORM)
    """The scopes of qualification in whose plans the test stands."""
    usual: timedelta = timedelta(0)
    """How long one run usually takes on one node; what the suite's cost is counted from."""
    repeats: int = 1
    """How often the probe runs the tool; a figure is then the median of the runs, a count its worst."""
    retry: tuple[str, ...] = ()
    """Ends of a run (`crashed`, `timed-out`, `unparsable`) after which the probe tries once more."""
    near_miss_percent: float | None = None
    """A figure beyond its limit by no more than this is measured once more; None where it is not."""
    needs: tuple[str, ...] = ()
    """Privileges without which the tool sees nothing: `rdma`, `drives`, `clock`; the pod says which it got and why."""
    only_with: str = ""
    """A kind of device, or a word of a SKU's `offers`: a SKU that declares none of it has no such test in its plans."""
    image: str = ""
    """For an operator's own check: the container image, pinned by digest. Empty for a tool of the probe's own image."""
    only_for: tuple[Vendor, ...] = ()
    """Vendors whose nodes alone have this test; empty where all have it."""
    by_vendor: Mapping[Vendor, TestSpec] = field(default_factory=dict)
    """The same test as it is done on nodes of other vendors: their tool, its arguments, the figures that it brings."""

    @property
    def longest(self) -> timedelta:
        """How long the probe may work on it: each run tried again after a bad end, all of them after a near miss."""
        tries = (2 if self.retry else 1) * (2 if self.near_miss_percent is not None else 1)
        return self.timeout * self.repeats * tries


@dataclass(frozen=True, slots=True)
class Check:
    """What one expectation means: its reason code, its layer (1 fit, 2 baseline, 3 peers) and its verdict.

    `verdict` is None where the row's baseline decides (`fail`, `fail-config`, `invalid` ...).
    """

    code: str
    layer: int
    verdict: str | None
    order: int
    action: str = ""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run of a suite takes: wall clock of a node, and GPU-hours of all its nodes together."""

    usual: timedelta
    most: timedelta
    usual_gpu_hours: float
    most_gpu_hours: float


@dataclass(frozen=True)
class Suite:
    """A declared list of tests with expectations; `tests` already holds those of the included suites, in order."""

    name: str
    level: str
    tests: tuple[TestSpec, ...]
    expectations: Mapping[str, Any]
    version: int
    description: str = ""
    nodes: tuple[int, int] = (1, 1)
    """The fewest and the most nodes that one run of it needs together."""
    each: str = ""
    """The suite that every node of a group runs on itself while the first one leads; its tests are among these."""
    within: str = ""
    """The suite by which each domain is tested by itself before one node of each runs this one; empty for none."""
    segments: int = 1
    """How many pods run it one after the other; an interruption costs one of them."""

    def on(self, vendor: Vendor) -> Suite:
        """Return the suite as it is done on nodes of a vendor, with that vendor's tools and without others' tests."""
        tests = (test for test in self.tests if not test.only_for or vendor in test.only_for)
        made = tuple(replace(test.by_vendor.get(vendor, test), by_vendor={}, only_for=()) for test in tests)
        return self if made == self.tests else replace(self, tests=made)

    def without(self, tests: Collection[str]) -> Suite:
        """Return the suite without the tests of these names."""
        return replace(self, tests=tuple(test for test in self.tests if test.test not in tests))

    def with_tests(self, tests: Iterable[TestSpec]) -> Suite:
        """Return the suite with these tests behind its own."""
        return replace(self, tests=(*self.tests, *tests))

    def cost(self, gpus: int) -> Cost:
        """Return what one run costs on nodes of so many GPUs, usually and when every test runs into its time-out."""
        usual = sum((test.usual * test.repeats for test in self.tests), timedelta(0)) * self.segments
        most = sum((test.longest for test in self.tests), timedelta(0))
        once = sum((test.timeout * test.repeats for test in self.tests), timedelta(0))
        most = min(most, max(once, LONGEST_SEGMENT)) if of_one_node(self) else most
        share = gpus * self.nodes[0] / 3600
        return Cost(
            usual, most * self.segments, usual.total_seconds() * share, most.total_seconds() * self.segments * share
        )

    def for_scope(self, scope: Scope, sku: Sku | None = None) -> tuple[TestSpec, ...]:
        """Return the tests of one scope's plan, in order; with a SKU those that it is made for, as it does them."""
        if sku is None:
            return tuple(test for test in self.tests if scope in test.scopes)
        return tuple(
            test
            for test in self.on(sku.vendor).tests
            if scope in test.scopes and (not test.only_with or test.only_with in sku.declares)
        )

    def spec(self, test: str, metric: str, statistic: str) -> MetricSpec | None:
        """Return a metric's specification, None when the suite does not ask for it."""
        return self.specs.get((test, metric, statistic))

    @cached_property
    def specs(self) -> Mapping[tuple[str, str, str], MetricSpec]:
        """Every metric's specification by test, metric and statistic; the first where a name stands there twice."""
        found: dict[tuple[str, str, str], MetricSpec] = {}
        for test in self.tests:
            for spec in test.metrics:
                found.setdefault((test.test, spec.metric, spec.statistic), spec)
        return found

    @cached_property
    def explained(self) -> frozenset[tuple[str, str, str]]:
        """Test, metric and statistic of what another figure explains better (`explained_by`)."""
        return frozenset(key for key, spec in self.specs.items() if spec.explained_by)

    def checks(self) -> tuple[Check, ...]:
        """Return what each expectation means, in the order in which a row's first failure is its reason."""
        found = []
        for order, expectation in enumerate(self.expectations.get("expectations", ())):
            meta = expectation["meta"]
            verdict = None if meta["verdict"] == BY_BASELINE else str(meta["verdict"])
            found.append(Check(meta["code"], int(meta["layer"]), verdict, order, str(meta.get("action", ""))))
        return tuple(found)


def of_one_node(suite: Suite) -> bool:
    """Whether a suite tests one node by itself; only such a pass qualifies a node."""
    return suite.nodes == (1, 1)


BY_BASELINE = "by-baseline"
"""The verdict word of an expectation whose meaning stands in each row's baseline (`on_failure`)."""
