"""The fault `bmc-unsafe`, which several resources show."""

from __future__ import annotations

from lab.redfish.routes import Context
from lab.truth.faults import ActiveFault


def unsafe(context: Context, what: str) -> ActiveFault | None:
    """The fault, if it is active and of this kind."""
    fault = context.world.faults.find(context.node.name, "bmc-unsafe")
    return fault if fault is not None and fault.parameters["what"] == what else None
