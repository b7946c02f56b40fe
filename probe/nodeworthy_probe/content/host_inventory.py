"""EDAC counters, ethtool, and the record that a bare-metal manager keeps of a host.

EDAC's sums differ by level: the controller's own counters are taken. ethtool's names are kept as
they are, since two of them may differ by a space alone. A record whose product and GPUs belong to
different families describes no machine that exists.
"""

from __future__ import annotations

import re
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, sequence, whole

from . import host_tools
from .documents import load_json, note_duplicates, note_gaps
from .families import family
from .guards import torn_end
from .sheet import Sheet

TOOL = "host-inventory"
_EDAC = re.compile(r"^\S*?edac/mc/mc(?P<mc>\d+)/(?P<path>\S+?)\s*:\s*(?P<value>.*)$", re.MULTILINE)
_CONTROLLER = ("ce_count", "ce_noinfo_count", "ue_count", "ue_noinfo_count")
_COUNTER = re.compile(r"^ +(?P<name>\S[^:]*(?::[^:]*?)*?): (?P<value>.*)$")
_TROUBLE = re.compile(
    r"err|drop|miss|discard|crc|abort|underrun|overrun|fifo|fault|bad|collision|timeout|lost", re.IGNORECASE
)
# Drivers name what passed differently: rx_packets, rx0_packets, queue_0_rx_cnt, rx_ucast_packets, rx_unicast.
_TRAFFIC = r"(?:^|[_. ]){way}\d*[_-](?:\w*packets|\w*pkts|cnt$|unicast|ucast|frames)"
_BLUEFIELD = re.compile(r"BlueField[- ]?(\d)", re.IGNORECASE)
_DPU_LACKS = ("gpus", "infiniband_interfaces", "memory_devices")
_PARTS = (("gpus", "gpus"), ("infiniband_interfaces", "infiniband"), ("network_interfaces", "nics"), ("nvme_devices",
    "nvme"),
          ("block_devices", "block_devices"), ("memory_devices", "memory_devices"), ("cpu_info", "cpus"))  # fmt: skip


def read(text: str, sheet: Sheet) -> None:
    """Read whichever of the three the file is."""
    if "edac/mc" in text:
        _edac(text, sheet)
    elif "NIC statistics:" in text:
        _statistics(text, sheet)
    elif reader := host_tools.reader_of(text):
        reader(text, sheet)
    elif text.lstrip().startswith(("{", "[")):
        _record(mapping(load_json(text, sheet)), sheet)
    elif re.search(r"^Settings for \S+:", text, re.MULTILINE):
        _settings(text, sheet)
    else:
        sheet.note("document/unreadable", "file", "the file is no inventory that is known")


def _edac(text: str, sheet: Sheet) -> None:
    sheet.tool = "edac"
    torn_end(text, sheet)
    rows = [(int(mc[:4]), path, value.strip()) for mc, path, value in _EDAC.findall(text)]
    note_duplicates(sheet, [f"mc{mc}/{path}" for mc, path, _ in rows], "the counter")
    controllers = sorted({mc for mc, _, _ in rows})
    note_gaps(sheet, controllers, "mc")
    for mc in controllers:
        own = {path: value for number, path, value in rows if number == mc}
        for name in _CONTROLLER:
            if name not in own:
                sheet.note("row/missing", f"mc/{mc}", f"{name} is missing")
                continue
            count = sheet.number(f"mc/{mc}", name, whole(own[name]), "count")
            if count and name.startswith("ue"):
                sheet.note("hardware/memory-uncorrected", f"mc/{mc}", f"{name} is {count:g}")
            elif count:
                sheet.note("note/memory-corrected", f"mc/{mc}", f"{name} is {count:g}")
        _rows(mc, own, sheet)


def _rows(mc: int, own: dict[str, str], sheet: Sheet) -> None:
    folders = {path.split("/")[0] for path in own if path.startswith(("csrow", "dimm", "rank")) and "/" in path}
    for folder in folders:
        names = ("ce_count", "ue_count") if folder.startswith("csrow") else ("dimm_ce_count", "dimm_ue_count")
        for name in names:
            count = whole(own.get(f"{folder}/{name}"))
            if count is None:
                sheet.note("row/missing", f"mc/{mc}/{folder}", f"{name} is missing or no number")
            elif "ue_count" in name and count and not whole(own.get("ue_count")):
                sheet.note("hardware/memory-uncorrected", f"mc/{mc}/{folder}", f"{name} is {count}")


def _statistics(text: str, sheet: Sheet) -> None:
    sheet.tool = "ethtool"
    names = []
    lines = text.split("\n")
    for line in lines[lines.index("NIC statistics:") + 1 :] if "NIC statistics:" in lines else []:
        found = _COUNTER.match(line)
        if found is None:
            if line.startswith("    "):
                sheet.note("row/unreadable", "file", line)
            continue
        names.append(found["name"])
        value = sheet.number("nic", found["name"], whole(found["value"].strip()), "count")
        if value and _TROUBLE.search(found["name"]):
            sheet.note("counter/nonzero", "nic", f"{found['name']} is {value:g}: a rate needs two samples")
    note_duplicates(sheet, names, "the counter")
    for way in ("rx", "tx"):
        if not any(re.search(_TRAFFIC.format(way=way), name) for name in names):
            sheet.note("row/missing", "nic", f"{way}_packets is missing")
    if lines[-1].strip():
        sheet.note("document/cut", "file", "the output stops in the middle of a line")


def _settings(text: str, sheet: Sheet) -> None:
    sheet.tool = "ethtool"
    speed = re.search(r"^\s+Speed: (\S+)$", text, re.MULTILINE)
    link = re.search(r"^\s+Link detected: (yes|no)$", text, re.MULTILINE)
    if speed and (found := re.fullmatch(r"(\d+)Mb/s", speed[1])):
        sheet.number("nic", "rate", int(found[1]) / 1000, "Gb/s")
    elif speed and link and link[1] == "yes":
        sheet.note("value/unit", "nic", f"the speed is {speed[1]}")
    if link is None:
        sheet.note("document/cut", "file", "the line Link detected is missing")
    elif link[1] == "no":
        sheet.note("hardware/port-down", "nic", "no link is detected")


def _record(document: dict[str, Any], sheet: Sheet) -> None:
    sheet.tool = "host-record"
    if not document:
        return
    dmi = mapping(document.get("dmi_data"))
    if not dmi and not any(key in document for key, _ in _PARTS):
        sheet.note("document/unreadable", "file", "the document is no host record that is known")
    for name in ("product_name", "sys_vendor", "bios_version", "chassis_serial", "product_serial"):
        sheet.text("node", name, dmi.get(name))
    if dmi and not dmi.get("product_name"):
        sheet.note("row/missing", "node", "the product's name is missing")
    for key, metric in _PARTS:
        key = "cpus" if key == "cpu_info" and "cpus" in document else key  # older records list every thread
        if key in document:
            sheet.number("node", metric, len(sequence(document[key])), "count")
        elif "dpu_info" not in document or key not in _DPU_LACKS:
            sheet.note("row/missing", "node", f"{key} is missing")
    _record_sizes(document, sheet)
    _record_gpus(document, str(dmi.get("product_name", "")), sheet)
    _record_dpu(mapping(document.get("dpu_info")), str(dmi.get("product_name", "")), sheet)


def _record_sizes(document: dict[str, Any], sheet: Sheet) -> None:
    for index, cpu in enumerate(map(mapping, sequence(document.get("cpu_info")))):
        sheet.text(f"cpu/{index}", "model", cpu.get("model"))
        for name in ("sockets", "cores", "threads"):
            if name in cpu:
                sheet.number(f"cpu/{index}", name, whole(cpu[name]), "count")
    for index, module in enumerate(map(mapping, sequence(document.get("memory_devices")))):
        if "size_mb" in module:
            sheet.number(f"memory/{index}", "size", whole(module["size_mb"]), "MB")


def _record_dpu(dpu: dict[str, Any], product_name: str, sheet: Sheet) -> None:
    for name in ("part_number", "part_description", "firmware_version"):
        sheet.text("dpu", name, dpu.get(name))
    if "switches" in dpu:
        sheet.number("dpu", "switches", len(sequence(dpu["switches"])), "count")
    product, part = (_BLUEFIELD.search(text) for text in (product_name, str(dpu.get("part_description", ""))))
    if product and part and product[1] != part[1]:
        sheet.note("invalid/sku-mismatch", "dpu", f"the product is a {product[0]}, the part in it a {part[0]}")


def _record_gpus(document: dict[str, Any], product_name: str, sheet: Sheet) -> None:
    gpus = [mapping(gpu) for gpu in sequence(document.get("gpus"))]
    note_duplicates(sheet, [str(gpu["serial"]) for gpu in gpus if gpu.get("serial")], "the GPU")
    for index, gpu in enumerate(gpus):
        for name in ("name", "serial", "vbios_version", "driver_version"):
            sheet.text(f"gpu/{index}", "model" if name == "name" else name, gpu.get(name))
            if not gpu.get(name):
                sheet.note("row/missing", f"gpu/{index}", f"{name} is missing")
        sheet.quantity(f"gpu/{index}", "memory_total", gpu.get("total_memory"), "MiB")
    product = family(product_name)
    others = {family(str(gpu.get("name", ""))) for gpu in gpus} - {None, product}
    if product and others:
        sheet.note("invalid/sku-mismatch", "node", f"the product is {product}, its GPUs are {sorted(map(str, others))}")
