"""One look at all GPUs through NVML, printed as JSON on standard output.

Runs as a process of its own, because a call into the driver can hang for ever on a lost GPU and
only a process can be ended. Each value stands alone: what the driver does not support or cannot
read is an error beside the others, never a zero. Run it with
``python -m nodeworthy_probe.nvml_snapshot``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pynvml as nvml  # the module of the package nvidia-ml-py

SCHEMA = "nodeworthy.nvml-snapshot/1"
_MIB = 1024 * 1024
_MOST_LINKS = 36
_FIELD_RECOVERY_ACTION = 230  # NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, driver 570 and later

Reader = Callable[[Any], Any]


def main() -> int:
    """Print the snapshot; 1 if NVML cannot be used, 127 if there is none (the reason goes to standard error)."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError_LibraryNotFound:
        sys.stderr.write(
            "this node has no NVML: its GPUs are not NVIDIA's, or the driver's libraries are not in the pod\n"
        )
        return 127
    except nvml.NVMLError as error:
        sys.stderr.write(f"NVML cannot be started: {error}\n")
        return 1
    try:
        sys.stdout.write(json.dumps(_snapshot(), indent=1) + "\n")
    except nvml.NVMLError as error:
        sys.stderr.write(f"NVML cannot list the GPUs: {error}\n")
        return 1
    finally:
        _attempt(nvml.nvmlShutdown)
    return 0


def _snapshot() -> dict[str, Any]:
    count = nvml.nvmlDeviceGetCount()
    return {
        "schema": SCHEMA,
        "driver_version": _attempt(nvml.nvmlSystemGetDriverVersion),
        "cuda_driver_version": _attempt(nvml.nvmlSystemGetCudaDriverVersion),
        "gpu_count": count,
        "gpus": [_gpu(index) for index in range(count)],
    }


def _gpu(index: int) -> dict[str, Any]:
    entry: dict[str, Any] = {"index": index}
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
    except nvml.NVMLError as error:
        return entry | {"error": str(error), "values": {}}
    return entry | {"values": {name: _attempt(read, handle) for name, read in _READERS.items()}}


def _attempt(read: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    try:
        value = read(*arguments)
    except nvml.NVMLError as error:
        return {"error": str(error)}
    return {"value": value.decode("utf-8", "replace") if isinstance(value, bytes) else value}


def _links_up(handle: Any) -> int:
    """Active links; a link that the driver does not know ends the count, as the list is dense."""
    active = 0
    for link in range(_MOST_LINKS):
        try:
            active += int(nvml.nvmlDeviceGetNvLinkState(handle, link) == nvml.NVML_FEATURE_ENABLED)
        except (nvml.NVMLError_InvalidArgument, nvml.NVMLError_NotSupported):
            if link == 0:
                raise
            break
    return active


def _fabric(handle: Any) -> Any:
    info = nvml.c_nvmlGpuFabricInfo_v3_t()
    try:
        nvml.nvmlDeviceGetGpuFabricInfoV(handle, nvml.byref(info))
    except nvml.NVMLError_ArgumentVersionMismatch:  # before driver 575 only version 2 is known
        info = nvml.c_nvmlGpuFabricInfo_v2_t()
        nvml.nvmlDeviceGetGpuFabricInfoV(handle, nvml.byref(info))
    return info


def _memory_used(handle: Any) -> int:
    """What running work holds: the second form of the call leaves out what the driver keeps for itself.

    Whose work it is cannot be asked from within a container, which sees no processes but its own.
    """
    return int(nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2).used) // _MIB


def _inforom_valid(handle: Any) -> int:
    try:
        nvml.nvmlDeviceValidateInforom(handle)
    except nvml.NVMLError_CorruptedInforom:
        return 0
    return 1


def _retired_pages(handle: Any) -> int:
    causes = (
        nvml.NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS,
        nvml.NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR,
    )
    return sum(len(nvml.nvmlDeviceGetRetiredPages(handle, cause)) for cause in causes)


def _recovery_action(handle: Any) -> int:
    field = nvml.nvmlDeviceGetFieldValues(handle, [_FIELD_RECOVERY_ACTION])[0]
    if field.nvmlReturn != nvml.NVML_SUCCESS:
        raise nvml.NVMLError(field.nvmlReturn)
    return int(field.value.uiVal)


_READERS: dict[str, Reader] = {
    "model": nvml.nvmlDeviceGetName,
    "serial": nvml.nvmlDeviceGetSerial,
    "uuid": nvml.nvmlDeviceGetUUID,
    "vbios": nvml.nvmlDeviceGetVbiosVersion,
    "inforom": nvml.nvmlDeviceGetInforomImageVersion,
    "pci": lambda handle: nvml.nvmlDeviceGetPciInfo(handle).busId,
    "memory_total": lambda handle: int(nvml.nvmlDeviceGetMemoryInfo(handle).total) // _MIB,
    "pcie_generation": nvml.nvmlDeviceGetMaxPcieLinkGeneration,
    "pcie_width": nvml.nvmlDeviceGetMaxPcieLinkWidth,
    "pcie_width_current": nvml.nvmlDeviceGetCurrPcieLinkWidth,
    "nvlinks_up": _links_up,
    "ecc_uncorrected": lambda handle: nvml.nvmlDeviceGetTotalEccErrors(
        handle, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
    ),
    "rows_remap_pending": lambda handle: nvml.nvmlDeviceGetRemappedRows(handle)[2],
    "rows_remap_failure": lambda handle: nvml.nvmlDeviceGetRemappedRows(handle)[3],
    "clocks_event_reasons": nvml.nvmlDeviceGetCurrentClocksEventReasons,
    "temperature": lambda handle: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
    "power_limit": lambda handle: nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000,
    "persistence_mode": nvml.nvmlDeviceGetPersistenceMode,
    "fabric_state": lambda handle: int(_fabric(handle).state),
    "fabric_status": lambda handle: int(_fabric(handle).status),
    "ecc_mode": lambda handle: int(nvml.nvmlDeviceGetEccMode(handle)[0]),
    "mig_mode": lambda handle: int(nvml.nvmlDeviceGetMigMode(handle)[0]),
    "recovery_action": _recovery_action,
    "memory_used": _memory_used,
    "inforom_valid": _inforom_valid,
    "pages_retired": _retired_pages,
}


if __name__ == "__main__":
    sys.exit(main())
