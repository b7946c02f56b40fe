"""A node out of reach: its kubelet and its BMC are two witnesses, and only both together bring it back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.ports import Power
from nodeworthy.procedures.reconcile import reconcile

from tests.contract.housekeeping.conftest import Silent
from tests.contract.housekeeping.test_reconcile_lab import Rack, rack
from tests.doubles.bench import healthy_inventory
from tests.doubles.machine import Machine, MachineBmcs

__all__ = ["rack"]


def kubelet(rack: Rack, name: str, *, ready: bool, minutes: float = 60) -> None:
    """Let a node's kubelet be Ready, or not, for so long."""
    since = rack.keeper.bench.clock.now() - timedelta(minutes=minutes)
    row = {"type": "Ready", "status": "True" if ready else "Unknown", "reason": "Test", "message": ""}
    row |= dict.fromkeys(("lastTransitionTime", "lastHeartbeatTime"), f"{since:%Y-%m-%dT%H:%M:%SZ}")
    rack.core.patch_node_status(name, {"status": {"conditions": [row]}})


def look(rack: Rack, power: Power | None) -> None:
    """Reconcile while the node's BMC shows this power, or says nothing."""
    machine = None if power is None else Machine(healthy_inventory(), power=power, progress="OSRunning")
    rack.keeper.bmcs = Silent() if machine is None else MachineBmcs(machine)
    reconcile(rack.house())


def lost(rack: Rack) -> None:
    """A node in service whose kubelet fell silent."""
    rack.bring("gpu-1", "in_service")
    kubelet(rack, "gpu-1", ready=False)
    look(rack, None)
    assert rack.keeper.bench.milestone("gpu-1") == "unreachable"


def test_a_kubelet_that_is_silent_for_long_loses_the_node(rack: Rack) -> None:
    """A minute is a restart; an hour is not: unreachable, and nothing new is scheduled there."""
    rack.bring("gpu-1", "in_service")
    kubelet(rack, "gpu-1", ready=False, minutes=1)
    look(rack, None)
    assert rack.keeper.bench.milestone("gpu-1") == "in_service"
    kubelet(rack, "gpu-1", ready=False)
    look(rack, None)
    assert rack.keeper.bench.milestone("gpu-1") == "unreachable"
    assert rack.taints("gpu-1") == {"nodeworthy.dev/unqualified"}
    assert "is not Ready since" in rack.told()[0]


def test_both_witnesses_bring_it_back_as_a_suspect(rack: Rack) -> None:
    """Ready under the same boot, with power: suspect, since nobody knows what happened meanwhile."""
    lost(rack)
    kubelet(rack, "gpu-1", ready=True)
    look(rack, Power.ON)
    assert rack.keeper.bench.milestone("gpu-1") == "suspect"
    assert {one.scope for one in rack.keeper.bench.ledger.qualifications("gpu-1")} == set(Scope)


def test_a_silent_bmc_keeps_it_out(rack: Rack) -> None:
    """The kubelet alone is not enough: a person is told what each of the two says."""
    lost(rack)
    kubelet(rack, "gpu-1", ready=True)
    look(rack, None)
    assert rack.keeper.bench.milestone("gpu-1") == "unreachable"
    assert "the BMC does not answer" in rack.told()[0]
    assert "its kubelet is Ready again" in rack.told()[0]


def test_proven_power_off_quarantines(rack: Rack) -> None:
    """No power and no kubelet: nothing runs there, both scopes are void and the reason says what was seen."""
    lost(rack)
    look(rack, Power.OFF)
    assert rack.keeper.bench.milestone("gpu-1") == "quarantined"
    assert rack.keeper.bench.ledger.qualifications("gpu-1") == ()
    assert "has no power" in rack.keeper.bench.reason("gpu-1")


def test_power_without_a_kubelet_waits_for_a_person(rack: Rack) -> None:
    """A host with power may still be at work."""
    lost(rack)
    look(rack, Power.ON)
    assert rack.keeper.bench.milestone("gpu-1") == "unreachable"
    assert "work may still run there" in rack.told()[0]


@pytest.mark.parametrize("power", [Power.ON, None])
def test_another_boot_meanwhile_voids_what_was_proven(rack: Rack, power: Power | None) -> None:
    """It lost its power and came back: suspect, with neither scope left."""
    lost(rack)
    rack.boots("gpu-1", "boot-2")
    kubelet(rack, "gpu-1", ready=True)
    look(rack, power)
    assert rack.keeper.bench.milestone("gpu-1") == "suspect"
    assert rack.keeper.bench.ledger.qualifications("gpu-1") == ()
