"""Network adapters with the neighbours that LLDP shows on their ports, and the host's Ethernet interfaces.

A port's name is the interface's name on the node, and its MAC address is the EthernetInterface's: either joins an
adapter's serial and neighbour with the cabling list of the fleet manifest.
"""

from __future__ import annotations

from lab.redfish import errors
from lab.redfish.documents import OK, ROOT, collection, link, links, resource
from lab.redfish.routes import Context, Document, get
from lab.truth import seeded
from lab.truth.parts import Nic

_PORT = "1"


def _adapters(context: Context, chassis: str) -> dict[str, Nic]:
    if chassis != context.platform.host_chassis:
        raise errors.not_found(ROOT + context.path)
    return {nic.redfish_id: nic for nic in context.parts.nics}


def _adapter(context: Context, chassis: str, adapter: str) -> Nic:
    nic = _adapters(context, chassis).get(adapter)
    if nic is None:
        raise errors.not_found(ROOT + context.path)
    return nic


@get("Chassis/{chassis}/NetworkAdapters")
def adapters(context: Context, chassis: str) -> Document:
    """All adapters of the server."""
    return collection(context.path, "NetworkAdapter", _adapters(context, chassis))


@get("Chassis/{chassis}/NetworkAdapters/{adapter}")
def adapter(context: Context, chassis: str, adapter: str) -> Document:
    """One adapter."""
    nic, path = _adapter(context, chassis, adapter), context.path
    version = context.node.firmware.version(nic.firmware) if nic.firmware else None
    device = f"Chassis/{chassis}/PCIeDevices/{adapter}"
    return resource(
        path,
        "NetworkAdapter.v1_11_0",
        nic.row["model"],
        Manufacturer=nic.row["manufacturer"],
        Model=nic.row["model"],
        PartNumber=nic.row["part_number"],
        SerialNumber=nic.serial,
        Controllers=[
            {
                "FirmwarePackageVersion": version,
                "ControllerCapabilities": {"NetworkPortCount": 1},
                "Links": {"PCIeDevices": links([device]), "Ports": links([f"{path}/Ports/{_PORT}"])},
            }
        ],
        Ports=link(f"{path}/Ports"),
        NetworkDeviceFunctions=link(f"{path}/NetworkDeviceFunctions"),
        Status=OK,
    )


@get("Chassis/{chassis}/NetworkAdapters/{adapter}/Ports")
def ports(context: Context, chassis: str, adapter: str) -> Document:
    """The adapter's one port."""
    _adapter(context, chassis, adapter)
    return collection(context.path, "Port", [_PORT])


@get("Chassis/{chassis}/NetworkAdapters/{adapter}/Ports/{port}")
def port(context: Context, chassis: str, adapter: str, port: str) -> Document:
    """The port: speed, link, address and neighbour."""
    nic = _adapter(context, chassis, adapter)
    if port != _PORT:
        raise errors.not_found(ROOT + context.path)
    neighbour = {
        "ChassisId": seeded.mac("44:38:39", nic.switch),
        "ChassisIdSubtype": "MacAddr",
        "PortId": nic.port,
        "PortIdSubtype": "IfName",
        "SystemName": nic.switch,
    }
    return resource(
        context.path,
        "Port.v1_14_0",
        nic.interface,
        PortId=nic.interface,
        PortProtocol="Ethernet",
        LinkNetworkTechnology="Ethernet",
        LinkStatus="LinkUp",
        LinkState="Enabled",
        CurrentSpeedGbps=nic.row["speed_gbps"],
        MaxSpeedGbps=nic.row["speed_gbps"],
        Ethernet={"AssociatedMACAddresses": [nic.mac], "LLDPEnabled": True, "LLDPReceive": neighbour},
        Status=OK,
    )


@get("Chassis/{chassis}/NetworkAdapters/{adapter}/NetworkDeviceFunctions")
def functions(context: Context, chassis: str, adapter: str) -> Document:
    """The adapter's one function."""
    _adapter(context, chassis, adapter)
    return collection(context.path, "NetworkDeviceFunction", ["0"])


@get("Chassis/{chassis}/NetworkAdapters/{adapter}/NetworkDeviceFunctions/{function}")
def function(context: Context, chassis: str, adapter: str, function: str) -> Document:
    """The function and its address."""
    nic = _adapter(context, chassis, adapter)
    if function != "0":
        raise errors.not_found(ROOT + context.path)
    return resource(
        context.path,
        "NetworkDeviceFunction.v1_9_2",
        nic.interface,
        NetDevFuncType="Ethernet",
        DeviceEnabled=True,
        Ethernet={"MACAddress": nic.mac, "PermanentMACAddress": nic.mac},
        Status=OK,
    )


@get("Systems/{system}/EthernetInterfaces")
def interfaces(context: Context, system: str) -> Document:
    """The host's interfaces."""
    return collection(context.path, "EthernetInterface", _interfaces(context, system))


@get("Systems/{system}/EthernetInterfaces/{interface}")
def interface(context: Context, system: str, interface: str) -> Document:
    """One interface and the addresses of its adapter."""
    nic = _interfaces(context, system).get(interface)
    if nic is None:
        raise errors.not_found(ROOT + context.path)
    return resource(
        context.path,
        "EthernetInterface.v1_12_2",
        interface,
        MACAddress=nic.mac,
        PermanentMACAddress=nic.mac,
        SpeedMbps=nic.row["speed_gbps"] * 1000,
        LinkStatus="LinkUp",
        InterfaceEnabled=True,
        Status=OK,
    )


def _interfaces(context: Context, system: str) -> dict[str, Nic]:
    if system != context.host_system:
        raise errors.not_found(ROOT + context.path)
    return {nic.interface: nic for nic in context.parts.nics}
