"""The patch that projects a milestone onto a Node keeps others' taints and goes in one write."""

from __future__ import annotations

from typing import Any

from nodeworthy.adapters.cluster_kubernetes_nodes import Wanted, cluster_node, projection_patch, stale
from nodeworthy.ports import Taint

STANDBY = Taint("nodeworthy.dev/standby", "NoSchedule")
QUALIFIED = "nodeworthy.node-restriction.kubernetes.io/qualified"


def document(*taints: dict[str, Any], labels: dict[str, str] | None = None, episode: str = "") -> dict[str, Any]:
    """A Node as the API gives it."""
    annotations = {"nodeworthy.dev/episode": episode} if episode else {}
    return {
        "metadata": {
            "name": "gpu-a01",
            "uid": "u1",
            "resourceVersion": "77",
            "labels": labels or {},
            "annotations": annotations,
        },
        "spec": {"taints": list(taints)} if taints else {},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"bootID": "b1", "machineID": "m1", "systemUUID": "s1", "kernelVersion": "6.8"},
        },
    }


UNQUALIFIED_ROW = {"key": "nodeworthy.dev/unqualified", "effect": "NoSchedule"}
CORDON_ROW = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": "2026-11-30T00:00:00Z"}


def test_our_taints_are_swapped_in_one_write_and_others_stay() -> None:
    """Unqualified goes, standby comes, the node controller's taint keeps its time."""
    patch = projection_patch(document(UNQUALIFIED_ROW, CORDON_ROW), Wanted([STANDBY], {QUALIFIED: None}, 3))
    assert patch == {
        "metadata": {
            "resourceVersion": "77",
            "labels": {},
            "annotations": {"nodeworthy.dev/episode": "3"},
        },
        "spec": {"taints": [CORDON_ROW, {"key": "nodeworthy.dev/standby", "effect": "NoSchedule"}]},
    }


def test_admission_takes_our_taints_and_adds_the_label_together() -> None:
    """No moment lies between the two."""
    patch = projection_patch(document(UNQUALIFIED_ROW), Wanted([], {QUALIFIED: "true"}, 3))
    assert patch is not None
    assert patch["spec"]["taints"] == []
    assert patch["metadata"]["labels"] == {QUALIFIED: "true"}


def test_a_label_that_must_be_absent_is_removed() -> None:
    """None in a merge patch deletes."""
    patch = projection_patch(document(UNQUALIFIED_ROW, labels={QUALIFIED: "true"}), Wanted([], {QUALIFIED: None}, 3))
    assert patch is not None
    assert patch["metadata"]["labels"] == {QUALIFIED: None}


def test_what_is_as_it_should_be_is_not_written() -> None:
    """A repeated projection is no write, whatever the order of the list."""
    row = {"key": "nodeworthy.dev/standby", "effect": "NoSchedule"}
    assert projection_patch(document(row, CORDON_ROW, episode="3"), Wanted([STANDBY], {QUALIFIED: None}, 3)) is None


def test_a_new_episode_is_written_even_when_nothing_else_changes() -> None:
    """The annotation fences later writers."""
    row = {"key": "nodeworthy.dev/standby", "effect": "NoSchedule"}
    assert projection_patch(document(row, episode="2"), Wanted([STANDBY], {}, 3)) is not None


def test_a_node_is_read_with_its_identity() -> None:
    """Boot id, machine id, image label and taints; cordon is not schedulable."""
    raw = document(UNQUALIFIED_ROW, labels={"nodeworthy.dev/image": "validation-2026.11"})
    raw["spec"]["unschedulable"] = True
    node = cluster_node(raw)
    assert (node.boot_id, node.machine_id, node.image) == ("b1", "m1", "validation-2026.11")
    assert (node.ready, node.schedulable) == (True, False)
    assert node.taints == (Taint("nodeworthy.dev/unqualified", "NoSchedule"),)


def test_a_node_that_never_reported_is_not_ready() -> None:
    """Missing status is unknown, and unknown is not ready."""
    node = cluster_node({"metadata": {"name": "x", "uid": "u", "resourceVersion": "1"}})
    assert not node.ready
    assert node.boot_id == ""


def held(**wanted: Any) -> Wanted:
    """A projection that cordons, under move 9 of episode 3."""
    return Wanted((), {}, 3, **{"cordon": True, "revision": 9, **wanted})


def test_a_cordon_of_ours_is_owned() -> None:
    """The annotation says whose it is, so that we may undo it later."""
    patch = projection_patch(document(episode="3"), held())
    assert patch is not None
    assert patch["spec"] == {"unschedulable": True}
    assert patch["metadata"]["annotations"] == {"nodeworthy.dev/revision": "9", "nodeworthy.dev/cordoned": "3"}


def test_a_cordon_of_somebody_else_is_neither_claimed_nor_undone() -> None:
    """A node that was cordoned before us stays theirs: no annotation, and no uncordon."""
    theirs = document(episode="3")
    theirs["spec"]["unschedulable"] = True
    claimed = projection_patch(theirs, held())
    assert claimed is not None
    assert claimed["spec"] == {}
    assert claimed["metadata"]["annotations"] == {"nodeworthy.dev/revision": "9"}
    undone = projection_patch(theirs, held(cordon=False))
    assert undone is not None
    assert undone["spec"] == {}


def test_only_our_own_cordon_is_undone() -> None:
    """With the annotation the cordon goes, and the annotation with it."""
    ours = document(episode="3")
    ours["spec"]["unschedulable"] = True
    ours["metadata"]["annotations"]["nodeworthy.dev/cordoned"] = "3"
    patch = projection_patch(ours, held(cordon=False))
    assert patch is not None
    assert patch["spec"] == {"unschedulable": None}
    assert patch["metadata"]["annotations"]["nodeworthy.dev/cordoned"] is None


def test_an_overtaken_move_is_stale() -> None:
    """A later move of the same episode was written; a write without a number is fenced by its episode alone."""
    later = document(episode="3")
    later["metadata"]["annotations"]["nodeworthy.dev/revision"] = "12"
    assert stale(later, held()) == "move 12 and this is move 9"
    assert stale(later, held(revision=12)) == ""
    assert stale(later, held(revision=0)) == ""
    assert stale(later, Wanted((), {}, 2, revision=99)) == "episode 3 and this is episode 2"


def test_the_milestone_is_read_from_its_condition() -> None:
    """InService is in_service."""
    raw = document()
    raw["status"]["conditions"].append({"type": "NodeworthyMilestone", "status": "True", "reason": "InService"})
    assert cluster_node(raw).milestone == "in_service"


def test_what_speaks_against_work_on_a_node_is_read_with_its_words() -> None:
    """Pressure that is True counts, pressure that is False and others' conditions do not; GPUs are what is offered."""
    whole = document()
    whole["status"]["conditions"] += [
        {"type": "DiskPressure", "status": "True", "message": "kubelet has disk pressure"},
        {"type": "MemoryPressure", "status": "False"},
        {"type": "AcceleratedHardwareReady", "status": "True"},
    ]
    whole["status"]["allocatable"] = {"cpu": "224", "nvidia.com/gpu": "7"}
    seen = cluster_node(whole)
    assert seen.troubles == ("DiskPressure (kubelet has disk pressure)",)
    assert seen.gpus == 7
    assert cluster_node(document()).gpus is None
