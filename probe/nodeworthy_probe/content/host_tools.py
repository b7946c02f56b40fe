"""lscpu, dmidecode, numactl, lshw and ipmitool: what a host has, as its own tools list it.

Counts must agree with each other: sockets, cores and threads with CPUs, announced parts with those listed. Whether they
are the right ones takes the SKU.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, sequence, whole
from nodeworthy_probe.parsers.numbers import finite

from . import ipmi
from .documents import load_json, note_duplicates, plain_lines
from .guards import torn_end
from .sheet import Sheet

Reader = Callable[[str, Sheet], None]
_PAIR = re.compile(r"^\s*([^:]+?):(?:\s+(.*))?$")  # a NUMA node of a GPU's memory has no CPU
_LSCPU = (("CPU(s)", "cpus"), ("Socket(s)", "sockets"), ("Core(s) per socket", "cores_per_socket"),
          ("Thread(s) per core", "threads_per_core"), ("NUMA node(s)", "numa_nodes"))  # fmt: skip
_BLOCK = re.compile(r"^Handle 0x[0-9A-Fa-f]+, DMI type (\d+), .*\n(.+)\n((?:\t.*\n?)*)", re.MULTILINE)
_SIZE = re.compile(r"^(\d+) (kB|MB|GB|TB)$")
_MIB = {"kB": 2**-10, "MB": 1, "GB": 2**10, "TB": 2**20}
_BOARD = {"0": (("Version", "bios_version"),), "1": (("Manufacturer", "vendor"), ("Product Name", "product"),
                                                     ("Serial Number", "serial"))}  # fmt: skip
_NODE = re.compile(r"^node (\d+) (cpus|size|free): ?(.*)$")
_CLASSES = (("processor", "cpus"), ("disk", "drives"), ("network", "nics"), ("display", "displays"))


def reader_of(text: str) -> Reader | None:
    """The reader whose tool wrote the text, if one did."""
    return next((reader for form, reader in _FORMS if form.search(text)), None)


def _lscpu(text: str, sheet: Sheet) -> None:
    sheet.tool = "lscpu"
    if text.lstrip().startswith("{"):
        fields = dict(_flat(mapping(load_json(text, sheet)).get("lscpu")))
    else:
        pairs = [(found[1], (found[2] or "").strip()) for line in plain_lines(text) if (found := _PAIR.match(line))]
        note_duplicates(sheet, [name for name, _ in pairs if name in dict(_LSCPU)], "the line")
        fields = dict(pairs)
        torn_end(text, sheet)
    for label, metric in _LSCPU:
        if label in fields:
            sheet.number("node", metric, whole(fields[label]), "count")
        else:
            sheet.note("row/missing", "node", f"{label} is missing")
    sheet.text("node", "cpu_model", fields.get("Model name"))
    _consistent(fields, "{" not in text, sheet)


def _flat(rows: object) -> Iterator[tuple[str, str]]:
    for row in map(mapping, sequence(rows)):
        yield str(row.get("field", "")).rstrip(":"), str(row.get("data", ""))
        yield from _flat(row.get("children"))


def _consistent(fields: dict[str, str], whole_list: bool, sheet: Sheet) -> None:
    cpus, sockets, cores, threads, nodes = (whole(fields.get(label, "")) for label, _ in _LSCPU)
    offline = fields.get("Off-line CPU(s) list", fields.get("Off-line CPU(s) mask"))
    if offline:
        sheet.note("config/cpus-offline", "node", f"CPUs are switched off: {offline}")
    elif cpus and sockets and cores and threads and cpus != sockets * cores * threads:
        sheet.note(
            "document/contradiction", "node", f"{cpus} CPUs are not {sockets} x {cores} x {threads} (sockets, cores)"
        )
    listed = sum(bool(re.match(r"NUMA node\d+ CPU\(s\)$", label)) for label in fields)
    if nodes is not None and (listed or whole_list) and listed != nodes:
        sheet.note("row/missing", "node", f"{listed} of {nodes} NUMA nodes are listed")


def _dmidecode(text: str, sheet: Sheet) -> None:
    sheet.tool = "dmidecode"
    version = re.search(r"^# dmidecode (\S+)", text, re.MULTILINE)
    sheet.version = version[1] if version else None
    for line in re.findall(r"^(?:/dev/mem: .*|.*No SMBIOS nor DMI entry point.*)$", text, re.MULTILINE):
        sheet.note("tool/failed", "node", line)
    kinds: Counter[str] = Counter()
    for kind, _, body in _BLOCK.findall(text):
        fields = {name: value for name, value in re.findall(r"^\t([^\t:][^:]*): ?(.*)$", body, re.MULTILINE)}
        kinds[kind] += 1
        for name, label in _BOARD.get(kind, ()):
            sheet.text("node", label, fields.get(name))
        if kind == "17":
            _dimm(kinds[kind] - 1, fields, sheet)
    if text and not text.endswith("\n"):
        sheet.note("document/cut", "file", "the output stops in the middle of a line")
    sheet.number("node", "structures", sum(kinds.values()), "count")
    if not kinds:
        sheet.note("document/cut", "file", "no structure is listed")
    if kinds["17"]:
        _memory(sheet)


def _dimm(place: int, fields: dict[str, str], sheet: Sheet) -> None:
    component, size = f"dimm/{place}", fields.get("Size", "")
    sheet.text(component, "locator", fields.get("Locator"))
    found = _SIZE.match(size)
    if found:
        sheet.number(component, "size", int(found[1]) * _MIB[found[2]], "MiB")
        for label, metric in (("Speed", "speed"), ("Configured Memory Speed", "configured_speed")):
            rate = re.match(r"(\d+) (?:MT/s|MHz)$", fields.get(label, ""))
            if rate:
                sheet.number(component, metric, rate[1], "MT/s")
        sheet.text(component, "serial", fields.get("Serial Number"))
    elif size != "No Module Installed":
        sheet.note("row/missing", component, f"the size of a module is {size or 'missing'}")


def _memory(sheet: Sheet) -> None:
    sizes = [row.value for row in sheet.rows if row.metric == "size" and row.value is not None]
    sheet.number("node", "dimms", len(sizes), "count")
    sheet.number("node", "memory_total", sum(sizes), "MiB")
    for metric in ("size", "configured_speed"):
        counts = Counter(row.value for row in sheet.rows if row.metric == metric)
        if len(counts) > 1:
            sheet.note("context/uneven-memory", "node", f"modules differ in {metric}: {dict(counts)}")


def _numactl(text: str, sheet: Sheet) -> None:
    sheet.tool = "numactl"
    announced = re.search(r"^available: (\d+) nodes", text, re.MULTILINE)
    wanted = int(announced[1][:4]) if announced else 0
    rows = [found.groups() for line in plain_lines(text) if (found := _NODE.match(line))]
    note_duplicates(sheet, [f"node {number} {what}" for number, what, _ in rows], "the line")
    nodes = {int(number[:4]) for number, _, _ in rows}
    if len(nodes) != wanted:
        sheet.note("row/missing", "node", f"{len(nodes)} of {wanted} NUMA nodes are listed")
    sheet.number("node", "numa_nodes", len(nodes), "count")
    for number, what, value in rows:
        if what == "cpus":
            sheet.number(f"numa/{number}", "cpus", len(value.split()), "count")
        else:
            sheet.quantity(f"numa/{number}", f"memory_{what}", value, "MB")
    for number in sorted(nodes):
        if {what for own, what, _ in rows if own == str(number)} != {"cpus", "size", "free"}:
            sheet.note("row/missing", f"numa/{number}", "cpus, size or free memory is missing")
    if "node distances:" not in text or not re.search(rf"^\s+{max(nodes, default=0)}:(?:\s+\d+)+\s*$", text, re.M):
        sheet.note("document/cut", "file", "the distances are missing")


def _lshw(text: str, sheet: Sheet) -> None:
    sheet.tool = "lshw"
    loaded = load_json(text, sheet)
    roots = sequence(loaded) if isinstance(loaded, list) else [mapping(loaded)] if loaded else []
    nodes = [node for root in roots for node in _tree(root, 0)]
    for node in nodes:
        if node.get("class") == "system":
            for name in ("product", "vendor", "serial"):
                sheet.text("node", name, node.get(name))
    for kind, metric in _CLASSES:
        sheet.number("node", metric, sum(node.get("class") == kind for node in nodes), "count")
    banks = [node for node in nodes if re.match(r"bank(?::\d+)?$", str(node.get("id")))]
    sizes = [size for bank in banks if (size := finite(bank.get("size")))]
    sheet.number("node", "dimms", len(sizes), "count")
    sheet.number("node", "memory_total", sum(sizes) / 2**20, "MiB")
    if nodes and not any(node.get("class") == "processor" for node in nodes):
        sheet.note("row/missing", "node", "no processor is listed")


def _tree(node: object, depth: int) -> Iterator[dict[str, Any]]:
    own = mapping(node)
    if own and depth < 30:
        yield own
        for child in sequence(own.get("children")):
            yield from _tree(child, depth + 1)


def _lshw_xml(text: str, sheet: Sheet) -> None:
    """Its XML form tells the same; who stands in whom does not matter for the counts."""
    sheet.tool = "lshw"
    kinds = Counter(re.findall(r"<node\b[^>]*\bclass=\"(\w+)\"", text))
    system = re.search(r"<node\b[^>]*\bclass=\"system\".*?(?=<node\b|</node>)", text, re.DOTALL)
    for name, value in re.findall(r"<(product|vendor|serial)>([^<]*)</", system[0] if system else ""):
        sheet.text("node", name, value)
    for kind, metric in _CLASSES:
        sheet.number("node", metric, kinds[kind], "count")
    if text.count("<node ") != text.count("</node>") or not text.rstrip().endswith(("</list>", "</node>")):
        sheet.note("document/cut", "file", "the XML document is cut")
    if not kinds["processor"]:
        sheet.note("row/missing", "node", "no processor is listed")


_FORMS: tuple[tuple[re.Pattern[str], Reader], ...] = tuple(
    (re.compile(form, re.MULTILINE), reader)
    for form, reader in (
        (r'^Architecture:\s|^\s*\{\s*"lscpu"\s*:', _lscpu),
        (r"^# dmidecode |^Handle 0x[0-9A-Fa-f]+, DMI type ", _dmidecode),
        (r"^available: \d+ nodes ", _numactl),
        (r'\A\s*[\[{][^{]*\{?\s*"id"\s*:\s*"[^"]*",\s*"class"\s*:', _lshw),
        (ipmi.EVENTS, ipmi.events),
        (ipmi.SENSORS, ipmi.sensors),
        (r"\A(?:<\?xml[^>]*\?>\s*)?<!-- generated by lshw", _lshw_xml),
    )
)
