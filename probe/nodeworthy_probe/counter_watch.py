"""Counters that only mean something as a difference: read when asked, with what the GPUs reached in between.

Runs beside the tests as a process of its own, because a call into the driver can hang for ever on a lost GPU. Each line
on standard input is answered with one JSON document on standard output; between the lines the load is sampled every
second, so that temperature, power, clock and link generation *under load* are known; each answer holds the trace since
the one before. What cannot be read is null, never zero.
Run it with ``python -m nodeworthy_probe.counter_watch VENDOR DEVICE ...``, the fabric adapters to look at.

Sources: NVML API reference (field values, violation status, margin temperature); NVSentinel, runbook gpu-thermal-margin
(hardware slows a GPU down once its margin is below its slowdown T.Limit); Linux ABI documents
sysfs-bus-pci-devices-aer_stats, sysfs-class-infiniband, sysfs-devices-edac.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pynvml as nvml  # the module of the package nvidia-ml-py

from .amdgpu_sysfs import AmdGpus, Counters
from .host import ROOT
from .plan import AMD, NVIDIA

SCHEMA = "nodeworthy.counters/1"
_TICK_SECONDS = 1.0
_MOST_SAMPLES = 240
_MOST_LINKS = 36
_SATURATED = 2**32 - 1
_NVLINK_TOTALS = (
    nvml.NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL,
    nvml.NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL,
)
# NVLink 5 counts per link instead, after error correction.
_NVLINK5_PER_LINK = (
    nvml.NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS,
    nvml.NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS,
)
_PORT_ERRORS = (
    "link_error_recovery",
    "port_rcv_errors",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
)
_CONGESTION = ("np_cnp_sent", "rp_cnp_handled")
"""Congestion notification packets of RoCE, sent and obeyed; an InfiniBand port counts none."""
_RETRANSMITS = ("out_of_sequence", "packet_seq_err", "local_ack_timeout_err")


class Gpus(Protocol):
    """How one vendor's GPUs are looked at: what they count, and what they show now, by their number."""

    def counters(self) -> dict[str, Counters]:
        """Return every GPU's counters."""

    def sampled(self) -> dict[str, Counters]:
        """Return temperature and thermal margin (C), power (W), clock (MHz) and PCIe generation of every GPU."""


class NvmlGpus:
    """NVIDIA's GPUs, through NVML."""

    def counters(self) -> dict[str, Counters]:
        """Return every GPU's counters."""
        return _of_gpus(_COUNTERS)

    def sampled(self) -> dict[str, Counters]:
        """Return what every GPU shows now."""
        return _of_gpus(_SAMPLED)


_VENDORS: Mapping[str, Callable[[Path], Gpus]] = {NVIDIA: lambda _root: NvmlGpus(), AMD: AmdGpus}


def main(arguments: Sequence[str]) -> int:
    """Answer every line until standard input ends."""
    vendor, *devices = arguments
    root = Path(os.environ.get(ROOT) or "/")
    gpus, peaks, trace = _VENDORS[vendor](root), Peaks(), Trace()

    def sample() -> None:
        seen = gpus.sampled()
        peaks.see(seen)
        trace.see(seen)

    buffer = b""
    while True:
        ready, _, _ = select.select([0], [], [], _TICK_SECONDS)
        if not ready:
            sample()
            continue
        read = os.read(0, 4096)
        if not read:
            return 0
        buffer += read
        *lines, buffer = buffer.split(b"\n")
        for _ in lines:
            sample()
            answer = {**_look(root, devices, gpus, peaks), "trace": trace.told()}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


class Peaks:
    """The highest temperature (C), power (W) and PCIe generation that each GPU was seen at so far."""

    def __init__(self) -> None:
        self.of_gpu: dict[str, Counters] = {}

    def see(self, seen: Mapping[str, Counters]) -> None:
        """Take in one sample; what could not be read is left as it was."""
        for gpu, values in seen.items():
            known = self.of_gpu.setdefault(gpu, dict.fromkeys(_PEAKS))
            for name in _PEAKS:
                value, before = values.get(name), known[name]
                if value is not None and (before is None or value > before):
                    known[name] = value


class Trace:
    """What each GPU was seen at since the last answer: every second at first, ever more seldom in a long test."""

    def __init__(self) -> None:
        self._rows: list[tuple[float, dict[str, Counters]]] = []
        self._every, self._came = 1, 0

    def see(self, seen: dict[str, Counters]) -> None:
        """Take in one sample; once there are too many, every second one goes, and from then on half as many come."""
        self._came += 1
        if self._came % self._every == 0:
            self._rows.append((round(time.monotonic(), 1), seen))
        if len(self._rows) > _MOST_SAMPLES:
            self._rows, self._every = self._rows[1::2], self._every * 2

    def told(self) -> dict[str, Any]:
        """Return the trace, one list per GPU and figure, and begin anew."""
        rows, self._rows, self._every, self._came = self._rows, [], 1, 0
        gpus = sorted({gpu for _, seen in rows for gpu in seen})
        return {
            "at_seconds": [at for at, _ in rows],
            "gpus": {
                gpu: {name: [seen.get(gpu, {}).get(name) for _, seen in rows] for name in _TRACED} for gpu in gpus
            },
        }


def _look(root: Path, devices: Sequence[str], gpus: Gpus, peaks: Peaks) -> dict[str, Any]:
    aer = _aer_by_device(root)
    return {
        "schema": SCHEMA,
        "at_seconds": time.monotonic(),
        "gpus": gpus.counters(),
        "peaks": peaks.of_gpu,
        "host": _host(root, aer),
        "aer": aer,
        "nics": {name: _nic(root / "sys/class/infiniband" / name / "ports/1") for name in devices},
    }


def _of_gpus(readers: Mapping[str, Callable[[Any], float | None]]) -> dict[str, Counters]:
    found: dict[str, Counters] = {}
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return found
    try:
        for index in range(nvml.nvmlDeviceGetCount()):
            found[str(index)] = _of_gpu(index, readers)
    except nvml.NVMLError:
        return found
    finally:
        with contextlib.suppress(nvml.NVMLError):
            nvml.nvmlShutdown()
    return found


def _of_gpu(index: int, readers: Mapping[str, Callable[[Any], float | None]]) -> Counters:
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
    except nvml.NVMLError:
        return dict.fromkeys(readers)
    return {name: _attempt(read, handle) for name, read in readers.items()}


def _attempt(read: Callable[[Any], float | None], handle: Any) -> float | None:
    try:
        return read(handle)
    except nvml.NVMLError:
        return None


def _ecc(kind: int) -> Callable[[Any], float]:
    return lambda handle: float(nvml.nvmlDeviceGetTotalEccErrors(handle, kind, nvml.NVML_VOLATILE_ECC))


def _remapped(handle: Any) -> float:
    rows = nvml.nvmlDeviceGetRemappedRows(handle)
    return float(rows[0] + rows[1])


def _nvlink_errors(handle: Any) -> float | None:
    totals = _fields(handle, _NVLINK_TOTALS)
    if totals:
        return sum(totals)
    links = [pair for link in range(_MOST_LINKS) for pair in ((field, link) for field in _NVLINK5_PER_LINK)]
    found = _fields(handle, links)
    return sum(found) if found else None


def _fields(handle: Any, wanted: Iterable[Any]) -> list[float]:
    values = nvml.nvmlDeviceGetFieldValues(handle, list(wanted))
    return [float(_value(field)) for field in values if field.nvmlReturn == nvml.NVML_SUCCESS]


def _value(field: Any) -> int:
    if field.valueType == nvml.NVML_VALUE_TYPE_SIGNED_INT:
        return int(field.value.siVal)
    wide = (nvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, nvml.NVML_VALUE_TYPE_UNSIGNED_LONG)
    return int(field.value.ullVal if field.valueType in wide else field.value.uiVal)


def _thermal_margin(handle: Any) -> float:
    """Degrees before the hardware slows the GPU down: by its own T.Limit, before Ada by the absolute threshold."""
    slowdown = _fields(handle, (nvml.NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT,))
    if slowdown:
        with contextlib.suppress(nvml.NVMLError):
            return float(nvml.nvmlDeviceGetMarginTemperature(handle)) - slowdown[0]
    limit = nvml.nvmlDeviceGetTemperatureThreshold(handle, nvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN)
    return float(limit) - float(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))


def _slowed_by_heat(handle: Any) -> float:
    """Milliseconds below the clocks asked for, by heat (`nvmlViolationTime_t` counts nanoseconds)."""
    return float(nvml.nvmlDeviceGetViolationStatus(handle, nvml.NVML_PERF_POLICY_THERMAL).violationTime) / 1e6


_COUNTERS: Mapping[str, Callable[[Any], float | None]] = {
    "ecc_corrected": _ecc(nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED),
    "ecc_uncorrected": _ecc(nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED),
    "rows_remapped": _remapped,
    "pcie_replay": lambda handle: float(nvml.nvmlDeviceGetPcieReplayCounter(handle)),
    "nvlink_errors": _nvlink_errors,
    "slowed_by_heat": _slowed_by_heat,
}
_PEAKS: Mapping[str, Callable[[Any], float | None]] = {
    "temperature": lambda handle: float(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
    "power": lambda handle: nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
    "pcie_generation": lambda handle: float(nvml.nvmlDeviceGetCurrPcieLinkGeneration(handle)),
}
_TRACED = ("temperature", "thermal_margin", "power", "clock")
_SAMPLED: Mapping[str, Callable[[Any], float | None]] = {
    **_PEAKS,
    "thermal_margin": _thermal_margin,
    "clock": lambda handle: float(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
}


def _host(root: Path, aer: Mapping[str, Counters]) -> Counters:
    memory = sorted((root / "sys/devices/system/edac/mc").glob("mc[0-9]*"))
    return {
        "memory_corrected": _sum(_number(place / "ce_count") for place in memory),
        "memory_uncorrected": _sum(_number(place / "ue_count") for place in memory),
        "pcie_corrected": _sum(row["corrected"] for row in aer.values()),
        "pcie_uncorrected": _sum(row["uncorrected"] for row in aer.values()),
    }


def _aer_by_device(root: Path) -> dict[str, Counters]:
    found: dict[str, Counters] = {}
    for place in sorted((root / "sys/bus/pci/devices").glob("*")):
        if (place / "aer_dev_correctable").exists():
            severe = [_total(place / f"aer_dev_{kind}") for kind in ("fatal", "nonfatal")]
            found[place.name] = {
                "corrected": _total(place / "aer_dev_correctable"),
                "uncorrected": _sum(severe),
            }
    return found


def _nic(port: Path) -> Counters:
    errors, hardware = port / "counters", port / "hw_counters"
    return {
        "link_downed": _number(errors / "link_downed"),
        "port_errors": _sum(_number(errors / name) for name in _PORT_ERRORS),
        "symbol_errors": _number(errors / "symbol_error"),
        "discards": _number(errors / "port_xmit_discards"),
        "xmit_wait": _number(errors / "port_xmit_wait"),
        "congestion_notices": _sum(_number(hardware / name) for name in _CONGESTION),
        "retransmits": _sum(_number(hardware / name) for name in _RETRANSMITS),
    }


def _total(path: Path) -> float | None:
    """The line of a device's sum: ``TOTAL_ERR_COR 0``."""
    words = [line.split() for line in _text(path).splitlines()]
    totals = [row[1] for row in words if len(row) == 2 and row[0].startswith("TOTAL_ERR")]
    return float(totals[0]) if len(totals) == 1 and totals[0].isdigit() else None


def _number(path: Path) -> float | None:
    """A counter; one that stands at its end (2^32-1) tells nothing any more."""
    text = _text(path).strip()
    return float(text) if text.isdigit() and int(text) != _SATURATED else None


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace")
    except OSError:
        return ""


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum of what must all be known; None where nothing is there or anything is not known."""
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if found and len(known) == len(found) else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
