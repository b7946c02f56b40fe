"""A node against itself: a decline over its own runs that no single run shows.

Each fit figure is added up against the node's own first runs (CUSUM). It is remarked on when the sum is above its limit
now and the latest runs are materially low. The limit holds for the node and not for each of its figures: many looks
have many chances, so it grows with their logarithm, as the mean time between false alarms does (Siegmund, "Sequential
Analysis", 1985). A drift raises suspicion and fails nobody: what decides is a limit that holds for everybody.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

from nodeworthy.errors import Permanent
from nodeworthy.evidence.history import Figure, Figures
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Remark, Verdict
from nodeworthy.qualification.drift import DriftRule, own_drift
from nodeworthy.qualification.row import Row
from nodeworthy.qualification.statistics import deviation_percent

HISTORY_SCHEMA = "nodeworthy.history/1"
DRIFT = "own_drift"
NO_BASELINE = "no_baseline"
COUNTED_UNITS = frozenset({"count", "bool", "bits"})
RECENT = 3
"""So many of the latest runs tell where a figure stands now: one run alone may be noise."""


@dataclass(frozen=True, slots=True)
class OwnRule:
    """When a node's own history is remarked on; `runs` is how many are looked at besides the first ones."""

    drift: DriftRule
    percent: float
    """The latest runs lie at least so far below the first ones; negative."""
    sigma_floor_percent: float
    runs: int


@dataclass(frozen=True, slots=True)
class History:
    """The earlier runs of one node with the rule that they are judged by. `series` are oldest first, by figure key."""

    rule: OwnRule
    series: Mapping[tuple[str, ...], tuple[float, ...]]

    def document(self) -> dict[str, Any]:
        """Return the history as it is frozen into a dossier."""
        rows = [{**_named(key), "values": list(values)} for key, values in sorted(self.series.items())]
        return {"schema": HISTORY_SCHEMA, "rule": asdict(self.rule), "series": rows}


def _named(key: tuple[str, ...]) -> dict[str, str]:
    return dict(zip(Figure._fields[:-1], key, strict=True))


def history_from_document(document: Mapping[str, Any]) -> History:
    """Read a dossier's history back. Raises Permanent for another schema."""
    if document.get("schema") != HISTORY_SCHEMA:
        raise Permanent(f"The history's schema is {document.get('schema')!r}, expected {HISTORY_SCHEMA!r}: restore it.")
    rule = document["rule"]
    series = {
        tuple(str(row[name]) for name in Figure._fields[:-1]): tuple(float(value) for value in row["values"])
        for row in document["series"]
    }
    return History(OwnRule(**{**rule, "drift": DriftRule(**rule["drift"])}), series)


def history_of(runs: Iterable[Sequence[Figure]], rule: OwnRule) -> History:
    """Return the series of a node's earlier runs, which come oldest first."""
    series: dict[tuple[str, ...], list[float]] = {}
    for run in runs:
        for figure in run:
            series.setdefault(figure.key, []).append(figure.value)
    return History(rule, {key: tuple(values) for key, values in series.items()})


def parts_of(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the serials that a result names, by component."""
    rows = document.get("texts") or ()
    return {str(row["component"]): str(row["value"]) for row in rows if row.get("name") == "serial"}


def figure_of(cells: Mapping[str, Any], parts: Mapping[str, str]) -> Figure | None:
    """Return a row's cells as a figure of the history; None for what has no series: counts, pairs, nothing measured."""
    value, unit, component = cells["value"], cells["expected_unit"], cells["component"]
    if value is None or unit in COUNTED_UNITS or "-" in component or cells["unit"] != unit:
        return None
    conditions = ", ".join(word for word in (cells["parameters"], cells["transport"]) if word)
    place = (cells["test"], component, parts.get(component, ""))
    return Figure(*place, cells["metric"], cells["statistic"], unit, conditions, value)


def figures_of(stored: StoredResult, validation: Mapping[str, Any]) -> Figures:
    """Return what a result adds to its node's history, from the node's part of the validation: the fit figures."""
    document = stored.document
    parts = parts_of(document)
    codes = {row["meta"]["code"] for row in validation["expectations"] if _says_unfit(row["meta"])}
    spoilt = {row["test"] for row in validation["rows"] if codes.intersection(row["failed"])}
    found = (figure_of(row, parts) for row in validation["rows"] if row["test"] not in spoilt)
    driver = str((document.get("versions") or {}).get("driver") or "")
    figures = tuple(figure for figure in found if figure is not None)
    return Figures(stored.bundle.sha256, driver, bool(document.get("simulated")), figures, parts)


def _says_unfit(meta: Mapping[str, Any]) -> bool:
    """Whether a check says that the measurement is no good. A key without a baseline was measured well enough."""
    return bool(meta["code"] != NO_BASELINE and (meta["layer"] == 1 or meta["verdict"] == Verdict.IMPOSSIBLE))


def drifts(rows: Iterable[Row], history: History, parts: Mapping[str, str]) -> tuple[Remark, ...]:
    """Return a remark per component and test that declined over its own runs, the worst figure of each."""
    read = ((row, figure_of(row.cells(), parts)) for row in rows if row.limits is not None)
    watched = [(row, figure) for row, figure in read if figure is not None and figure.key in history.series]
    if not watched:
        return ()
    rule = history.rule.drift
    tightened = replace(rule, h=rule.h + math.log(len(watched)) / (2.0 * rule.k))
    worst: dict[tuple[str, str], tuple[float, Remark]] = {}
    for row, figure in watched:
        found = _drift(row, figure, replace(history, rule=replace(history.rule, drift=tightened)))
        if found is not None and found[0] < worst.get((row.test, row.component), (0.0,))[0]:
            worst[row.test, row.component] = found
    return tuple(remark for _, remark in sorted(worst.values(), key=lambda pair: (pair[0], pair[1].component)))


def _drift(row: Row, figure: Figure, history: History) -> tuple[float, Remark] | None:
    """Return how many per cent a figure declined, and its remark; None when it did not."""
    rule, values = history.rule, (*history.series[figure.key], figure.value)
    first = values[: rule.drift.settle]
    centre = median(first)
    sign = -1.0 if _low_is_good(row) else 1.0
    found = own_drift([sign * value for value in values], _noise(row, centre, rule), rule.drift) if centre > 0 else None
    if found is None or found.sums[-1] <= rule.drift.h:
        return None
    now = median(values[-RECENT:])
    percent = sign * deviation_percent(now, centre)
    if percent > rule.percent:
        return None
    name = row.metric if row.statistic in ("single", row.metric.rsplit("_", 1)[-1]) else f"{row.metric} {row.statistic}"
    way = "above" if sign < 0 else "below"
    sentence = (
        f"{row.component} {name} declines: its last {min(RECENT, len(values))} runs read {now:.4g} {row.unit}, "
        f"{-percent:.1f} % {way} its own first {len(first)} (CUSUM {found.sums[-1]:.1f}, limit {rule.drift.h:.1f}, "
        f"{len(values)} runs)"
    )
    return percent, Remark(DRIFT, row.component, figure.part, row.metric, sentence)


def _low_is_good(row: Row) -> bool:
    return row.limits is not None and row.limits.floor is None and row.limits.most is not None


def _noise(row: Row, centre: float, rule: OwnRule) -> float:
    """Return the least spread that is believed: the rule's share of the value, or the reference's noise of runs."""
    reference = row.limits.reference if row.limits is not None else None
    known = reference.run if reference is not None and reference.run else 0.0
    return max(abs(centre) * rule.sigma_floor_percent / 100.0, known)


def said_remarks(remarks: Sequence[Remark]) -> str:
    """Return the words about what was noticed for a sentence; empty where there is nothing."""
    if not remarks:
        return ""
    more = f" (and {len(remarks) - 1} more)" if len(remarks) > 1 else ""
    return f" Noticed: {remarks[0].sentence}{more}."
