"""The text of ``nvidia-smi -q``: indented sections, as names joined with dots; MIG devices are numbered."""

from __future__ import annotations

import re

from .gpu_facts import GpuFacts
from .sheet import Sheet

_GPU = re.compile(r"^GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)\s*$")
_FIELD = re.compile(r"^( +)(\S.*?)\s*: ?(.*)$")
_SECTION = re.compile(r"^( +)(\S.*?)\s*$")
_HEAD = re.compile(r"^((?:Driver|KMD|CUDA|CUDA UMD) Version|Attached GPUs)\s*: (.*?)(?: \[Deprecated.*)?$")


def facts(text: str, sheet: Sheet) -> GpuFacts:
    """The facts of every GPU block."""
    head: dict[str, str] = {}
    gpus: list[dict[str, str]] = []
    sections: list[tuple[int, str]] = []
    for line in text.splitlines():
        if block := _GPU.match(line):
            gpus.append({"bus_id": block[1]})
            sections = []
        elif not gpus:
            if found := _HEAD.match(line):
                head[found[1]] = found[2].strip()
        elif not any(name == "processes" for _, name in sections):
            sections = _line(line, sections, gpus[-1], sheet)
    _ended(text, gpus, sheet)
    driver, cuda = (head.get(new) or head.get(old) for new, old in (("KMD Version", "Driver Version"),
                                                                     ("CUDA UMD Version", "CUDA Version")))  # fmt: skip
    return GpuFacts(head.get("Attached GPUs"), driver, cuda, gpus)


def _line(line: str, sections: list[tuple[int, str]], gpu: dict[str, str], sheet: Sheet) -> list[tuple[int, str]]:
    field = _FIELD.match(line)
    found = field or _SECTION.match(line)
    if found is None:
        return sections
    depth = len(found[1])
    above = [(indent, name) for indent, name in sections if indent < depth]
    name = re.sub(r"[^a-z0-9]+", "_", found[2].lower()).strip("_")
    if name == "mig_device" and field is None:
        name += f"[{sum(path.startswith('mig_device[') and path.endswith('].index') for path in gpu)}]"
    path = ".".join([*(section for _, section in above), name])
    if field is None or name == "hw_slowdown":
        above.append((depth, name))
    if field is not None:
        if path in gpu and "process" not in path:
            sheet.note("document/duplicate", gpu["bus_id"], f"{path} is there twice")
        gpu[path] = field[3].strip()
    return above


def _ended(text: str, gpus: list[dict[str, str]], sheet: Sheet) -> None:
    last = gpus[-1] if gpus else {}
    if not any(path.startswith("processes") for path in last) and not re.search(
        r"^ {4}Processes[ \t]*\n {5,}\S", text, re.MULTILINE
    ):
        sheet.note("document/cut", "file", "the last GPU has no list of processes: the output is cut")
