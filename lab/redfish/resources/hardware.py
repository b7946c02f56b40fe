"""Parts of the host: memory modules, drives, PCIe devices, BIOS settings and secure boot."""

from __future__ import annotations

from lab.redfish import errors
from lab.redfish.documents import OK, ROOT, collection, link, links, resource
from lab.redfish.routes import Answer, Context, Document, get, patch, post

STORAGE = "NVMe"
_RESET_KEYS = ["ResetAllKeysToDefault", "DeleteAllKeys", "DeletePK"]


def _host_only(context: Context, system: str) -> None:
    if system != context.host_system:
        raise errors.not_found(ROOT + context.path)


def dimm_ids(context: Context) -> list[str]:
    """Ids of the memory modules that are seen."""
    pattern = context.platform.dimm["redfish_id"]
    return [pattern.format(index=dimm.index) for dimm in context.parts.dimms]


def dimm_row(context: Context, module: str) -> Document:
    """One memory module; 404 if it is not seen."""
    pattern = context.platform.dimm["redfish_id"]
    found = next((dimm for dimm in context.parts.dimms if pattern.format(index=dimm.index) == module), None)
    if found is None:
        raise errors.not_found(ROOT + context.path)
    row = found.row
    return resource(
        context.path,
        "Memory.v1_20_0",
        module,
        MemoryType="DRAM",
        MemoryDeviceType=row["type"],
        BaseModuleType="RDIMM",
        CapacityMiB=row["capacity_mib"],
        OperatingSpeedMhz=row["speed_mhz"],
        Manufacturer=row["manufacturer"],
        PartNumber=row["part_number"],
        SerialNumber=found.serial,
        DeviceLocator=module,
        Status=OK,
    )


@get("Systems/{system}/Storage")
def storages(context: Context, system: str) -> Document:
    """The NVMe drives form one storage."""
    _host_only(context, system)
    return collection(context.path, "Storage", [STORAGE])


@get("Systems/{system}/Storage/{storage}")
def storage(context: Context, system: str, storage: str) -> Document:
    """The storage and its drives."""
    _host_only(context, system)
    if storage != STORAGE:
        raise errors.not_found(ROOT + context.path)
    drives = [f"{context.path}/Drives/{_drive_id(drive.index)}" for drive in context.parts.drives]
    controller = {
        "@odata.id": f"{ROOT}{context.path}#/StorageControllers/0",
        "MemberId": "0",
        "Name": "NVMe",
        "SupportedDeviceProtocols": ["NVMe"],
        "Status": OK,
    }
    return resource(
        context.path,
        "Storage.v1_17_0",
        "NVMe Storage",
        Drives=links(drives),
        **{"Drives@odata.count": len(drives)},
        StorageControllers=[controller],
        Volumes=link(context.path + "/Volumes"),
        Status=OK,
    )


@get("Systems/{system}/Storage/{storage}/Volumes")
def volumes(context: Context, system: str, storage: str) -> Document:
    """No volumes: NVMe drives are used as they are."""
    _host_only(context, system)
    return collection(context.path, "Volume", [])


def _drive_id(index: int) -> str:
    return f"NVMe_{index}"


@get("Systems/{system}/Storage/{storage}/Drives/{drive}")
def drive(context: Context, system: str, storage: str, drive: str) -> Document:
    """One drive."""
    _host_only(context, system)
    found = next((part for part in context.parts.drives if _drive_id(part.index) == drive), None)
    if found is None or storage != STORAGE:
        raise errors.not_found(ROOT + context.path)
    row = found.row
    return resource(
        context.path,
        "Drive.v1_20_1",
        drive,
        Manufacturer=row["manufacturer"],
        Model=row["model"],
        SerialNumber=found.serial,
        Revision=row["revision"],
        CapacityBytes=row["capacity_bytes"],
        MediaType="SSD",
        Protocol="NVMe",
        FailurePredicted=False,
        PredictedMediaLifeLeftPercent=100,
        Status=OK,
    )


def manufacturer(context: Context) -> str:
    """Who made the GPUs, as the BMC calls them."""
    return str(context.platform.gpu.get("manufacturer", "NVIDIA"))


def pcie_paths(context: Context) -> list[str]:
    """Paths of all PCIe devices of the server: GPUs, adapters and drives that are seen."""
    base = f"Chassis/{context.platform.host_chassis}/PCIeDevices/"
    return [base + name for name in pcie_devices(context)]


def pcie_devices(context: Context) -> dict[str, Document]:
    """What a PCIe device is, by id."""
    parts, gpu_row = context.parts, context.platform.gpu
    found: dict[str, Document] = {}
    for gpu in parts.gpus:
        if gpu.present:
            found[f"GPU{gpu.index + 1}"] = {
                "Manufacturer": manufacturer(context),
                "Model": gpu.redfish_model,
                "SerialNumber": gpu.serial,
                "PartNumber": gpu_row["part_number"],
                "PCIeInterface": _interface("Gen5", 16),
            }
    for nic in parts.nics:
        version = context.node.firmware.version(nic.firmware) if nic.firmware else None
        found[nic.redfish_id] = {
            "Manufacturer": nic.row["manufacturer"],
            "Model": nic.row["model"],
            "SerialNumber": nic.serial,
            "PartNumber": nic.row["part_number"],
            "FirmwareVersion": version,
            "PCIeInterface": _interface("Gen5", 16),
        }
    for part in parts.drives:
        found[_drive_id(part.index)] = {
            "Manufacturer": part.row["manufacturer"],
            "Model": part.row["model"],
            "SerialNumber": part.serial,
            "FirmwareVersion": part.row["revision"],
            "PCIeInterface": _interface("Gen4", 4),
        }
    return found


def _interface(generation: str, lanes: int) -> Document:
    return {"PCIeType": generation, "MaxPCIeType": generation, "LanesInUse": lanes, "MaxLanes": lanes}


@get("Systems/{system}/Bios")
def bios(context: Context, system: str) -> Document:
    """The BIOS attributes that are in force; quirk 1 gives the baseboard a Bios too, without attributes."""
    if system == context.platform.baseboard_system and context.has("baseboard-first"):
        return resource(context.path, "Bios.v1_2_3", "Bios", Attributes={})
    _host_only(context, system)
    return resource(
        context.path,
        "Bios.v1_2_3",
        "Bios Settings",
        Attributes={**context.platform.bios_attributes, **context.node.bios},
        Actions={"#Bios.ResetBios": {"target": f"{ROOT}{context.path}/Actions/Bios.ResetBios"}},
        **{
            "@Redfish.Settings": {
                "@odata.type": "#Settings.v1_4_0.Settings",
                "SettingsObject": link(context.path + "/Settings"),
                "SupportedApplyTimes": ["OnReset"],
                "Messages": [],
            }
        },
    )


@get("Systems/{system}/Bios/Settings")
def bios_settings(context: Context, system: str) -> Document:
    """The BIOS attributes as they will be after the next reset."""
    _host_only(context, system)
    node = context.node
    return resource(
        context.path,
        "Bios.v1_2_3",
        "Bios Pending Settings",
        Attributes={**context.platform.bios_attributes, **node.bios, **node.bios_pending},
    )


@patch("Systems/{system}/Bios/Settings")
def change_bios(context: Context, system: str) -> Answer:
    """Set BIOS attributes for the next reset."""
    _host_only(context, system)
    attributes = context.body.get("Attributes")
    if not isinstance(attributes, dict):
        raise errors.missing("Attributes")
    for name in attributes:
        if name not in context.platform.bios_attributes:
            raise errors.unknown_property(name)
    context.node.bios_pending.update(attributes)
    context.effect("bios-attributes", attributes=attributes)
    return Answer(200, bios_settings(context, system))


@post("Systems/{system}/Bios/Actions/Bios.ResetBios")
def reset_bios(context: Context, system: str) -> Answer:
    """Back to the defaults at the next reset."""
    _host_only(context, system)
    context.node.bios_pending.update(context.platform.bios_attributes)
    context.effect("bios-reset")
    return Answer()


@get("Systems/{system}/SecureBoot")
def secure_boot(context: Context, system: str) -> Document:
    """Whether the boot chain is checked."""
    _host_only(context, system)
    enabled = context.node.secure_boot and not context.world.faults.find(context.node.name, "secure-boot-off")
    target = f"{ROOT}{context.path}/Actions/SecureBoot.ResetKeys"
    return resource(
        context.path,
        "SecureBoot.v1_1_2",
        "UEFI Secure Boot",
        SecureBootEnable=enabled,
        SecureBootCurrentBoot="Enabled" if enabled else "Disabled",
        SecureBootMode="DeployedMode" if enabled else "UserMode",
        Actions={"#SecureBoot.ResetKeys": {"target": target, "ResetKeysType@Redfish.AllowableValues": _RESET_KEYS}},
    )


@patch("Systems/{system}/SecureBoot")
def change_secure_boot(context: Context, system: str) -> Answer:
    """Turn secure boot on or off."""
    _host_only(context, system)
    enable = context.body.get("SecureBootEnable")
    if not isinstance(enable, bool):
        raise errors.missing("SecureBootEnable")
    context.node.secure_boot = enable
    context.effect("secure-boot", enable=enable)
    return Answer()
