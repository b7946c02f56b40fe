"""``nvidia-smi topo -m``: which path joins each pair of devices; ``topo -p2p``: which pairs may read each other.

Among GPUs either every pair has NVLink or none has; the matrix must be square and say the same
from both ends. Access that a board or chipset does not support was not tested; access that was
switched off is a setting.
"""

from __future__ import annotations

import re
from itertools import takewhile

from .sheet import Sheet

_PATH = re.compile(r"X|NV\d+|PIX|PXB|PHB|NODE|SYS|SOC|OK|CNS|GNS|TNS|NS|DR|U")
_ACCESS = {"CNS": "test/skipped", "GNS": "test/skipped", "TNS": "test/skipped", "NS": "test/skipped",
           "DR": "config/peer-access", "U": "row/unreadable"}  # fmt: skip


def topology(lines: list[str], sheet: Sheet) -> None:
    """Read the matrix."""
    sheet.tool = "nvidia-smi topo"
    start = next((place for place, line in enumerate(lines) if re.match(r"^\s*GPU0\s", line) and "GPU0" in line), None)
    header = re.split(r"\t+|\s{2,}", lines[start].strip()) if start is not None else []
    columns = list(takewhile(lambda name: " " not in name, header))
    rows: dict[str, list[str]] = {}
    for line in lines[(start or 0) + 1 :]:
        cells = line.split()
        if cells and cells[0] in columns and len(cells) > 1 and not cells[0].endswith(":"):
            if cells[0] in rows:
                sheet.note("document/duplicate", cells[0], f"the row {cells[0]} is there twice")
            rows[cells[0]] = cells[1 : len(columns) + 1]
            if cells[0].startswith("GPU") and len(cells) > len(columns) + 2:
                sheet.text(f"gpu/{cells[0][3:]}", "numa_node", cells[len(columns) + 2])
    gpus = [name for name in columns if name.startswith("GPU")]
    sheet.number("node", "gpus", len(gpus), "count")
    _matrix(rows, columns, gpus, sheet)
    if not any("Legend" in line for line in lines):
        sheet.note("document/cut", "file", "the legend after the matrix is missing")


def _matrix(rows: dict[str, list[str]], columns: list[str], gpus: list[str], sheet: Sheet) -> None:
    if [int(gpu[3:]) for gpu in gpus] != list(range(len(gpus))) or not gpus:
        sheet.note("row/missing", "file", "the GPUs of the header are not numbered without gaps")
    listed = [name for name in columns if name in rows]
    for name in columns:
        if name not in rows and (name in gpus or any(other not in gpus for other in listed)):
            sheet.note("row/missing", name, f"the row {name} is missing")
    cells: dict[tuple[str, str], str] = {}
    for name, row in rows.items():
        if len(row) != len(columns) or not all(_PATH.fullmatch(cell) for cell in row):
            sheet.note("row/unreadable", name, f"the row {name} does not fit the header: {' '.join(row)[:120]}")
            continue
        cells |= {(name, column): cell for column, cell in zip(columns, row, strict=True)}
    _mirrored(cells, sheet)
    for gpu in gpus:
        near = [other for other in columns if other not in gpus and cells.get((gpu, other)) == "PIX"]
        sheet.text(f"gpu/{gpu[3:]}", "nearest_nics", " ".join(near))
    if any(path == "OK" or path in _ACCESS for path in cells.values()):
        _access(cells, sheet)
    else:
        _links(cells, gpus, sheet)


def _access(cells: dict[tuple[str, str], str], sheet: Sheet) -> None:
    sheet.tool = "nvidia-smi topo -p2p"
    sheet.number("node", "peer_pairs", sum(path == "OK" for path in cells.values()) // 2, "count")
    for (one, other), path in cells.items():
        if path in _ACCESS and one < other:
            sheet.note(_ACCESS[path], one, f"{one} has no access to {other}: {path}")
        elif path not in ("X", "OK") and path not in _ACCESS:
            sheet.note("row/unreadable", one, f"{one} to {other} is {path} among answers on access")


def _mirrored(cells: dict[tuple[str, str], str], sheet: Sheet) -> None:
    for (one, other), path in cells.items():
        if cells.get((other, one), path) != path:
            sheet.note("document/contradiction", one, f"{one} to {other} is {path}, back it is {cells[other, one]}")
        if (path == "X") != (one == other):
            sheet.note("document/contradiction", one, f"{one} to {other} is {path}")


def _links(cells: dict[tuple[str, str], str], gpus: list[str], sheet: Sheet) -> None:
    pairs = {
        (one, other): path for (one, other), path in cells.items() if one in gpus and other in gpus and one < other
    }
    widths = {pair: int(path[2:]) for pair, path in pairs.items() if path.startswith("NV")}
    sheet.number("node", "nvlink_pairs", len(widths), "count")
    if widths:
        sheet.number("node", "nvlinks_per_pair", min(widths.values()), "count", statistic="min")
    for (one, other), path in pairs.items():
        if widths and (one, other) not in widths:
            sheet.note("hardware/nvlink-down", one, f"{one} and {other} are joined by {path}, not by NVLink")
        elif widths and widths[one, other] < max(widths.values()):
            sheet.note("context/nvlink-uneven", one, f"{one} and {other} have {path} of NV{max(widths.values())}")
