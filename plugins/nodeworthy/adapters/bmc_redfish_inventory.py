"""Turns a Redfish resource tree into an `Inventory`: parts with serials, firmware, cabling neighbours.

GPUs stand below the baseboard's system on HGX platforms and below the host elsewhere; both are read and a part that
shows in both counts once. Sources: DMTF DSP0268 (Processor 1.20, Memory 1.20, Drive 1.18, NetworkAdapter 1.10,
Port 1.11, PowerSupply 1.5, SoftwareInventory 1.10); units: Redfish gives memory in MiB, drives in bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from nodeworthy.adapters.bmc_redfish_tree import Resource, Tree, identity, link, number, part, present, text
from nodeworthy.evidence.inventory import Component, ComponentKind, FirmwareItem, Inventory, Neighbour

BYTES_PER_MIB = 1024 * 1024


def read_inventory(tree: Tree, root: Resource, host: Resource, baseboard: Resource | None) -> Inventory:
    """Read everything that a SKU, a manifest or a firmware set can be compared with."""
    systems = [system for system in (host, baseboard) if system is not None]
    chassis = chassis_of(tree, systems)
    adapters = [adapter for one in chassis for adapter in tree.members(one, "NetworkAdapters") if present(adapter)]
    components = [
        *_unique(component for system in systems for component in _processors(tree, system)),
        *_dimms(tree, host),
        *_adapters(adapters),
        *_drives(tree, host, chassis),
        *_power_supplies(tree, chassis),
        *_switches(tree, root),
    ]
    own_chassis = tree.follow(host, "Links", "Chassis")
    return Inventory(
        serial=text(host, "SerialNumber") or text(own_chassis, "SerialNumber"),
        manufacturer=text(host, "Manufacturer") or text(own_chassis, "Manufacturer"),
        model=text(host, "Model") or text(own_chassis, "Model"),
        system_id=text(host, "Id"),
        components=tuple(components),
        firmware=read_firmware(tree, root),
        neighbours=tuple(_neighbours(tree, adapters)),
        lacks=(*_unannounced(host), *tree.lacks),
        simulated=_simulated(root),
        raw={"redfish_version": text(root, "RedfishVersion"), "requests": tree.requests},
    )


def read_firmware(tree: Tree, root: Resource) -> tuple[FirmwareItem, ...]:
    """Read the firmware inventory in the BMC's own order and ids; a missing Updateable counts as not updateable."""
    service = tree.follow(root, "UpdateService")
    if service is None:
        tree.lacks.append("UpdateService (no firmware inventory)")
        return ()
    return tuple(
        FirmwareItem(text(item, "Id"), text(item, "Version"), part(item, "Updateable") is True, uri=identity(item))
        for item in tree.members(service, "FirmwareInventory")
    )


def chassis_of(tree: Tree, systems: Iterable[Resource]) -> tuple[Resource, ...]:
    """Return the chassis that hold these systems and the chassis inside them, each once, following Contains."""
    waiting = [identity(one) for system in systems for one in part(system, "Links", "Chassis") or ()]
    found: dict[str, Resource] = {}
    while waiting:
        path = waiting.pop(0)
        resource = tree.get(path) if path and path not in found else None
        if resource is not None:
            found[path] = resource
            waiting.extend(identity(one) for one in part(resource, "Links", "Contains") or ())
            waiting.append(link(resource, "Links", "ContainedBy"))
    return tuple(found.values())


def _unique(components: Iterable[Component]) -> tuple[Component, ...]:
    """Drop a part that a second system shows again under the same slot, model and serial."""
    return tuple(dict.fromkeys(components))


def _processors(tree: Tree, system: Resource) -> Iterator[Component]:
    kinds = {"CPU": ComponentKind.CPU, "GPU": ComponentKind.GPU}
    for processor in tree.members(system, "Processors"):
        kind = kinds.get(text(processor, "ProcessorType"))
        if kind is not None and present(processor):
            capacity = number(processor, "MemorySummary", "TotalMemorySizeMiB")
            yield _component(kind, processor, firmware="FirmwareVersion", capacity_mib=capacity)


def _dimms(tree: Tree, host: Resource) -> Iterator[Component]:
    for module in tree.members(host, "Memory"):
        memory = text(module, "MemoryDeviceType")
        if present(module) and "HBM" not in memory:
            model = text(module, "PartNumber") or memory
            dimm = _component(ComponentKind.DIMM, module, model=model, capacity_mib=number(module, "CapacityMiB"))
            # "In MHz or MT/s as appropriate" (DSP0268, Memory): BMCs give the transfer rate that the module is sold by.
            yield replace(dimm, speed_mts=number(module, "OperatingSpeedMhz"))


def _adapters(adapters: Iterable[Resource]) -> Iterator[Component]:
    for adapter in adapters:
        kind = ComponentKind.DPU if _is_dpu(adapter) else ComponentKind.NIC
        firmware = text(adapter, "Controllers", "FirmwarePackageVersion")
        yield _component(kind, adapter, version=firmware)


def _is_dpu(adapter: Resource) -> bool:
    """A DPU has processors of its own (NetworkAdapter 1.9 Processors) or bears the one family name there is."""
    return bool(link(adapter, "Processors")) or "bluefield" in (text(adapter, "Model") + text(adapter, "Name")).lower()


def _drives(tree: Tree, host: Resource, chassis: Iterable[Resource]) -> Iterator[Component]:
    """Read the drives of the host's storage; of the chassis where the host links none."""
    drives = [drive for storage in tree.members(host, "Storage") for drive in _listed_drives(tree, storage)]
    if not drives:
        drives = [drive for one in chassis for drive in tree.members(one, "Drives")]
    for drive in {identity(drive): drive for drive in drives if present(drive)}.values():
        size_bytes = number(drive, "CapacityBytes")
        capacity = size_bytes // BYTES_PER_MIB if size_bytes else None
        yield _component(ComponentKind.DRIVE, drive, firmware="Revision", capacity_mib=capacity)


def _listed_drives(tree: Tree, storage: Resource) -> tuple[Resource, ...]:
    """Return a storage's drives: a list of links (Storage 1.0 and later), or a collection, as some BMCs have it."""
    listed = storage.get("Drives")
    return tree.resolve(listed) if isinstance(listed, list) else tree.members(storage, "Drives")


def _power_supplies(tree: Tree, chassis: Iterable[Resource]) -> Iterator[Component]:
    """Read PowerSubsystem; the deprecated Power resource where a chassis has nothing newer."""
    for one in chassis:
        supplies = tree.members(tree.follow(one, "PowerSubsystem"), "PowerSupplies")
        if not supplies:
            supplies = tuple(part(tree.follow(one, "Power"), "PowerSupplies") or ())
        for supply in supplies:
            if present(supply):
                yield _component(ComponentKind.PSU, supply, firmware="FirmwareVersion")


def _switches(tree: Tree, root: Resource) -> Iterator[Component]:
    for fabric in tree.members(root, "Fabrics"):
        for switch in tree.members(fabric, "Switches"):
            if present(switch):
                yield _component(ComponentKind.SWITCH, switch, firmware="FirmwareVersion")


def _neighbours(tree: Tree, adapters: Iterable[Resource]) -> Iterator[Neighbour]:
    """Read Ethernet.LLDPReceive of each port; a port that hears nothing gives no neighbour."""
    for adapter in adapters:
        for port in (*tree.members(adapter, "Ports"), *tree.members(adapter, "NetworkPorts")):
            heard = part(port, "Ethernet", "LLDPReceive")
            switch = text(heard, "SystemName") or text(heard, "ChassisId")
            if switch:
                yield Neighbour(_interface(adapter, port), switch, text(heard, "PortId"))


def _interface(adapter: Resource, port: Resource) -> str:
    """Name a port as the cabling plan does: by the label on the package (PortId), else by adapter and port id."""
    label = text(port, "PortId") or text(port, "Location", "PartLocation", "ServiceLabel")
    return label or f"{text(adapter, 'Id')}/{text(port, 'Id')}"


def _component(
    kind: ComponentKind,
    resource: Resource,
    *,
    model: str = "",
    firmware: str = "",
    version: str = "",
    capacity_mib: int | None = None,
) -> Component:
    return Component(
        kind=kind,
        slot=text(resource, "Id") or text(resource, "MemberId") or text(resource, "Name"),
        model=model or text(resource, "Model") or text(resource, "Name"),
        serial=text(resource, "SerialNumber"),
        firmware=version or (text(resource, firmware) if firmware else ""),
        capacity_mib=capacity_mib,
        health=text(resource, "Status", "Health"),
    )


def _unannounced(host: Resource) -> tuple[str, ...]:
    """Name the collections that the host's system does not even link to."""
    return tuple(
        f"{name} of {text(host, 'Id')} (not announced)"
        for name in ("Processors", "Memory", "Storage")
        if not link(host, name)
    )


def _simulated(root: Resource) -> bool:
    """True for the virtual fleet, which says so in its service root."""
    return part(root, "Oem", "NodeworthyLab", "Simulated") is True
