"""The page of a proposal of baselines: every key's measurements with the old limits and the new, as inline SVG.

Like the evidence page it has no script and no outside link; the same proposal gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

TEMPLATE = "page_learning.html.j2"
WIDTH, HEIGHT, LEFT, RIGHT = 640, 92, 8, 8
BINS = 60
OLD_AT, NEW_AT, FLOOR_AT = 14, 28, 74

Lesson = Mapping[str, Any]


class LearningPage:
    """Implements `ports.EvidencePage` for proposals."""

    def __init__(self) -> None:
        loader = FileSystemLoader(Path(__file__).parent)
        self._environment = Environment(
            loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )

    def render(self, content: Mapping[str, Any]) -> bytes:
        """Return the page of a `nodeworthy.baseline-proposal/1`."""
        lessons = [{**lesson, "svg": Markup(histogram(lesson))} for lesson in content["lessons"]]  # noqa: S704
        proposed = sum(1 for lesson in lessons if lesson["new"] is not None)
        view = {**content, "lessons": lessons, "proposed": proposed, "words": limits_in_words}
        return self._environment.get_template(TEMPLATE).render(view).encode()


def limits_in_words(limits: Mapping[str, Any] | None) -> str:
    """Return a key's limits in words."""
    if limits is None:
        return "no baseline"
    low, high = ends(limits)
    reference = limits["reference"]
    frozen = f", reference {reference['median']:.5g} of {reference['n']} nodes{_noise(reference)}" if reference else ""
    return f"{low:.5g} to {high:.5g}{frozen}"


def _noise(reference: Mapping[str, Any]) -> str:
    """Return spread and noise in words; empty where they were not told apart, and for versions of before."""
    spread, run = reference.get("spread"), reference.get("run")
    return "" if spread is None or run is None else f" (spread {spread:.3g}, noise of a run {run:.3g})"


def ends(limits: Mapping[str, Any]) -> tuple[float, float]:
    """Return the lower and the upper limit, whichever of the two is the one of good and which the one of physics."""
    low = limits["floor"] if limits["floor"] is not None else limits["least"]
    high = limits["ceiling"] if limits["ceiling"] is not None else limits["most"]
    return float(low or 0.0), float(high or 0.0)


def histogram(lesson: Lesson) -> str:
    """Return how the values are spread, with the old limits as an upper bar and the new ones as a lower bar."""
    values: Sequence[float] = lesson["values"]
    known = [ends(limits) for limits in (lesson["old"], lesson["new"]) if limits is not None]
    shown = [*values, *(end for pair in known for end in pair)]
    low, high = min(shown), max(shown)
    span = (high - low) or 1.0

    def x(value: float) -> float:
        return LEFT + (value - low) / span * (WIDTH - LEFT - RIGHT)

    parts = [_bars(values, low, span)]
    for limits, name, y in ((lesson["old"], "old", OLD_AT), (lesson["new"], "new", NEW_AT)):
        if limits is not None:
            first, last = (x(end) for end in ends(limits))
            parts.append(
                f'<rect class="{name}" x="{first:.1f}" y="{y}" width="{max(last - first, 1):.1f}" height="6"/>'
            )
    for value, anchor, at in ((low, "start", LEFT), (high, "end", WIDTH - RIGHT)):
        parts.append(f'<text x="{at}" y="{HEIGHT - 4}" text-anchor="{anchor}">{value:.4g}</text>')
    title = escape(f"{lesson['test']} {lesson['metric']}: {len(values)} values of {lesson['nodes']} nodes")
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">'
        f"<title>{title}</title>{''.join(parts)}</svg>"
    )


def _bars(values: Sequence[float], low: float, span: float) -> str:
    counts = [0] * BINS
    for value in values:
        counts[min(int((value - low) / span * BINS), BINS - 1)] += 1
    most, width = max(counts), (WIDTH - LEFT - RIGHT) / BINS
    bars = []
    for place, count in enumerate(counts):
        height = 34 * count / most
        if count:
            at = f'x="{LEFT + place * width:.1f}" y="{FLOOR_AT - height:.1f}"'
            bars.append(f'<rect class="value" {at} width="{width - 1:.1f}" height="{height:.1f}"/>')
    return "".join(bars)
