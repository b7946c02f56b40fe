"""Whether what a procedure waits for has come: reads only, cheap enough to be asked every few seconds.

A check names its kind; each kind is one function. An answer "yes" too early does no harm: the procedure looks at the
world itself and waits again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from nodeworthy.lifecycle.fleet import FleetNode
from nodeworthy.ports import Power, Work

AFTER_POST = {"OSBootStarted", "OSRunning", "SetupEntered"}
"""Redfish BootProgress.LastState values (ComputerSystem v1.13) that come after power-on self test."""

Check = Mapping[str, Any]


def ready(check: Check, node: FleetNode, work: Work) -> bool:
    """Return whether the wait is over. Raises Transient when the world cannot be read now."""
    return KINDS[str(check["kind"])](check, node, work)


def node_booted(check: Check, node: FleetNode, work: Work) -> bool:
    """The Node is Ready under a boot id and uid other than the old ones, whatever it booted."""
    seen = work.cluster.node(node.name)
    return (
        seen is not None
        and seen.ready
        and bool(seen.boot_id)
        and seen.boot_id != check["not_boot_id"]
        and seen.uid != check["not_uid"]
    )


def update_ended(check: Check, node: FleetNode, work: Work) -> bool:
    """The firmware task no longer runs."""
    with work.bmcs.open(node, work.library.sku(node.sku)) as bmc:
        return not bmc.update_state(str(check["task"])).running


def post_ended(_check: Check, node: FleetNode, work: Work) -> bool:
    """The host has power and is past its power-on self test, so that all its parts can be read."""
    with work.bmcs.open(node, work.library.sku(node.sku)) as bmc:
        state = bmc.state()
    return state.power is Power.ON and state.boot_progress in AFTER_POST


def moment(check: Check, _node: FleetNode, work: Work) -> bool:
    """A time has come."""
    return work.clock.now() >= datetime.fromisoformat(str(check["at"]))


KINDS: Mapping[str, Callable[[Check, FleetNode, Work], bool]] = {
    "node-booted": node_booted,
    "update-ended": update_ended,
    "post-ended": post_ended,
    "moment": moment,
}
