"""``nvidia-smi --query-gpu=... --format=csv``: the fields that the caller chose, one GPU a line.

Which fields are there was the caller's choice, so none is missed; a field that is there and says
N/A is unknown, and one whose name or value carries another unit than nvidia-smi's is not believed.
A caller that asks for every field there is gets N/A for what a board or its state doesn't have;
those are named below, and a counter that is split more finely than the board does is known by its sum.
"""

from __future__ import annotations

import re

from nodeworthy_probe.parsers.numbers import finite

from .documents import note_duplicates, note_gaps
from .guards import torn_end
from .sheet import Sheet

_HEAD = re.compile(r"^(?=.*,)(?=.*\b(?:name|index|uuid|pci\.bus_id|gpu_uuid|gpu_bus_id|temperature\.gpu"
                   r"|(?:ecc|remapped_rows|clocks_event_reasons|clocks_throttle_reasons|utilization|power)\.\w+)\b)"
                   r"[a-z_]+[\w. \[\]%,/]*$")  # fmt: skip
_UNITS = {"temperature": "C", "power": "W", "clocks": "MHz", "memory": "MiB", "utilization": "%"}
_NAMES = {"index": "index", "name": "model", "gpu_name": "model", "uuid": "uuid", "gpu_uuid": "uuid",
          "serial": "serial", "gpu_serial": "serial", "pci.bus_id": "bus_id", "gpu_bus_id": "bus_id",
          "vbios_version": "vbios"}  # fmt: skip
_BAD = (
    (re.compile(r"ecc\.errors\.uncorrected\.aggregate\.sram\.thresholdExceeded"), "hardware/sram-threshold"),
    (re.compile(r"gpu_recovery_action"), "hardware/recovery-action"),
    (re.compile(r"inforom\.checksum_validation"), "hardware/inforom"),
    (re.compile(r"fabric\.(?:state|status|health\.(?!partition))"), "hardware/fabric-state"),
    (re.compile(r"ecc\.errors\.uncorrected\.volatile\."), "hardware/ecc-uncorrected"),
    (re.compile(r"ecc\.errors\.uncorrected\.aggregate\."), "note/ecc-history"),
    (re.compile(r"remapped_rows\.pending"), "hardware/remap-pending"),
    (re.compile(r"remapped_rows\.failure"), "hardware/remap-failure"),
    (re.compile(r"retired_pages\.pending"), "hardware/retirement-pending"),
    (re.compile(r"clocks_(?:event|throttle)_reasons\.hw_power_brake_slowdown"), "hardware/hw-power-brake-slowdown"),
    (re.compile(r"clocks_(?:event|throttle)_reasons\.hw_thermal_slowdown"), "hardware/hw-thermal-slowdown"),
    (re.compile(r"clocks_(?:event|throttle)_reasons\.hw_slowdown"), "hardware/hw-slowdown"),
    (re.compile(r"clocks_(?:event|throttle)_reasons\.sw_thermal_slowdown"), "hardware/sw-thermal-slowdown"),
)
_UNKNOWN = ("[N/A]", "N/A", "[Not Supported]", "[Not Found]", "", "[Requested functionality has been deprecated]")
_GOOD_WORDS = ("No", "Not Active", "0", "Disabled", "Enabled", "Default", "None", "No Action", "valid", "Completed",
               "Success", "Healthy", "Full", "False", "Not Supported")  # fmt: skip
_BY_DESIGN = re.compile(
    r"(?:v?gpu_(?:driver|device)_capability|driver_model|gom|fan|platform|power_smoothing|module|gpu\.base|hostname"
    r"|dramEncryption|inforom\.(?:pwr|oem|img|ecc)|protected_memory|c2c|gsp|mig|vgpu_|display|encoder|accounting"
    r"|addressing_mode|fabric|pcie\.link\.gen\.hostmax|clocks\.(?:default_)?applications|edpp|power\.management|bbx"
    r"|gpu_recovery_action|clocks_(?:event|throttle)_reasons\.(?:applications|sync)|ecc\.mode\.pending)"
)
_COUNTS = re.compile(
    r"temperature\.|utilization\.|memory\.|power\.(?!management)|ecc\.errors\..*\.(?:total|sram|dram)$"
    r"|retired_pages\..*count|remapped_rows\.(?:un)?correctable"
)
_INSTEAD = (
    (re.compile(r"(ecc\.errors\.\w+\.\w+)\.\w+$"), (r"\1.total",)),
    (re.compile(r"retired_pages\."), ("remapped_rows.pending", "remapped_rows.failure")),
    (re.compile(r"remapped_rows\."), ("retired_pages.pending",)),
)


def is_csv(lines: list[str]) -> bool:
    """Whether the first line is a head of chosen fields."""
    return bool(lines) and bool(_HEAD.match(lines[0]))


def read(lines: list[str], sheet: Sheet) -> None:
    """Read the head and the rows below it."""
    sheet.tool = "nvidia-smi --query-gpu"
    names = [name.strip() for name in lines[0].split(",")]
    torn_end("\n".join(lines), sheet)
    rows = [[cell.strip() for cell in line.split(",")] for line in lines[1:] if line.strip()]
    for place, cells in enumerate(rows):
        if len(cells) != len(names):
            sheet.note("row/unreadable", "file", f"{len(cells)} values under {len(names)} names: {','.join(cells)}")
            continue
        _row(f"gpu/{place}", dict(zip(names, cells, strict=True)), sheet)
    for key in ("index", "uuid", "gpu_uuid", "pci.bus_id"):
        own = [cells[names.index(key)] for cells in rows if key in names and len(cells) == len(names)]
        note_duplicates(sheet, own, f"the {key}")
        if key == "index":
            note_gaps(sheet, [int(value[:4]) for value in own if value.isdigit()], "gpu")
    sheet.number("node", "gpus", len(rows), "count")
    if not rows:
        sheet.note("document/cut", "file", "no GPU is below the head")


def _row(component: str, values: dict[str, str], sheet: Sheet) -> None:
    known = {head.partition(" [")[0] for head, value in values.items() if value not in _UNKNOWN}
    for head, value in values.items():
        name, _, unit = head.partition(" [")
        if re.search(r"ERR!|Unknown Error|GPU is lost|requires reset", value):
            sheet.note("hardware/driver-error", component, f"{name}: {value}")
        elif name in _NAMES:
            sheet.text(component, _NAMES[name], value)
        elif value in _UNKNOWN:
            if not _excused(name, known, values.get("mig.mode.current") == "Enabled"):
                sheet.absent(component, name, unit.rstrip("]"))
                sheet.note("row/missing", component, f"{name} is {value or 'empty'}")
        else:
            _value(component, name, unit.rstrip("]"), value, sheet)
        code = next((code for pattern, code in _BAD if pattern.match(name)), None)
        if code and value not in (*_UNKNOWN, *_GOOD_WORDS):
            sheet.note(code, component, f"{name} is {value}")


def _excused(name: str, known: set[str], in_parts: bool) -> bool:
    """Whether N/A says nothing of the GPU's health: its board has no such thing, or another field knows it."""
    instead = next(([match.expand(word) for word in words] for pattern, words in _INSTEAD
                    if (match := pattern.match(name))), [])  # fmt: skip
    return bool(
        _BY_DESIGN.match(name)
        or (in_parts and name.startswith("utilization."))
        or (instead and all(other in known for other in instead))
    )


def _value(component: str, name: str, unit: str, value: str, sheet: Sheet) -> None:
    wanted = next((own for word, own in _UNITS.items() if word in name and "reasons" not in name), "")
    number = value.removesuffix(f" {unit or wanted}")
    if finite(number) is not None:
        metric = "temperature" if name == "temperature.gpu" else name
        if unit and wanted and unit != wanted:
            sheet.note("value/unit", component, f"{name} is in {unit} where {wanted} was expected")
        sheet.number(component, metric, number, unit or wanted or "count")
        if name == "temperature.gpu" and finite(number) == 0:
            sheet.note("value/implausible", component, "0 C is no temperature of a GPU: a guest does not see it")
    elif re.match(r"-?\d", value) and wanted:
        sheet.note("value/unit", component, f"{name}: {value} where {wanted} was expected")
    elif unit or _COUNTS.match(name):
        sheet.note("value/not-a-number", component, f"{name}: {value[:60]}")
    else:
        sheet.text(component, name, value)
