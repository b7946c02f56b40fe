"""Identity and health of every GPU, from the NVML snapshot."""

from __future__ import annotations

import json
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, sequence, whole
from nodeworthy_probe.parsers.kernel_log import normal_pci
from nodeworthy_probe.parsers.numbers import finite
from nodeworthy_probe.records import Measurement, Reading, Text, missing

from .context import Context

_UNITS = {
    "memory_total": "MiB",
    "pcie_generation": "count",
    "pcie_width": "count",
    "pcie_width_current": "count",
    "nvlinks_up": "count",
    "ecc_uncorrected": "count",
    "rows_remap_pending": "bool",
    "rows_remap_failure": "bool",
    "throttle_hardware": "bool",
    "temperature": "C",
    "power_limit": "W",
    "persistence_mode": "bool",
    "fabric_state": "count",
    "fabric_status": "count",
    "ecc_mode": "bool",
    "mig_mode": "bool",
    "recovery_action": "count",
    "memory_used": "MiB",
    "inforom_valid": "bool",
    "pages_retired": "count",
}
_TEXTS = ("uuid", "serial", "model", "vbios", "inforom", "pci")
# Where the driver's "Not Supported" is itself the answer: no fabric to register with (its state is 0,
# NVML_GPU_FABRIC_STATE_NOT_SUPPORTED), no partitions, no retired pages since Ampere, which remaps rows instead. On a
# SKU without NVLink the links are none as well.
_NONE_OF_IT = ("fabric_state", "fabric_status", "mig_mode", "pages_retired")
_NOT_SUPPORTED = "Not Supported"
# NVML clocks event reasons: HW slowdown, HW thermal slowdown, HW power brake (nvml.h).
_HARDWARE_REASONS = 0x8 | 0x40 | 0x80


def read(text: str, context: Context) -> Reading:
    """Rows for every expected GPU; a value that the driver refused is a missing row."""
    document = _document(text)
    if document is None:
        return _nothing(context, "NVML gave no readable snapshot")
    count = whole(document.get("gpu_count"))
    gpus = {whole(gpu.get("index")): gpu for gpu in map(mapping, sequence(document.get("gpus")))}
    if count is None or set(gpus) != set(range(count)):
        return _nothing(context, "the NVML snapshot lists other GPUs than it counts")
    rows = [Measurement("node", "gpu_count", float(count), "count")]
    texts: list[Text] = []
    without = _NONE_OF_IT if context.plan.expected_nvlinks else (*_NONE_OF_IT, "nvlinks_up")
    for index in context.gpus(count):
        values = mapping(gpus.get(index, {}).get("values"))
        rows += [_row(index, metric, unit, values, without) for metric, unit in _UNITS.items()]
        texts += _texts(index, values)
    return Reading(
        measurements=tuple(rows),
        texts=tuple(texts),
        versions=_versions(document),
        tool_version=_versions(document).get("driver"),
        lines=_lines(context, count, gpus),
    )


def gpu_by_pci(reading: Reading) -> dict[str, int]:
    """Which GPU sits at which PCI address, for readers of the kernel log."""
    addresses = {text.component: normal_pci(text.value) for text in reading.texts if text.name == "pci"}
    return {address: int(component.partition("/")[2]) for component, address in addresses.items() if address}


def _document(text: str) -> dict[str, Any] | None:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _nothing(context: Context, problem: str) -> Reading:
    rows = [missing("node", "gpu_count", "count")]
    rows += [
        missing(f"gpu/{index}", metric, unit) for index in context.expected_gpus for metric, unit in _UNITS.items()
    ]
    return Reading(measurements=tuple(rows), problem=problem)


def _row(index: int, metric: str, unit: str, values: dict[str, Any], without: tuple[str, ...]) -> Measurement:
    if metric in without and mapping(values.get(metric)).get("error") == _NOT_SUPPORTED:
        return Measurement(f"gpu/{index}", metric, 0.0, unit)
    if metric == "throttle_hardware":
        reasons = whole(mapping(values.get("clocks_event_reasons")).get("value"))
        value = None if reasons is None else float(bool(reasons & _HARDWARE_REASONS))
    else:
        value = finite(mapping(values.get(metric)).get("value"))
    if value is None:
        return missing(f"gpu/{index}", metric, unit)
    return Measurement(f"gpu/{index}", metric, value, unit)


def _texts(index: int, values: dict[str, Any]) -> list[Text]:
    found = {name: mapping(values.get(name)).get("value") for name in _TEXTS}
    return [Text(f"gpu/{index}", name, value.strip()) for name, value in found.items()
            if isinstance(value, str) and value.strip()]  # fmt: skip


def _versions(document: dict[str, Any]) -> dict[str, str]:
    versions: dict[str, str] = {}
    driver = mapping(document.get("driver_version")).get("value")
    if isinstance(driver, str) and driver:
        versions["driver"] = driver
    cuda = whole(mapping(document.get("cuda_driver_version")).get("value"))
    if cuda:
        versions["cuda"] = f"{cuda // 1000}.{cuda % 1000 // 10}"
    return versions


def _lines(context: Context, count: int, gpus: dict[int | None, dict[str, Any]]) -> tuple[str, ...]:
    models: dict[str, int] = {}
    refused: list[str] = []
    for index in range(count):
        values = mapping(gpus[index].get("values"))
        model = mapping(values.get("model")).get("value") or "a GPU without a name"
        models[str(model)] = models.get(str(model), 0) + 1
        if error := gpus[index].get("error"):
            refused.append(f"gpu/{index} does not answer: {error}")
    kinds = ", ".join(f"{number} x {model}" for model, number in models.items()) or "none"
    return (f"{count} of {context.plan.expected_gpus} GPUs answer: {kinds}", *refused)
