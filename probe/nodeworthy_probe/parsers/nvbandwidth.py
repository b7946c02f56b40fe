"""Reads nvbandwidth: the JSON of ``-j`` and the older text.

Cells are GB/s (10^9 bytes) except for latency tests, which are nanoseconds and share the shape.
A matrix is verified only when the tool's own sum (and minimum, maximum, average, where printed)
agrees with its cells. Source: NVIDIA/nvbandwidth README and json_output.cpp.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .json_document import find_document, mapping, sequence
from .numbers import close, finite

_JSON_PRECISION = 2e-5  # cells are printed with six significant digits, totals with all
_TEXT_PRECISION_GBPS = 0.0052  # cells and totals are printed with two decimals
_RUNNING = re.compile(r"^Running (\S+?)\.?\s*$")
_SUM = re.compile(r"^SUM (\S+) (\S+)\s*$")
_DESCRIPTION = re.compile(r"^(?:mem\w+|Device to Device) .*\((GB/s|ns)\)\s*$")
CLOSING = "Performance can vary with software drivers, hardware clocks, and system topology."  # from 0.7 on
_ROW = re.compile(r"^\s*\d+(?:\s|$)")

Matrix = tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class Testcase:
    """One test: ``matrix`` holds None where the tool prints N/A (a device with itself)."""

    name: str
    status: str
    unit: str
    matrix: Matrix
    total: float | None
    problem: str | None

    @property
    def cells(self) -> tuple[float, ...]:
        """All measured cells."""
        return tuple(cell for row in self.matrix for cell in row if cell is not None)

    @property
    def verified(self) -> bool:
        """Whether the test ran and its figures agree with each other."""
        return self.status == "Passed" and self.problem is None and bool(self.cells)


@dataclass(frozen=True)
class BandwidthReport:
    """One run of nvbandwidth."""

    testcases: tuple[Testcase, ...]
    version: str | None
    driver_version: str | None
    waived: int
    problem: str | None

    def testcase(self, name: str) -> Testcase | None:
        """The test of that name, or None if it is absent or there twice."""
        found = [case for case in self.testcases if case.name == name]
        return found[0] if len(found) == 1 else None


def parse(text: str) -> BandwidthReport:
    """Read either form; ``problem`` says why nothing can be used."""
    if '"nvbandwidth"' in text:
        return _parse_json(text)
    return _parse_text(text)


def _parse_json(text: str) -> BandwidthReport:
    document = find_document(text, "nvbandwidth")
    if isinstance(document, str):
        return BandwidthReport((), None, None, 0, document)
    root = mapping(document.get("nvbandwidth"))
    cases = tuple(_read_case(mapping(case)) for case in sequence(root.get("testcases")))
    error = root.get("error") or root.get("Error")
    problem = f"nvbandwidth reports: {error}"[:300] if error else None if cases else "the document lists no test"
    return BandwidthReport(
        testcases=cases,
        version=_text(root.get("version")) or _text(root.get("git_version")),
        driver_version=_text(root.get("Driver Version")),
        waived=sum(case.status == "Waived" for case in cases),
        problem=problem,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _read_case(case: dict[str, Any]) -> Testcase:
    name, status = str(case.get("name", "")), str(case.get("status", ""))
    unit = "ns" if "(ns)" in str(case.get("bandwidth_description", "")) else "GB/s"
    if status != "Passed":
        return Testcase(name, status, unit, (), None, f"status {status or 'absent'}")
    rows = [sequence(row) for row in sequence(case.get("bandwidth_matrix"))]
    matrix = tuple(tuple(_cell(cell) for cell in row) for row in rows)
    problem = _shape_problem(rows, matrix) or _contradiction(matrix, case, _JSON_PRECISION, 0.0)
    return Testcase(name, status, unit, matrix, finite(case.get("sum")), problem)


def _cell(cell: object) -> float | None:
    value = finite(cell)
    return value if value is not None and value >= 0 else None


def _shape_problem(rows: list[list[Any]], matrix: Matrix) -> str | None:
    if not matrix or not matrix[0]:
        return "the matrix is missing"
    if len({len(row) for row in matrix}) != 1:
        return "the matrix is ragged"
    for raw, read in zip(rows, matrix, strict=True):
        for cell, value in zip(raw, read, strict=True):
            if value is None and str(cell).strip() != "N/A":
                return f"a cell is not a number: {str(cell)[:40]}"
    return None


def _contradiction(matrix: Matrix, case: dict[str, Any], relative: float, absolute: float) -> str | None:
    cells = [cell for row in matrix for cell in row if cell is not None]
    if not cells:
        return "the matrix holds no number"
    own = {"sum": sum(cells), "min": min(cells), "max": max(cells), "average": sum(cells) / len(cells)}
    for name, computed in own.items():
        printed = finite(case.get(name))
        if name == "min" and printed == 0 and len(cells) < sum(map(len, matrix)):
            continue  # the tool counts a cell that is not applicable as 0
        if printed is None and (name == "sum" or name in case):
            return f"the {name} of the matrix is missing"
        if printed is not None and not close(printed, computed, relative, absolute):
            return f"the {name} contradicts the matrix"
    return None


@dataclass
class _Block:
    name: str
    unit: str = ""
    rows: tuple[tuple[str, ...], ...] = ()
    total: float | None = None
    torn: bool = False


def _parse_text(text: str) -> BandwidthReport:
    lines = text.split("\n")
    cut = lines.pop().rstrip() not in ("", CLOSING)
    blocks: list[_Block] = []
    for line in lines:
        if running := _RUNNING.match(line):
            blocks.append(_Block(running[1]))
        elif blocks:
            _read_block_line(line, blocks[-1])
    cases = tuple(_finish(block) for block in blocks)
    problem = "the output stops in the middle of a line" if cut and text else None
    return BandwidthReport(
        testcases=cases,
        version=_after(text, "nvbandwidth Version: "),
        driver_version=_after(text, "Driver Version: "),
        waived=sum(line.startswith("Waived:") for line in lines),
        problem=problem or (None if cases else "the output holds no test"),
    )


def _after(text: str, label: str) -> str | None:
    found = re.search("^" + re.escape(label) + r"(\S+)$", text, re.MULTILINE)
    return found[1] if found else None


def _read_block_line(line: str, block: _Block) -> None:
    if description := _DESCRIPTION.match(line):
        block.unit = description[1]
    elif total := _SUM.match(line):
        if total[1] == block.name:
            block.total = finite(total[2])
        else:
            block.torn = True
    elif _ROW.match(line) and block.total is None:
        block.rows = (*block.rows, tuple(line.split()))


def _finish(block: _Block) -> Testcase:
    header, *body = block.rows or ((),)
    status = "Passed" if body else "Error"
    matrix = tuple(
        tuple(_text_cell(block.name, row, column, cell) for column, cell in enumerate(cells[1:]))
        for row, cells in enumerate(body)
    )
    return Testcase(block.name, status, block.unit, matrix, block.total, _text_problem(block, header, body, matrix))


def _text_cell(name: str, row: int, column: int, cell: str) -> float | None:
    if name.startswith("device_to_device") and row == column:
        return None  # releases before 0.3 print 0.00 there, later ones N/A
    return _cell(cell)


def _text_problem(block: _Block, header: tuple[str, ...], body: list[tuple[str, ...]], matrix: Matrix) -> str | None:
    if block.torn or not block.unit:
        return "the block is torn"
    if list(header) != [str(column) for column in range(len(header))]:
        return "the column numbers are missing"
    if [row[0] for row in body] != [str(row) for row in range(len(body))]:
        return "the row numbers are out of order"
    if any(len(row) != len(header) + 1 for row in body):
        return "the matrix is ragged"
    if block.name.startswith("device_to_device") and len(body) != len(header):
        return "rows of the matrix are missing"
    if block.total is None:
        return "there is no sum to check the matrix against"
    absolute = _TEXT_PRECISION_GBPS * (1 + len(body) * len(header))
    return _contradiction(matrix, {"sum": block.total}, 0.0, absolute)
