"""The real kubectl, with nothing but a kubeconfig."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.kubernetes.harness import Lab, sleeper, wait_for
from tests.contract.kubernetes.test_pods import run

KUBECTL = shutil.which("kubectl")
pytestmark = pytest.mark.skipif(KUBECTL is None, reason="kubectl is not on PATH")
Kubectl = Callable[..., str]


@pytest.fixture
def kubectl(kubeconfig: Path, core: Any, tmp_path: Path, namespace: str) -> Kubectl:
    """Run kubectl in the test's namespace; fails with its error output."""
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(tmp_path)}

    def call(*words: str, stdin: str | None = None, code: int = 0) -> str:
        command = [str(KUBECTL), "--namespace", namespace, *words]
        done = subprocess.run(
            command, env=environment, input=stdin, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr if code else done.stdout

    return call


@pytest.fixture
def worker(lab_only: Lab, kubectl: Kubectl) -> Iterator[str]:
    """A node that is uncordoned afterwards."""
    yield "node-a"
    kubectl("uncordon", "node-a")


def test_get_shows_tables_and_documents(kubectl: Kubectl, core: Any, namespace: str) -> None:
    """Plain, wide, JSON, YAML, jsonpath and names."""
    run(core, namespace, sleeper("shown"))
    assert kubectl("get", "pods").split()[:5] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert "1/1" in kubectl("get", "pods", "-o", "wide")
    assert "Ready" in kubectl("get", "nodes")
    assert "KERNEL-VERSION" in kubectl("get", "nodes", "-o", "wide")
    assert json.loads(kubectl("get", "pod", "shown", "-o", "json"))["metadata"]["name"] == "shown"
    assert "phase: Running" in kubectl("get", "pod", "shown", "-o", "yaml")
    assert kubectl("get", "pod", "shown", "-o", "jsonpath={.status.phase}") == "Running"
    assert kubectl("get", "pods", "-l", "app=shown", "-o", "name") == "pod/shown\n"
    assert "shown" in kubectl("describe", "pod", "shown")
    kubectl("wait", "--for=condition=Ready", "pod/shown", "--timeout=10s")


def test_describe_node(kubectl: Kubectl, worker: str) -> None:
    """Taints, lease, capacity and system information are there."""
    text = kubectl("describe", "node", worker)
    for part in ("Taints:", "HolderIdentity:", "nvidia.com/gpu:", "Boot ID:", "KubeletReady", "Non-terminated Pods"):
        assert part in text


def test_nodes_are_marked(kubectl: Kubectl, worker: str) -> None:
    """cordon, uncordon, taint, label, annotate and back."""
    kubectl("cordon", worker)
    assert "SchedulingDisabled" in kubectl("get", "node", worker)
    kubectl("uncordon", worker)
    kubectl("taint", "node", worker, "a=b:NoSchedule")
    kubectl("taint", "node", worker, "a-")
    kubectl("label", "node", worker, "x=y")
    assert kubectl("get", "nodes", "-l", "x=y", "-o", "name") == f"node/{worker}\n"
    kubectl("label", "node", worker, "x-")
    kubectl("annotate", "node", worker, "note=hello", "--overwrite")


def test_drain_evicts(kubectl: Kubectl, core: Any, namespace: str, worker: str) -> None:
    """A bare pod needs --force; afterwards the node is cordoned and the pod is gone."""
    run(
        core,
        namespace,
        sleeper("moving", nodeSelector={"kubernetes.io/hostname": worker}, terminationGracePeriodSeconds=1),
    )
    assert "cannot delete" in kubectl("drain", worker, "--timeout=5s", code=1)
    assert "drained" in kubectl("drain", worker, "--force", "--timeout=30s")
    assert kubectl("get", "pods", "-o", "name") == ""


def test_drain_waits_for_a_budget(kubectl: Kubectl, core: Any, namespace: str, worker: str) -> None:
    """kubectl retries the 429 until its own time-out."""
    run(core, namespace, sleeper("guarded", nodeSelector={"kubernetes.io/hostname": worker}))
    kubectl("create", "pdb", "guard", "--selector=app=guarded", "--min-available=1")
    wait_for(lambda: kubectl("get", "pdb", "guard", "-o", "jsonpath={.status.observedGeneration}") == "1")
    text = kubectl("drain", worker, "--force", "--timeout=2s", code=1)
    assert "Cannot evict pod as it would violate the pod's disruption budget" in text


def test_logs_and_exec(kubectl: Kubectl, core: Any, namespace: str) -> None:
    """logs, logs -f, exec with output, input and exit code."""
    run(core, namespace, sleeper("talk", "echo hello; sleep 1; echo bye; sleep 60"))
    assert kubectl("logs", "talk").startswith("hello\n")
    assert kubectl("exec", "talk", "--", "echo", "inside") == "inside\n"
    assert kubectl("exec", "-i", "talk", "--", "cat", stdin="through\n") == "through\n"
    assert "exit code 3" in kubectl("exec", "talk", "--", "sh", "-c", "exit 3", code=3)
    core.create_namespaced_pod(namespace, sleeper("brief", "for i in 1 2 3; do echo $i; sleep 0.2; done"))
    kubectl("wait", "--for=jsonpath={.status.phase}=Running", "pod/brief", "--timeout=10s")
    assert kubectl("logs", "-f", "brief") == "1\n2\n3\n"


def test_large_input_reaches_the_command(kubectl: Kubectl, core: Any, namespace: str) -> None:
    """More than a pipe holds goes through exec, in order."""
    run(core, namespace, sleeper("sink"))
    text = "".join(f"line {number}\n" for number in range(40_000))
    assert kubectl("exec", "-i", "sink", "--", "wc", "-c", stdin=text).strip() == str(len(text))


MANIFEST = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: "1"}
---
apiVersion: v1
kind: Pod
metadata: {name: applied, labels: {app: applied}}
spec:
  tolerations: [{operator: Exists}]
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: alpine, command: [sleep, "60"]}]
"""


def test_apply_create_and_delete(kubectl: Kubectl, namespace: str) -> None:
    """Client-side and server-side apply, create, delete."""
    assert "pod/applied created" in kubectl("apply", "-f", "-", stdin=MANIFEST)
    assert "pod/applied unchanged" in kubectl("apply", "-f", "-", stdin=MANIFEST)
    assert "configmap/settings configured" in kubectl("apply", "-f", "-", stdin=MANIFEST.replace('"1"', '"2"'))
    assert "serverside-applied" in kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=MANIFEST)
    assert "unknown field" in kubectl(
        "apply", "-f", "-", stdin=MANIFEST.replace("spec:", "spec:\n  nonsense: 1"), code=1
    )
    kubectl("create", "configmap", "made", "--from-literal=a=b")
    assert kubectl("get", "cm", "made", "-o", "jsonpath={.data.a}") == "b"
    assert "deleted" in kubectl("delete", "pod", "applied")
    assert kubectl("auth", "can-i", "create", "pods") == "yes\n"
