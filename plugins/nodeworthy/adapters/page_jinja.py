"""The evidence page of one judgement: a self-contained HTML file, drawn with Jinja and inline SVG.

No script, no outside link, no font from elsewhere: it opens from a folder, an object store or an e-mail and looks the
same in ten years. Texts from tools are escaped; the same content gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from nodeworthy.adapters import page_plots
from nodeworthy.adapters.page_history import history_plots

TEMPLATE = "page_jinja.html.j2"

Row = Mapping[str, Any]


class JinjaPage:
    """Implements `ports.EvidencePage`."""

    def __init__(self) -> None:
        loader = FileSystemLoader(Path(__file__).parent)
        self._environment = Environment(
            loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        self._environment.filters.update(figure=figure, expected=expected, seen=seen)

    def render(self, content: Mapping[str, Any]) -> bytes:
        """Return the page of a judgement; `content` holds verdict, result, validation, attestation, context,
        history and file hashes."""
        rows = _with_references(content["validation"]["rows"], content["verdict"]["references"])
        view = {**content, "tests": [_test(test, rows) for test in content["result"].get("tests", ())]}
        view["limits"] = _limits(rows)
        remarks = content["verdict"].get("remarks", ())
        view.update(remarks=remarks, context=content.get("context"))
        view["history_plots"] = history_plots(content.get("history"), rows, remarks)
        return self._environment.get_template(TEMPLATE).render(view).encode()


def figure(value: Any) -> str:
    """Return a number with at most four significant digits after its integer part, a dash for nothing."""
    if value is None:
        return "-"
    if isinstance(value, float | int) and value == int(value):
        return str(int(value))
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.1f}"


def expected(reason: Row) -> str:
    """Return what a reason expected, with the unit where that is a figure."""
    said = str(reason["expected"])
    return said + _unit(reason) if any(sign.isdigit() for sign in said) else said


def seen(reason: Row) -> str:
    """Return what a reason saw, with its unit."""
    return str(reason["seen"]) + _unit(reason)


def _unit(reason: Row) -> str:
    """Return the unit behind a figure; empty where a word was seen instead of one, or there is no unit to tell."""
    try:
        float(reason["seen"])
    except ValueError:
        return ""
    return "" if reason["unit"] in ("", "bool", "count") else f" {reason['unit']}"


def _with_references(rows: Sequence[Row], references: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    found = (references or {}).get("metrics", ())
    centres = {(row["test"], row["metric"], row["statistic"]): row["median"] for row in found}
    return [{**row, "reference_median": centres.get((row["test"], row["metric"], row["statistic"]))} for row in rows]


def _test(test: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    """Return one test with its judged rows as tables and plots."""
    own = [row for row in rows if row["test"] == test["test"]]
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in own:
        groups.setdefault((row["metric"], row["statistic"]), []).append(row)
    tables, plots = [], []
    for (metric, statistic), found in groups.items():
        plain = statistic == "single" or metric.endswith(f"_{statistic}")
        name = metric if plain else f"{metric} {statistic}"
        is_pair = "-" in found[0]["component"]
        if not is_pair:
            tables.append({"name": name, "unit": found[0]["expected_unit"], "cells": found})
        plot = _plot(name, found, is_pair=is_pair)
        if plot:
            plots.append({"name": name, "unit": found[0]["expected_unit"], "svg": Markup(plot)})  # noqa: S704
    return {
        **test,
        "node_rows": [table for table in tables if table["cells"][0]["component"] == "node"],
        "gpu_tables": [table for table in tables if table["cells"][0]["component"] != "node"],
        "plots": plots,
        "failed": sum(1 for row in own if row["failed"]),
        "count": len(own),
    }


def _plot(name: str, rows: Sequence[Row], *, is_pair: bool) -> str:
    """Return the plot of a timed figure; counts have none (their ceiling is not a figure)."""
    unit, timed = rows[0]["expected_unit"], rows[0]["ceiling"] is not None and rows[0]["expected_unit"] == "GB/s"
    if not timed:
        return ""
    if is_pair:
        return page_plots.heat(rows, f"{name}, {unit}, reading GPU by column")
    if len(rows) == 1 and rows[0]["component"] == "node":
        return page_plots.bullet(rows[0], f"{name}, {unit}")
    return page_plots.dots(rows, f"{name} by GPU, {unit}")


def _limits(rows: Sequence[Row]) -> list[Row]:
    """Return one row per judged metric, with what it was judged by."""
    return list({(row["test"], row["metric"], row["statistic"]): row for row in rows}.values())
