"""Faults: they show where they should, leave no trace when they are healed, and end by their rule."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from lab.truth.faults import catalogue, parse_cure, parse_duration
from lab.truth.fleet import NodeSpec

Make = Callable[..., Any]
# Faults that bend behaviour (boot, firmware, BMC, kubelet) and therefore show in no view.
BEHAVIOUR = {
    "firmware-stuck",
    "firmware-task-fails",
    "firmware-needs-ac-cycle",
    "bmc-silent",
    "bmc-slow",
    "bmc-login-refused",
    "sel-critical",
    "bmc-unsafe",
    "chassis-failing",
    "leak",
    "spdm-wrong",
    "no-boot",
    "boots-old-image",
    "reset-ignored",
    "node-dies-in-test",
    "kubelet-silent",
}


def _seen(world: Any) -> tuple[Any, Any]:
    return world.view("a"), world.parts("a")


@pytest.mark.parametrize("fault", sorted(catalogue()))
def test_every_fault_can_be_taken_back(make_world: Make, fault: str) -> None:
    """A fault shows (unless it bends behaviour only), and healing gives back exactly what was there."""
    world, _ = make_world(NodeSpec("a", "h100-sxm-8", "A1", 1, image="validation-2026.11"))
    before = _seen(world)
    world.inject("a", fault)
    assert (_seen(world) == before) == (fault in BEHAVIOUR)
    assert world.faults.heal("a", fault) == 1
    assert _seen(world) == before


def test_a_degraded_nvlink_costs_four_per_cent_and_no_link(make_world: Make) -> None:
    """Bus bandwidth and one GPU's peers lose the amount; every link is up and nothing else moves."""
    world, _ = make_world()
    before = world.view("a")
    world.inject("a", "nvlink-degraded", {"gpu": 4, "amount": 0.04})
    after = world.view("a")
    size = str(8 << 30)
    old, new = (view["bandwidth"]["all_reduce"]["bus_bandwidth_gbps_by_bytes"][size] for view in (before, after))
    assert new == pytest.approx(old * 0.96, abs=0.01)
    peers = [view["bandwidth"]["device_to_device_gbps"] for view in (before, after)]
    assert peers[1][4][0] == pytest.approx(peers[0][4][0] * 0.96, abs=0.01)
    assert peers[1][0][1] == peers[0][0][1]
    assert all(link["up"] for gpu in after["gpus"] for link in gpu["nvlinks"])
    assert after["gpus"] == before["gpus"]


def test_a_narrow_link_halves_its_gpu_alone(make_world: Make) -> None:
    """x8 instead of x16: half the host bandwidth of that GPU, the maximum stays x16."""
    world, _ = make_world()
    before = world.view("a")["bandwidth"]["host_to_device_gbps"]
    world.inject("a", "pcie-narrow", {"gpu": 1})
    view = world.view("a")
    after = view["bandwidth"]["host_to_device_gbps"]
    assert after[1] == pytest.approx(before[1] / 2, abs=0.01)
    assert after[0] == before[0]
    assert (view["gpus"][1]["pcie_width"], view["gpus"][1]["pcie_width_max"]) == (8, 16)


def test_a_missing_gpu_is_missing_everywhere(make_world: Make) -> None:
    """It has no bandwidth, and its row says that it is not present."""
    world, _ = make_world()
    world.inject("a", "gpu-missing", {"gpu": 5})
    view = world.view("a")
    assert [gpu["present"] for gpu in view["gpus"]] == [True] * 5 + [False] + [True] * 2
    assert view["bandwidth"]["device_to_host_gbps"][5] is None
    assert {row[5] for row in view["bandwidth"]["device_to_device_gbps"]} == {None}


def test_an_xid_shows_only_under_load(make_world: Make) -> None:
    """The line waits for a tool to run, in the driver's wording."""
    world, _ = make_world()
    world.inject("a", "xid-under-load", {"gpu": 0, "code": 79})
    view = world.view("a")
    (line,) = view["kernel_log_under_load"]
    assert "NVRM: Xid (PCI:0000:1b:00): 79," in line
    assert line.endswith("GPU has fallen off the bus.")
    assert not any("Xid" in line for line in view["kernel_log"])


def test_two_cables_are_swapped(make_world: Make) -> None:
    """eth0 and eth1 see each other's neighbour; the others keep theirs."""
    world, _ = make_world()
    world.inject("a", "miscabled")
    seen = {row["interface"]: row["switch"] for row in world.view("a")["lldp"]}
    assert (seen["eth0"], seen["eth1"], seen["eth2"]) == ("leaf-02", "leaf-01", "leaf-03")


@pytest.mark.parametrize(
    ("cure", "event"),
    [("self:10m", None), ("reboot", "reboot"), ("reimage", "reimage"), ("reset-bmc", "reset-bmc")],
)
def test_cures(make_world: Make, cure: str, event: str | None) -> None:
    """A fault ends by its rule and by no other."""
    world, _ = make_world()
    world.inject("a", "persistence-off", cure=cure)
    for other in {"reboot", "reset-bmc"} - {event}:
        world.faults.cure("a", other)
    world.clock.advance(timedelta(minutes=9))
    assert len(world.active_faults("a")) == 1
    if event:
        world.faults.cure("a", event)
    world.clock.advance(timedelta(minutes=1))
    assert world.active_faults("a") == ()


def test_a_fault_can_be_scheduled(make_world: Make) -> None:
    """It lies over the node from its time on, and a mistake in it is told at once."""
    world, _ = make_world()
    assert world.inject("a", "nvlink-down", at="+5m") is None
    world.clock.advance(timedelta(minutes=4))
    assert world.active_faults("a") == ()
    world.clock.advance(timedelta(minutes=1))
    assert [fault.name for fault in world.active_faults("a")] == ["nvlink-down"]
    with pytest.raises(ValueError, match="no parameter speed"):
        world.inject("a", "nvlink-down", {"speed": 1}, at="+5m")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda world: world.inject("z", "nvlink-down"), "no node z"),
        (lambda world: world.inject("a", "gremlins"), "no fault gremlins"),
        (lambda world: world.inject("a", "nvlink-down", cure="prayer"), "is no cure"),
        (lambda world: world.inject("a", "nvlink-down", at="+soon"), "is no duration"),
        (lambda world: world.inject("a", "nvlink-down", at="2026-11-30T12:00:00"), "no time zone"),
    ],
)
def test_mistakes_are_told_in_one_sentence(make_world: Make, call: Callable[[Any], Any], text: str) -> None:
    """Whatever cannot be injected says why."""
    world, _ = make_world()
    with pytest.raises(ValueError, match=text):
        call(world)


def test_durations_and_cures() -> None:
    """The written forms that the command line takes."""
    assert parse_duration("90") == parse_duration("90s") == timedelta(seconds=90)
    assert parse_duration("1.5h") == timedelta(minutes=90)
    assert str(parse_cure("self:10m")) == "self:600s"
