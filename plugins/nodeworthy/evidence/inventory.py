"""What a node is made of, as its BMC tells it: components with serials, firmware versions, cabling neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class ComponentKind(StrEnum):
    """Kinds of components whose serials and counts a SKU names."""

    CPU = "cpu"
    DIMM = "dimm"
    GPU = "gpu"
    NIC = "nic"
    DPU = "dpu"
    DRIVE = "drive"
    PSU = "psu"
    SWITCH = "switch"


@dataclass(frozen=True, slots=True)
class Component:
    """One part of a node. `slot` is its place in this node; `capacity_mib` is memory or drive size where it has one.

    `speed_mts` is the rate at which a memory module runs, in million transfers a second.
    """

    kind: ComponentKind
    slot: str
    model: str
    serial: str
    firmware: str = ""
    capacity_mib: int | None = None
    health: str = ""
    speed_mts: int | None = None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """What one network interface sees at the other end of its cable: by LLDP, or in the InfiniBand fabric."""

    interface: str
    switch: str
    port: str
    link: str = "ethernet"


@dataclass(frozen=True, slots=True)
class FirmwareItem:
    """One entry of the firmware inventory, named by the BMC's own id."""

    id: str
    version: str
    updateable: bool
    uri: str = ""


@dataclass(frozen=True, slots=True)
class Inventory:
    """Everything one BMC tells about one node at one moment.

    `lacks` names, in words, what the BMC does not serve at all (a collection that is absent is not a count of zero).
    """

    serial: str
    manufacturer: str
    model: str
    system_id: str
    components: tuple[Component, ...]
    firmware: tuple[FirmwareItem, ...]
    neighbours: tuple[Neighbour, ...] = ()
    lacks: tuple[str, ...] = ()
    simulated: bool = False
    raw: Mapping[str, object] = field(default_factory=dict)

    def of_kind(self, kind: ComponentKind) -> tuple[Component, ...]:
        """Return the components of one kind in the order in which the BMC lists them."""
        return tuple(component for component in self.components if component.kind is kind)
