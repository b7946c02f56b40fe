"""Faults and time in service by serial, over all nodes; and what a node's risk follows from."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from nodeworthy.evidence.history import Figure, Figures
from nodeworthy.evidence.inventory import Component, ComponentKind, Inventory
from nodeworthy.evidence.verdicts import Reason, Remark, Scope, Verdict

from tests.contract.ledger.support import Bench, judgement, node, reference, result

YEAR = timedelta(days=365)


def fails(bench: Bench, name: str, serial: str, others: int = 0) -> None:
    """Let a GPU fail in a node, in an episode of its own that takes ten days, beside parts that do not."""
    lease = bench.take(name, run=f"run-{name}-{bench.clock.now():%j-%H}", kind="fault")
    parts = [Component(ComponentKind.GPU, "GPU_SXM_4", "H100", serial)]
    parts += [Component(ComponentKind.GPU, f"slot-{number}", "H100", f"{name}-{number}") for number in range(others)]
    built = Inventory(name.upper(), "NVIDIA", "DGX", "1", tuple(parts), ())
    bench.ledger.record_inventory(lease, built, reference("inventory"))
    reason = Reason(Verdict.FAIL, "below_reference", "gpu/3", "peer_bandwidth", "400", "380", "GB/s", "slow")
    found = replace(judgement(lease, Scope.HARDWARE, Verdict.FAIL, "slow."), reasons=(reason,))
    bench.ledger.record_judgement(lease, found, None, [Figures("f" * 64, "570", True, (), {"gpu/3": serial})])
    bench.ledger.release(lease, close=True, reason="seen")
    bench.clock.pass_(timedelta(days=10))


def test_faults_follow_a_part_from_node_to_node(bench: Bench) -> None:
    """A GPU fails in n1, is moved to n2 and fails there: two faults of one serial, twenty days, now in n2."""
    fails(bench, "n1", "S1", others=1)
    fails(bench, "n2", "S1")
    record = bench.ledger.part_record(YEAR)
    assert [(one.serial, one.place) for one in record.faults if one.kind == "gpu"] == [
        ("S1", "n1 gpu/3"),
        ("S1", "n2 gpu/3"),
    ]
    assert record.days["S1", "gpu"] == pytest.approx(20.0)
    assert record.days["n1-0", "gpu"] == pytest.approx(20.0), "a part without faults makes the rate"
    assert record.now_in["S1", "gpu"] == "n2"
    assert record.days["N1", "node"] == pytest.approx(20.0)


def test_a_part_that_no_inventory_names_is_known_since_it_was_measured(bench: Bench) -> None:
    """The BMC tells other serials than the driver: each part's days count from its own first figure."""
    reason = Reason(Verdict.FAIL, "below_reference", "gpu/3", "peer_bandwidth", "400", "380", "GB/s", "slow")
    for serial, days in (("SMI-1", 30), ("SMI-2", 10), ("SMI-1", 0)):
        lease = bench.take("n1", run=f"{serial}-{days}", kind="fault")
        stored = result(lease, name=f"{serial}-{days}")
        bench.ledger.record_result(lease, stored)
        figure = Figure("nvlink.bandwidth", "gpu/3", serial, "peer_bandwidth", "median", "GB/s", "", 380.0)
        read = Figures(stored.bundle.sha256, "570", True, (figure,), {"gpu/3": serial})
        found = replace(judgement(lease, Scope.HARDWARE, Verdict.FAIL, "slow."), reasons=(reason,))
        bench.ledger.record_judgement(lease, found, None, [read])
        bench.ledger.release(lease, close=True, reason="seen")
        bench.clock.pass_(timedelta(days=days))
    record = bench.ledger.part_record(YEAR)
    assert record.days["SMI-1", "gpu"] == pytest.approx(40.0)
    assert record.days["SMI-2", "gpu"] == pytest.approx(10.0)


def test_a_renamed_node_keeps_its_faults(bench: Bench) -> None:
    """The chassis is known by serial: the fault is told at the name that it has now."""
    fails(bench, "n1", "S1")
    bench.ledger.import_fleet([node("renamed", "N1")])
    record = bench.ledger.part_record(YEAR)
    assert [one.place for one in record.faults] == ["renamed", "renamed gpu/3"]
    assert record.now_in["N1", "node"] == "renamed"


def test_only_the_window_counts(bench: Bench) -> None:
    """A fault of long ago is over, and so is the time in service before the window."""
    fails(bench, "n1", "S1")
    bench.clock.pass_(YEAR)
    fails(bench, "n1", "S1")
    record = bench.ledger.part_record(timedelta(days=30))
    assert len([one for one in record.faults if one.kind == "gpu"]) == 1
    assert record.days["S1", "gpu"] == pytest.approx(30.0)


def test_risk_follows_from_age_proof_faults_and_findings(bench: Bench) -> None:
    """A node of 40 days that was proven 39 days ago, failed once, was remarked on and printed an Xid."""
    fails(bench, "n1", "S1")
    bench.clock.pass_(timedelta(days=-10))
    lease = bench.take("n1", run="bring_up")
    bench.bring(lease, "standby")
    bench.clock.pass_(timedelta(days=40))
    lease = bench.take("n1", run="sweep", kind="sweep")
    noticed = Remark("own_drift", "gpu/4", "S4", "peer_bandwidth", "gpu/4 declines")
    bench.ledger.record_judgement(lease, replace(judgement(lease, Scope.HARDWARE), remarks=(noticed,)), None)
    stored = result(lease)
    findings = [{"code": "xid/94", "component": "gpu/1"}, {"code": "xid/94", "component": "gpu/1"}]
    bench.ledger.record_result(lease, replace(stored, document={**stored.document, "findings": findings}))
    (facts,) = bench.ledger.risk_facts(["standby"], "pool-a", recent=timedelta(days=30), past=YEAR)
    assert (facts.node, facts.sku, facts.past_faults) == ("n1", "h100-sxm-8", 1)
    assert facts.age_days == pytest.approx(40.0)
    assert facts.days_since_qualification == pytest.approx(40.0)
    assert facts.findings == ("own_drift of gpu/4", "xid/94 of gpu/1")
    assert bench.ledger.risk_facts(["standby"], "pool-b", recent=YEAR, past=YEAR) == ()
    assert bench.ledger.risk_facts(["in_service"], "", recent=YEAR, past=YEAR) == ()
