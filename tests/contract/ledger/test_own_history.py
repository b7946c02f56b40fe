"""A node's history in the ledger: which earlier runs count, and faults that follow a part's serial."""

from __future__ import annotations

from dataclasses import replace

from nodeworthy.evidence.history import Figure, Figures
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Reason, Remark, Scope, Verdict
from nodeworthy.lifecycle.records import Lease

from tests.contract.ledger.support import Bench, judgement, result


def figure(value: float) -> Figure:
    """One figure of GPU 0."""
    return Figure("nvlink.bandwidth", "gpu/0", "S0", "peer_bandwidth", "median", "GB/s", "NVLS", value)


def run(bench: Bench, lease: Lease, value: float, driver: str = "570") -> StoredResult:
    """Store and judge one result that read `value`."""
    stored = result(lease, name=f"{driver}-{value}")
    stored = replace(stored, document={**stored.document, "versions": {"driver": driver}, "simulated": True})
    bench.ledger.record_result(lease, stored)
    read = Figures(stored.bundle.sha256, driver, True, (figure(value),))
    bench.ledger.record_judgement(lease, judgement(lease, Scope.HARDWARE), None, [read])
    return stored


def values(bench: Bench, stored: StoredResult, first: int = 2, latest: int = 10) -> list[float]:
    """Return what the ledger remembers before a result."""
    return [one.value for of_run in bench.ledger.earlier_figures(stored, first, latest) for one in of_run]


def test_a_history_is_what_lies_before_a_result(bench: Bench) -> None:
    """Oldest first, its own figures not among them, the same again after it was judged and when others follow."""
    lease = bench.take()
    runs = [run(bench, lease, 400.0 - number) for number in range(4)]
    assert values(bench, runs[0]) == []
    assert values(bench, runs[2]) == [400.0, 399.0]
    assert values(bench, runs[3]) == [400.0, 399.0, 398.0]


def test_a_long_history_keeps_its_beginning(bench: Bench) -> None:
    """The first runs are what a node is compared with, so they stay when the middle is left out."""
    lease = bench.take()
    runs = [run(bench, lease, 400.0 - number) for number in range(8)]
    assert values(bench, runs[7], first=2, latest=3) == [400.0, 399.0, 396.0, 395.0, 394.0]


def test_another_driver_is_another_history(bench: Bench) -> None:
    """A new driver may read otherwise on the same part; judging a result again adds nothing."""
    lease = bench.take()
    run(bench, lease, 400.0, driver="560")
    first = run(bench, lease, 399.0)
    bench.ledger.record_judgement(
        lease, judgement(lease, Scope.HARDWARE), None, [Figures(first.bundle.sha256, "570", True, (figure(1.0),))]
    )
    assert values(bench, run(bench, lease, 398.0)) == [399.0]
    assert values(bench, replace(first, scope=Scope.PLATFORM)) == []


def test_remarks_stay_with_their_judgement(bench: Bench) -> None:
    """What a judgement noticed is read back with it, and only with it."""
    lease = bench.take()
    noticed = Remark("own_drift", "gpu/0", "S0", "peer_bandwidth", "gpu/0 declines")
    bench.ledger.record_judgement(lease, replace(judgement(lease, Scope.HARDWARE), remarks=(noticed,)), None)
    bench.ledger.record_judgement(lease, judgement(lease, Scope.PLATFORM), None)
    assert [one.remarks for one in bench.ledger.judgements("n1")] == [(), (noticed,)]


def failed(bench: Bench, lease: Lease, component: str, parts: dict[str, str]) -> None:
    """Record a failing judgement that names one component."""
    reason = Reason(Verdict.FAIL, "below_reference", component, "peer_bandwidth", "400", "380", "GB/s", "slow")
    one = replace(judgement(lease, Scope.HARDWARE, Verdict.FAIL, "slow."), reasons=(reason,))
    bench.ledger.record_judgement(lease, one, None, [Figures("f" * 64, "570", True, (), parts)])


def test_a_fault_is_remembered_by_serial(bench: Bench) -> None:
    """Once per part and episode, of the part and of its node; without a serial it is the node's alone."""
    lease = bench.take()
    failed(bench, lease, "gpu/3", {"gpu/3": "S3"})
    failed(bench, lease, "gpu/3", {"gpu/3": "S3"})
    failed(bench, bench.take("n2", run="run-2"), "gpu/5", {})
    rows = bench.sql("select kind, serial, component, node from part_faults order by id")
    assert [tuple(row) for row in rows] == [
        ("node", "N1", "node", "N1"),
        ("gpu", "S3", "gpu/3", "N1"),
        ("node", "N2", "node", "N2"),
    ]
