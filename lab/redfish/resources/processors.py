"""CPUs of the host; GPUs of the baseboard with their metrics, memory and NVLink ports."""

from __future__ import annotations

from lab.redfish import errors
from lab.redfish.documents import OK, ROOT, collection, link, resource
from lab.redfish.resources.hardware import dimm_ids, dimm_row, manufacturer
from lab.redfish.routes import Context, Document, get
from lab.truth.parts import Gpu


def _gpus(context: Context) -> dict[str, Gpu]:
    pattern = context.platform.gpu["redfish_id"]
    return {pattern.format(number=gpu.index + 1): gpu for gpu in context.parts.gpus if gpu.present}


def _is_baseboard(context: Context, system: str) -> bool:
    if system == context.platform.baseboard_system:
        return True
    if system == context.host_system:
        return False
    raise errors.not_found(ROOT + context.path)


def _gpu(context: Context, system: str, processor: str) -> Gpu:
    gpu = _gpus(context).get(processor) if _is_baseboard(context, system) else None
    if gpu is None:
        raise errors.not_found(ROOT + context.path)
    return gpu


@get("Systems/{system}/Processors")
def processors(context: Context, system: str) -> Document:
    """CPUs under the host, GPUs under the baseboard."""
    if _is_baseboard(context, system):
        return collection(context.path, "Processor", _gpus(context))
    pattern = context.platform.cpu["redfish_id"]
    return collection(context.path, "Processor", [pattern.format(index=cpu.index) for cpu in context.parts.cpus])


@get("Systems/{system}/Processors/{processor}")
def processor(context: Context, system: str, processor: str) -> Document:
    """One CPU or GPU."""
    if _is_baseboard(context, system):
        return _gpu_document(context, _gpu(context, system, processor))
    row = context.platform.cpu
    cpus = {row["redfish_id"].format(index=cpu.index): cpu for cpu in context.parts.cpus}
    if processor not in cpus:
        raise errors.not_found(ROOT + context.path)
    return resource(
        context.path,
        "Processor.v1_20_0",
        processor,
        ProcessorType="CPU",
        ProcessorArchitecture="x86",
        InstructionSet="x86-64",
        Manufacturer=row["manufacturer"],
        Model=row["model"],
        SerialNumber=cpus[processor].serial,
        Socket=processor,
        TotalCores=row["cores"],
        TotalThreads=row["threads"],
        MaxSpeedMHz=row["max_speed_mhz"],
        Status=OK,
    )


def _gpu_document(context: Context, gpu: Gpu) -> Document:
    row, path = context.platform.gpu, context.path
    number = gpu.index + 1
    seen = context.world.view(context.node.name)["gpus"][gpu.index]
    chassis = context.platform.gpu_chassis.format(number=number)
    return resource(
        path,
        "Processor.v1_20_0",
        f"GPU {number}",
        ProcessorType="GPU",
        Manufacturer=manufacturer(context),
        Model=gpu.redfish_model,
        PartNumber=row["part_number"],
        SerialNumber=gpu.serial,
        UUID=gpu.uuid.removeprefix("GPU-"),
        FirmwareVersion=context.node.firmware.version(row["firmware"].format(number=number)),
        MemorySummary={"TotalMemorySizeMiB": gpu.memory_mib, "ECCModeEnabled": True},
        SystemInterface={
            "InterfaceType": "PCIe",
            "PCIe": {"PCIeType": f"Gen{seen['pcie_generation']}", "LanesInUse": seen["pcie_width"], "MaxLanes": 16},
        },
        Status=OK,
        ProcessorMetrics=link(f"{path}/ProcessorMetrics"),
        EnvironmentMetrics=link(f"{path}/EnvironmentMetrics"),
        Ports=link(f"{path}/Ports"),
        Links={"Chassis": link(f"Chassis/{chassis}"), "Memory": [link(_memory_path(path))]},
        **_oem(context, {"MIGModeEnabled": False, "CCModeEnabled": False, "TotalNumberNVLinks": row["nvlinks"]}),
    )


def _oem(context: Context, own: Document) -> Document:
    """NVIDIA's own part of a document, where its controller writes it."""
    return {"Oem": {"Nvidia": own}} if context.platform.vendor == "nvidia" else {}


def _memory_path(path: str) -> str:
    base, _, processor = path.partition("/Processors/")
    return f"{base}/Memory/{processor}_DRAM_0"


@get("Systems/{system}/Processors/{processor}/ProcessorMetrics")
def processor_metrics(context: Context, system: str, processor: str) -> Document:
    """Error counters and throttling of a GPU."""
    gpu = _gpu(context, system, processor)
    seen = context.world.view(context.node.name)["gpus"][gpu.index]
    return resource(
        context.path,
        "ProcessorMetrics.v1_6_1",
        f"{processor} metrics",
        CacheMetricsTotal={"LifeTime": {"CorrectableECCErrorCount": 0, "UncorrectableECCErrorCount": 0}},
        PCIeErrors={"ReplayCount": seen["pcie_replay"], "FatalErrorCount": 0, "NonFatalErrorCount": 0},
        HardwareViolationThrottleDuration="PT0S",
        ThermalLimitThrottleDuration="PT41S" if seen["throttle_reasons"] else "PT0S",
        **_oem(context, {"SRAMECCErrorThresholdExceeded": False, "NVLinkDataTxBandwidthGbps": 0.0}),
    )


@get("Systems/{system}/Processors/{processor}/EnvironmentMetrics")
def environment(context: Context, system: str, processor: str) -> Document:
    """Temperature and power of a GPU."""
    gpu = _gpu(context, system, processor)
    seen = context.world.view(context.node.name)["gpus"][gpu.index]
    return resource(
        context.path,
        "EnvironmentMetrics.v1_3_1",
        f"{processor} environment",
        TemperatureCelsius={"Reading": float(seen["temperature_celsius"])},
        PowerWatts={"Reading": seen["power_watts"]},
        PowerLimitWatts={"SetPoint": int(seen["power_limit_watts"]), "AllowableMax": int(seen["power_limit_watts"])},
    )


@get("Systems/{system}/Processors/{processor}/Ports")
def nvlink_ports(context: Context, system: str, processor: str) -> Document:
    """The NVLinks of a GPU."""
    _gpu(context, system, processor)
    return collection(context.path, "Port", [f"NVLink_{link_}" for link_ in range(context.platform.gpu["nvlinks"])])


@get("Systems/{system}/Processors/{processor}/Ports/{port}")
def nvlink_port(context: Context, system: str, processor: str, port: str) -> Document:
    """One NVLink: whether it is up and how fast it is."""
    gpu = _gpu(context, system, processor)
    links = context.world.view(context.node.name)["gpus"][gpu.index]["nvlinks"]
    found = next((row for row in links if port == f"NVLink_{row['link']}"), None)
    if found is None:
        raise errors.not_found(ROOT + context.path)
    speed_gbps = found["speed_mb_s"] * 8 / 1000
    return resource(
        context.path,
        "Port.v1_14_0",
        port,
        PortProtocol="NVLink",
        PortType="BidirectionalPort",
        LinkStatus="LinkUp" if found["up"] else "LinkDown",
        LinkState="Enabled",
        CurrentSpeedGbps=speed_gbps if found["up"] else 0,
        MaxSpeedGbps=speed_gbps,
        Status=OK,
    )


@get("Systems/{system}/Memory")
def memory(context: Context, system: str) -> Document:
    """DIMMs under the host, GPU memory under the baseboard."""
    if _is_baseboard(context, system):
        return collection(context.path, "Memory", [f"{gpu}_DRAM_0" for gpu in _gpus(context)])
    return collection(context.path, "Memory", dimm_ids(context))


@get("Systems/{system}/Memory/{module}")
def module(context: Context, system: str, module: str) -> Document:
    """One DIMM or the memory of one GPU."""
    if not _is_baseboard(context, system):
        return dimm_row(context, module)
    gpu = _gpu(context, system, module.removesuffix("_DRAM_0"))
    return resource(
        context.path,
        "Memory.v1_20_0",
        module,
        MemoryType="DRAM",
        MemoryDeviceType="HBM3E" if "H200" in gpu.model else "HBM3",
        CapacityMiB=gpu.memory_mib,
        Status=OK,
        Metrics=link(context.path + "/MemoryMetrics"),
    )


@get("Systems/{system}/Memory/{module}/MemoryMetrics")
def memory_metrics(context: Context, system: str, module: str) -> Document:
    """ECC counts, and row remapping for GPU memory."""
    if not _is_baseboard(context, system):
        dimm_row(context, module)
        return resource(context.path, "MemoryMetrics.v1_7_3", f"{module} metrics")
    gpu = _gpu(context, system, module.removesuffix("_DRAM_0"))
    seen = context.world.view(context.node.name)["gpus"][gpu.index]
    remap = seen["remap"]
    banks = {
        "MaxAvailabilityBankCount": 0 if remap["failure"] else 2560,
        "NoAvailabilityBankCount": int(remap["failure"]),
    }
    return resource(
        context.path,
        "MemoryMetrics.v1_7_3",
        f"{module} metrics",
        LifeTime={
            "CorrectableECCErrorCount": seen["ecc_corrected"],
            "UncorrectableECCErrorCount": seen["ecc_uncorrected"],
        },
        **_oem(
            context,
            {
                "RowRemapping": {
                    "CorrectableRowRemappingCount": remap["correctable"],
                    "UncorrectableRowRemappingCount": remap["uncorrectable"],
                    **banks,
                },
                "RowRemappingPending": remap["pending"],
                "RowRemappingFailed": remap["failure"],
            },
        ),
    )
