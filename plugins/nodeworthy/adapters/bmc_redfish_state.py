"""Power, boot progress and the reset action of one system (ComputerSystem v1.20; LastResetTime since v1.12)."""

from __future__ import annotations

from datetime import UTC, datetime

from nodeworthy.adapters.bmc_redfish_tree import Resource, Tree, part, text
from nodeworthy.errors import Permanent
from nodeworthy.ports import Power, SystemState

POWER = {
    "On": Power.ON,
    "Off": Power.OFF,
    "PoweringOn": Power.POWERING_ON,
    "PoweringOff": Power.POWERING_OFF,
}
EPOCH_YEAR = 1970
"""Some BMCs say 1970-01-01 or 0000-00-00 for "never known"."""


def read_state(system: Resource) -> SystemState:
    """Return what the system says; a power state outside the specification is UNKNOWN."""
    return SystemState(
        power=POWER.get(text(system, "PowerState"), Power.UNKNOWN),
        boot_progress=text(system, "BootProgress", "LastState"),
        last_reset=moment(system, "LastResetTime"),
        boot_override_enabled=text(system, "Boot", "BootSourceOverrideEnabled"),
        boot_override_uri=text(system, "Boot", "HttpBootUri"),
    )


def moment(resource: Resource, *names: str) -> datetime | None:
    """Return a time as aware UTC; None for what is missing, malformed, without zone, or at the epoch."""
    try:
        value = datetime.fromisoformat(text(resource, *names))
    except ValueError:
        return None
    return None if value.tzinfo is None or value.year <= EPOCH_YEAR else value.astimezone(UTC)


def reset_target(tree: Tree, system: Resource, node: str, kind: str) -> str:
    """Return where a reset is posted. Permanent when the system has no such action or does not allow `kind`."""
    action = part(system, "Actions", "#ComputerSystem.Reset")
    target = text(action, "target")
    if not target:
        raise Permanent(
            f"Reset {kind} of {node} was not sent: system {text(system, 'Id')} offers no reset; check the system id."
        )
    allowed = part(action, "ResetType@Redfish.AllowableValues") or _action_info(tree, action)
    if isinstance(allowed, list) and kind not in allowed:
        raise Permanent(
            f"Reset {kind} of {node} was not sent: its BMC allows {', '.join(map(str, allowed))}; use one of those."
        )
    return target


def _action_info(tree: Tree, action: object) -> object:
    """Read the allowed values from ActionInfo, which some BMCs serve instead of the annotation."""
    path = text(action, "@Redfish.ActionInfo")
    info = tree.get(path) if path else None
    for parameter in part(info, "Parameters") or ():
        if text(parameter, "Name") == "ResetType":
            return part(parameter, "AllowableValues")
    return None
