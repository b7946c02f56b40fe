"""Baselines: what a metric must be for a key.

A figure has a floor *and* a ceiling: below the floor the node is bad, above the ceiling the test is. One that should be
low (a latency) has `most` and `least` instead. Counted things have exactly one right value. A baseline that cannot
fail, or that nothing ever reached, is refused when it is loaded: such rows exist in public tables and have let broken
nodes pass for years. Where public figures are thin the row says `learn`, and results of that key have no baseline.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nodeworthy.errors import Permanent
from nodeworthy.evidence.verdicts import Verdict
from nodeworthy.qualification.documents import figure, optional_figure, refuse_unknown_keys, rows, text
from nodeworthy.qualification.references import Reference
from nodeworthy.qualification.similarity import SIMILARITY, STALLED_SHARE

BASELINE_SCHEMA = "nodeworthy.baseline/1"
_KEYS = ("schema", "sku", "version", "baselines")
_ROW_KEYS = (
    "test",
    "metric",
    "statistic",
    "unit",
    "floor",
    "ceiling",
    "most",
    "least",
    "equals",
    "reached",
    "spread_percent",
    "parameters",
    "firmware_set",
    "on_failure",
    "sample_size",
    "version",
    "simulated",
    "quantiles",
    "stalled_above",
    "source",
    "date",
)
_LEARN_KEYS = ("test", "metric", "statistic", "unit", "parameters", "firmware_set", "learn", "date")


@dataclass(frozen=True, slots=True)
class Baseline:
    """Floor, ceiling and spread of one metric for one key (SKU, firmware set, test, parameters, statistic, unit)."""

    sku: str
    test: str
    metric: str
    statistic: str
    unit: str
    floor: float | None
    ceiling: float | None
    source: str
    date: str
    version: int
    sample_size: int
    parameters: Mapping[str, str | int | float] = field(default_factory=dict)
    firmware_set: str = "*"
    spread_percent: float | None = None
    """How many per cent one component may lie below the median of its like in the same node."""
    reached: float | None = None
    """The best figure anybody published or measured: proof that the floor can be met."""
    equals: float | None = None
    """The one right value of a counted thing; it then has neither floor nor ceiling."""
    on_failure: Verdict = Verdict.FAIL
    """What a value outside says: `fail` the hardware, `fail-config` a setting, `invalid` the test, and so on."""
    reference: Reference | None = None
    """The frozen population of the same key, where there is one."""
    most: float | None = None
    """The highest good value of a figure that should be low; it then has `least` beside it and no floor or ceiling."""
    least: float | None = None
    """What physics or the method allows at best: a lower value says that the measurement is wrong."""
    simulated: bool = False
    """Measured on the virtual fleet, and therefore no judge of real hardware."""
    quantiles: tuple[float, ...] | None = None
    """Of a similarity: the frozen shape of healthy iteration times, equally spaced quantiles relative to the median."""
    stalled_above: float | None = None
    """Of a share of stalled iterations: the time, relative to the median, that no healthy iteration takes."""


@dataclass(frozen=True, slots=True)
class ToLearn:
    """A key for which no public figure is good enough; `why` says what is known instead."""

    test: str
    metric: str
    statistic: str
    unit: str
    why: str
    date: str


def baselines_from_document(
    document: Mapping[str, Any],
    references: Iterable[Reference] = (),
    where: str = "the baseline file",
) -> tuple[Baseline, ...]:
    """Read one SKU's baselines and give each its reference of the same key.

    Raises Permanent with one sentence for the first row that could never fail, was never reached, or lacks its source.
    """
    refuse_unknown_keys(document, _KEYS, where)
    if document.get("schema") != BASELINE_SCHEMA:
        raise Permanent(
            f"{where}: schema is {document.get('schema')!r}, expected {BASELINE_SCHEMA!r}: convert the file."
        )
    sku, version = text(document, "sku", where), int(figure(document, "version", where))
    to_learn_from_document(document, where)
    found = tuple(
        baseline_from_document(row, sku, version, where)
        for row in rows(document, "baselines", where)
        if "learn" not in row
    )
    refuse_two_of_one_key(found, where)
    return _with_references(found, tuple(references), where)


def to_learn_from_document(document: Mapping[str, Any], where: str = "the baseline file") -> tuple[ToLearn, ...]:
    """Return the rows that say `learn`. Raises Permanent for one that names a limit beside it, or no reason."""
    found = []
    for row in rows(document, "baselines", where):
        if "learn" in row:
            here = f"{where}, {row.get('test', '?')} {row.get('metric', '?')}"
            refuse_unknown_keys(row, _LEARN_KEYS, here)
            plain = (text(row, key, here) for key in ("test", "metric", "statistic", "unit", "learn", "date"))
            found.append(ToLearn(*plain))
    return tuple(found)


def baseline_from_document(
    row: Mapping[str, Any], sku: str, version: int, where: str = "the baseline file"
) -> Baseline:
    """Read one row. Raises Permanent when it could never fail, was never reached, or lacks unit, source or date."""
    here = f"{where}, {row.get('test', '?')} {row.get('metric', '?')}"
    refuse_unknown_keys(row, _ROW_KEYS, here)
    baseline = Baseline(
        sku=sku,
        test=text(row, "test", here),
        metric=text(row, "metric", here),
        statistic=text(row, "statistic", here),
        unit=text(row, "unit", here),
        floor=optional_figure(row, "floor", here),
        ceiling=optional_figure(row, "ceiling", here),
        source=text(row, "source", here),
        date=text(row, "date", here),
        version=int(optional_figure(row, "version", here) or version),
        sample_size=int(optional_figure(row, "sample_size", here) or 0),
        parameters=dict(row.get("parameters", {})),
        firmware_set=str(row.get("firmware_set", "*")),
        spread_percent=optional_figure(row, "spread_percent", here),
        reached=optional_figure(row, "reached", here),
        equals=optional_figure(row, "equals", here),
        on_failure=_on_failure(row, here),
        most=optional_figure(row, "most", here),
        least=optional_figure(row, "least", here),
        simulated=row.get("simulated", False) is True,
        quantiles=_quantiles(row, here),
        stalled_above=optional_figure(row, "stalled_above", here),
    )
    problem = _insane(baseline) or _insane_shape(baseline)
    if problem:
        raise Permanent(f"{here}: {problem}")
    return baseline


def _on_failure(row: Mapping[str, Any], where: str) -> Verdict:
    word = row.get("on_failure", Verdict.FAIL.value)
    if word not in set(Verdict) or word == Verdict.PASS:
        raise Permanent(f"{where}: `on_failure` is {word!r}: use one of the verdicts that is not pass.")
    return Verdict(word)


def _quantiles(row: Mapping[str, Any], where: str) -> tuple[float, ...] | None:
    if "quantiles" not in row:
        return None
    return tuple(figure({"quantiles": value}, "quantiles", where) for value in row["quantiles"])


def _insane_shape(baseline: Baseline) -> str:
    """A figure of a shape needs the shape, which must be one of times around their median; no other figure has any."""
    quantiles, above = baseline.quantiles, baseline.stalled_above
    if (quantiles is not None) != (baseline.statistic == SIMILARITY):
        return f"`quantiles` belong to the statistic {SIMILARITY}, which needs them: freeze the shape by learning it."
    if (above is not None) != (baseline.statistic == STALLED_SHARE):
        return f"`stalled_above` belongs to the statistic {STALLED_SHARE}, which needs it: learn the shape."
    if quantiles is not None and (len(quantiles) < 2 or quantiles[0] <= 0 or list(quantiles) != sorted(quantiles)):
        return "`quantiles` must be two times at least, above zero and rising: freeze the shape anew."
    if above is not None and above <= 1.0:
        return f"stalled_above {above:g} is no longer than the median: every second iteration would be stalled."
    return ""


def _insane(baseline: Baseline) -> str:
    limits = (baseline.floor, baseline.ceiling, baseline.most, baseline.least)
    if baseline.equals is not None:
        beside = any(limit is not None for limit in limits)
        return "`equals` stands beside a floor or ceiling: a counted thing has one right value." if beside else ""
    if baseline.most is None and baseline.least is None:
        return _insane_range(baseline)
    if baseline.floor is not None or baseline.ceiling is not None:
        return "`most` and `least` stand beside a floor or ceiling: a figure is good when high or when low, not both."
    return _insane_when_low_is_good(baseline)


def _insane_when_low_is_good(baseline: Baseline) -> str:
    most, least, reached = baseline.most, baseline.least, baseline.reached
    if most is None or least is None or reached is None:
        return "most, least and reached must all be given: find a measured figure, or leave the row out."
    if not 0 <= least < most:
        return f"least {least:g} must lie between zero and most {most:g}: nothing could pass, or nothing fail."
    if reached > most:
        return f"most {most:g} was never reached (best {reached:g}): raise it or find a better source."
    if reached < least:
        return f"reached {reached:g} lies below least {least:g}: one of the two figures is wrong."
    return ""


def _insane_range(baseline: Baseline) -> str:
    if baseline.floor is None or baseline.ceiling is None or baseline.reached is None:
        return "floor, ceiling and reached must all be given: find a measured figure, or leave the row out."
    if baseline.floor <= 0:
        return f"floor {baseline.floor:g} can never fail: write a floor above zero."
    if baseline.ceiling <= baseline.floor:
        return f"ceiling {baseline.ceiling:g} is not above floor {baseline.floor:g}: nothing could pass."
    if baseline.reached < baseline.floor:
        return (
            f"floor {baseline.floor:g} was never reached (best {baseline.reached:g}): lower it or find a better source."
        )
    if baseline.reached > baseline.ceiling:
        return f"reached {baseline.reached:g} lies above ceiling {baseline.ceiling:g}: one of the two figures is wrong."
    if baseline.spread_percent is not None and not 0 < baseline.spread_percent < 100:
        return f"spread_percent {baseline.spread_percent:g} can never fail: write per cent between 0 and 100."
    return ""


def _key(row: Baseline | Reference) -> tuple[str, str, str, tuple[tuple[str, str | int | float], ...]]:
    return (row.test, row.metric, row.statistic, tuple(sorted(row.parameters.items())))


def refuse_two_of_one_key(found: Iterable[Baseline], where: str) -> None:
    """Raise Permanent when two rows are of one key: nobody would know which is in force."""
    seen: set[object] = set()
    for baseline in found:
        key = (_key(baseline), baseline.firmware_set)
        if key in seen:
            raise Permanent(
                f"{where}: {baseline.test} {baseline.metric} ({baseline.statistic}) stands there twice: keep one."
            )
        seen.add(key)


def _with_references(
    found: tuple[Baseline, ...], references: tuple[Reference, ...], where: str
) -> tuple[Baseline, ...]:
    by_key = {_key(reference): reference for reference in references}
    orphans = sorted(
        f"{row.test} {row.metric} ({row.statistic})"
        for key, row in by_key.items()
        if key not in {_key(baseline) for baseline in found}
    )
    if orphans:
        raise Permanent(
            f"{where}: the reference of {', '.join(orphans)} belongs to no baseline: add one of the same key."
        )
    joined = []
    for baseline in found:
        reference = by_key.get(_key(baseline))
        if reference is not None and reference.unit != baseline.unit:
            raise Permanent(
                f"{where}: {baseline.metric} has unit {baseline.unit} and its reference {reference.unit}: use one unit."
            )
        joined.append(replace(baseline, reference=reference))
    return tuple(joined)
