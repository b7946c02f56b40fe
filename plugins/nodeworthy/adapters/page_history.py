"""A node's own history on its page: a small line per figure, from its first runs to the one that was judged.

What was remarked on comes first, then the figures of the node as a whole. The straight line is the median of the first
runs, by which a decline is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from statistics import median
from typing import Any

from markupsafe import Markup

Row = Mapping[str, Any]

MOST = 12
"""So many plots: a page shows what matters, the file beside it holds all series."""
WIDTH, HEIGHT, EDGE = 300, 90, 8
_KEY = ("test", "component", "metric", "statistic")


def history_plots(
    history: Mapping[str, Any] | None, rows: Sequence[Row], remarks: Sequence[Row]
) -> list[dict[str, Any]]:
    """Return the plots of a history (`history.json` of the dossier) with the values of the judged rows as last runs."""
    if history is None:
        return []
    now = {tuple(row[name] for name in _KEY): row for row in rows if row["value"] is not None}
    noticed = {(remark["component"], remark["metric"]) for remark in remarks}
    settle = int(history["rule"]["drift"]["settle"])
    chosen = sorted(_shown(history["series"], noticed), key=lambda pair: pair[0])[:MOST]
    plots = []
    for _, series in chosen:
        row = now.get(tuple(series[name] for name in _KEY))
        if row is not None:
            name = " ".join(str(series[word]) for word in ("component", "test", "metric"))
            values = [*series["values"], row["value"]]
            svg = line(values, settle, f"{name}, {series['unit']}, {len(values)} runs")
            plots.append({"name": name, "unit": series["unit"], "runs": len(values), "svg": Markup(svg)})  # noqa: S704
    return plots


def _shown(series: Sequence[Row], noticed: set[tuple[str, str]]) -> Iterator[tuple[tuple[bool, int], Row]]:
    for place, one in enumerate(series):
        is_noticed = (one["component"], one["metric"]) in noticed
        if is_noticed or one["component"] == "node":
            yield (not is_noticed, place), one


def line(values: Sequence[float], settle: int, title: str) -> str:
    """Return one series as SVG: a line through all runs, the median of the first `settle`, a dot for the last."""
    low, high = min(values), max(values)
    margin = max((high - low) * 0.15, abs(high) * 0.005)
    low, high = low - margin, high + margin
    step = (WIDTH - 2 * EDGE) / max(len(values) - 1, 1)

    def y(value: float) -> float:
        return HEIGHT - EDGE - (value - low) / (high - low or 1.0) * (HEIGHT - 2 * EDGE)

    points = " ".join(f"{EDGE + place * step:.1f},{y(value):.1f}" for place, value in enumerate(values))
    own = y(median(values[:settle]))
    last_x, last_y = EDGE + (len(values) - 1) * step, y(values[-1])
    return (
        f'<svg role="img" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
        f"<title>{escape(title)}</title>"
        f'<line class="reference" x1="{EDGE}" x2="{WIDTH - EDGE}" y1="{own:.1f}" y2="{own:.1f}"/>'
        f'<polyline class="history" points="{points}"/>'
        f'<circle class="dot good" cx="{last_x:.1f}" cy="{last_y:.1f}" r="4">'
        f"<title>{values[-1]:.4g}</title></circle></svg>"
    )
