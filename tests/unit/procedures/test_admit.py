"""Admission is the only step that takes our taints off, and only from a node whose proof still holds."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from nodeworthy.errors import Refused
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.records import Hold
from nodeworthy.ports import Taint
from nodeworthy.procedures.admit import admission, admit
from nodeworthy.procedures.isolate import isolate

from tests.doubles.bench import Bench
from tests.unit.procedures.test_crashes import in_standby


def still_tainted(one: Bench) -> bool:
    """Tell whether the spare still keeps customers out."""
    assert one.machine.node is not None
    return "nodeworthy.dev/standby" in {taint.key for taint in one.machine.node.taints}


def test_admission_leaves_others_taints_alone() -> None:
    """Our taints go and our label comes; the taint of another actor stays."""
    one = in_standby()
    assert one.machine.node is not None
    other = Taint("example.com/noisy", "NoSchedule")
    one.machine.node = replace(one.machine.node, taints=(*one.machine.node.taints, other))
    one.run(admit)
    assert one.machine.node.taints == (other,)
    assert one.machine.node.labels["nodeworthy.node-restriction.kubernetes.io/qualified"] == "true"


def test_a_hold_on_admission_is_refused_with_who_and_why() -> None:
    """The node stays tainted and in standby."""
    one = in_standby()
    one.ledger.hold(Hold("gpu-a01", "eve", "cable swap", None, "admission"))
    with pytest.raises(Refused, match="held by eve until it is released: cable swap"):
        one.run(admit)
    assert still_tainted(one)


def test_an_expired_certificate_is_refused() -> None:
    """A certificate has an end."""
    one = in_standby()
    one.machine.now += timedelta(days=31)
    with pytest.raises(Refused, match="expired"):
        one.run(admit)
    assert still_tainted(one)


def test_a_voided_platform_is_refused() -> None:
    """Service needs both scopes."""
    one = in_standby()
    one.ledger.void_qualifications(one.lease, Scope.PLATFORM, "booted")
    with pytest.raises(Refused, match="platform qualification"):
        one.run(admit)
    assert still_tainted(one)


def test_a_boot_since_verification_is_found_out() -> None:
    """The boot id of the Node is compared with the one that was verified."""
    one = in_standby()
    one.machine.override = "http://images.lab/service-2026.11.efi"
    one.machine.reset()
    one.machine.pass_time()
    with pytest.raises(Refused, match="it booted since, so requalify it"):
        one.run(admit)


def test_a_node_that_offers_fewer_gpus_is_refused() -> None:
    """Seven of eight allocatable: the device plugin hides one, or the node is partitioned."""
    one = in_standby()
    assert one.machine.node is not None
    one.machine.node = replace(one.machine.node, gpus=7)
    with pytest.raises(Refused, match="offers 7 GPUs to Kubernetes where SKU h100-sxm-8 has 8"):
        one.run(admit)
    assert still_tainted(one)


def test_a_node_under_pressure_is_refused_with_kubernetes_own_words() -> None:
    """The condition and its message stand in the sentence; all GPUs and no condition are no hindrance."""
    one = in_standby()
    assert one.machine.node is not None
    one.machine.node = replace(one.machine.node, gpus=8, troubles=("DiskPressure (kubelet has disk pressure)",))
    with pytest.raises(Refused, match=r"reports DiskPressure \(kubelet has disk pressure\)"):
        one.run(admit)
    one.machine.node = replace(one.machine.node, troubles=())
    one.run(admit)
    assert not still_tainted(one)


def test_a_node_that_is_gone_is_not_admitted() -> None:
    """Without a Node object there is nothing to admit."""
    one = in_standby()
    one.machine.node = None
    with pytest.raises(Refused, match="has no Node object"):
        one.run(admit)


def test_isolation_taints_before_it_writes() -> None:
    """Even when the ledger refuses, the node keeps customers out."""
    one = in_standby()
    one.ledger.release(one.lease, close=False, reason="")
    with pytest.raises(Refused):
        isolate(one.lease, one.node, one.work, reason="NVLink 3 is down")
    assert one.machine.node is not None
    assert [taint.key for taint in one.machine.node.taints] == ["nodeworthy.dev/unqualified"]


def test_isolation_of_a_node_without_a_kubelet_is_written_all_the_same() -> None:
    """A node that never joined is quarantined in the ledger."""
    one = in_standby()
    one.machine.node = None
    isolate(one.lease, one.node, one.work, reason="dead")
    assert one.ledger.nodes(["gpu-a01"])[0].milestone == "quarantined"


def test_nobody_is_asked_about_a_node_that_does_not_stand_by() -> None:
    """The refusal names why it stopped before a person is bothered."""
    one = in_standby()
    one.ledger.put(one.node.name, "quarantined")
    with pytest.raises(Refused, match="quarantined and admit does not begin there"):
        admission(one.lease, one.node, one.work)
