"""A fake ``libnvidia-ml.so.1``: the functions that a node probe calls, rendered from the node view.

Called by the real binding with real ctypes arguments, so its struct versions and error mapping
run as they are. A function that is not here does not exist, as in an old driver. The view is
read again at each ``nvmlInit``.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

_SUCCESS, _UNINITIALIZED, _INVALID_ARGUMENT, _NOT_SUPPORTED, _NOT_FOUND = 0, 1, 2, 3, 6
_GPU_IS_LOST, _VERSION_MISMATCH = 15, 25
_DRIVER_MISSING, _CORRUPTED_INFOROM = 9, 14
_FABRIC_VERSIONS = {0x2000024: 2, 0x3000028: 3}
_ECC_CORRECTED = 0
_FIELD_MEMORY_TEMPERATURE, _FIELD_LINK_COUNT, _FIELD_RECOVERY_ACTION = 82, 91, 230
_FIELD_SLOWDOWN_TLIMIT = 194
_FIELDS_NVLINK_ERRORS = (52, 59)  # totals of replays and recoveries
_VALUE_UNSIGNED_INT, _VALUE_SIGNED_INT = 1, 5
_MARGIN_VERSION = 0x1000008
# As an H100's (nvidia-smi -q of driver 535.161): slowdown 2 C beyond T.Limit, which lies at 87 C.
_TLIMIT_CELSIUS, _SLOWDOWN_TLIMIT = 87, -2
_SM_CLOCK_MHZ = 1980


class FakeNvml:
    """Looks like a loaded shared library: functions are attributes that take ctypes arguments."""

    def __init__(self) -> None:
        self._gpus: list[dict[str, Any]] = []
        self._image: dict[str, Any] = {}
        self._open = False

    def __getattr__(self, name: str) -> Callable[..., int]:
        function = _FUNCTIONS.get(name)
        if function is None:
            raise AttributeError(name)

        def call(*arguments: Any) -> int:
            if not self._open and name not in ("nvmlInitWithFlags", "nvmlInit_v2"):
                return _UNINITIALIZED
            return function(self, *arguments)

        return call

    def start(self) -> int:
        """Read the view; no image means no driver."""
        path = os.environ.get("NODEWORTHY_LAB_VIEW") or "/run/nodeworthy-lab/view.json"
        view = json.loads(Path(path).read_text("utf-8"))
        if not view.get("image"):
            return _DRIVER_MISSING
        self._image = view["image"]
        loads, rises = _loads(Path(path), view), view.get("rises_under_load", {})
        self._gpus = [
            {**_heated(gpu, Path(path).parent), "loads": loads, "rises": rises.get(f"gpu/{gpu['index']}", {})}
            for gpu in view["gpus"]
            if gpu.get("present", True)
        ]
        self._open = True
        return _SUCCESS

    def stop(self) -> int:
        """Forget everything."""
        self._open = False
        return _SUCCESS

    def gpu(self, handle: Any) -> dict[str, Any] | None:
        """The GPU behind a handle; handles are place + 1 because a null handle is invalid."""
        number = ctypes.cast(handle, ctypes.c_void_p).value
        return self._gpus[number - 1] if number and number <= len(self._gpus) else None

    @property
    def count(self) -> int:
        """How many GPUs are enumerated."""
        return len(self._gpus)

    def version(self, name: str) -> str:
        """A version of the running image."""
        return str(self._image.get(name) or "")


def _loads(path: Path, view: dict[str, Any]) -> int:
    """How often a tool has put load on the GPUs since boot (`lab/tools/main.py` keeps count)."""
    try:
        return (path.parent / "attempts" / f"{view.get('boot_id', 'boot')}-load").stat().st_size
    except OSError:
        return 0


def _heated(gpu: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A GPU whose cooling gives way is hot and slow from a load on that was long enough, until the next load."""
    weak = gpu.get("cooling")
    try:
        seconds = float((folder / "load_seconds").read_text("utf-8")) if weak else 0.0
    except (OSError, ValueError):
        seconds = 0.0
    if not weak or seconds <= float(weak["after_seconds"]):
        return gpu
    return {**gpu, "temperature_celsius": weak["temperature_celsius"], "clock_share": weak["slows_to"]}


def _counted(gpu: dict[str, Any], name: str, base: int = 0) -> int:
    """A counter with what the loads since boot have added to it."""
    return base + int(gpu["rises"].get(name, 0)) * int(gpu["loads"])


Function = Callable[..., int]
_FUNCTIONS: dict[str, Function] = {}


def _library(name: str) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        _FUNCTIONS[name] = function
        return function

    return register


def _of_gpu(name: str) -> Callable[[Function], Function]:
    """Register a function whose first argument is a device handle."""

    def register(function: Function) -> Function:
        def call(library: FakeNvml, handle: Any, *arguments: Any) -> int:
            gpu = library.gpu(handle)
            if gpu is None:
                return _INVALID_ARGUMENT
            if gpu.get("lost"):
                return _GPU_IS_LOST
            return function(gpu, *arguments)

        _FUNCTIONS[name] = call
        return function

    return register


def _target(argument: Any) -> Any:
    return argument._obj  # what byref() points to


def _put(argument: Any, value: Any) -> int:
    if value is None:
        return _NOT_SUPPORTED
    _target(argument).value = value
    return _SUCCESS


def _put_text(buffer: Any, value: Any) -> int:
    if not value:
        return _NOT_SUPPORTED
    buffer.value = str(value).encode("utf-8")
    return _SUCCESS


@_library("nvmlInitWithFlags")
def _init(library: FakeNvml, _flags: Any) -> int:
    return library.start()


@_library("nvmlInit_v2")
def _init_v2(library: FakeNvml) -> int:
    return library.start()


@_library("nvmlShutdown")
def _shutdown(library: FakeNvml) -> int:
    return library.stop()


@_library("nvmlSystemGetDriverVersion")
def _driver_version(library: FakeNvml, buffer: Any, _size: Any) -> int:
    return _put_text(buffer, library.version("driver"))


@_library("nvmlSystemGetNVMLVersion")
def _nvml_version(library: FakeNvml, buffer: Any, _size: Any) -> int:
    return _put_text(buffer, "12." + library.version("driver"))


@_library("nvmlSystemGetCudaDriverVersion")
def _cuda_version(library: FakeNvml, version: Any) -> int:
    major, _, minor = library.version("cuda").partition(".")
    return _put(version, int(major or 12) * 1000 + int(minor or 0) * 10)


@_library("nvmlDeviceGetCount_v2")
def _count(library: FakeNvml, count: Any) -> int:
    return _put(count, library.count)


@_library("nvmlDeviceGetHandleByIndex_v2")
def _handle(library: FakeNvml, index: Any, handle: Any) -> int:
    number = int(getattr(index, "value", index))
    if not 0 <= number < library.count:
        return _INVALID_ARGUMENT
    pointer = ctypes.cast(ctypes.byref(_target(handle)), ctypes.POINTER(ctypes.c_void_p))
    pointer[0] = number + 1
    return _SUCCESS


def _text_getter(function: str, key: str) -> None:
    _of_gpu(function)(lambda gpu, buffer, _size: _put_text(buffer, gpu.get(key)))


def _value_getter(function: str, read: Callable[[dict[str, Any]], Any]) -> None:
    _of_gpu(function)(lambda gpu, target: _put(target, read(gpu)))


for _function, _key in (
    ("nvmlDeviceGetName", "name"),
    ("nvmlDeviceGetSerial", "serial"),
    ("nvmlDeviceGetUUID", "uuid"),
    ("nvmlDeviceGetVbiosVersion", "vbios"),
    ("nvmlDeviceGetInforomImageVersion", "inforom"),
):
    _text_getter(_function, _key)

_GETTERS: tuple[tuple[str, Callable[[dict[str, Any]], Any]], ...] = (
    ("nvmlDeviceGetIndex", lambda gpu: gpu["index"]),
    ("nvmlDeviceGetMaxPcieLinkGeneration", lambda gpu: gpu["pcie_generation_max"]),
    ("nvmlDeviceGetMaxPcieLinkWidth", lambda gpu: gpu["pcie_width_max"]),
    ("nvmlDeviceGetCurrPcieLinkGeneration", lambda gpu: gpu["pcie_generation"]),
    ("nvmlDeviceGetCurrPcieLinkWidth", lambda gpu: gpu["pcie_width"]),
    ("nvmlDeviceGetPcieReplayCounter", lambda gpu: _counted(gpu, "pcie_replay", gpu["pcie_replay"])),
    ("nvmlDeviceGetCurrentClocksEventReasons", lambda gpu: gpu["throttle_reasons"]),
    ("nvmlDeviceGetCurrentClocksThrottleReasons", lambda gpu: gpu["throttle_reasons"]),
    ("nvmlDeviceGetEnforcedPowerLimit", lambda gpu: int(gpu["power_limit_watts"] * 1000)),
    ("nvmlDeviceGetPowerUsage", lambda gpu: int(gpu["power_watts"] * 1000)),
    ("nvmlDeviceGetPersistenceMode", lambda gpu: int(gpu["persistence_mode"])),
)
for _function, _read in _GETTERS:
    _value_getter(_function, _read)


@_of_gpu("nvmlDeviceGetTemperature")
def _temperature(gpu: dict[str, Any], _sensor: Any, target: Any) -> int:
    return _put(target, gpu["temperature_celsius"])


@_of_gpu("nvmlDeviceGetMarginTemperature")
def _margin(gpu: dict[str, Any], target: Any) -> int:
    info = _target(target)
    if info.version != _MARGIN_VERSION:
        return _VERSION_MISMATCH
    info.marginTemperature = _TLIMIT_CELSIUS - int(gpu["temperature_celsius"])
    return _SUCCESS


@_of_gpu("nvmlDeviceGetClockInfo")
def _clock(gpu: dict[str, Any], _kind: Any, target: Any) -> int:
    return _put(target, int(_SM_CLOCK_MHZ * float(gpu.get("clock_share", 1.0))))


@_of_gpu("nvmlDeviceGetPciInfo_v3")
def _pci(gpu: dict[str, Any], target: Any) -> int:
    info = _target(target)
    domain, bus, rest = gpu["pci_bus_id"].split(":")
    info.busId = gpu["pci_bus_id"].encode()
    info.busIdLegacy = f"{domain[-4:]}:{bus}:{rest}".encode()
    info.domain, info.bus, info.device = int(domain, 16), int(bus, 16), int(rest.partition(".")[0], 16)
    info.pciDeviceId = int(gpu["pci_device_id"], 16)
    return _SUCCESS


@_of_gpu("nvmlDeviceGetMemoryInfo")
def _memory(gpu: dict[str, Any], target: Any) -> int:
    info = _target(target)
    info.total = int(gpu["memory_total_mib"]) * 1024 * 1024
    info.used = 1024 * 1024
    info.free = info.total - info.used
    return _SUCCESS


@_of_gpu("nvmlDeviceGetMemoryInfo_v2")
def _memory_v2(gpu: dict[str, Any], target: Any) -> int:
    info = _target(target)
    info.total = int(gpu["memory_total_mib"]) * 1024 * 1024
    info.used = int(gpu.get("memory_used_mib", 1)) * 1024 * 1024
    info.reserved = 512 * 1024 * 1024
    info.free = info.total - info.used - info.reserved
    return _SUCCESS


@_of_gpu("nvmlDeviceValidateInforom")
def _validate_inforom(gpu: dict[str, Any]) -> int:
    return _SUCCESS if gpu.get("inforom_valid", True) else _CORRUPTED_INFOROM


@_of_gpu("nvmlDeviceGetRetiredPages")
def _retired_pages(gpu: dict[str, Any], _cause: Any, count: Any, _pages: Any) -> int:
    if "pages_retired" not in gpu:
        return _NOT_SUPPORTED  # since Ampere rows are remapped instead
    return _put(count, int(gpu["pages_retired"]))


@_of_gpu("nvmlDeviceGetMigMode")
def _mig(gpu: dict[str, Any], current: Any, pending: Any) -> int:
    _put(pending, int(gpu.get("mig", False)))
    return _put(current, int(gpu.get("mig", False)))


@_of_gpu("nvmlDeviceGetEccMode")
def _ecc_mode(gpu: dict[str, Any], current: Any, pending: Any) -> int:
    _put(pending, int(gpu.get("ecc", True)))
    return _put(current, int(gpu.get("ecc", True)))


@_of_gpu("nvmlDeviceGetTotalEccErrors")
def _ecc(gpu: dict[str, Any], kind: Any, _counter: Any, target: Any) -> int:
    name = "ecc_corrected" if kind.value == _ECC_CORRECTED else "ecc_uncorrected"
    return _put(target, _counted(gpu, name, gpu[name]))


@_of_gpu("nvmlDeviceGetRemappedRows")
def _remapped(gpu: dict[str, Any], corrected: Any, uncorrected: Any, pending: Any, failure: Any) -> int:
    remap = gpu.get("remap")
    if remap is None:
        return _NOT_SUPPORTED
    _put(corrected, _counted(gpu, "rows_remapped", remap["correctable"]))
    _put(uncorrected, remap["uncorrectable"])
    _put(pending, int(remap["pending"]))
    return _put(failure, int(remap["failure"]))


@_of_gpu("nvmlDeviceGetViolationStatus")
def _violation(gpu: dict[str, Any], _policy: Any, target: Any) -> int:
    _target(target).violationTime = _counted(gpu, "slowed_by_heat") * 1_000_000
    return _SUCCESS


@_of_gpu("nvmlDeviceGetNvLinkState")
def _link_state(gpu: dict[str, Any], link: Any, target: Any) -> int:
    links = gpu.get("nvlinks", [])
    number = int(getattr(link, "value", link))
    if not links:
        return _NOT_SUPPORTED
    return _put(target, int(links[number]["up"])) if number < len(links) else _INVALID_ARGUMENT


@_of_gpu("nvmlDeviceGetGpuFabricInfoV")
def _fabric(gpu: dict[str, Any], target: Any) -> int:
    info = _target(target)
    if info.version not in _FABRIC_VERSIONS:
        return _VERSION_MISMATCH
    info.state, info.status, info.cliqueId = gpu["fabric_state"], gpu["fabric_status"], 0
    return _SUCCESS


@_of_gpu("nvmlDeviceGetFieldValues")
def _fields(gpu: dict[str, Any], count: Any, target: Any) -> int:
    known = {
        _FIELD_MEMORY_TEMPERATURE: gpu.get("memory_temperature_celsius"),
        _FIELD_LINK_COUNT: len(gpu.get("nvlinks", [])),
        _FIELD_RECOVERY_ACTION: gpu.get("recovery_action"),
        _FIELD_SLOWDOWN_TLIMIT: _SLOWDOWN_TLIMIT,
    }
    if gpu.get("nvlinks"):
        known |= dict.fromkeys(_FIELDS_NVLINK_ERRORS, 0) | {_FIELDS_NVLINK_ERRORS[0]: _counted(gpu, "nvlink_errors")}
    for field in list(_target(target))[: count.value]:
        value = known.get(field.fieldId)
        field.nvmlReturn = _NOT_SUPPORTED if value is None else _SUCCESS
        if field.fieldId == _FIELD_SLOWDOWN_TLIMIT:
            field.valueType, field.value.siVal = _VALUE_SIGNED_INT, value
            continue
        field.valueType = _VALUE_UNSIGNED_INT
        field.value.uiVal = value or 0
    return _SUCCESS
