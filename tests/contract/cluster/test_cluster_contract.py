"""What the Kubernetes adapter promises, against the lab's API or a real cluster's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nodeworthy.adapters.cluster_kubernetes import ClusterKubernetes
from nodeworthy.errors import Permanent, Refused, Transient
from nodeworthy.ports import Agent, Device, Taint

from tests.contract.kubernetes.harness import sleeper, wait_for

UNQUALIFIED = Taint("nodeworthy.dev/unqualified", "NoSchedule")
STANDBY = Taint("nodeworthy.dev/standby", "NoSchedule")
OTHER = {"key": "example.com/noisy", "effect": "NoSchedule"}
LABEL = "nodeworthy.node-restriction.kubernetes.io/qualified"


@pytest.fixture
def cluster(kubeconfig: Path, core: Any, namespace: str) -> ClusterKubernetes:
    """The adapter, by kubeconfig."""
    return ClusterKubernetes(str(kubeconfig), namespace=namespace)


@pytest.fixture
def scratch(core: Any) -> Iterator[str]:
    """A Node object without a kubelet, which a test may do anything to."""
    core.create_node({"metadata": {"name": "scratch"}, "spec": {"taints": [OTHER]}})
    yield "scratch"
    if any(node.metadata.name == "scratch" for node in core.list_node().items):
        core.delete_node("scratch")


def keys(cluster: ClusterKubernetes, name: str) -> set[str]:
    """The taints that a node carries, without those of the node controller."""
    node = cluster.node(name)
    assert node is not None
    return {taint.key for taint in node.taints if not taint.key.startswith("node.kubernetes.io/")}


def test_a_node_that_does_not_exist_is_none(cluster: ClusterKubernetes) -> None:
    """Absence is an answer."""
    assert cluster.node("no-such-node") is None


def test_a_ready_node_shows_its_identity(cluster: ClusterKubernetes, core: Any) -> None:
    """Boot id, machine id and uid come from the kubelet and the API."""
    name = core.list_node().items[0].metadata.name
    wait_for(lambda: cluster.node(name).ready)  # type: ignore[union-attr]
    node = cluster.node(name)
    assert node is not None
    assert node.boot_id
    assert node.machine_id
    assert node.uid


def test_a_projection_swaps_our_taints_and_keeps_others(cluster: ClusterKubernetes, scratch: str) -> None:
    """Ours are exactly what was asked for; another actor's stays."""
    cluster.project(scratch, taints=[UNQUALIFIED], labels={LABEL: "true"}, episode=1)
    assert keys(cluster, scratch) == {"example.com/noisy", UNQUALIFIED.key}
    cluster.project(scratch, taints=[STANDBY], labels={LABEL: None}, episode=1)
    assert keys(cluster, scratch) == {"example.com/noisy", STANDBY.key}
    node = cluster.node(scratch)
    assert node is not None
    assert LABEL not in node.labels
    assert node.annotations["nodeworthy.dev/episode"] == "1"


def test_the_same_projection_again_writes_nothing(cluster: ClusterKubernetes, scratch: str) -> None:
    """A repeated call leaves the resource version alone."""
    cluster.project(scratch, taints=[STANDBY], labels={}, episode=1)
    before = cluster.node(scratch)
    cluster.project(scratch, taints=[STANDBY], labels={}, episode=1)
    assert cluster.node(scratch) == before


def test_a_writer_of_an_older_episode_is_refused(cluster: ClusterKubernetes, scratch: str) -> None:
    """The annotation fences: a process that woke up late changes nothing."""
    cluster.project(scratch, taints=[STANDBY], labels={}, episode=5)
    with pytest.raises(Refused, match="written for episode 5 and this is episode 4"):
        cluster.project(scratch, taints=[], labels={}, episode=4)
    assert STANDBY.key in keys(cluster, scratch)


def test_somebody_elses_write_in_between_is_kept(cluster: ClusterKubernetes, core: Any, scratch: str) -> None:
    """A conflict is read anew and written again, with the other's taint in it."""
    read = cluster._read
    raced: list[str] = []

    def slow(name: str) -> Any:
        document = read(name)
        if not raced:
            raced.append(name)
            core.patch_node(name, {"spec": {"taints": [OTHER, {"key": "example.com/late", "effect": "NoSchedule"}]}})
        return document

    cluster._read = slow  # type: ignore[method-assign]
    cluster.project(scratch, taints=[UNQUALIFIED], labels={}, episode=1)
    assert keys(cluster, scratch) == {"example.com/noisy", "example.com/late", UNQUALIFIED.key}


def test_a_missing_node_cannot_be_projected(cluster: ClusterKubernetes) -> None:
    """There is nothing to put a taint on."""
    with pytest.raises(Permanent, match="does not exist"):
        cluster.project("no-such-node", taints=[STANDBY], labels={}, episode=1)


def test_deletion_is_by_uid(cluster: ClusterKubernetes, scratch: str) -> None:
    """Another uid deletes nothing; the right one does, and again is success."""
    node = cluster.node(scratch)
    assert node is not None
    cluster.delete_node(scratch, uid="00000000-0000-0000-0000-000000000000")
    assert cluster.node(scratch) is not None
    cluster.delete_node(scratch, uid=node.uid)
    assert cluster.node(scratch) is None
    cluster.delete_node(scratch, uid=node.uid)


def test_a_pods_images_are_told_by_digest(cluster: ClusterKubernetes, core: Any, namespace: str) -> None:
    """Each container's image as its runtime names it; a pod that is not there has none."""
    core.create_namespaced_pod(namespace, sleeper("holder", "sleep 60"))
    wait_for(lambda: core.read_namespaced_pod("holder", namespace).status.phase == "Running")
    container = core.read_namespaced_pod("holder", namespace).spec.containers[0].name
    (image,) = cluster.images("holder").items()
    assert image[0] == container
    assert re.search(r"sha256:[0-9a-f]{64}$", image[1])
    assert cluster.images("no-such-pod") == {}


def test_pods_that_serve_a_node_are_found_by_their_label(cluster: ClusterKubernetes, core: Any, namespace: str) -> None:
    """A running pod is Ready; another node, another label and a namespace that is not there have none."""
    core.create_namespaced_pod(namespace, sleeper("plugin", "sleep 60"))
    wait_for(lambda: core.read_namespaced_pod("plugin", namespace).status.phase == "Running")
    node = core.read_namespaced_pod("plugin", namespace).spec.node_name
    wait_for(lambda: cluster.agents(node, namespace=namespace, selector="app=plugin") == (Agent("plugin", True),))
    assert cluster.agents("no-such-node", namespace=namespace, selector="app=plugin") == ()
    assert cluster.agents(node, namespace=namespace, selector="app=other") == ()
    assert cluster.agents(node, namespace="no-such-namespace", selector="app=plugin") == ()


def test_devices_are_those_of_the_newest_slices(cluster: ClusterKubernetes, core: Any) -> None:
    """Two slices of generation 2 replace one of generation 1; a taint of a device is told."""
    from kubernetes.client import ResourceV1Api

    api = ResourceV1Api(core.api_client)
    bad = {"key": "gpu.nvidia.com/xid", "value": "79", "effect": "NoExecute"}
    slices = {
        "old": (1, [{"name": "gpu-9"}]),
        "one": (2, [{"name": "gpu-0"}]),
        "two": (2, [{"name": "gpu-1", "taints": [bad]}]),
    }
    for name, (generation, devices) in slices.items():
        pool = {"name": "n", "generation": generation, "resourceSliceCount": 2}
        spec = {"nodeName": "n", "driver": "gpu.nvidia.com", "pool": pool, "devices": devices}
        api.create_resource_slice({"metadata": {"name": f"slice-{name}"}, "spec": spec})
    try:
        taint = Taint("gpu.nvidia.com/xid", "NoExecute", "79")
        assert cluster.devices("n", driver="gpu.nvidia.com") == (Device("gpu-0"), Device("gpu-1", (taint,)))
        assert cluster.devices("n", driver="other") == cluster.devices("m", driver="gpu.nvidia.com") == ()
    finally:
        for name in slices:
            api.delete_resource_slice(f"slice-{name}", _preload_content=False)  # it answers with a Status


def test_a_file_comes_out_of_a_pod_byte_for_byte(cluster: ClusterKubernetes, core: Any, namespace: str) -> None:
    """Bytes that are no text, and more than one frame of them."""
    make = "i=0; while [ $i -lt 4000 ]; do printf '\\000\\377\\n\\200abc'; i=$((i+1)); done > /tmp/file; sleep 60"
    core.create_namespaced_pod(namespace, sleeper("holder", make))
    wait_for(lambda: core.read_namespaced_pod("holder", namespace).status.phase == "Running")
    container = core.read_namespaced_pod("holder", namespace).spec.containers[0].name
    whole = b"\x00\xff\n\x80abc" * 4000

    def complete() -> bool:
        try:
            return cluster.read_file("holder", container, "/tmp/file", limit_bytes=100_000) == whole
        except (Permanent, Transient):
            return False

    wait_for(complete)
    with pytest.raises(Permanent, match="holds 28000 bytes and at most 1000 are taken in"):
        cluster.read_file("holder", container, "/tmp/file", limit_bytes=1000)
    with pytest.raises(Permanent, match="exit code"):
        cluster.read_file("holder", container, "/tmp/none", limit_bytes=1000)


def test_an_api_that_is_not_there_is_transient(tmp_path: Path) -> None:
    """A dead API server is no verdict on a node."""
    config = tmp_path / "kubeconfig"
    config.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
        "clusters: [{name: k, cluster: {server: 'https://127.0.0.1:9'}}]\nusers: [{name: u, user: {token: t}}]\n"
    )
    with pytest.raises(Transient, match="no answer from the Kubernetes API"):
        ClusterKubernetes(str(config), namespace="x").node("a")


def test_a_missing_kubeconfig_is_one_sentence(tmp_path: Path) -> None:
    """The operator learns which file."""
    with pytest.raises(Permanent, match=r"none\.yaml"):
        ClusterKubernetes(str(tmp_path / "none.yaml"), namespace="x").node("a")
