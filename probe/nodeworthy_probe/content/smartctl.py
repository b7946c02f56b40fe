"""smartctl and nvme smart-log, JSON or text: what the drive says of itself.

``passed`` is one witness among others: a drive without spare blocks passes. A log that could not
be read leaves the drive's state unknown. Errors in the drive's log may be old: a rise needs two
samples.
"""

from __future__ import annotations

from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, sequence, whole

from . import smartctl_text
from .documents import load_json
from .sheet import Sheet

TOOL = "smartctl"
_NVME = (("critical_warning", ("critical_warning",), "bits"), ("available_spare", ("available_spare", "avail_spare"),
    "%"),
         ("available_spare_threshold", ("available_spare_threshold", "spare_thresh"), "%"),
         ("percentage_used", ("percentage_used", "percent_used"), "%"), ("media_errors", ("media_errors",), "count"),
         ("num_err_log_entries", ("num_err_log_entries",), "count"), ("power_on_hours", ("power_on_hours",), "h"),
         ("unsafe_shutdowns", ("unsafe_shutdowns",), "count"), ("temperature", ("temperature",), "C"))  # fmt: skip
_NVME_ALSO = ("data_units_read", "data_units_written", "controller_busy_time", "power_cycles")
_NVME_TIMES = ("warning_temp_time", "critical_comp_time")
_TIMES_SINCE = [6, 6]  # the release of smartctl that began to print both
_ATA_COUNTS = {
    5: "reallocated_sectors",
    187: "reported_uncorrectable",
    197: "pending_sectors",
    198: "offline_uncorrectable",
}
_KELVIN = 200
# SCSI drives give vendor, product and revision; the names changed in smartctl 7.4.
_IDENTITY = (("model_name", ("scsi_model_name", "scsi_product", "product")), ("serial_number", ()),
             ("firmware_version", ("scsi_revision", "revision")))  # fmt: skip


def read(text: str, sheet: Sheet) -> None:
    """Read one drive's document."""
    told = smartctl_text.is_text(text)
    document = smartctl_text.document(text, sheet) if told else mapping(load_json(text, sheet))
    if not document:
        return
    if "smartctl" not in document and ("avail_spare" in document or "critical_warning" in document):
        sheet.tool = "nvme"
        _nvme("drive", document, sheet)
        return
    head = mapping(document.get("smartctl"))
    version = sequence(head.get("version"))
    sheet.version = ".".join(map(str, version)) or None
    if not version:
        sheet.note("row/missing", "file", "the version of smartctl is missing")
    component = f"drive/{str(mapping(document.get('device')).get('name', 'unknown')).rsplit('/', 1)[-1]}"
    for name, others in _IDENTITY:
        value = next((document[key] for key in (name, *others) if key in document), None)
        sheet.text(component, name.removesuffix("_name"), value)
        if value is None:
            sheet.note("row/missing", component, f"{name} is missing")
    _exit(component, head, sheet)
    _passed(component, document, sheet)
    _log(component, document, sheet)


def _exit(component: str, head: dict[str, Any], sheet: Sheet) -> None:
    status = whole(head.get("exit_status"))
    if sheet.number(component, "exit_status", status, "bits") is None or status is None:
        return
    if status & 0b11:
        sheet.note("tool/failed", component, f"exit status {status}: the drive could not be opened or asked")
    if status & 0b100:
        sheet.note("row/missing", component, f"exit status {status}: a command to the drive failed")
    if status & 0b11000:
        sheet.note("hardware/drive-failing", component, f"exit status {status}: the drive is failing or at its end")
    if status & 0b11100000:
        sheet.note("note/drive-history", component, f"exit status {status}: the drive's logs hold errors")
    for message in map(mapping, sequence(head.get("messages"))):
        if message.get("severity") == "error":
            sheet.note("row/missing", component, str(message.get("string")))


def _passed(component: str, document: dict[str, Any], sheet: Sheet) -> None:
    passed = mapping(document.get("smart_status")).get("passed")
    if passed is None:
        sheet.absent(component, "passed", "bool")
        sheet.note("row/missing", component, "the drive's own verdict is missing")
        return
    sheet.number(component, "passed", float(passed is True), "bool")
    if passed is not True:
        sheet.note("hardware/drive-failing", component, "the drive says that it does not pass")


def _log(component: str, document: dict[str, Any], sheet: Sheet) -> None:
    _also(component, document, sheet)
    nvme = document.get("nvme_smart_health_information_log")
    attributes = mapping(document.get("ata_smart_attributes"))
    protocol = str(mapping(document.get("device")).get("protocol", ""))
    if isinstance(nvme, dict):
        _nvme(component, nvme, sheet)
    elif attributes:
        for row in map(mapping, sequence(attributes.get("table"))):
            _attribute(component, row, sheet)
    elif protocol == "SCSI" and "scsi_error_counter_log" in document:
        _scsi(component, document, sheet)
    else:
        sheet.absent(component, "available_spare", "%")
        sheet.note("row/missing", component, "the health log is missing")


def _also(component: str, document: dict[str, Any], sheet: Sheet) -> None:
    """What smartctl gives for drives of every protocol; NVMe's log has it as well."""
    if "nvme_smart_health_information_log" in document:
        return
    for name, key, metric, unit in (("temperature", "current", "temperature", "C"),
                                    ("power_on_time", "hours", "power_on_hours", "h")):  # fmt: skip
        value = mapping(document.get(name)).get(key)
        if value is not None:
            sheet.number(component, metric, value, unit)


def _nvme(component: str, log: dict[str, Any], sheet: Sheet) -> None:
    values: dict[str, int] = {}
    for metric, keys, unit in _NVME:
        raw = next((log[key] for key in keys if key in log), None)
        raw = raw.get("value") if isinstance(raw, dict) else raw  # nvme-cli -v explains the bits of the warning
        # nvme-cli writes counters of 128 bits with a decimal point
        number = whole(int(raw) if isinstance(raw, float) and raw.is_integer() else raw)
        if number is None:
            code = "row/missing" if raw is None else "value/not-a-number"
            sheet.absent(component, metric, unit)
            sheet.note(code, component, f"{metric} is {str(raw)[:40] if raw is not None else 'missing'}")
            continue
        values[metric] = number - 273 if metric == "temperature" and number > _KELVIN else number
        sheet.number(component, metric, values[metric], unit)
    release = [int(part) for part in (sheet.version or "").split(".")[:2] if part.isdigit()]
    for key in (*_NVME_ALSO, *(_NVME_TIMES if not release or release >= _TIMES_SINCE else ())):
        if key not in log:
            sheet.note("row/missing", component, f"{key} is missing")
    _nvme_odd(component, values, sheet)


def _nvme_odd(component: str, values: dict[str, int], sheet: Sheet) -> None:
    spare, threshold = values.get("available_spare", 100), values.get("available_spare_threshold", 0)
    if values.get("critical_warning"):
        sheet.note("hardware/critical-warning", component, f"critical warning {values['critical_warning']:#x}")
    if spare <= threshold:
        sheet.note("hardware/no-spare", component, f"{spare} % of spare blocks, threshold {threshold} %")
    if values.get("percentage_used", 0) >= 100:
        sheet.note("hardware/worn-out", component, f"{values['percentage_used']} % of the endurance is used")
    if values.get("media_errors"):
        sheet.note("counter/nonzero", component, f"{values['media_errors']} media errors: a rise needs two samples")
    if spare > 100 or threshold > 100 or values.get("percentage_used", 0) > 255:
        sheet.note("value/implausible", component, f"spare {spare} %, threshold {threshold} %")


def _scsi(component: str, document: dict[str, Any], sheet: Sheet) -> None:
    """Counters since the drive was made: a defect that grew or an error that stayed is told, a rise is a fault."""
    defects = sheet.number(component, "grown_defects", document.get("scsi_grown_defect_list"), "count")
    log = mapping(document["scsi_error_counter_log"])
    counts = {"grown defects": defects}
    for way in ("read", "write"):
        row = mapping(log.get(way))
        if not row:
            sheet.note("row/missing", component, f"the counters of {way} errors are missing")
            continue
        counts[f"uncorrected {way} errors"] = sheet.number(
            component, f"{way}_uncorrected", row.get("total_uncorrected_errors"), "count"
        )
    for what, count in counts.items():
        if count:
            sheet.note("counter/nonzero", component, f"{count:g} {what}: a rise needs two samples")


def _attribute(component: str, row: dict[str, Any], sheet: Sheet) -> None:
    failed = str(row.get("when_failed", ""))
    if failed == "now":
        sheet.note("hardware/drive-failing", component, f"attribute {row.get('name')} is below its threshold")
    elif failed == "past":
        sheet.note("note/drive-history", component, f"attribute {row.get('name')} was below its threshold before")
    metric = _ATA_COUNTS.get(whole(row.get("id")) or 0)
    if metric:
        count = sheet.number(component, metric, mapping(row.get("raw")).get("value"), "count")
        if count:
            sheet.note("counter/nonzero", component, f"{metric} is {count:g}: a rise needs two samples")
