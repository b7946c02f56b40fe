"""What one session with a BMC read for inspect."""

from __future__ import annotations

from dataclasses import dataclass

from nodeworthy.evidence.bmc_guard import BmcGuard
from nodeworthy.evidence.bmc_health import Health, Leaks
from nodeworthy.evidence.bmc_log import EventLog
from nodeworthy.evidence.inventory import Inventory


@dataclass(frozen=True, slots=True)
class BmcReading:
    """Everything that inspect judges, as it was read."""

    inventory: Inventory
    leaks: Leaks
    health: Health
    log: EventLog
    guard: BmcGuard
