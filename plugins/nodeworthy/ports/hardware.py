"""The port to the hardware of a node: its BMC."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from nodeworthy.evidence.bmc_guard import BmcGuard
from nodeworthy.evidence.bmc_health import Health, Leaks
from nodeworthy.evidence.bmc_log import EventLog, LogRules
from nodeworthy.evidence.inventory import FirmwareItem, Inventory
from nodeworthy.evidence.spdm import SignedMeasurements
from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.qualification.bmc_health import HealthRules
from nodeworthy.qualification.bmc_security import SecurityRules
from nodeworthy.qualification.sku import Sku


class Power(StrEnum):
    """Redfish ComputerSystem.PowerState (DSP2046), lower case."""

    ON = "on"
    OFF = "off"
    POWERING_ON = "powering-on"
    POWERING_OFF = "powering-off"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SystemState:
    """What a BMC says about its host now. `last_reset` is Redfish LastResetTime, None where the BMC has none."""

    power: Power
    boot_progress: str
    last_reset: datetime | None
    boot_override_enabled: str
    boot_override_uri: str


@dataclass(frozen=True, slots=True)
class UpdateState:
    """State of one firmware update task."""

    task: str
    running: bool
    succeeded: bool
    message: str
    started: datetime | None = None
    unclear: bool = False
    """It ended without an outcome to rely on (vanished, or Completed with a bad status): only the version tells."""


class Bmc(Protocol):
    """One session with one BMC, on the system whose id is pinned by the SKU. Reads may be repeated; effects may not."""

    def inventory(self) -> Inventory:
        """Read components, firmware and neighbours. Raises Permanent when the pinned system is not there."""

    def leaks(self, rules: HealthRules) -> Leaks:
        """Read the leak detectors now, also of a host without power; what is not served is a gap in the answer."""

    def health(self, rules: HealthRules) -> Health:
        """Read fans, power supplies, redundancy and temperatures; what is not served is a gap, never an error."""

    def guard(self, rules: SecurityRules, *, secure_boot: bool) -> BmcGuard:
        """Read how well the BMC is guarded; a check that is off is not read, what is not served is a gap."""

    def event_log(self, rules: LogRules) -> EventLog:
        """Read the newest entries of the event logs; what is not served is a gap in the answer, never an error."""

    def sign_measurements(self, nonces: Mapping[str, str]) -> tuple[SignedMeasurements, ...]:
        """Ask components, by id, to sign their nonces (hex); may be repeated. Permanent when one could not be asked."""

    def signed_measurements(self, tasks: Mapping[str, str]) -> tuple[SignedMeasurements, ...]:
        """Read the answers that were not there yet, by component and task; one that still runs keeps its task."""

    def firmware(self) -> tuple[FirmwareItem, ...]:
        """Read the firmware inventory."""

    def state(self) -> SystemState:
        """Read power, boot progress and boot override."""

    def set_boot(self, image_uri: str, *, effect_id: str) -> None:
        """Boot `image_uri` over HTTP at the next start. Idempotent: may be repeated."""

    def reset(self, kind: str, *, effect_id: str) -> None:
        """Send one reset of a Redfish ResetType the BMC allows. Sent once; raises OutcomeUnknown after a time-out."""

    def start_update(self, item: FirmwareItem, image_uri: str, *, effect_id: str) -> str:
        """Send one SimpleUpdate and return the task's URI. Sent once; raises OutcomeUnknown after a time-out."""

    def update_state(self, task: str) -> UpdateState:
        """Read an update task, tolerating a task that vanished after it ended (quirk 13)."""

    def updates(self) -> tuple[UpdateState, ...]:
        """Read all update tasks that the BMC still knows, so that an unproven start can be settled."""


class BmcDirectory(Protocol):
    """Opens sessions; at most one per BMC at a time, closed whatever happens."""

    def open(self, node: FleetNode, sku: Sku) -> AbstractContextManager[Bmc]:
        """Log in to the node's BMC. Raises Transient when it is silent, Permanent when it refuses the login."""
