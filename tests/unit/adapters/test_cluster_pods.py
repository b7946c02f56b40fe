"""The pods of a group: pinned without a node name, on the host's network, with a key that stands nowhere else."""

from __future__ import annotations

import json
from datetime import timedelta

from nodeworthy.adapters.cluster_kubernetes_pods import GROUP_LABEL, KEY_VARIABLE, pod_manifest
from nodeworthy.ports import GroupMember

PLAN = {"suite": "m1", "episode": 7, "node": "gpu-a01"}
MEMBER = GroupMember("nodeworthy-m1-1-0", "gpu-a01", PLAN, 8, timedelta(minutes=40))


def test_a_member_is_pinned_by_selector_and_ends_by_itself() -> None:
    """Never by `nodeName`; it tolerates our taints, holds all GPUs, has no token, and ends at its limit."""
    spec = pod_manifest("g", MEMBER, "k" * 64, "probe:1")["spec"]
    assert spec["nodeSelector"] == {"kubernetes.io/hostname": "gpu-a01"}
    assert "nodeName" not in spec
    assert spec["hostNetwork"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["activeDeadlineSeconds"] == 2400
    assert spec["containers"][0]["resources"] == {"limits": {"nvidia.com/gpu": "8"}}
    assert {row["key"] for row in spec["tolerations"]} >= {"nodeworthy.dev/unqualified", "nodeworthy.dev/standby"}


def test_the_key_is_in_the_probes_environment_and_not_in_its_plan() -> None:
    """Plans are evidence; labels and annotations are for everybody."""
    manifest = pod_manifest("g", MEMBER, "k" * 64, "probe:1")
    variables = {row["name"]: row["value"] for row in manifest["spec"]["containers"][0]["env"]}
    assert variables[KEY_VARIABLE] == "k" * 64
    assert json.loads(variables["NODEWORTHY_PLAN"]) == PLAN
    assert "k" * 64 not in json.dumps(manifest["metadata"])
    assert manifest["metadata"]["labels"][GROUP_LABEL] == "g"
    assert "env" not in manifest["spec"]["containers"][1]
