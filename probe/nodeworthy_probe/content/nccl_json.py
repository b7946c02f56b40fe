"""The JSON forms: one object of nccl-tests 2.17 and later, a flat list or one record a line of rccl-tests.

All become the same cells: size, placement, time, algorithm and bus bandwidth, wrong values. A cell
is believed when time and bandwidths agree with each other. nccl-tests lists the first rank of each
process alone, counts wrong values in decimals, and writes true and false as text. Source:
NVIDIA/nccl-tests src/util.cu; ROCm/rccl-tests pull request 93.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, sequence, whole
from nodeworthy_probe.parsers.nccl_row import bus_factor
from nodeworthy_probe.parsers.nccl_tests import Sweep
from nodeworthy_probe.parsers.numbers import close, finite

from .documents import load_json
from .sheet import Sheet

_COLLECTIVES = {"allreduce": "all_reduce", "allgather": "all_gather", "reducescatter": "reduce_scatter",
                "alltoall": "alltoall", "broadcast": "broadcast", "reduce": "reduce"}  # fmt: skip


@dataclass(frozen=True)
class _Cell:
    size: int
    placement: str
    time_us: float
    algorithm: float
    bus: float
    wrong: int | None


def read(text: str, sheet: Sheet) -> None:
    """Read either form."""
    document = _lines(text) or load_json(text, sheet)
    if isinstance(document, list):
        sheet.tool = "rccl-tests"
        cells, ranks = _flat(document, sheet)
        nodes = max((whole(mapping(item).get("nodes")) or 0 for item in document), default=0) or None
    elif document is not None:
        cells = _object(mapping(document), sheet)
        ranks, nodes = _devices(mapping(document), sheet)
        _sweep(mapping(document), sheet)
    else:
        return
    _collect(cells, ranks, nodes, sheet)


def _lines(text: str) -> list[Any] | None:
    """The records of a file that holds one on each line; None for another form."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2 or not all(line.lstrip().startswith("{") and "busBw" in line for line in lines):
        return None
    try:
        return [json.loads(line) for line in lines]
    except (ValueError, RecursionError):
        return None


def _flat(items: list[Any], sheet: Sheet) -> tuple[list[_Cell], int | None]:
    cells, ranks = [], set()
    for item in map(mapping, items):
        placement = "in-place" if str(item.get("inPlace")) == "1" else "out-of-place"
        cell = _cell(item.get("size"), placement, (item.get("time"), item.get("algBw"), item.get("busBw")),
                     item.get("wrong", item.get("#wrong")), sheet)  # fmt: skip
        cells += [cell] if cell else []
        ranks.add(whole(item.get("ranks", item.get("gpus"))))
        sheet.text("node", "collective", _collective(item.get("name")))
    if len(ranks) != 1:
        sheet.note("document/contradiction", "file", "the records name different numbers of ranks")
    return cells, max((rank for rank in ranks if rank), default=None)


def _object(document: dict[str, Any], sheet: Sheet) -> list[_Cell]:
    sheet.version = str(document.get("version", "")) or None
    sheet.text("node", "nccl", document.get("nccl_version"))
    arguments = sequence(document.get("args"))
    sheet.text(
        "node", "collective", _collective(arguments[0] if arguments else mapping(document.get("config")).get("name"))
    )
    cells = []
    for row in map(mapping, sequence(document.get("results"))):
        for key, placement in (("out_of_place", "out-of-place"), ("in_place", "in-place")):
            half = mapping(row.get(key))
            if not half:
                sheet.note("row/missing", "file", f"{placement} is missing at {str(row.get('size'))[:20]} bytes")
                continue
            figures = (half.get("time", half.get("cpu_time")), half.get("alg_bw"), half.get("bus_bw"))
            cell = _cell(row.get("size"), placement, figures, half.get("nwrong"), sheet)
            cells += [cell] if cell else []
    _footer(document, cells, sheet)
    return cells


def _devices(document: dict[str, Any], sheet: Sheet) -> tuple[int | None, int | None]:
    """Ranks and nodes. Of a process with several GPUs only the first is listed."""
    config = mapping(document.get("config"))
    devices = [mapping(device) for device in sequence(document.get("devices")) or sequence(config.get("devices"))]
    each = (whole(config.get("nthreads")) or 1) * (whole(config.get("ngpus")) or 1)
    known = [rank for device in devices if (rank := whole(device.get("rank"))) is not None]
    for device in devices:
        name = device.get("device_name") or device.get("device_info") or device.get("name")
        sheet.text(f"rank/{device.get('rank')}", "model", name)
    whole_list = len(known) == len(set(known)) and len(known) > 1 and max(known) + 1 == len(known)
    ranks = max(known) + (1 if whole_list else each) if known else len(devices) * each or None
    return ranks, len({str(device.get("hostname")) for device in devices if "hostname" in device}) or None


def _sweep(document: dict[str, Any], sheet: Sheet) -> None:
    """The configuration announces how many sizes there are."""
    config = mapping(document.get("config"))
    smallest, largest = whole(config.get("minimum_bytes")), whole(config.get("maximum_bytes"))
    factor, step = whole(config.get("step_factor")), whole(config.get("step_bytes"))
    if smallest is None or largest is None or (factor or step) is None:
        return
    expected = Sweep(smallest, largest, factor or step or 1, bool(factor), validated=True).steps()
    rows = [mapping(row) for row in sequence(document.get("results"))]
    variants = {(str(row.get("type")), str(row.get("redop")), str(row.get("root"))) for row in rows}
    if len(rows) != expected * max(len(variants), 1):
        sheet.note("document/cut", "file", f"{len(rows)} of {expected} rows of the sweep are there")


def _footer(document: dict[str, Any], cells: list[_Cell], sheet: Sheet) -> None:
    bounds = mapping(document.get("out_of_bounds"))
    average = mapping(document.get("average_bus_bandwidth"))
    count = sheet.number("node", "out_of_bounds", bounds.get("count"), "count")
    if count or str(bounds.get("okay")).lower() == "false":
        sheet.note("correctness/wrong", "node", f"out of bounds: {bounds}")
    mean = sheet.number("node", "average_bus_bandwidth", average.get("bandwidth"), "GB/s", statistic="mean")
    own = sum(cell.bus for cell in cells) / len(cells) if cells else 0.0
    if str(average.get("okay")).lower() == "false":
        sheet.note("hardware/below-minimum", "node", f"the average is below what the run asked for: {average}")
    if mean is not None and not close(mean, own, 2e-3, 0.02):
        sheet.note("document/contradiction", "file", "the average contradicts the rows")


def _cell(size: object, placement: str, figures: tuple[object, ...], wrong: object, sheet: Sheet) -> _Cell | None:
    number = whole(size)
    time_us, algorithm, bus = (finite(figure) for figure in figures)
    if number is None or time_us is None or algorithm is None or bus is None or time_us <= 0:
        sheet.note("row/unreadable", "file", f"a record cannot be read at {str(size)[:20]} bytes, {placement}")
        return None
    if not close(algorithm, number / time_us / 1000, 0.02, 0.02):
        sheet.note("document/contradiction", "file", f"time and bandwidth disagree at {number} bytes, {placement}")
        return None
    return _Cell(number, placement, time_us, algorithm, bus, _count(wrong))


def _count(wrong: object) -> int | None:
    """Wrong values, which may stand as a number with decimals; None where nothing was compared."""
    value = finite(wrong)
    return int(value) if value is not None and value >= 0 and value == int(value) else None


def _collective(name: object) -> str:
    plain = "".join(letter for letter in str(name).lower().rsplit("/", 1)[-1] if letter.isalpha())
    return next((found for key, found in _COLLECTIVES.items() if plain.startswith(key)), "all_reduce")


def _collect(cells: list[_Cell], ranks: int | None, nodes: int | None, sheet: Sheet) -> None:
    for (size, placement), count in Counter((cell.size, cell.placement) for cell in cells if cell.size).items():
        if count > 1:
            sheet.note("document/duplicate", "file", f"{size} bytes {placement} is there {count} times")
    for size in _halves(cells):
        sheet.note("row/missing", "file", f"one placement is missing at {size} bytes")
    collective = next((text.value for text in sheet.texts if text.name == "collective"), "all_reduce")
    factor = bus_factor(collective, ranks)
    for cell in cells:
        _add(cell, factor, sheet)
    if not cells:
        sheet.absent("node", "bus_bandwidth", "GB/s")
        sheet.note("document/cut", "file", "no result row")
        return
    _result(cells, ranks, nodes, sheet)


def _result(cells: list[_Cell], ranks: int | None, nodes: int | None, sheet: Sheet) -> None:
    size = max(cell.size for cell in cells)
    best = max(cell.bus for cell in cells if cell.size == size)
    sheet.number("node", "bus_bandwidth", best, "GB/s", statistic="max",
                 parameters={"size_bytes": size, "ranks": ranks, "nodes": nodes})  # fmt: skip
    if ranks is not None:
        sheet.number("node", "ranks", ranks, "count")
    if ranks == 1 or best == 0:
        sheet.note("invalid/one-rank", "node", "one rank talks to nobody: nothing crossed a link")
    if any(cell.wrong is None for cell in cells if cell.placement == "out-of-place"):
        sheet.absent("node", "wrong_values", "count")
        sheet.note("correctness/not-checked", "node", "the results were not compared (validation off or N/A)")


def _halves(cells: list[_Cell]) -> Iterator[int]:
    for size, count in Counter(cell.size for cell in cells).items():
        if count % 2:
            yield size


def _add(cell: _Cell, factor: float | None, sheet: Sheet) -> None:
    details = {"size_bytes": cell.size, "placement": cell.placement}
    sheet.number("node", "bus_bandwidth", cell.bus, "GB/s", parameters=details)
    if factor is not None and not close(cell.bus, cell.algorithm * factor, 0.02, 0.02):
        sheet.note("document/contradiction", "file", f"bus bandwidth contradicts the ranks at {cell.size} bytes")
    if cell.wrong:
        sheet.number("node", "wrong_values", cell.wrong, "count", parameters=details)
        sheet.note("correctness/wrong", "node", f"{cell.wrong} wrong values at {cell.size} bytes, {cell.placement}")
