"""The state of one machine between two power events, and what it says when its operating system comes or goes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from lab.truth.clock import Timer
from lab.truth.images import Image

Power = Literal["Off", "On", "PoweringOn", "PoweringOff"]
Why = Literal["reset", "off", "power-loss", "crash"]

# BootProgress.LastState (DSP2046, ComputerSystem) outside the platform's own POST stages.
NO_STAGE = "None"
SETUP_ENTERED = "SetupEntered"
OS_BOOT_STARTED = "OSBootStarted"
OS_RUNNING = "OSRunning"


@dataclass(frozen=True, slots=True)
class MachineUp:
    """The operating system of node `node` (its name) runs; a kubelet would start now."""

    node: str
    image: Image
    boot_id: str
    machine_id: str
    system_uuid: str


@dataclass(frozen=True, slots=True)
class MachineDown:
    """The operating system of node `node` (its name) is gone, and every process with it."""

    node: str
    why: Why


WorldEvent = MachineUp | MachineDown


@dataclass(frozen=True, slots=True)
class BootOverride:
    """Redfish Boot.BootSourceOverride*: which source the next boot takes instead of the boot order."""

    enabled: Literal["Disabled", "Once", "Continuous"] = "Disabled"
    target: str = "None"
    mode: str = "UEFI"
    http_boot_uri: str | None = None


class Machine:
    """Power, boot stage and identity of one machine; changed only by BootEngine."""

    __slots__ = (
        "boot_id",
        "boots",
        "disk_image",
        "disk_machine_id",
        "hmc_ready_at",
        "image",
        "last_reset",
        "machine_id",
        "os_up",
        "override",
        "power",
        "stage",
        "timer",
    )

    def __init__(self) -> None:
        self.power: Power = "Off"
        self.stage: str = NO_STAGE
        self.boot_id: str | None = None
        self.machine_id: str | None = None
        self.image: str | None = None
        self.disk_image: str | None = None
        self.disk_machine_id: str | None = None
        self.os_up = False
        self.boots = 0
        self.override = BootOverride()
        self.hmc_ready_at: datetime | None = None
        self.last_reset: datetime | None = None
        self.timer: Timer | None = None
