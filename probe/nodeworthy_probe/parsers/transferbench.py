"""TransferBench's three printed forms: the preset ``p2p``, the preset ``a2a``, and the tests of a configuration file.

A matrix is believed when every row has a cell for every column, and when the average that stands below it is the mean
of its cells. GB/s are 10^9 bytes. Source: ROCm/TransferBench, client/include/Presets/PeerToPeer.hpp and AllToAll.hpp,
client/src/Client.cpp (1.50 to 1.66), docs/conceptual/transferbench-timing.rst.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .numbers import finite

_VERSION = re.compile(r"^TransferBench v(\S+)", re.MULTILINE)
_HEAD = re.compile(r"^(Uni|Bi)directional copy peak bandwidth GB/s \[(Local|Remote) read", re.MULTILINE)
_DEVICE = re.compile(r"[CG]PU \d\d")
_ROW = re.compile(r"^\s*(?P<device>[CG]PU \d\d)\s+->\s+(?P<cells>\S.*)$")
_P2P_AVERAGES = re.compile(r"^Averages \(During \s*(?:Uni|Bi)Dir\):(?P<cells>.*)$", re.MULTILINE)
_A2A_ROW = re.compile(r"^(?P<device>GPU \d\d)\s+(?P<cells>\S.*)$", re.MULTILINE)
_A2A_TOTAL = re.compile(r"^RTotal\s+(?P<cells>\S.*)$", re.MULTILINE)
_A2A_AVERAGE = re.compile(r"^Average\s+bandwidth \(GPU Timed\):\s+(\S+) GB/s$", re.MULTILINE)
_TEST = re.compile(r"^\s*Test (\d+):", re.MULTILINE)
_TRANSFER = re.compile(
    r"^\s*Transfer\s+(?P<number>\d+)\s+[|│]\s+(?P<rate>\S+)\s+GB/s\s+[|│].*[|│]\s+(?P<path>\S.*)$", re.MULTILINE
)
_PATH = re.compile(r"^(?P<source>[A-Z]?\d*|N)\s*->\s*(?P<executor>\S+)\s*->\s*(?P<target>\S+)$")
_ROUNDING = 0.02
Cells = dict[tuple[str, str], float | None]


@dataclass(frozen=True)
class Transfer:
    """One transfer of a test: ``C0`` to ``G3``, by which engine, in GB/s."""

    test: int
    source: str
    executor: str
    target: str
    rate: float


def version(text: str) -> str | None:
    """The tool's version as it prints it."""
    found = _VERSION.search(text)
    return found[1] if found else None


def peers(text: str) -> Cells | str:
    """What each device copies to each other one way, by (``gpu/0``, ``cpu/1``); or why that is not believed."""
    heads = list(_HEAD.finditer(text))
    one_way = next((head for head in heads if head[1] == "Uni"), None)
    if one_way is None:
        return "the output holds no table of copies in one direction"
    lines = text[one_way.end() :].split("\n")[1:]
    columns = _DEVICE.findall(lines[0]) if lines else []
    cells: Cells = {}
    for line in lines[1:]:
        if line.lstrip().startswith(("CPU->CPU", "Averages")) or _HEAD.match(line):
            break
        if row := _ROW.match(line):
            values = row["cells"].split()
            if len(values) != len(columns) or any((_name(row["device"]), _name(one)) in cells for one in columns):
                return f"the row of {row['device']} has {len(values)} cells for {len(columns)} columns"
            cells |= {
                (_name(row["device"]), _name(one)): finite(value) for one, value in zip(columns, values, strict=True)
            }
    if len(cells) != len(columns) ** 2 or not cells:
        return f"{len(cells)} of {len(columns) ** 2} cells of the table are there"
    return cells if _averages_agree(text[one_way.end() :], cells) else "the averages contradict the table"


def _averages_agree(text: str, cells: Cells) -> bool:
    """The line below the table: CPU to CPU, CPU to GPU, GPU to CPU, GPU to GPU, but no device to itself."""
    found = _P2P_AVERAGES.search(text)
    if found is None or len(found["cells"].split()) != 4:
        return False
    kinds = (("cpu", "cpu"), ("cpu", "gpu"), ("gpu", "cpu"), ("gpu", "gpu"))
    for kind, printed in zip(kinds, found["cells"].split(), strict=True):
        values = [value for (one, other), value in cells.items()
                  if value is not None and one != other and (one[:3], other[:3]) == kind]  # fmt: skip
        mean, average = sum(values) / len(values) if values else None, finite(printed)
        if (mean is None) != (average is None) or (mean and average and abs(mean - average) > _ROUNDING):
            return False
    return True


def _name(device: str) -> str:
    kind, _, number = device.partition(" ")
    return f"{kind.lower()}/{int(number)}"


@dataclass(frozen=True)
class AllToAll:
    """Every GPU sends to every other at once: each pair, and what each GPU receives in all (a column's total)."""

    pairs: dict[tuple[int, int], float]
    received: dict[int, float]
    average: float


def all_to_all(text: str) -> AllToAll | str:
    """The summary of ``a2a``; or a sentence why it is not believed."""
    start = text.find("Summary:")
    rows = {int(row["device"][4:]): row["cells"].split() for row in _A2A_ROW.finditer(text, max(start, 0))}
    total, average = _A2A_TOTAL.search(text), _A2A_AVERAGE.search(text)
    if start < 0 or not rows or total is None or average is None:
        return "the output holds no whole summary of all-to-all"
    count = len(rows)
    if set(rows) != set(range(count)) or any(len(cells) < count for cells in rows.values()):
        return "rows of the summary are missing or cut"
    pairs = {
        (one, other): finite(cells[other]) for one, cells in rows.items() for other in range(count) if one != other
    }
    received = [finite(cell) for cell in total["cells"].split()[:count]]
    mean = finite(average[1])
    known = {pair: value for pair, value in pairs.items() if value is not None}
    if len(known) != len(pairs) or None in received or len(received) != count or mean is None:
        return "a figure of the summary is no number"
    sums = [sum(value for (_, other), value in known.items() if other == column) for column in range(count)]
    wrong = any(abs(own - (seen or 0.0)) > _ROUNDING * count for own, seen in zip(sums, received, strict=True))
    if wrong or abs(sum(known.values()) / len(known) - mean) > _ROUNDING:
        return "totals and average contradict the pairs"
    return AllToAll(known, {index: value for index, value in enumerate(received) if value is not None}, mean)


def transfers(text: str) -> tuple[Transfer, ...] | str:
    """Every transfer of every test, in order; or a sentence why they are not believed."""
    found: list[Transfer] = []
    starts = [*_TEST.finditer(text)]
    for place, test in enumerate(starts):
        part = text[test.end() : starts[place + 1].start() if place + 1 < len(starts) else len(text)]
        for row in _TRANSFER.finditer(part):
            rate, path = finite(row["rate"]), _PATH.match(row["path"].strip())
            if rate is None or path is None:
                return f"a transfer cannot be read: {row[0].strip()[:100]}"
            executor = path["executor"].partition(":")[0]
            found.append(Transfer(int(test[1]), path["source"], executor, path["target"], rate))
    numbers = [int(test[1]) for test in starts]
    if not found or numbers != list(range(1, len(numbers) + 1)):
        return "the output holds no whole list of tests"
    lacking = sorted(set(numbers) - {one.test for one in found})
    return f"test {lacking[0]} shows no transfer" if lacking else tuple(found)
