"""What is built into a node: GPUs, CPUs, memory, adapters, drives, power supplies, each with its own serial.

All of it follows from the platform's data, the seed and the node's name, so that a thousand nodes cost no memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lab.truth import seeded
from lab.truth.node import LabNode

_RAILS, _LEAF_PORTS = 8, 64


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU; `index` is NVML's, the BMC counts from 1."""

    index: int
    model: str
    redfish_model: str
    uuid: str
    serial: str
    pci_bus_id: str
    pci_device_id: str
    memory_mib: int
    present: bool = True


@dataclass(frozen=True, slots=True)
class Nic:
    """A network adapter with one port and the neighbour that LLDP shows there."""

    index: int
    role: str
    redfish_id: str
    interface: str
    serial: str
    mac: str
    firmware: str | None
    switch: str
    port: str
    row: Any


@dataclass(frozen=True, slots=True)
class Part:
    """A part that needs no more than a place, a serial and its data row (CPU, DIMM, drive, power supply, switch)."""

    index: int
    serial: str
    row: Any


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that is built into one node, in the order of the slots; `serial` is the chassis'."""

    serial: str
    gpus: tuple[Gpu, ...]
    nics: tuple[Nic, ...]
    cpus: tuple[Part, ...]
    dimms: tuple[Part, ...]
    drives: tuple[Part, ...]
    psus: tuple[Part, ...]
    switches: tuple[Part, ...]


def base_parts(node: LabNode) -> Parts:
    """The parts of a healthy node."""
    platform = node.platform
    drives = [row for row in platform.drives for _ in range(row["count"])]
    return Parts(
        serial=node.serial,
        gpus=tuple(_gpu(node, index) for index in range(platform.gpu["count"])),
        nics=tuple(_nics(node)),
        cpus=_parts(node, "cpu", [platform.cpu] * platform.cpu["count"]),
        dimms=_parts(node, "dimm", [platform.dimm] * platform.dimm["count"]),
        drives=_parts(node, "drive", drives),
        psus=_parts(node, "psu", [platform.psu] * platform.psu["count"]),
        switches=_parts(node, "switch", [platform.nvswitch] * platform.nvswitch["count"]),
    )


def _parts(node: LabNode, kind: str, rows: list[Any]) -> tuple[Part, ...]:
    return tuple(
        Part(index, seeded.token(14, node.seed, node.name, kind, index), row) for index, row in enumerate(rows)
    )


def _gpu(node: LabNode, index: int) -> Gpu:
    row = node.platform.gpu
    return Gpu(
        index=index,
        model=row["model"],
        redfish_model=row["redfish_model"],
        uuid="GPU-" + seeded.identity(node.seed, node.name, "gpu", index),
        serial=seeded.digits(13, node.seed, node.name, "gpu", index),
        pci_bus_id=row["pci_bus_ids"][index],
        pci_device_id=row["pci_device_id"],
        memory_mib=row["memory_mib"],
    )


def _nics(node: LabNode) -> list[Nic]:
    found = []
    for row in node.platform.nics:
        for index in range(row["count"]):
            switch, port = _neighbour(node, row["role"], index)
            found.append(
                Nic(
                    index=index,
                    role=row["role"],
                    redfish_id=row["redfish_id"].format(index=index),
                    interface=row["interface"].format(index=index),
                    serial=seeded.token(13, node.seed, node.name, row["role"], index),
                    mac=seeded.mac(row["mac_prefix"], node.seed, node.name, row["role"], index),
                    firmware=row["firmware"] and row["firmware"].format(index=index),
                    switch=switch,
                    port=port,
                    row=row,
                )
            )
    return found


def _neighbour(node: LabNode, role: str, index: int) -> tuple[str, str]:
    """Rail-optimised: adapter i of every node of a block goes to leaf i; the node's place in the block is the port."""
    block, place = divmod(node.index, _LEAF_PORTS)
    if role == "fabric":
        return f"leaf-{block * _RAILS + index + 1:02d}", f"swp{place + 1}"
    if role == "dpu":
        return f"storage-{block * 2 + index + 1:02d}", f"swp{place + 1}"
    return f"oob-{node.rack.lower()}", f"swp{node.position}"
