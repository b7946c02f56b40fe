"""Nodes of the lab: registration, readiness, silence, loss, and who may be placed on them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.kubernetes.harness import Lab, raw_client, ready_nodes, sleeper, wait_for
from tests.contract.kubernetes.small_world import Image
from tests.contract.kubernetes.test_objects import MERGE
from tests.contract.kubernetes.test_pods import run

NODES = "/api/v1/nodes"


def taint_keys(raw: httpx.Client, name: str) -> set[str]:
    """The keys of a node's taints."""
    return {item["key"] for item in raw.get(f"{NODES}/{name}").json()["spec"].get("taints") or []}


def ready(raw: httpx.Client, name: str) -> tuple[str, str]:
    """Status and reason of the condition Ready."""
    conditions = raw.get(f"{NODES}/{name}").json()["status"]["conditions"]
    return next((item["status"], item["reason"]) for item in conditions if item["type"] == "Ready")


def boot_id_of(raw: httpx.Client, name: str) -> str:
    """The boot id that the node shows; empty when there is no node."""
    answer = raw.get(f"{NODES}/{name}")
    return str(answer.json()["status"]["nodeInfo"]["bootID"]) if answer.status_code == 200 else ""


@pytest.fixture
def lab(lab_only: Lab, raw: httpx.Client) -> Iterator[Lab]:
    """The lab with all machines up; whatever a test does to node-b and node-c is repaired afterwards."""
    yield lab_only
    lab_only.world.faults.clear()
    boots = lab_only.call(lambda: {name: lab_only.world.up(name) for name in ("node-b", "node-c")})
    wait_for(lambda: all(boot_id_of(raw, name) == boot_id for name, boot_id in boots.items()))
    wait_for(lambda: all(ready(raw, name)[0] == "True" for name in ("node-b", "node-c")))


def test_a_registered_node_shows_its_machine(raw: httpx.Client, lab: Lab) -> None:
    """Labels, taint of the image, identity of the boot, GPUs, and a lease with microseconds."""
    node = raw.get(f"{NODES}/node-b").json()
    assert node["metadata"]["labels"]["nodeworthy.dev/image"] == "validation-2026.11"
    assert {"key": "nodeworthy.dev/unqualified", "effect": "NoSchedule"} in node["spec"]["taints"]
    assert node["status"]["capacity"]["nvidia.com/gpu"] == "8"
    assert node["status"]["nodeInfo"]["systemUUID"]
    lease = raw.get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-b").json()
    assert len(lease["spec"]["renewTime"]) == len("2026-01-01T00:00:00.000000Z")


def test_cordon_taints_and_uncordon_frees(raw: httpx.Client, node: str) -> None:
    """The controller adds node.kubernetes.io/unschedulable with a time, and removes it again."""
    raw.patch(f"{NODES}/{node}", headers=MERGE, json={"spec": {"unschedulable": True}})
    wait_for(lambda: "node.kubernetes.io/unschedulable" in taint_keys(raw, node))
    taints = raw.get(f"{NODES}/{node}").json()["spec"]["taints"]
    assert next(item for item in taints if item["key"].endswith("unschedulable"))["timeAdded"]
    raw.patch(f"{NODES}/{node}", headers=MERGE, json={"spec": {"unschedulable": None}})
    wait_for(lambda: "node.kubernetes.io/unschedulable" not in taint_keys(raw, node))


def test_a_new_node_is_tainted_until_it_is_ready(raw: httpx.Client, node: str) -> None:
    """not-ready from creation on, gone shortly after Ready=True."""
    assert taint_keys(raw, node) == {"node.kubernetes.io/not-ready"}
    status = {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "r", "message": "m"}]}}
    raw.patch(f"{NODES}/{node}/status", headers=MERGE, json=status)
    wait_for(lambda: not taint_keys(raw, node))


def test_a_reboot_updates_the_node_in_place(raw: httpx.Client, lab: Lab) -> None:
    """A new boot id and system, the same uid; taints and labels of the image count at creation only."""
    before = raw.get(f"{NODES}/node-b").json()
    raw.patch(f"{NODES}/node-b", headers=MERGE, json={"spec": {"taints": None}})
    boot_id = lab.call(lambda: lab.world.up("node-b", Image(name="service-2026.11", kernel="6.9.0")))
    wait_for(lambda: raw.get(f"{NODES}/node-b").json()["status"]["nodeInfo"]["bootID"] == boot_id)
    after = raw.get(f"{NODES}/node-b").json()
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert "nodeworthy.dev/unqualified" not in taint_keys(raw, "node-b")
    assert after["status"]["nodeInfo"]["kernelVersion"] == "6.9.0"
    assert after["metadata"]["labels"]["nodeworthy.dev/image"] == before["metadata"]["labels"]["nodeworthy.dev/image"]
    raw.patch(f"{NODES}/node-b", headers=MERGE, json={"spec": {"taints": before["spec"]["taints"]}})


def test_a_deleted_node_comes_back_only_with_the_next_boot(raw: httpx.Client, lab: Lab) -> None:
    """A running kubelet does not register again; the next boot creates a node with a new uid and the taint at once."""
    before = raw.get(f"{NODES}/node-b").json()["metadata"]["uid"]
    raw.delete(f"{NODES}/node-b")
    time.sleep(1.2)
    assert raw.get(f"{NODES}/node-b").status_code == 404
    lab.call(lambda: lab.world.up("node-b", Image(name="service-2026.11")))
    node = wait_for(lambda: (answer := raw.get(f"{NODES}/node-b")).status_code == 200 and answer.json())
    assert node["metadata"]["uid"] != before
    assert node["metadata"]["labels"]["nodeworthy.dev/image"] == "service-2026.11"
    kinds = [effect[0] for effect in lab.world.effects if effect[1] == "node-b"]
    assert "node-delete" in kinds


def test_a_silent_kubelet_becomes_unknown(raw: httpx.Client, lab: Lab) -> None:
    """Ready=Unknown with both unreachable taints; a heartbeat later all is well again."""
    lab.world.faults["node-c"] = ("kubelet-silent",)
    wait_for(lambda: ready(raw, "node-c") == ("Unknown", "NodeStatusUnknown"), 20)
    wait_for(lambda: "node.kubernetes.io/unreachable" in taint_keys(raw, "node-c"))
    taints = raw.get(f"{NODES}/node-c").json()["spec"]["taints"]
    effects = {item["effect"] for item in taints if item["key"] == "node.kubernetes.io/unreachable"}
    assert effects == {"NoSchedule", "NoExecute"}
    lab.world.faults.clear()
    wait_for(lambda: ready(raw, "node-c")[0] == "True")
    wait_for(lambda: "node.kubernetes.io/unreachable" not in taint_keys(raw, "node-c"))


def test_a_dead_machine_takes_its_pods_with_it(core: Any, raw: httpx.Client, namespace: str, lab: Lab) -> None:
    """The API still says Running and log is a server error; after the boot the pod has failed."""
    name = run(core, namespace, sleeper("doomed", nodeSelector={"kubernetes.io/hostname": "node-c"}))
    lab.call(lambda: lab.world.down("node-c"))
    assert core.read_namespaced_pod(name, namespace).status.phase == "Running"
    assert raw.get(f"/api/v1/namespaces/{namespace}/pods/{name}/log").status_code == 500
    lab.call(lambda: lab.world.up("node-c"))
    wait_for(lambda: core.read_namespaced_pod(name, namespace).status.phase == "Failed")
    state = core.read_namespaced_pod(name, namespace).status.container_statuses[0].state.terminated
    assert (state.exit_code, state.reason) == (255, "Unknown")


def test_no_execute_removes_pods(core: Any, raw: httpx.Client, namespace: str, lab: Lab) -> None:
    """Pods that do not tolerate the taint go at once, with the condition DisruptionTarget on the way."""
    tolerations = [{"key": "nodeworthy.dev/unqualified", "operator": "Exists"}]
    select = {"kubernetes.io/hostname": "node-c"}
    command = "trap 'sleep 0.5; exit 0' TERM; while true; do sleep 0.1; done"
    name = run(core, namespace, sleeper("leaving", command, nodeSelector=select, tolerations=tolerations))
    old = raw.get(f"{NODES}/node-c").json()["spec"]["taints"]
    taints = [*old, {"key": "broken", "effect": "NoExecute"}]
    raw.patch(f"{NODES}/node-c", headers=MERGE, json={"spec": {"taints": taints}})
    pod = wait_for(lambda: (found := core.read_namespaced_pod(name, namespace)).metadata.deletion_timestamp and found)
    assert [item.reason for item in pod.status.conditions if item.type == "DisruptionTarget"] == [
        "DeletionByTaintManager"
    ]
    raw.patch(f"{NODES}/node-c", headers=MERGE, json={"spec": {"taints": old}})
    wait_for(lambda: raw.get(f"/api/v1/namespaces/{namespace}/pods/{name}").status_code == 404)


def test_pods_of_a_deleted_node_are_collected(core: Any, raw: httpx.Client, namespace: str, lab: Lab) -> None:
    """About forty lab seconds after the node."""
    run(core, namespace, sleeper("orphan", nodeSelector={"kubernetes.io/hostname": "node-c"}))
    lab.call(lambda: lab.world.down("node-c"))
    raw.delete(f"{NODES}/node-c")
    wait_for(lambda: raw.get(f"/api/v1/namespaces/{namespace}/pods/orphan").status_code == 404)


def test_affinity_and_taints_place_pods(core: Any, namespace: str, lab: Lab) -> None:
    """Required node affinity pins; a pod that tolerates nothing stays pending with the scheduler's words."""
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-b"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    name = run(core, namespace, sleeper("pinned", affinity={"nodeAffinity": required}))
    assert core.read_namespaced_pod(name, namespace).spec.node_name == "node-b"
    core.create_namespaced_pod(namespace, sleeper("plain", tolerations=[]))
    message = wait_for(lambda: core.read_namespaced_pod("plain", namespace).status.conditions)[0].message
    assert "3 node(s) had untolerated taint {nodeworthy.dev/unqualified: }" in message


def test_the_customer_probe_reports_every_admission(tmp_path: Path) -> None:
    """It never runs on a tainted node; once the taints go it is placed exactly once per change."""
    from kubernetes import client, config

    lab = Lab(tmp_path, customer_probe=True)
    try:
        core = client.CoreV1Api(config.new_client_from_config(str(tmp_path / "kubeconfig")))
        wait_for(lambda: ready_nodes(core) == 3)
        time.sleep(1.5)

        def placed() -> list[str]:
            return [effect[1] for effect in lab.world.effects if effect[0] == "customer-pod-scheduled"]

        assert placed() == []
        with raw_client(tmp_path / "kubeconfig") as raw:
            raw.patch(f"{NODES}/node-a", headers=MERGE, json={"spec": {"taints": None}})
        wait_for(lambda: placed() == ["node-a"])
        time.sleep(1.5)
        assert placed() == ["node-a"]

        def blink() -> None:
            cluster = lab.handle.cluster
            old = cluster.store.get(("", "nodes"), "", "node-b")["spec"]["taints"]
            states: tuple[list[Any], ...] = ([], old)
            for taints in states:
                cluster.registry.mutate(
                    cluster.nodes, "", "node-b", lambda node, t=taints: {**node, "spec": {"taints": t}}
                )

        wait_for(lambda: core.list_namespaced_pod("customers", field_selector="status.phase=Pending").items)
        lab.call(blink)
        wait_for(lambda: placed() == ["node-a", "node-b"])
        wait_for(lambda: len(core.list_namespaced_pod("customers").items) == 1)
    finally:
        lab.close()


def test_a_jump_of_the_clock_makes_nobody_silent(raw: httpx.Client, lab: Lab) -> None:
    """Two days ahead in one step: the nodes stay ready and it costs little time."""
    started = time.monotonic()
    lab.call(lambda: lab.world.clock.advance(timedelta(days=2)))
    assert time.monotonic() - started < 5
    assert ready(raw, "node-b")[0] == "True"
