"""Small plots as inline SVG text: one dot per GPU, one heat map per matrix of pairs, one bullet per figure of a node.

Every plot carries a title for those who cannot see it, uses the page's CSS classes for its colours and holds nothing
but numbers and escaped words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from statistics import median
from typing import Any

Row = Mapping[str, Any]

WIDTH, HEIGHT = 420, 150
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 24
CELL = 30


def dots(rows: Sequence[Row], title: str) -> str:
    """Return a plot of one metric over the GPUs of a node, zoomed to where the values and their limits lie."""
    values = [row["value"] for row in rows if row["value"] is not None]
    if not values:
        return ""
    limit, centre = rows[0]["reference_low"], _reference(rows[0])
    shown = [*values, *(figure for figure in (limit, centre) if figure is not None)]
    low, high = min(shown), max(shown)
    margin = max((high - low) * 0.15, abs(high) * 0.005)
    scale = _Scale(low - margin, high + margin)
    parts = [_band(scale, limit, high + margin)] if limit is not None else []
    parts += [_line(scale, centre, "reference"), _line(scale, limit, "limit")]
    step = (WIDTH - LEFT - RIGHT) / max(len(rows), 1)
    for place, row in enumerate(rows):
        x = LEFT + step * (place + 0.5)
        parts.append(_label(x, HEIGHT - 8, row["component"].removeprefix("gpu/"), "middle"))
        if row["value"] is not None:
            kind = "bad" if row["failed"] else "good"
            tip = f"{row['component']}: {row['value']:.1f} {row['expected_unit']}"
            parts.append(
                f'<circle class="dot {kind}" cx="{x:.1f}" cy="{scale.y(row["value"]):.1f}" r="5">'
                f"<title>{escape(tip)}</title></circle>"
            )
    parts += [_label(LEFT - 6, scale.y(tick) + 4, f"{tick:.1f}", "end") for tick in (low, high)]
    return _svg(WIDTH, HEIGHT, title, parts)


class _Scale:
    """Values to heights: larger is higher."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.span = low, (high - low) or 1.0

    def y(self, value: float) -> float:
        """Return the height of a value in the plot."""
        return HEIGHT - BOTTOM - (value - self.low) / self.span * (HEIGHT - TOP - BOTTOM)


def _reference(row: Row) -> float | None:
    centre: float | None = row.get("reference_median")
    return centre


def _band(scale: _Scale, low: float, high: float) -> str:
    top, bottom = scale.y(high), scale.y(low)
    return f'<rect class="band" x="{LEFT}" y="{top:.1f}" width="{WIDTH - LEFT - RIGHT}" height="{bottom - top:.1f}"/>'


def _line(scale: _Scale, value: float | None, kind: str) -> str:
    if value is None:
        return ""
    y = scale.y(value)
    return f'<line class="{kind}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'


def _label(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def heat(rows: Sequence[Row], title: str) -> str:
    """Return a matrix of pairs, coloured by how far each lies from the median of all."""
    cells = {tuple(row["component"].split("-")): row for row in rows}
    names = sorted({name for pair in cells for name in pair}, key=lambda name: int(name.removeprefix("gpu/")))
    values = [row["value"] for row in rows if row["value"] is not None]
    if not values:
        return ""
    centre, parts = median(values), []
    for line, first in enumerate(names):
        y = TOP + 14 + line * CELL
        parts.append(_label(LEFT - 8, y + CELL / 2 + 4, first, "end"))
        parts.append(_label(LEFT + line * CELL + CELL / 2, TOP + 8, first.removeprefix("gpu/"), "middle"))
        for column, second in enumerate(names):
            parts.append(_cell(cells.get((first, second)), LEFT + column * CELL, y, centre))
    width = LEFT + len(names) * CELL + RIGHT
    return _svg(max(width, 200), TOP + 14 + len(names) * CELL + 8, title, parts)


def _cell(row: Row | None, x: float, y: float, centre: float) -> str:
    if row is None:
        return f'<rect class="self" x="{x}" y="{y}" width="{CELL - 2}" height="{CELL - 2}"/>'
    tip, shade = f"{row['component']}: nothing", "missing"
    if row["value"] is not None:
        off = 100.0 * (row["value"] - centre) / centre
        tip = f"{row['component']}: {row['value']:.1f} {row['expected_unit']} ({off:+.1f} % of the median)"
        shade = f"heat{_step(off)}"
    kind = " bad" if row["failed"] else ""
    return (
        f'<rect class="{shade}{kind}" x="{x}" y="{y}" width="{CELL - 2}" height="{CELL - 2}">'
        f"<title>{escape(tip)}</title></rect>"
    )


def _step(off_percent: float) -> int:
    """Return the shade, 0 for the median or above to 5 for 5 per cent or more below it."""
    return max(0, min(5, round(-off_percent)))


def bullet(row: Row, title: str) -> str:
    """Return one figure between its floor and its ceiling."""
    low, high, value = row["floor"], row["ceiling"], row["value"]
    if low is None or high is None or value is None or high <= low:
        return ""
    start, end = low - (high - low) * 0.25, high + (high - low) * 0.1

    def at(figure: float) -> float:
        place: float = (min(max(figure, start), end) - start) / (end - start)
        return LEFT + place * (WIDTH - LEFT - RIGHT)

    kind = "bad" if row["failed"] else "good"
    parts = [
        f'<rect class="band" x="{at(low):.1f}" y="14" width="{at(high) - at(low):.1f}" height="16"/>',
        _label(at(low), 46, f"floor {low:g}", "middle"),
        _label(at(high), 46, f"ceiling {high:g}", "end"),
    ]
    centre = _reference(row)
    if centre is not None:
        parts.append(f'<line class="reference" x1="{at(centre):.1f}" x2="{at(centre):.1f}" y1="10" y2="34"/>')
    parts.append(f'<circle class="dot {kind}" cx="{at(value):.1f}" cy="22" r="6"/>')
    return _svg(WIDTH, 52, title, parts)


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg role="img" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )
