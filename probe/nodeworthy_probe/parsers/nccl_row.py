"""One table row of nccl-tests: layout, cells and the checks of a row against itself."""

from __future__ import annotations

from dataclasses import dataclass

from .numbers import finite, rounding_step

_ELEMENT_BYTES = {
    "int8": 1, "uint8": 1, "char": 1, "f8e4m3": 1, "f8e5m2": 1, "fp8_e4m3": 1, "fp8_e5m2": 1,
    "half": 2, "bfloat16": 2, "int32": 4, "uint32": 4, "float": 4, "int64": 8, "uint64": 8, "double": 8,
}  # fmt: skip
_TIMES = ("time", "cputime")
_HALF = 4  # time, algorithm bandwidth, bus bandwidth, wrong values
_RING_FACTORS = frozenset({"all_gather", "reduce_scatter", "alltoall", "gather", "scatter"})


@dataclass(frozen=True)
class Timing:
    """One half of a row: out of place or in place."""

    time_us: float
    algorithm_bandwidth_gbps: float
    bus_bandwidth_gbps: float


@dataclass(frozen=True)
class CollectiveRow:
    """One message size. ``wrong`` is None where the tool did not compare (N/A)."""

    size_bytes: int
    out_of_place: Timing | None
    in_place: Timing | None
    wrong_out_of_place: int | None
    wrong_in_place: int | None
    variant: tuple[str, ...] = ()
    """Type, operation and root, by which one run may repeat its sizes (``-d all -o all``)."""

    @property
    def timings(self) -> tuple[Timing, ...]:
        """The halves that were measured."""
        return tuple(timing for timing in (self.out_of_place, self.in_place) if timing)

    @property
    def checked(self) -> bool:
        """Whether at least the out-of-place result was compared."""
        return self.wrong_out_of_place is not None

    @property
    def wrong(self) -> int | None:
        """Wrong elements of both halves."""
        return (self.wrong_out_of_place or 0) + (self.wrong_in_place or 0) if self.checked else None

    def agrees_with_factor(self, factor: float | None) -> bool:
        """Whether bus and algorithm bandwidth stand in the collective's proportion."""
        return all(_proportion_holds(timing, factor) for timing in self.timings)


@dataclass(frozen=True)
class Layout:
    """Column names of the table, as its header line gives them."""

    leading: tuple[str, ...]
    integer_wrong: bool
    half: int = _HALF
    """Columns of each half; with per-iteration times there are more than four."""
    trailing: int = 0
    """Cells after both halves: a time stamp is two."""


def bus_factor(collective: str, ranks: int | None) -> float | None:
    """Bus bandwidth / algorithm bandwidth (nccl-tests doc/PERFORMANCE.md); None without a rank count."""
    if ranks is None:
        return None
    if collective == "all_reduce":
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if collective in _RING_FACTORS else 1.0


def read_layout(line: str) -> Layout | None:
    """The layout if ``line`` is the header with the column names."""
    names = line.lstrip("#").split()
    places = [place for place, name in enumerate(names) if name in _TIMES]
    if names[:3] != ["size", "count", "type"] or len(places) != 2:
        return None
    half = places[1] - places[0]
    first, second, tail = names[places[0] : places[1]], names[places[1] : places[1] + half], names[places[1] + half :]
    if first != second or first[1:3] != ["algbw", "busbw"] or first[3:4] not in (["error"], ["#wrong"]):
        return None
    if not all(name.startswith("i_") for name in first[_HALF:]) or tail not in ([], ["timestamp"]):
        return None
    return Layout(tuple(names[: places[0]]), first[3] == "#wrong", half, 2 * len(tail))


def read_row(line: str, layout: Layout) -> CollectiveRow | None:
    """The row, or None if a cell is missing, unreadable or contradicts another."""
    cells = line.split()
    leading, after = len(layout.leading), 2 * layout.half + layout.trailing
    if len(cells) == leading + after - 1 and finite(cells[3]) is not None and "root" not in layout.leading:
        leading -= 1  # a collective without an operation leaves that column blank
    if len(cells) != leading + after:
        return None
    rooted = layout.leading[3:4] == ("root",)  # broadcast before nccl-tests 2.12 had no operation
    if not _sizes_agree(cells) or (leading > 3 and (finite(cells[3]) is not None) != rooted):
        return None
    size = int(cells[0])
    halves = [_read_half(cells[start : start + _HALF], size, layout) for start in (leading, leading + layout.half)]
    if halves[0] is None or halves[1] is None:
        return None
    (first, wrong_first), (second, wrong_second) = halves[0], halves[1]
    return CollectiveRow(size, first, second, wrong_first, wrong_second, tuple(cells[2:leading]))


def _sizes_agree(cells: list[str]) -> bool:
    element = _ELEMENT_BYTES.get(cells[2])
    if element is None or not _digits(cells[0]) or not _digits(cells[1]):
        return False
    size, count = int(cells[0]), int(cells[1])
    if size == 0 or count == 0:
        return size == count
    return size % (count * element) == 0


def _digits(cell: str) -> bool:
    return cell.isascii() and cell.isdigit() and len(cell) <= 18


def _read_half(cells: list[str], size: int, layout: Layout) -> tuple[Timing | None, int | None] | None:
    wrong = _read_wrong(cells[3], layout)
    if wrong is False:
        return None
    if cells[:3] == ["N/A"] * 3:
        return None, wrong
    time_us, algorithm, bus = (finite(cell) for cell in cells[:3])
    if time_us is None or algorithm is None or bus is None or time_us <= 0 or bus < 0:
        return None
    expected = size / time_us / 1000
    slack = rounding_step(cells[1]) * 1.02 + expected * (rounding_step(cells[0]) / time_us + 1e-4)
    if abs(algorithm - expected) > slack:
        return None
    return Timing(time_us, algorithm, bus), wrong


def _read_wrong(cell: str, layout: Layout) -> int | bool | None:
    """Wrong elements, None for N/A, False for an unreadable cell.

    The old ``error`` column is a deviation, not a count: its verdict stands in the footer.
    """
    if cell == "N/A":
        return None
    value = finite(cell)
    if value is None or value < 0:
        return False
    return int(value) if layout.integer_wrong else 0


def _proportion_holds(timing: Timing, factor: float | None) -> bool:
    bus, algorithm = timing.bus_bandwidth_gbps, timing.algorithm_bandwidth_gbps
    if factor is None:
        return bus <= algorithm * 2 + 0.02
    return abs(bus - algorithm * factor) <= 0.0052 * (1 + factor) + 1e-4 * bus
