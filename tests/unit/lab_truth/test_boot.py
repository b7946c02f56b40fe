"""Power and boot of one machine, stage by stage."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from lab.truth.fleet import NodeSpec
from lab.truth.machine import BootOverride, MachineDown, MachineUp
from lab.truth.world import World

SERVICE = BootOverride("Once", "UefiHttp", http_boot_uri="http://images.lab/service-2026.11.efi")
VALIDATION = BootOverride("Once", "UefiHttp", http_boot_uri="http://images.lab/validation-2026.11.efi")
# POST of the DGX H100 data file: 15 + 90 + 10 + 45 + 20 s; an image needs 60 s more, an installation 240 s.
POST = timedelta(seconds=180)
BOOT = timedelta(seconds=60)
INSTALL = timedelta(seconds=240)

Make = Callable[..., Any]


def _boot(world: World, override: BootOverride, minutes: int = 10) -> None:
    world.nodes["a"].machine.override = override
    world.boot.reset(world.nodes["a"], "ForceRestart")
    world.clock.advance(timedelta(minutes=minutes))


def test_a_racked_node_waits_in_firmware_setup(make_world: Make) -> None:
    """Without an override and a disk a machine stays in setup, also after a reset."""
    world, events = make_world()
    node = world.nodes["a"]
    assert (node.machine.power, node.machine.stage) == ("On", "SetupEntered")
    world.boot.reset(node, "ForceRestart")
    world.clock.advance(timedelta(minutes=10))
    assert node.machine.stage == "SetupEntered"
    assert events == []


def test_a_validation_image_leaves_the_disk_alone(make_world: Make) -> None:
    """It comes up after POST and its own time, with a boot id, and no disk image is left."""
    world, events = make_world()
    node = world.nodes["a"]
    node.machine.override = VALIDATION
    world.boot.reset(node, "ForceRestart")
    world.clock.advance(POST + BOOT - timedelta(seconds=1))
    assert (node.machine.stage, events) == ("OSBootStarted", [])
    world.clock.advance(timedelta(seconds=1))
    (up,) = events
    assert isinstance(up, MachineUp)
    assert (up.node, up.image.name, up.boot_id) == ("a", "validation-2026.11", node.machine.boot_id)
    assert node.machine.disk_image is None
    assert node.machine.override.enabled == "Disabled"


def test_an_installed_image_boots_from_disk_ever_after(make_world: Make) -> None:
    """The installation takes its time, the machine id stays with the disk, the boot id changes."""
    world, events = make_world()
    node = world.nodes["a"]
    node.machine.override = SERVICE
    world.boot.reset(node, "ForceRestart")
    world.clock.advance(POST + INSTALL + BOOT)
    first = (node.machine.boot_id, node.machine.machine_id)
    world.boot.reset(node, "PowerCycle")
    world.clock.advance(timedelta(minutes=10))
    assert [type(event) for event in events] == [MachineUp, MachineDown, MachineUp]
    assert node.machine.image == "service-2026.11"
    assert node.machine.machine_id == first[1]
    assert node.machine.boot_id != first[0]


def test_a_reinstallation_gives_a_new_machine_id(make_world: Make) -> None:
    """The same image again is a new machine for Kubernetes."""
    world, _ = make_world()
    _boot(world, SERVICE)
    first = world.nodes["a"].machine.machine_id
    _boot(world, SERVICE)
    assert world.nodes["a"].machine.machine_id != first


def test_a_continuous_override_stays(make_world: Make) -> None:
    """Continuous boots the same source at every reset."""
    world, _ = make_world()
    _boot(world, BootOverride("Continuous", "Pxe"))
    _boot(world, world.nodes["a"].machine.override)
    assert world.nodes["a"].machine.image == "validation-2026.11"
    assert world.nodes["a"].machine.override.enabled == "Continuous"


def test_an_unknown_address_falls_back_to_the_disk(make_world: Make) -> None:
    """Firmware that finds nothing at the address tries the next source."""
    world, _ = make_world()
    _boot(world, SERVICE)
    _boot(world, BootOverride("Once", "UefiHttp", http_boot_uri="http://images.lab/nothing.efi"))
    assert world.nodes["a"].machine.image == "service-2026.11"


@pytest.mark.parametrize(
    ("reset_type", "why", "power"),
    [("ForceOff", "off", "Off"), ("GracefulShutdown", "off", "Off"), ("GracefulRestart", "reset", "On")],
)
def test_what_a_reset_does_to_a_running_system(make_world: Make, reset_type: str, why: str, power: str) -> None:
    """The system goes down for the stated reason and the power ends where it should."""
    world, events = make_world(NodeSpec("a", "h100-sxm-8", "A1", 1, image="service-2026.11"))
    world.boot.reset(world.nodes["a"], reset_type)
    world.clock.advance(timedelta(minutes=1))
    assert (type(events[1]), events[1].why) == (MachineDown, why)
    assert world.nodes["a"].machine.power == power


def test_a_second_reset_replaces_the_first(make_world: Make) -> None:
    """What the first one had planned does not happen."""
    world, events = make_world()
    node = world.nodes["a"]
    node.machine.override = VALIDATION
    world.boot.reset(node, "ForceRestart")
    world.clock.advance(timedelta(minutes=1))
    world.boot.reset(node, "ForceOff")
    world.clock.advance(timedelta(minutes=10))
    assert (node.machine.power, node.machine.stage, events) == ("Off", "None", [])


def test_power_loss_and_crash(make_world: Make) -> None:
    """A lost feed brings the machine back by itself; a hang leaves it powered without a system."""
    world, events = make_world(NodeSpec("a", "h100-sxm-8", "A1", 1, image="service-2026.11"))
    node = world.nodes["a"]
    world.boot.lose_power(node, comes_back=True)
    world.clock.advance(timedelta(minutes=10))
    world.boot.crash(node, "hang")
    world.clock.advance(timedelta(minutes=10))
    assert [type(event) for event in events] == [MachineUp, MachineDown, MachineUp, MachineDown]
    assert (events[1].why, events[3].why) == ("power-loss", "crash")
    assert (node.machine.power, node.machine.os_up) == ("On", False)


def test_faults_of_booting(make_world: Make) -> None:
    """No boot at all, an old image, and a reset that is ignored."""
    world, _ = make_world()
    node = world.nodes["a"]
    world.inject("a", "no-boot")
    _boot(world, SERVICE)
    assert node.machine.stage == "PCIResourceConfigStarted"
    world.faults.heal("a")
    world.inject("a", "boots-old-image")
    _boot(world, SERVICE)
    assert node.machine.image == "service-2026.08"
    world.faults.heal("a")
    boots = node.machine.boots
    world.inject("a", "reset-ignored", {"count": 1})
    _boot(world, SERVICE)
    assert node.machine.boots == boots
    _boot(world, SERVICE)
    assert (node.machine.boots, node.machine.image) == (boots + 1, "service-2026.11")


def test_a_node_may_die_in_its_test(make_world: Make) -> None:
    """The machine goes down some time after a pod was started on it."""
    world, events = make_world(NodeSpec("a", "h100-sxm-8", "A1", 1, image="validation-2026.11"))
    world.inject("a", "node-dies-in-test", {"after_seconds": 30})
    world.record_effect("pod-run", "a", None, pod="burn-in")
    world.clock.advance(timedelta(seconds=29))
    assert len(events) == 1
    world.clock.advance(timedelta(seconds=1))
    assert events[1] == MachineDown("a", "crash")
