"""Power and boot: from a Redfish reset through the stages of POST to an operating system that runs, or does not.

A staged firmware comes to life when POST begins, a boot override is consumed when the boot source is chosen, an
installing image becomes the disk's image with a machine id of its own. Faults bend single steps. Everything runs on the
lab's clock; a new power event cancels what the last one had planned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from lab.truth import seeded
from lab.truth.faults import FaultBoard
from lab.truth.images import Image
from lab.truth.machine import (
    NO_STAGE,
    OS_BOOT_STARTED,
    OS_RUNNING,
    SETUP_ENTERED,
    BootOverride,
    MachineDown,
    MachineUp,
    Power,
    Why,
    WorldEvent,
)

if TYPE_CHECKING:
    from lab.truth.clock import LabClock
    from lab.truth.node import LabNode

Emit = Callable[[WorldEvent], None]
_RESTARTS = frozenset({"ForceRestart", "GracefulRestart"})


class BootEngine:
    """Moves machines through power and boot. `pxe_image` is what a network boot without an address gets."""

    def __init__(self, clock: LabClock, images: Mapping[str, Image], faults: FaultBoard, emit: Emit) -> None:
        self._clock = clock
        self._images = images
        self._faults = faults
        self._emit = emit
        self.pxe_image = next((name for name, image in images.items() if image.kind == "validation"), "")

    def reset(self, node: LabNode, reset_type: str) -> None:
        """Carry out a Redfish ResetType; one that changes nothing in the present power state does nothing."""
        if self._faults.fires(node.name, "reset-ignored"):
            return
        node.machine.last_reset = self._clock.now()
        if reset_type in ("On", "ForceOn"):
            self.power_on(node)
        elif reset_type == "PushPowerButton":
            self.power_off(node) if node.machine.power == "On" else self.power_on(node)
        elif reset_type in ("ForceOff", "GracefulShutdown"):
            self.power_off(node, graceful=reset_type == "GracefulShutdown")
        elif reset_type == "PowerCycle":
            self.power_off(node, then_on=True)
        elif reset_type in _RESTARTS:
            self.restart(node, graceful=reset_type == "GracefulRestart")

    def power_on(self, node: LabNode) -> None:
        """From Off through PoweringOn into POST."""
        if node.machine.power == "Off":
            self._set_power(node, "PoweringOn")
            self._after(node, node.platform.boot.power_on_seconds, lambda: self._powered(node))

    def power_off(self, node: LabNode, *, graceful: bool = False, then_on: bool = False) -> None:
        """From any state to Off; a graceful one lets a running system take its time first."""
        if node.machine.power == "Off":
            if then_on:
                self.power_on(node)
            return
        if graceful and node.machine.os_up:
            wait = node.platform.boot.graceful_shutdown_seconds
            self._after(node, wait, lambda: self.power_off(node, then_on=then_on))
            return
        self._os_gone(node, "off")
        self._set_power(node, "PoweringOff")
        self._after(node, node.platform.boot.power_off_seconds, lambda: self._off(node, then_on=then_on))

    def restart(self, node: LabNode, *, graceful: bool = False) -> None:
        """A reset with the power on; off it is a power-on."""
        if node.machine.power == "Off":
            self.power_on(node)
        elif graceful and node.machine.os_up:
            self._after(node, node.platform.boot.graceful_shutdown_seconds, lambda: self.restart(node))
        else:
            self._os_gone(node, "reset")
            self._begin_post(node)

    def lose_power(self, node: LabNode, *, comes_back: bool, why: Why = "power-loss") -> None:
        """Power is gone at once, without a shutdown."""
        self._os_gone(node, why)
        self._cancel(node)
        self._off(node, then_on=comes_back)

    def crash(self, node: LabNode, then: str) -> None:
        """The system dies: it hangs (`hang`), turns off (`off`) or comes back by itself (`reboot`)."""
        if then == "off":
            self.lose_power(node, comes_back=False, why="crash")
            return
        self._os_gone(node, "crash")
        if then == "reboot":
            self._begin_post(node)

    def ac_cycle(self, node: LabNode) -> None:
        """Standby power away and back: wakes every staged firmware; the machine turns on again (policy AlwaysOn)."""
        self._wake_firmware(node, "ac-cycle")
        self.lose_power(node, comes_back=True)

    def start_running(self, node: LabNode, image: Image) -> None:
        """Put a machine into the state of one that has been up with `image` since before the lab began."""
        if image.install_to_disk:
            self._install(node, image)
        node.machine.hmc_ready_at = self._clock.now()
        self._set_power(node, "On")
        self._os_runs(node, image)

    def start_idle(self, node: LabNode) -> None:
        """Put a machine into firmware setup, powered, with nothing to boot."""
        node.machine.hmc_ready_at = self._clock.now()
        self._set_power(node, "On")
        node.machine.stage = SETUP_ENTERED

    def _powered(self, node: LabNode) -> None:
        self._set_power(node, "On")
        node.machine.hmc_ready_at = self._clock.now() + timedelta(seconds=node.platform.boot.hmc_ready_seconds)
        self._begin_post(node)

    def _off(self, node: LabNode, *, then_on: bool) -> None:
        self._set_power(node, "Off")
        node.machine.stage = NO_STAGE
        node.machine.hmc_ready_at = None
        if then_on:
            self.power_on(node)

    def _begin_post(self, node: LabNode) -> None:
        self._wake_firmware(node, "reset")
        self._faults.cure(node.name, "reboot")
        node.bios.update(node.bios_pending)
        node.bios_pending.clear()
        self._enter_stage(node, 0)

    def _wake_firmware(self, node: LabNode, by: str) -> None:
        for item in node.platform.firmware:
            if node.firmware.staged(item) and self._faults.concerns(node.name, "firmware-stuck", "component", item):
                node.firmware.drop(item)
        node.firmware.activate("ac-cycle" if by == "ac-cycle" else "reset")

    def _enter_stage(self, node: LabNode, number: int) -> None:
        stages = node.platform.boot.stages
        if number == len(stages):
            self._choose_source(node)
            return
        name, seconds = stages[number]
        node.machine.stage = name
        stuck = self._faults.find(node.name, "no-boot")
        if stuck is not None and stuck.parameters["stage"] == name:
            self._cancel(node)
            return
        self._after(node, seconds, lambda: self._enter_stage(node, number + 1))

    def _choose_source(self, node: LabNode) -> None:
        override, ignored = node.machine.override, "boot-once-ignored" in node.quirks
        if override.enabled == "Once":
            node.machine.override = BootOverride()
        if override.target == "BiosSetup" and override.enabled != "Disabled":
            node.machine.stage = SETUP_ENTERED
            return
        chosen = None if override.enabled == "Disabled" or ignored else self._from_network(override)
        disk = self._images.get(node.machine.disk_image or "")
        if chosen is None and disk is None:
            node.machine.stage = SETUP_ENTERED
            return
        self._boot(node, self._bent(node, chosen or disk), installs=chosen is not None)

    def _from_network(self, override: BootOverride) -> Image | None:
        if override.target == "Pxe":
            return self._images.get(self.pxe_image)
        if override.target == "UefiHttp":
            return next((image for image in self._images.values() if image.uri == override.http_boot_uri), None)
        return None

    def _bent(self, node: LabNode, image: Image | None) -> Image:
        assert image is not None
        fault = self._faults.find(node.name, "boots-old-image")
        if fault is None or image.kind != fault.parameters["kind"]:
            return image
        self._faults.count(fault)
        return self._images[str(fault.parameters["image"])]

    def _boot(self, node: LabNode, image: Image, *, installs: bool) -> None:
        node.machine.stage = OS_BOOT_STARTED
        install = installs and image.install_to_disk
        seconds = image.boot_seconds + (image.install_seconds if install else 0.0)

        def done() -> None:
            if install:
                self._install(node, image)
            self._os_runs(node, image)

        self._after(node, seconds, done)

    def _install(self, node: LabNode, image: Image) -> None:
        machine = node.machine
        machine.disk_image = image.name
        number = machine.boots + 1
        machine.disk_machine_id = seeded.identity(node.seed, node.name, "machine", number).replace("-", "")
        self._faults.cure(node.name, "reimage")

    def _os_runs(self, node: LabNode, image: Image) -> None:
        machine = node.machine
        machine.boots += 1
        machine.stage, machine.os_up, machine.image = OS_RUNNING, True, image.name
        machine.boot_id = seeded.identity(node.seed, node.name, "boot", machine.boots)
        transient = seeded.identity(node.seed, node.name, "transient", machine.boots).replace("-", "")
        machine.machine_id = (machine.disk_machine_id if image.install_to_disk else None) or transient
        self._emit(MachineUp(node.name, image, machine.boot_id, machine.machine_id, node.system_uuid))

    def _os_gone(self, node: LabNode, why: Why) -> None:
        self._cancel(node)
        machine = node.machine
        was_up, machine.os_up = machine.os_up, False
        machine.image = None
        if was_up:
            self._emit(MachineDown(node.name, why))

    def _set_power(self, node: LabNode, power: Power) -> None:
        node.machine.power = power

    def _after(self, node: LabNode, seconds: float, step: Callable[[], None]) -> None:
        self._cancel(node)
        node.machine.timer = self._clock.call_later(timedelta(seconds=seconds), step)

    @staticmethod
    def _cancel(node: LabNode) -> None:
        if node.machine.timer is not None:
            node.machine.timer.cancel()
            node.machine.timer = None
