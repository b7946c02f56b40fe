"""The short forms: the table, lspci's list of devices, and the way to chosen fields, links, lists and topology."""

from __future__ import annotations

import re

from . import nvidia_links, nvidia_smi_csv
from .documents import note_duplicates, note_gaps, plain_lines
from .guards import torn_end
from .nvidia_topology import topology
from .sheet import Sheet

_TABLE_HEAD = re.compile(r"\|\s*NVIDIA-SMI\s+(\S+)\s+(?:Driver|KMD) Version: (\S+)")
_MIG_PART = re.compile(r"^\|\s+(?P<gpu>\d+)\s+\d+\s+\d+\s+\d+\s+\|.*/.*\|\s*\d+\s+(?P<ecc>\S+)\s+\|")
_TABLE_FIRST = re.compile(r"^\|\s+(?P<gpu>\d+)\s+(?P<name>\S.*?)\s+(?P<persistence>On|"
                          r"Off|WDDM|TCC|MCDM)\s+\|\s*(?P<bus>[0-9A-Fa-f]+:[0-9A-Fa-f:.]+)"
                          r"\s+(?P<display>On|Off)\s*\|\s*(?P<ecc>\S+)\s*\|$")  # fmt: skip
_TABLE_SECOND = re.compile(r"^\|\s*(?P<fan>\S+)\s+(?P<temperature>\S+)\s+(?P<state>P\d"
                           r"+|\S+)\s+(?P<power>\S+)\s*/\s*(?P<limit>\S+)"
                           r"\s*\|\s*(?P<used>\S+)\s*/\s*(?P<total>\S+)\s*\|\s*(?P<busy>\S+)\s+"
                           r"(?:\S+|E\. Process)\s*\|$")  # fmt: skip
_AFTER = re.compile(r"^WARNING: infoROM.*$", re.MULTILINE)
_LSPCI = re.compile(r"^(?P<address>(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (?P<class>[^:]+?)(?: "
                    r"\[[0-9a-f]{4}\])?: "
                    r"(?P<name>.*?)(?: \(rev (?P<revision>[0-9a-f]{2})\))?(?: \(prog-if .*\))?$")  # fmt: skip
_GPU_CLASSES = ("3D controller", "Display controller", "Processing accelerators")


def read(text: str, sheet: Sheet) -> bool:
    """Read the form that the file has; False if it has none of them."""
    lines = plain_lines(text)
    if _TABLE_HEAD.search(text):
        _table(text, lines, sheet)
    elif nvidia_smi_csv.is_csv(lines):
        nvidia_smi_csv.read(lines, sheet)
    elif re.search(r"^\s*(?:\x1b\[\d+m)?\s*GPU0\s", text, re.MULTILINE):
        topology(lines, sheet)
    else:
        form = next((form for mark, form in _FORMS if any(mark.match(line) for line in lines)), None)
        if form is None:
            return False
        form(lines, sheet)
    return True


def _table(text: str, lines: list[str], sheet: Sheet) -> None:
    head = _TABLE_HEAD.search(text)
    sheet.version = head[2] if head else None
    gpus: list[int] = []
    seconds = sum(bool(_TABLE_SECOND.match(line.strip())) for line in lines)
    if seconds > sum(bool(_TABLE_FIRST.match(line.strip())) for line in lines):
        sheet.note("row/missing", "file", "a GPU's second line has no first")
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if first := _TABLE_FIRST.match(line.strip()):
            gpus.append(int(first["gpu"][:4]))
            parts = [found["ecc"] for own in lines if (found := _MIG_PART.match(own)) and found["gpu"] == first["gpu"]]
            _table_gpu(first, _TABLE_SECOND.match(after.strip()), after, parts, sheet)
        elif "ERR!" in line and not _TABLE_SECOND.match(line.strip()):
            sheet.note("hardware/driver-error", "node", line)
        elif re.match(r"^\|\s+\d+\s+\S.*[0-9A-F]{2}:[0-9A-F]{2}", line):
            sheet.note("row/unreadable", "file", line)
    note_duplicates(sheet, [f"gpu/{gpu}" for gpu in gpus], "the row of")
    note_gaps(sheet, gpus, "gpu")
    sheet.number("node", "gpus", len(gpus), "count")
    if "Processes:" not in text or not _AFTER.sub("", text).rstrip().endswith("+") or not gpus:
        sheet.note("document/cut", "file", "the table does not end with its list of processes")


def _table_gpu(first: re.Match[str], second: re.Match[str] | None, line: str, parts: list[str], sheet: Sheet) -> None:
    component = f"gpu/{first['gpu']}"
    sheet.text(component, "model", first["name"])
    sheet.text(component, "bus_id", first["bus"])
    _table_ecc(component, first["ecc"], parts, sheet)
    if second is None:
        sheet.note("hardware/driver-error" if "ERR!" in line else "row/unreadable", component, line)
        return
    for name, metric, unit in (("temperature", "temperature", "C"), ("power", "power", "W"), ("limit", "power_limit",
        "W"),
                               ("used", "memory_used", "MiB"), ("total", "memory_total", "MiB"), ("busy",
                                   "utilisation", "%")):  # fmt: skip
        if second[name] == "ERR!":
            sheet.absent(component, metric, unit)
            sheet.note("hardware/driver-error", component, f"{metric}: ERR!")
        elif not (parts and name == "busy" and second[name] == "N/A"):
            sheet.quantity(component, metric, second[name], unit)
    if "ERR!" in (second["fan"], second["state"]):
        sheet.note("hardware/driver-error", component, line)
    if second["temperature"] == "0C":
        sheet.note("value/implausible", component, "0 C is no temperature of a GPU: a guest does not see it")


def _table_ecc(component: str, ecc: str, parts: list[str], sheet: Sheet) -> None:
    """The GPU's errors; a GPU in MIG mode shows On there, and its errors beside its MIG devices."""
    own = {f"{component}/mig/{part}": count for part, count in enumerate(parts)} if ecc == "On" else {component: ecc}
    if ecc == "N/A":
        sheet.absent(component, "ecc_uncorrected", "count")
        return
    if ecc == "Off" or not own:
        sheet.note("row/missing", component, f"errors are not counted: ECC is {ecc}")
        return
    for place, count in own.items():
        if sheet.number(place, "ecc_uncorrected", count, "count"):
            sheet.note("hardware/ecc-uncorrected", component, f"{count} uncorrected ECC errors of {place}")


def _lspci(lines: list[str], sheet: Sheet) -> None:
    sheet.tool = "lspci"
    torn_end("\n".join(lines), sheet)
    devices = [found for line in lines if (found := _LSPCI.match(line.strip()))]
    note_duplicates(sheet, [device["address"] for device in devices], "the address")
    gpus = [device for device in devices if device["class"] in _GPU_CLASSES]
    for index, gpu in enumerate(gpus):
        sheet.text(f"gpu/{index}", "model", gpu["name"])
        if found := re.search(r"\[(?:10de|1002):([0-9a-f]{4})\]|Device ([0-9a-f]{4})\b", gpu["name"]):
            sheet.text(f"gpu/{index}", "pci_device_id", found[1] or found[2])
    sheet.number("node", "gpus", len(gpus), "count")
    sheet.number("node", "nvswitches", sum(map(_is_nvswitch, devices)), "count")
    sheet.number("node", "devices", len(devices), "count")
    _lspci_odd(lines, devices, sheet)
    if not gpus:
        sheet.note("hardware/no-gpu", "node", "no GPU is listed")


def _is_nvswitch(device: re.Match[str]) -> bool:
    """Named so by newer lists of ids; an older one has only NVIDIA's bridge that is no PCI bridge."""
    return "NVSwitch" in device["name"] or (device["class"] == "Bridge" and "NVIDIA" in device["name"])


def _lspci_odd(lines: list[str], devices: list[re.Match[str]], sheet: Sheet) -> None:
    for device in devices:
        if device["revision"] == "ff":
            sheet.note("hardware/fallen-off-bus", f"pci/{device['address']}", f"revision ff: {device['name']}")
    for line in lines:
        if "LnkSta:" in line and re.search(r"Width x\d+ \(downgraded\)", line):
            sheet.note("hardware/pcie-width", "node", line)
        elif re.match(r"^[0-9a-f]{2,4}[:.]", line) and not _LSPCI.match(line.strip()):
            sheet.note("row/unreadable", "file", f"a line cannot be read: {line[:80]}")


_FORMS = (*nvidia_links.FORMS, (_LSPCI, _lspci))
