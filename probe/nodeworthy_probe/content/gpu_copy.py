"""superbench gpu-copy-bw: one name and one figure in GB/s a line.

The names form a grid of GPUs, NUMA nodes, directions and methods; a hole in it is a missing row.
Copies by SM and by DMA engine are different measurements and are never mixed.
"""

from __future__ import annotations

import re
from collections import defaultdict

from .documents import note_duplicates, plain_lines
from .sheet import Sheet

TOOL = "gpu-copy-bw"
_LINE = re.compile(r"^((?:cpu|gpu(?:_all|\d+))_(?:to|and)_\w+)\s*(.*)$")
_SHAPE = re.compile(r"(?P<from>cpu|gpu_all|gpu\d+)_(?P<verb>to|and)_(?P<to>cpu|gpu_all"
                    r"|gpu\d+)(?P<how>_write|_read)?_by_"
                    r"(?P<by>sm|dma)(?:_under_numa(?P<numa>\d+))?$")  # fmt: skip
_WRONG = re.compile(r"^.*Memory check failed.*$", re.MULTILINE)
_ERROR = re.compile(r"^\w+::\w+ .*error: \d+.*$", re.MULTILINE)


def read(text: str, sheet: Sheet) -> None:
    """Read every figure, then look for holes in the grid."""
    for code, pattern in (("correctness/wrong", _WRONG), ("tool/failed", _ERROR)):
        for line in dict.fromkeys(pattern.findall(text)):
            sheet.note(code, "node", line)
    names: list[str] = []
    for line in plain_lines(text):
        found = _LINE.match(line.strip())
        if found is None:
            continue
        names.append(found[1])
        value = sheet.number(_component(found[1]), found[1], found[2], "GB/s")
        if value is not None and value <= 0:
            sheet.note("value/implausible", found[1], f"{found[1]} is {value:g} GB/s")
    note_duplicates(sheet, names, "the figure")
    if not names:
        sheet.note("document/unreadable", "file", "the file holds no figure of gpu-copy-bw")
    _grid(names, sheet)
    if not text.endswith("\n") and text.split("\n")[-1].strip():
        sheet.note("document/cut", "file", "the output stops in the middle of a line")


def _component(name: str) -> str:
    found = re.search(r"gpu(\d+)", name)
    return f"gpu/{found[1]}" if found else "node"


def _grid(names: list[str], sheet: Sheet) -> None:
    shapes = [shape for shape in map(_SHAPE.match, names) if shape]
    for name in names:
        if not _SHAPE.match(name):
            sheet.note("row/unreadable", name, f"the name {name} is none of gpu-copy-bw")
    gpus = sorted({end for shape in shapes for end in (shape["from"], shape["to"]) if re.fullmatch(r"gpu\d+", end)})
    numas = sorted({shape["numa"] for shape in shapes if shape["numa"]})
    families: dict[tuple[str, ...], set[tuple[str | None, ...]]] = defaultdict(set)
    for shape in shapes:
        ends = tuple("gpu" if re.fullmatch(r"gpu\d+", shape[end]) else shape[end] for end in ("from", "to"))
        own = "self" if shape["from"] == shape["to"] else "peer"
        key = (*ends, shape["verb"], shape["how"] or "", shape["by"], own)
        families[key].add((shape["from"], shape["to"], shape["numa"]))
    for key, seen in families.items():
        expected = _expected(key, len(gpus), len(numas))
        if len(seen) != expected:
            sheet.note("row/missing", "file", f"{len(seen)} of {expected} figures of {' '.join(filter(None, key))}")
    _directions(families, sheet)
    if len(gpus) > 1 and not any(key[:2] == ("gpu", "gpu") and key[5] == "peer" for key in families):
        sheet.note("row/missing", "file", f"{len(gpus)} GPUs and no copy from one to another")


def _expected(key: tuple[str, ...], gpus: int, numas: int) -> int:
    ends, own = key[:2], key[5]
    if ends == ("gpu", "gpu"):
        if own == "self":
            return gpus
        return gpus * (gpus - 1) if key[2] == "to" else max(gpus * (gpus - 1) // 2, 1)
    if "cpu" in ends:
        return gpus * max(numas, 1)
    return gpus if "gpu" in ends else 1


def _directions(families: dict[tuple[str, ...], set[tuple[str | None, ...]]], sheet: Sheet) -> None:
    for first, second, verb, how, by, own in list(families):
        wanted = [(second, first, verb, how, by, own)]
        if how:
            wanted.append((first, second, verb, "_read" if how == "_write" else "_write", by, own))
        for key in wanted:
            if key not in families and not ("gpu_all" in key and key[3] == "_read"):
                sheet.note("row/missing", "file", f"figures of {' '.join(filter(None, key))} are missing")
