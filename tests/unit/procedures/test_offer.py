"""Before a node serves, Kubernetes must say of it what its SKU and its pool say; each difference is one sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from nodeworthy.errors import Refused
from nodeworthy.ports import Agent, ClusterNode, Device, Taint
from nodeworthy.procedures.admit import admit

from tests.doubles.bench import Bench, library
from tests.unit.procedures.test_crashes import in_standby

PLUGIN = {"namespace": "gpu-operator", "selector": "app=nvidia-device-plugin-daemonset"}
GPUS = tuple(Device(f"gpu-{number}") for number in range(8))
GOOD = {
    "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
    "nvidia.com/gpu.count": "8",
    "nvidia.com/gpu.memory": "81559",
}


class Library:
    """The shipped library with a `cluster` section in every policy."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self._asked = asked

    def policy(self, pool: str) -> Any:
        """Return the shipped policy with the section."""
        return {**library().policy(pool), "cluster": self._asked}

    def __getattr__(self, name: str) -> Any:
        return getattr(library(), name)


class Neighbours:
    """The bench's cluster with other nodes beside its own."""

    def __init__(self, cluster: Any, *others: ClusterNode) -> None:
        self._cluster, self._others = cluster, others

    def nodes(self) -> tuple[ClusterNode, ...]:
        """Return all nodes."""
        return (*self._cluster.nodes(), *self._others)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)


def standby(asked: dict[str, Any], **shown: Any) -> Bench:
    """Return a proven spare of a pool that asks this, whose Node shows that."""
    one = in_standby()
    assert one.machine.node is not None
    labels = {**one.machine.node.labels, **shown.pop("labels", {})}
    one.machine.node = replace(one.machine.node, gpus=8, labels=labels, **shown)
    one.work = replace(one.work, library=Library(asked))
    return one


def refused(one: Bench) -> str:
    """Return why the node is not admitted; it stays as it was."""
    with pytest.raises(Refused) as error:
        one.run(admit)
    assert one.ledger.nodes(["gpu-a01"])[0].milestone == "standby"
    return str(error.value)


def test_what_is_not_asked_is_said_to_be_not_compared() -> None:
    """A pool whose policy names nothing admits, and the log says what nobody compared."""
    one = standby({}, kubelet="v1.34.2", runtime="containerd://1.7.27", os="Ubuntu 24.04.3 LTS")
    one.run(admit)
    (line,) = [line for line in one.said if "not compared: kubelet" in line]
    assert "kubelet v1.34.2, container runtime containerd://1.7.27" in line


@pytest.mark.parametrize(
    ("key", "shown", "name"),
    [("kubelet", "kubelet", "kubelet"), ("runtime", "runtime", "container runtime"), ("os", "os", "operating system")],
)
def test_a_version_that_the_pool_does_not_allow_is_refused(key: str, shown: str, name: str) -> None:
    """It says what runs and what is allowed; one that is told nothing of is refused too; an allowed one is admitted."""
    asked = {key: ["good", "better"]}
    assert f"runs {name} bad where the policy of its pool allows better, good" in refused(
        standby(asked, **{shown: "bad"})
    )
    assert f"{name} of an unknown version" in refused(standby(asked, **{shown: ""}))
    standby(asked, **{shown: "better"}).run(admit)


def beside(one: Bench, kernel: str, milestone: str) -> Bench:
    """Put a second node of the pool beside the spare."""
    assert one.machine.node is not None
    other = replace(one.machine.node, name="gpu-a02", kernel=kernel)
    record = one.ledger.nodes(["gpu-a01"])[0]
    node = replace(record.node, name="gpu-a02", serial="other")
    one.ledger.import_fleet([node])
    one.ledger.put("gpu-a02", milestone)
    one.work = replace(one.work, cluster=Neighbours(one.work.cluster, other))
    return one


def test_a_kernel_must_be_one_that_the_pool_serves_with() -> None:
    """Only nodes in service count; where none serves there is nothing to be equal to, and the log says so."""
    asked = {"kernel": "as-in-service"}
    assert "runs kernel 6.8 where its pool's nodes in service have 6.14" in refused(
        beside(standby(asked), "6.14", "in_service")
    )
    beside(standby(asked), "6.8", "in_service").run(admit)
    alone = beside(standby(asked), "6.14", "standby")
    alone.run(admit)
    assert any("there is no version to be equal to" in line for line in alone.said)


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"),
        ("nvidia.com/gpu.count", "7"),
        ("nvidia.com/gpu.memory", "40960"),
    ],
)
def test_a_label_of_feature_discovery_must_be_what_the_sku_has(label: str, value: str) -> None:
    """Work is placed by these labels: a partition, a lost GPU or another model is refused by its label."""
    assert f"{label}={value}" in refused(standby({}, labels={**GOOD, label: value}))
    standby({}, labels=GOOD).run(admit)


def test_labels_that_the_pool_asks_for_must_be_there() -> None:
    """Without them a scheduler places nothing."""
    assert "nvidia.com/gpu.product=(none)" in refused(standby({"discovery": True}))
    standby({"discovery": True}, labels=GOOD).run(admit)


def test_the_device_plugins_pod_must_be_ready() -> None:
    """No pod, and one that is not Ready, are told apart."""
    one = standby({"device_plugin": PLUGIN})
    assert "no pod of app=nvidia-device-plugin-daemonset in gpu-operator" in refused(one)
    one.machine.agents = (Agent("plugin-x", False),)
    assert "pod plugin-x is not Ready" in refused(one)
    one.machine.agents = (Agent("plugin-x", True),)
    one.run(admit)


def test_devices_of_dynamic_allocation_must_be_whole_and_untainted() -> None:
    """All eight; a taint that repels work is told with its device, one without effect is no hindrance."""
    one = standby({"devices": {"driver": "gpu.nvidia.com"}})
    one.machine.devices = GPUS[:7]
    assert "has 7 devices of driver gpu.nvidia.com in its ResourceSlices where SKU h100-sxm-8 has 8 GPUs" in refused(
        one
    )
    one.machine.devices = (*GPUS[:7], Device("gpu-7", (Taint("xid", "NoExecute", "79"),)))
    assert "devices that repel work: gpu-7 (xid)" in refused(one)
    one.machine.devices = (*GPUS[:7], Device("gpu-7", (Taint("note", "None", ""),)))
    one.run(admit)
