"""Kubernetes follows the ledger: drift made with an administrator's own hands, on the lab's API or a real cluster's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from nodeworthy.adapters.cluster_kubernetes import ClusterKubernetes
from nodeworthy.errors import Refused, Transient
from nodeworthy.procedures.reconcile import reconcile
from nodeworthy.procedures.upkeep import House

from tests.contract.housekeeping.conftest import Keeper
from tests.contract.ledger.support import node

UNQUALIFIED = "nodeworthy.dev/unqualified"
STANDBY = "nodeworthy.dev/standby"
QUALIFIED = "nodeworthy.node-restriction.kubernetes.io/qualified"
NOISY = {"key": "example.com/noisy", "effect": "NoSchedule"}
IMAGE_TAINT = {"key": UNQUALIFIED, "effect": "NoSchedule"}


@dataclass
class Rack:
    """Node objects without kubelets, and the nodes of the ledger that they belong to."""

    keeper: Keeper
    core: Any
    cluster: ClusterKubernetes
    made: list[str]

    def house(self) -> House:
        """A house on this cluster."""
        return self.keeper.house(self.cluster)

    def register(self, name: str, boot: str, *taints: dict[str, str]) -> Any:
        """Create a Node as its kubelet would, under a boot id."""
        self.core.create_node({"metadata": {"name": name}, "spec": {"taints": [*taints]}})
        self.made.append(name)
        return self.boots(name, boot)

    def boots(self, name: str, boot: str) -> Any:
        """Let the node's system be another boot."""
        info = {"machineID": f"machine-{name}", "systemUUID": f"uuid-{name}", "bootID": boot, "kernelVersion": "6.8"}
        rest = ("osImage", "containerRuntimeVersion", "kubeletVersion", "kubeProxyVersion")
        info.update(dict.fromkeys(rest, "test"), operatingSystem="linux", architecture="amd64")
        return self.core.patch_node_status(name, {"status": {"nodeInfo": info}})

    def bring(self, name: str, milestone: str) -> None:
        """Bring a node of the ledger, whose Node object runs boot-1 with the image's taint, to a milestone."""
        made = self.register(name, "boot-1", IMAGE_TAINT)
        bench = self.keeper.bench
        lease = bench.take(name)
        bench.bring(lease, "burned_in")
        proven = {"boot_id": "boot-1", "image": "i", "machine_id": f"machine-{name}", "node_uid": made.metadata.uid}
        bench.ledger.advance(lease, "provision", proven)
        if milestone != "provisioned":
            bench.bring(lease, "standby")
        if milestone == "in_service":
            bench.admit(lease, {"boot_id": "boot-1"})
        bench.ledger.release(lease, close=True)
        reconcile(self.house())

    def taints(self, name: str) -> set[str]:
        """The taints of a Node, without the node controller's."""
        spec = self.core.read_node(name).spec
        return {one.key for one in spec.taints or [] if not one.key.startswith("node.kubernetes.io/")}

    def told(self) -> list[str]:
        """Open notices about drift."""
        return self.keeper.notices("drift")


@pytest.fixture
def rack(keeper: Keeper, core: Any, kubeconfig: Path) -> Iterator[Rack]:
    """An empty rack, cleared at the end."""
    one = Rack(keeper, core, ClusterKubernetes(str(kubeconfig), namespace="default"), [])
    yield one
    there = {item.metadata.name for item in core.list_node().items}
    for name in set(one.made) & there:
        core.delete_node(name)


def test_a_move_whose_run_died_is_shown_and_the_condition_follows(rack: Rack) -> None:
    """Nobody told Kubernetes of admission: the taint goes, the label comes, the condition says in_service."""
    rack.bring("gpu-1", "in_service")
    assert rack.taints("gpu-1") == set()
    seen = rack.core.read_node("gpu-1")
    assert seen.metadata.labels[QUALIFIED] == "true"
    assert [c.reason for c in seen.status.conditions if c.type == "NodeworthyMilestone"] == ["InService"]
    assert rack.told() == []
    assert not any(one.pending for one in rack.keeper.bench.ledger.standings())


def test_an_agreeing_fleet_is_not_written(rack: Rack) -> None:
    """The second run finds nothing; the object's version stays."""
    rack.bring("gpu-1", "standby")
    before = rack.core.read_node("gpu-1").metadata.resource_version
    assert "no difference" in reconcile(rack.house())
    assert rack.core.read_node("gpu-1").metadata.resource_version == before


def test_a_removed_taint_comes_back_and_others_stay(rack: Rack) -> None:
    """Somebody replaced the list by their own taint."""
    rack.bring("gpu-1", "standby")
    rack.core.patch_node("gpu-1", {"spec": {"taints": [NOISY]}})
    reconcile(rack.house())
    assert rack.taints("gpu-1") == {STANDBY, "example.com/noisy"}
    assert "somebody changed taint nodeworthy.dev/standby" in rack.told()[0]
    reconcile(rack.house())
    assert rack.told() == []


def test_an_uncordon_is_undone_and_only_our_own_cordon_ever_is(rack: Rack) -> None:
    """Cordoned by us: restored. When the node leaves that milestone our cordon goes; a foreign one stays."""
    ledger = rack.keeper.bench.ledger
    for name in ("gpu-1", "gpu-2"):
        rack.bring(name, "in_service")
    rack.core.patch_node("gpu-2", {"spec": {"unschedulable": True}})
    for name in ("gpu-1", "gpu-2"):
        lease = rack.keeper.bench.take(name, run="run-2", kind="fault")
        ledger.advance(lease, "suspect", {"reason": "Xid 79"})
        ledger.advance(lease, "isolate", {"reason": "Xid 79"})
    reconcile(rack.house())
    assert all(rack.core.read_node(name).spec.unschedulable for name in ("gpu-1", "gpu-2"))
    rack.core.patch_node("gpu-1", {"spec": {"unschedulable": None}})
    reconcile(rack.house())
    assert rack.core.read_node("gpu-1").spec.unschedulable
    assert "the cordon" in rack.told()[0]
    for name in ("gpu-1", "gpu-2"):
        lease = rack.keeper.bench.take(name, run="run-2", kind="fault")
        ledger.record_approval(lease, plan_sha256="p" * 64, who="ada", answer="approve", why="agreed")
        ledger.advance(lease, "lose", {"reason": "silent"})
    reconcile(rack.house())
    assert not rack.core.read_node("gpu-1").spec.unschedulable
    assert rack.core.read_node("gpu-2").spec.unschedulable


def test_an_unexpected_boot_in_service_is_isolated_at_once(rack: Rack) -> None:
    """The kubelet came back under its old object, schedulable: suspect and tainted in the same run."""
    rack.bring("gpu-1", "in_service")
    rack.boots("gpu-1", "boot-2")
    reconcile(rack.house())
    assert rack.keeper.bench.milestone("gpu-1") == "suspect"
    assert rack.taints("gpu-1") == {UNQUALIFIED}
    assert QUALIFIED not in (rack.core.read_node("gpu-1").metadata.labels or {})
    assert "boot-2 where boot-1 was proven" in rack.told()[0]
    assert "no difference" in reconcile(rack.house())


def test_an_unexpected_boot_during_onboarding_leads_back(rack: Rack) -> None:
    """Nobody works on the node: its proof is void, it begins again behind its firmware."""
    rack.bring("gpu-1", "provisioned")
    rack.boots("gpu-1", "boot-2")
    reconcile(rack.house())
    assert rack.keeper.bench.milestone("gpu-1") == "firmware_current"
    assert rack.keeper.bench.ledger.qualifications("gpu-1") == ()


def test_a_recreated_object_of_the_same_boot_gets_its_milestone_back(rack: Rack) -> None:
    """Deleted and registered again with the image's taint: the same system is in service, and it is written down."""
    rack.bring("gpu-1", "in_service")
    rack.core.delete_node("gpu-1")
    rack.register("gpu-1", "boot-1", IMAGE_TAINT)
    reconcile(rack.house())
    assert rack.keeper.bench.milestone("gpu-1") == "in_service"
    assert rack.taints("gpu-1") == set()
    assert "deleted and made anew" in rack.told()[0]
    assert "no difference" in reconcile(rack.house())


def test_a_deleted_object_loses_the_node(rack: Rack) -> None:
    """In service without a Node is unreachable."""
    rack.bring("gpu-1", "in_service")
    rack.core.delete_node("gpu-1")
    reconcile(rack.house())
    assert rack.keeper.bench.milestone("gpu-1") == "unreachable"


def test_a_renamed_node_is_known_and_isolated(rack: Rack) -> None:
    """The spare came back under another name without its taint: it gets it, and the manifest is a person's."""
    rack.bring("gpu-1", "standby")
    rack.core.delete_node("gpu-1")
    rack.register("gpu-new", "boot-1")
    reconcile(rack.house())
    assert rack.taints("gpu-new") == {STANDBY}
    assert "runs in Kubernetes as gpu-new" in rack.told()[0]
    assert rack.keeper.bench.milestone("gpu-1") == "standby"


def test_a_foreign_taint_in_service_is_kept_and_told(rack: Rack) -> None:
    """Theirs to take off; told as long as it is there."""
    rack.bring("gpu-1", "in_service")
    rack.core.patch_node("gpu-1", {"spec": {"taints": [NOISY]}})
    for _ in range(2):
        reconcile(rack.house())
    assert rack.taints("gpu-1") == {"example.com/noisy"}
    assert len(rack.told()) == 1


def test_an_overtaken_delivery_is_refused_by_the_node(rack: Rack) -> None:
    """A process that woke up late shows what it read before the node became suspect: the move's number keeps it out."""
    rack.bring("gpu-1", "in_service")
    ledger = rack.keeper.bench.ledger
    late = ledger.due("gpu-1")
    assert late is not None
    rack.boots("gpu-1", "boot-2")
    reconcile(rack.house())
    with pytest.raises(Refused, match="written for"):
        rack.cluster.follow("gpu-1", rack.house().work.library.lifecycle().projection("in_service"), late)
    assert rack.taints("gpu-1") == {UNQUALIFIED}


def test_a_wrong_cluster_is_not_believed(rack: Rack) -> None:
    """None of five known nodes is there: one notice, and no node is given up."""
    for number in range(5):
        rack.keeper.bench.ledger.import_fleet([node(f"far-{number}")])
        lease = rack.keeper.bench.take(f"far-{number}")
        rack.keeper.bench.bring(lease, "standby")
        rack.keeper.bench.ledger.release(lease, close=True)
    reconcile(rack.house())
    assert {rack.keeper.bench.milestone(f"far-{number}") for number in range(5)} == {"standby"}
    assert rack.told() == [
        "Kubernetes shows 5 of 5 known nodes no longer: nothing was done about them; check that the connection "
        "kubernetes_default leads to the right cluster."
    ]


def test_a_run_stops_at_its_number_of_writes_and_the_next_goes_on(rack: Rack) -> None:
    """Two spares lost their taints and the rules allow one write: red, and told what is left."""
    for name in ("gpu-1", "gpu-2"):
        rack.bring(name, "standby")
    for name in ("gpu-1", "gpu-2"):
        rack.core.patch_node(name, {"spec": {"taints": None}})
    rack.keeper.rules = replace(rack.keeper.rules, writes_per_run=1)
    with pytest.raises(Transient, match=r"Left for the next run: 1, the first is gpu-2 \(isolation-undone\)"):
        reconcile(rack.house())
    reconcile(rack.house())
    assert rack.taints("gpu-1") == rack.taints("gpu-2") == {STANDBY}
