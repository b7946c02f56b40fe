"""The table that people watch: one row a node, redrawn in place on a terminal, printed when it changes elsewhere."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

REASON_WIDTH = 90


@dataclass(frozen=True)
class Row:
    """One node: where it stands, what is being done to it now, what was judged, and why it stopped."""

    node: str
    milestone: str
    now: str = ""
    verdict: str = ""
    reason: str = ""


def render(rows: Sequence[Row], *, final: bool = False) -> str:
    """Return the table as text; the final one wraps reasons over lines, the live one cuts them."""
    titles = ("NODE", "MILESTONE", "VERDICT", "REASON") if final else ("NODE", "MILESTONE", "NOW")
    cells = [_final_cells(row) if final else (row.node, row.milestone, row.now) for row in rows]
    widths = [max(len(line[column]) for line in [titles, *cells]) for column in range(len(titles) - 1)]
    lines = [_line(titles, widths)]
    for cell in cells:
        first, *rest = textwrap.wrap(cell[-1], REASON_WIDTH) or [""]
        lines.append(_line((*cell[:-1], first), widths))
        lines += [_line((*[""] * len(widths), more), widths) for more in rest]
    return "\n".join(lines)


def _final_cells(row: Row) -> tuple[str, ...]:
    return (row.node, row.milestone, row.verdict or "-", row.reason or "-")


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
    return "  ".join([*padded, cells[-1]]).rstrip()


class LiveTable:
    """Draws a table again and again: over itself on a terminal, below itself when it changed elsewhere."""

    def __init__(self) -> None:
        self._shown: list[str] = []
        self._terminal = sys.stdout.isatty()

    def show(self, rows: Sequence[Row], headline: str) -> None:
        """Show the rows under a headline."""
        lines = [headline, *render(rows).splitlines()]
        if self._terminal:
            up = f"\x1b[{len(self._shown)}A" if self._shown else ""
            sys.stdout.write(up + "".join(f"\x1b[2K{line}\n" for line in lines))
        elif lines[1:] != self._shown[1:]:
            sys.stdout.write("\n".join([*lines, ""]) + "\n")
        sys.stdout.flush()
        self._shown = lines
