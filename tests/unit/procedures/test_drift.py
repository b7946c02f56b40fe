"""Where Kubernetes and the ledger differ, and what is safe: one table of cases, expected by the rules in the design."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from nodeworthy.lifecycle.rows import Taint
from nodeworthy.lifecycle.upkeep import Identity, Standing
from nodeworthy.ports import ClusterNode
from nodeworthy.procedures.drift import Drift, Reader, Remedy

from tests.doubles.bench import library

UNQUALIFIED = Taint("nodeworthy.dev/unqualified", "NoSchedule")
STANDBY = Taint("nodeworthy.dev/standby", "NoSchedule")
NOISY = Taint("example.com/noisy", "NoSchedule")
QUALIFIED = "nodeworthy.node-restriction.kubernetes.io/qualified"
SINCE = datetime(2026, 11, 30, 12, tzinfo=UTC)
PROVEN = Identity("boot-1", "machine-1", "uid-1", "uuid-1")


def standing(milestone: str, **more: Any) -> Standing:
    """A node whose last move was told and that nobody works on."""
    whole = Standing("n1", "S1", milestone, SINCE, 3, 9, pending=False, held=False, booting=False, identity=PROVEN)
    return replace(whole, **more)


def node(*taints: Taint, **more: Any) -> ClusterNode:
    """The Node object of n1 under the system that was proven."""
    whole = ClusterNode(
        "n1", "uid-1", True, True, "boot-1", "machine-1", "uuid-1", "image", "6.8", tuple(taints), {}, {}, "1"
    )
    return replace(whole, **more)


IN_SERVICE = node(labels={QUALIFIED: "true"})


def differences(one: Standing, *seen: ClusterNode) -> tuple[Drift, ...]:
    """Compare one node."""
    return Reader(library().lifecycle()).differences([one], seen)


def only(one: Standing, *seen: ClusterNode) -> Drift:
    """The one difference that there is."""
    (drift,) = differences(one, *seen)
    return drift


@pytest.mark.parametrize(
    ("milestone", "seen"),
    [("standby", node(STANDBY)), ("in_service", IN_SERVICE), ("quarantined", node(UNQUALIFIED))],
)
def test_what_agrees_is_no_difference(milestone: str, seen: ClusterNode) -> None:
    """The projection as it should be, and the system that was proven."""
    assert differences(standing(milestone), seen) == ()


def test_a_removed_isolation_taint_is_put_back_and_others_stay() -> None:
    """Somebody took the taint off a spare: restored, and told."""
    drift = only(standing("standby"), node(NOISY))
    assert (drift.kind, drift.remedy, drift.told) == ("isolation-undone", Remedy.RESTORE, True)
    assert drift.shows is not None
    assert drift.shows.taints == (STANDBY,)


def test_a_restored_isolation_takes_nothing_of_ours_off() -> None:
    """A procedure isolates before the ledger moves: its taint stays while the milestone's is put back."""
    drift = only(standing("standby"), node(UNQUALIFIED))
    assert drift.shows is not None
    assert set(drift.shows.taints) == {STANDBY, UNQUALIFIED}


def test_an_uncordoned_node_is_cordoned_again() -> None:
    """Taint there, cordon gone."""
    drift = only(standing("cordoned"), node(UNQUALIFIED, annotations={"nodeworthy.dev/cordoned": "3"}))
    assert (drift.kind, drift.remedy) == ("isolation-undone", Remedy.RESTORE)
    assert drift.shows is not None
    assert drift.shows.cordon


def test_a_qualified_label_that_nobody_earned_is_taken_off() -> None:
    """The label lets customers' work choose the node."""
    drift = only(standing("standby"), node(STANDBY, labels={QUALIFIED: "true"}))
    assert drift.remedy is Remedy.RESTORE
    assert drift.shows is not None
    assert drift.shows.labels[QUALIFIED] is None


def test_a_taint_of_ours_on_a_node_in_service_stays_and_is_told() -> None:
    """Somebody isolated it by hand: taking isolation off is only safe for a move of ours."""
    drift = only(standing("in_service"), replace(IN_SERVICE, taints=(UNQUALIFIED,)))
    assert (drift.kind, drift.remedy) == ("isolated-by-hand", Remedy.TELL)


def test_a_move_that_was_not_told_is_delivered() -> None:
    """Admission died between ledger and cluster: its outbox row takes the taint off."""
    drift = only(standing("in_service", pending=True), node(STANDBY))
    assert (drift.kind, drift.remedy, drift.told) == ("undelivered", Remedy.DELIVER, False)
    assert drift.shows is not None
    assert drift.shows.taints == ()


@pytest.mark.parametrize("seen", [replace(IN_SERVICE, taints=(NOISY,)), replace(IN_SERVICE, schedulable=False)])
def test_what_others_keep_off_a_node_in_service_is_kept(seen: ClusterNode) -> None:
    """A foreign taint and a foreign cordon are written down and left alone."""
    assert only(standing("in_service"), seen).remedy is Remedy.TELL


def test_kubernetes_own_taints_are_nobodys_drift() -> None:
    """The node controller puts them on and takes them off."""
    tainted = replace(IN_SERVICE, taints=(Taint("node.kubernetes.io/not-ready", "NoExecute"),))
    assert differences(standing("in_service"), tainted) == ()


@pytest.mark.parametrize(
    "seen",
    [
        replace(IN_SERVICE, boot_id="boot-2"),
        replace(IN_SERVICE, machine_id="machine-2"),
        replace(IN_SERVICE, system_uuid="uuid-2"),
    ],
)
@pytest.mark.parametrize("held", [False, True])
def test_another_system_in_service_is_an_event_at_once(seen: ClusterNode, held: bool) -> None:
    """Boot, machine or chassis differ: `interrupt`, whoever works on the node."""
    drift = only(standing("in_service", held=held), seen)
    assert (drift.kind, drift.remedy, drift.event) == ("another-boot", Remedy.EVENT, "interrupt")


def test_a_boot_that_was_ordered_is_no_event() -> None:
    """A reset of the open episode was proven by that boot, and the run died before it moved the node."""
    one = standing("burned_in", ordered_boots=frozenset({"boot-2"}))
    assert differences(one, node(UNQUALIFIED, boot_id="boot-2")) == ()


@pytest.mark.parametrize("more", [{"held": True}, {"booting": True}])
def test_a_node_that_a_run_boots_is_left_to_it(more: dict[str, Any]) -> None:
    """During onboarding the holder boots it; it looks itself."""
    assert differences(standing("burned_in", **more), node(UNQUALIFIED, boot_id="boot-2")) == ()


def test_a_milestone_that_outlives_a_boot_is_not_interrupted() -> None:
    """A quarantined node may boot as it likes."""
    assert differences(standing("quarantined"), node(UNQUALIFIED, boot_id="boot-2")) == ()


def test_a_recreated_node_object_of_the_same_boot_is_known_again_and_shown_its_milestone() -> None:
    """The kubelet registered it with the image's taint; the same system keeps its proof and its service."""
    found = differences(standing("in_service"), node(UNQUALIFIED, uid="uid-2"))
    assert [(drift.kind, drift.remedy) for drift in found] == [
        ("undelivered", Remedy.DELIVER),
        ("node-recreated", Remedy.BIND),
    ]
    assert found[1].identity == replace(PROVEN, uid="uid-2")


def test_what_was_never_read_is_learnt_in_silence() -> None:
    """The provision step proves boot, machine and uid; the system's UUID comes with the first look."""
    drift = only(standing("in_service", identity=replace(PROVEN, system_uuid="")), IN_SERVICE)
    assert (drift.remedy, drift.told) == (Remedy.BIND, False)


def test_a_node_that_left_the_cluster_is_lost() -> None:
    """In service or standby: `lose` leads to unreachable."""
    assert only(standing("in_service")).event == "lose"
    assert only(standing("standby")).event == "lose"
    assert only(standing("verified")).remedy is Remedy.TELL


@pytest.mark.parametrize("more", [{"booting": True}, {"held": True}, {"identity": None}])
def test_a_node_without_an_object_on_purpose_is_no_difference(more: dict[str, Any]) -> None:
    """A boot takes the object away; a node that never booted has none."""
    assert differences(standing("burned_in", **more)) == ()


def test_a_renamed_node_is_known_by_its_boot_and_kept_isolated() -> None:
    """The new object gets the taint that its milestone needs; the manifest is a person's to change."""
    drift = only(standing("standby"), node(name="other", uid="uid-7"))
    assert (drift.kind, drift.remedy, drift.target) == ("renamed", Remedy.RESTORE, "other")
    assert "other" in drift.sentence
    assert only(standing("in_service"), replace(IN_SERVICE, name="other")).remedy is Remedy.TELL


def test_isolation_goes_first() -> None:
    """A run that stops half-way has isolated before it tidied."""
    lifecycle = library().lifecycle()
    tidy = standing("in_service", name="n1")
    isolate = standing("standby", name="n2", serial="S2")
    event = standing("in_service", name="n3", serial="S3")
    seen = [
        node(),
        node(name="n2"),
        replace(IN_SERVICE, name="n3", boot_id="boot-9"),
    ]
    found = Reader(lifecycle).differences([tidy, isolate, event], seen)
    assert [drift.node for drift in found] == ["n3", "n2", "n1"]
