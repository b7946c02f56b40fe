"""What is odd about a GPU, whichever form of nvidia-smi told it.

Names differ by driver (throttle and event reasons, power draw, remapped rows); ``_NAMES`` holds
the spellings of each fact, first found wins. Where rows cannot be remapped, retired pages are
the rule. An idle link at a low generation is no fault; a narrow one needs the SKU to be judged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from .documents import note_duplicates, uneven
from .sheet import Sheet

_BROKEN = re.compile(r"ERR!|Unknown Error|GPU is lost|\[?GPU requires reset\]?")


@dataclass
class GpuFacts:
    """The head of a document and the facts of each GPU by dotted name."""

    attached: str | None
    driver: str | None
    cuda: str | None
    gpus: list[dict[str, str]] = field(default_factory=list)


_NAMES: Mapping[str, tuple[str, ...]] = {
    "model": ("product_name",),
    "uuid": ("uuid", "gpu_uuid"),
    "serial": ("serial", "serial_number"),
    "vbios": ("vbios_version",),
    "temperature": ("temperature.gpu_temp", "temperature.gpu_current_temp"),
    "slowdown": ("temperature.gpu_temp_slow_threshold", "temperature.gpu_slowdown_temp"),
    "margin": ("temperature.gpu_temp_tlimit", "temperature.gpu_t_limit_temp"),
    "power": ("power_readings.power_draw", "gpu_power_readings.power_draw", "gpu_power_readings.instant_power_draw",
              "gpu_power_readings.average_power_draw", "power_readings.instant_power_draw"),
    "power_limit": ("power_readings.enforced_power_limit", "gpu_power_readings.current_power_limit",
                    "gpu_power_readings.power_limit", "power_readings.power_limit"),
    "pcie_generation": ("pci.pci_gpu_link_info.pcie_gen.current_link_gen", "pci.gpu_link_info.pcie_generation.current"),
    "pcie_generation_max": ("pci.pci_gpu_link_info.pcie_gen.max_link_gen", "pci.gpu_link_info.pcie_generation.max"),
    "pcie_width": ("pci.pci_gpu_link_info.link_widths.current_link_width", "pci.gpu_link_info.link_width.current"),
    "pcie_width_max": ("pci.pci_gpu_link_info.link_widths.max_link_width", "pci.gpu_link_info.link_width.max"),
    "pcie_replays": ("pci.replay_counter", "pci.replays_since_reset"),
    "memory_total": ("fb_memory_usage.total",),
    "memory_used": ("fb_memory_usage.used",),
    "memory_free": ("fb_memory_usage.free",),
    "memory_temperature": ("temperature.memory_temp", "temperature.memory_current_temp"),
    "utilisation": ("utilization.gpu_util", "utilization.gpu"),
    "fan_speed": ("fan_speed",),
    "sm_clock": ("clocks.sm_clock", "clocks.sm"),
    "memory_clock": ("clocks.mem_clock", "clocks.memory"),
    "remap_histogram_max": ("remapped_rows.row_remapper_histogram.row_remapper_histogram_max",
                            "remapped_rows.bank_remap_availability_histogram.max"),
    "remap_histogram_none": ("remapped_rows.row_remapper_histogram.row_remapper_histogram_none",
                             "remapped_rows.bank_remap_availability_histogram.none"),
    "rows_remapped_correctable": ("remapped_rows.remapped_row_corr", "remapped_rows.correctable_error"),
    "rows_remapped_uncorrectable": ("remapped_rows.remapped_row_unc", "remapped_rows.uncorrectable_error"),
    "remap_pending": ("remapped_rows.remapped_row_pending", "remapped_rows.pending"),
    "remap_failure": ("remapped_rows.remapped_row_failure", "remapped_rows.remapping_failure_occurred"),
    "pages_pending": ("retired_pages.pending_retirement", "retired_pages.pending_page_blacklist",
                      "retired_pages.pending_blacklist"),
    "pages_single": ("retired_pages.multiple_single_bit_retirement.retired_count", "retired_pages.single_bit_ecc"),
    "pages_double": ("retired_pages.double_bit_retirement.retired_count", "retired_pages.double_bit_ecc"),
    "ecc_mode": ("ecc_mode.current_ecc", "ecc_mode.current"),
    "ecc_mode_pending": ("ecc_mode.pending_ecc", "ecc_mode.pending"),
    "sram_threshold": ("ecc_errors.aggregate.sram_threshold_exceeded",),
    "fabric_state": ("fabric.state",),
    "fabric_status": ("fabric.status",),
    "reset_required": ("gpu_reset_status.reset_required",),
    "drain_recommended": ("gpu_reset_status.drain_and_reset_recommended",),
    "recovery_action": ("gpu_recovery_action",),
    "channel_repair": ("ecc_errors.channel_repair_pending", "channel_repair_pending"),
    "tpc_repair": ("ecc_errors.tpc_repair_pending", "tpc_repair_pending"),
    "unrepairable": ("ecc_errors.unrepairable_memory", "unrepairable_memory"),
}  # fmt: skip
_NUMBERS = (("temperature", "C"), ("power", "W"), ("power_limit", "W"), ("memory_total", "MiB"), ("pcie_generation",
    ""),
            ("pcie_generation_max", ""), ("pcie_width", "x"), ("pcie_width_max", "x"), ("pcie_replays", ""),
            ("rows_remapped_correctable", ""), ("rows_remapped_uncorrectable", ""), ("pages_single", ""),
            ("pages_double", ""), ("memory_used", "MiB"), ("memory_free", "MiB"), ("memory_temperature", "C"),
            ("utilisation", "%"), ("fan_speed", "%"), ("sm_clock", "MHz"), ("memory_clock", "MHz"),
            ("remap_histogram_max", "bank(s)"), ("remap_histogram_none", "bank(s)"))  # fmt: skip
_NEEDED = ("model", "uuid", "temperature", "power", "pcie_generation", "pcie_width", "memory_total", "vbios", "serial")
_YES = (("remap_pending", "hardware/remap-pending"), ("remap_failure", "hardware/remap-failure"),
        ("pages_pending", "hardware/retirement-pending"), ("sram_threshold", "hardware/sram-threshold"),
        ("reset_required", "hardware/reset-required"), ("drain_recommended", "hardware/reset-required"),
        ("channel_repair", "hardware/repair-pending"), ("tpc_repair", "hardware/repair-pending"),
        ("unrepairable", "hardware/unrepairable-memory"))  # fmt: skip
_SLOWDOWNS = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown")
_ECC = re.compile(r"(?:^|\.)ecc_error(?:s|_count)\.")
_FABRIC_GOOD = frozenset({"Healthy", "Full", "False", "No", "None", "N/A", "", "Not Supported"})
_UNKNOWN = frozenset({"N/A", "", "[N/A]", "Not Supported", "None"})


_UNIT_OF = (("temp", "C"), ("power_readings.", "W"), ("memory_usage.", "MiB"), ("utilization.", "%"))
_CLOCKS = re.compile(r"(?:^|\.)(?:\w+_clock|graphics|sm|memory|video)$")
_SIBLINGS = (("fb_memory_usage.", ("total", "used", "free")), ("bar1_memory_usage.", ("total", "used", "free")),
             ("ecc_errors.volatile.", ("correctable", "uncorrectable")), ("ecc_errors.aggregate.", ("correctable",
                 "uncorrectable")),
             ("remapped_rows.", ("max", "high", "partial", "low", "none")), ("clocks.", ("graphics", "sm", "mem",
                 "video")),
             ("max_clocks.", ("graphics", "sm", "mem", "video")), ("utilization.", ("gpu", "mem", "encoder",
                 "decoder")),
             ("applications_clocks.", ("graphics", "mem")), ("ecc_mode.", ("current", "pending")),
             ("pci.", ("bus", "device", "domain", "tx", "rx", "replay")))  # fmt: skip


def _siblings(component: str, gpu: Mapping[str, str], sheet: Sheet) -> None:
    """Fields come in groups; a group with a member lost is a row lost."""
    for prefix, words in _SIBLINGS:
        own = [path.removeprefix(prefix) for path in gpu if path.startswith(prefix)]
        for word in words if len(own) > 1 else ():
            if not any(re.search(rf"(?:^|[_.]){word}", path) for path in own):
                sheet.note("row/missing", component, f"{prefix}{word} is missing")


def _units(component: str, gpu: Mapping[str, str], sheet: Sheet) -> None:
    for path, value in gpu.items():
        found = re.fullmatch(r"-?[\d.]+ ?([A-Za-z%]\S*)", value)
        if found is None or "process" in path:
            continue
        wanted = next((unit for part, unit in _UNIT_OF if part in path), None)
        if wanted is None and "clock" in path and _CLOCKS.search(path):
            wanted = "MHz"
        if wanted and found[1] != wanted:
            sheet.note("value/unit", component, f"{path}: {value} where {wanted} was expected")


def judge(facts: GpuFacts, sheet: Sheet) -> None:
    """Measurements and notes of all GPUs."""
    sheet.version = facts.driver
    if not facts.driver:
        sheet.note("row/missing", "file", "the driver's version is missing")
    attached = sheet.number("node", "gpus_attached", facts.attached, "count")
    sheet.number("node", "gpus", len(facts.gpus), "count")
    if attached is not None and int(attached) != len(facts.gpus):
        sheet.note("row/missing", "node", f"{len(facts.gpus)} of {int(attached)} attached GPUs are described")
    note_duplicates(sheet, [value for gpu in facts.gpus if (value := fact(gpu, "uuid"))], "the GPU")
    note_duplicates(sheet, [gpu["bus_id"] for gpu in facts.gpus], "the bus address")
    paths = {f"gpu/{index}": {path for path in gpu if "process" not in path} for index, gpu in enumerate(facts.gpus)}
    if len({fact(gpu, "model") for gpu in facts.gpus}) == 1:
        uneven(sheet, paths, "the field")
    for index, gpu in enumerate(facts.gpus):
        _gpu(f"gpu/{index}", gpu, sheet)


def fact(gpu: Mapping[str, str], name: str) -> str | None:
    """A fact under any of its spellings; None where the document does not know it."""
    for path in _NAMES[name]:
        if path in gpu and gpu[path] not in _UNKNOWN and "deprecated" not in gpu[path]:
            return gpu[path]
    return None


def _named(gpu: Mapping[str, str], name: str) -> str | None:
    return next((gpu[path] for path in _NAMES[name] if path in gpu), None)


def _gpu(component: str, gpu: Mapping[str, str], sheet: Sheet) -> None:
    for name in ("model", "uuid", "serial", "vbios"):
        sheet.text(component, name, fact(gpu, name))
    for name in _NEEDED:
        if _named(gpu, name) is None:
            sheet.note("row/missing", component, f"{name} is missing")
    for name, unit in _NUMBERS:
        _number(component, name, unit, gpu, sheet)
    _flags(component, gpu, sheet)
    _siblings(component, gpu, sheet)
    _units(component, gpu, sheet)
    _repair(component, gpu, sheet)
    _slowdowns(component, gpu, sheet)
    _sync_boost(component, gpu, sheet)
    _ecc(component, gpu, sheet)
    _thermal(component, gpu, sheet)
    _state(component, gpu, sheet)


def _flags(component: str, gpu: Mapping[str, str], sheet: Sheet) -> None:
    for path, value in gpu.items():
        if _BROKEN.search(value):
            sheet.note("hardware/driver-error", component, f"{path}: {value}")
    for name, code in _YES:
        if (fact(gpu, name) or "No") not in ("No", "Inactive", "False", "0"):
            sheet.note(code, component, f"{name} is {fact(gpu, name)}")


def _number(component: str, name: str, unit: str, gpu: Mapping[str, str], sheet: Sheet) -> None:
    value = fact(gpu, name)
    if value is None or _BROKEN.search(value):
        if _named(gpu, name) is not None:
            sheet.absent(component, name, unit or "count")
    elif unit == "x":
        sheet.number(component, name, value.removesuffix("x"), "lanes")
    else:
        sheet.quantity(component, name, value, unit)


def _repair(component: str, gpu: Mapping[str, str], sheet: Sheet) -> None:
    known = {name: fact(gpu, name) for name in ("remap_pending", "remap_failure", "pages_pending")}
    for name, value in known.items():
        if value in ("Yes", "No"):
            sheet.number(component, name, float(value == "Yes"), "bool")
        elif value is not None:
            sheet.note("row/unreadable", component, f"{name} is {value}")
    remap_known = known["remap_pending"] is not None and known["remap_failure"] is not None
    remap_absent = known["remap_pending"] is None and known["remap_failure"] is None
    if not remap_known and not (remap_absent and known["pages_pending"] is not None):
        sheet.absent(component, "remap_pending", "bool")
        sheet.note("row/missing", component, "neither the state of remapped rows nor of retired pages is known")


def _slowdowns(component: str, gpu: Mapping[str, str], sheet: Sheet) -> None:
    reasons = {path.rsplit(".", 1)[-1]: value for path, value in gpu.items()
               if path.startswith(("clocks_throttle_reasons.", "clocks_event_reasons."))}  # fmt: skip
    if not reasons:
        sheet.note("row/missing", component, "the reasons for lower clocks are missing")
    for slowdown in _SLOWDOWNS:
        found = [value for name, value in reasons.items() if name.endswith(slowdown)]
        if not found and slowdown != "sw_thermal_slowdown":
            sheet.note("row/missing", component, f"{slowdown} is missing")
        for value in found[:1]:
            if value in ("Active", "Not Active"):
                sheet.number(component, slowdown, float(value == "Active"), "bool")
            elif value not in _UNKNOWN:
                sheet.note("row/unreadable", component, f"{slowdown} is {value}")
            if value == "Active":
                sheet.note(f"hardware/{slowdown.replace('_', '-')}", component, f"{slowdown} is active")


def _sync_boost(component: str, gpu: Mapping[str, str], sheet: Sheet) -> None:
    """GPUs that are held to the slowest of a group: a setting, and a slower node than its GPUs are."""
    for path, value in gpu.items():
        if re.match(r"clocks_(?:event|throttle)_reasons\..*sync_boost$", path) and value == "Active":
            sheet.note("config/sync-boost", component, "sync boost holds the clocks")


def _ecc(component: str, gpu: Mapping[str, str], sheet: Sheet) -> None:
    for path, value in gpu.items():
        if not _ECC.search(path) or not re.search("correctable|double_bit|single_bit", path):
            continue
        if value in _UNKNOWN or "deprecated" in value or _BROKEN.search(value):
            continue
        period = "volatile" if ".volatile" in path else "aggregate"
        part = re.search(r"mig_device\[(\d+)\]", path)
        place = f"{component}/mig/{part[1]}" if part else component
        count = sheet.number(place, f"ecc_{period}_{path.rsplit('.', 1)[-1]}", value, "count")
        if count and ("uncorrectable" in path or "double_bit" in path):
            code = "hardware/ecc-uncorrected" if period == "volatile" else "note/ecc-history"
            sheet.note(code, component, f"{path} is {value}")
    if not any(path.startswith("ecc_errors") for path in gpu):
        sheet.note("row/missing", component, "the ECC counters are missing")
    current, pending = fact(gpu, "ecc_mode"), fact(gpu, "ecc_mode_pending")
    if current == "Disabled":
        sheet.note("row/missing", component, "errors are not counted: ECC is Disabled")
    if pending is not None and current is not None and pending != current:
        sheet.note("config/ecc-pending", component, f"ECC is {current} and will be {pending} after the next reset")


def _thermal(component: str, gpu: Mapping[str, str], sheet: Sheet) -> None:
    degrees = {
        name: re.fullmatch(r"(-?\d+) C", fact(gpu, name) or "") for name in ("temperature", "slowdown", "margin")
    }
    now, slowdown, margin = (int(found[1]) if found else None for found in degrees.values())
    if now is not None and now <= 0:
        sheet.note("value/implausible", component, f"{now} C is no temperature of a GPU: a guest does not see it")
    if margin is not None:
        sheet.number(component, "thermal_margin", margin, "C")
    if (margin is not None and margin <= 0) or (now is not None and slowdown is not None and now >= slowdown > 0):
        sheet.note("hardware/thermal-margin", component, f"{now} C leaves no margin to slowdown")


def _state(component: str, gpu: Mapping[str, str], sheet: Sheet) -> None:
    state, status, action = (fact(gpu, name) for name in ("fabric_state", "fabric_status", "recovery_action"))
    if state is not None:
        sheet.text(component, "fabric_state", state)
        if state != "Completed" or status not in ("Success", None):
            sheet.note("hardware/fabric-state", component, f"the fabric is {state}, status {status}")
    for path, value in gpu.items():
        health = path.removeprefix("fabric.").removeprefix("health.") if path.startswith("fabric.health") else ""
        if health and health != "partition_assigned" and value not in _FABRIC_GOOD:
            sheet.note("hardware/fabric-state", component, f"the fabric's {health} is {value}")
    if action not in (None, "None", "No Action"):
        sheet.note("hardware/recovery-action", component, f"the driver asks for: {action}")
    width, best = fact(gpu, "pcie_width"), fact(gpu, "pcie_width_max")
    if width != best:
        sheet.note("note/pcie-width", component, f"{width} of {best} lanes: by design or lost, the SKU decides")
    if gpu.get("persistence_mode") == "Disabled":
        sheet.note("note/persistence-mode", component, "persistence mode is disabled")
