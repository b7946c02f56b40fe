"""The figures of one node looked at together: the row that the evidence points at carries it, and may fail by it.

Figures of one test, per GPU or per node, are one subsystem. A subsystem takes part when each of its figures came, in
the right unit, with a reference whose rule asks for it; what did not come is a matter of layer 1. Where every figure
brought the same number of runs, and its reference tells the spread between parts from the noise between runs, the runs
are used and not only their median.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from nodeworthy.evidence.measurements import Measurement
from nodeworthy.qualification.columns import Column
from nodeworthy.qualification.fault_model import FaultModel
from nodeworthy.qualification.references import Reference
from nodeworthy.qualification.row import Row
from nodeworthy.qualification.suites import Per

_DIGITS = 3
"""Evidence is rounded to these decimals, so that another processor's last bit changes no dossier."""


@dataclass(frozen=True, slots=True)
class _Subsystem:
    """Rows of one test by component and figure, and each figure's reference; `runs` in the same order as the rows."""

    name: str
    rows: tuple[tuple[Row, ...], ...]
    references: tuple[Reference, ...]
    runs: tuple[tuple[tuple[float, ...], ...], ...]


def seen_together(
    by_column: Sequence[tuple[Row, ...]], columns: Sequence[Column], measurements: Iterable[Measurement]
) -> tuple[Row, ...]:
    """Return all rows, which come by column; one carries the node's evidence and its limit when a rule asks for it."""
    rows = tuple(chain.from_iterable(by_column))
    model = next((found for found in map(_model, columns) if found is not None), None)
    if model is None:
        return rows
    subsystems = _subsystems(by_column, columns, measurements)
    if not subsystems:
        return rows
    evidence, worst = _weigh(subsystems, model)
    limit = math.log(model.limit)
    marked = worst._replace(evidence=round(evidence, _DIGITS), evidence_most=round(limit, _DIGITS))
    place = worst.row - rows[0].row
    return (*rows[:place], marked, *rows[place + 1 :])


def _model(column: Column) -> FaultModel | None:
    reference = column.baseline.reference if column.baseline is not None else None
    return reference.rule.together if reference is not None else None


def _subsystems(
    by_column: Sequence[tuple[Row, ...]], columns: Sequence[Column], measurements: Iterable[Measurement]
) -> list[_Subsystem]:
    taking_part: dict[tuple[str, Per], list[tuple[Column, tuple[Row, ...]]]] = {}
    for column, rows in zip(columns, by_column, strict=True):
        # A figure derived from others, or of a pair, repeats what its GPUs' own figures say.
        own = not column.spec.derived_from and not column.spec.explained_by
        if own and column.spec.per in (Per.GPU, Per.NODE) and _model(column) is not None:
            taking_part.setdefault((column.test.test, column.spec.per), []).append((column, rows))
    runs = {(one.test, one.metric, one.statistic, one.component): one.runs for one in measurements if one.runs}
    found = [_subsystem(f"{test}/{per}", group, runs) for (test, per), group in taking_part.items()]
    return [one for one in found if one is not None]


def _subsystem(
    name: str,
    group: Sequence[tuple[Column, tuple[Row, ...]]],
    runs: dict[tuple[str, str, str, str], tuple[float, ...]],
) -> _Subsystem | None:
    for column, of_column in group:
        if len(of_column) != len(column.demanded) or any(_unfit(row) for row in of_column):
            return None
    references = tuple(
        column.baseline.reference
        for column, _ in group
        if column.baseline is not None and column.baseline.reference is not None
    )
    by_component = tuple(zip(*(of_column for _, of_column in group), strict=True))
    return _Subsystem(name, by_component, references, _runs(by_component, references, runs))


def _unfit(row: Row) -> bool:
    return row.value is None or row.unit != row.expected_unit or row.demanded != "yes"


def _runs(
    by_component: tuple[tuple[Row, ...], ...],
    references: tuple[Reference, ...],
    runs: dict[tuple[str, str, str, str], tuple[float, ...]],
) -> tuple[tuple[tuple[float, ...], ...], ...]:
    medians = tuple(tuple((row.value or 0.0,) for row in of_component) for of_component in by_component)
    if not runs:
        return medians
    given = tuple(
        tuple(runs.get((row.test, row.metric, row.statistic, row.component), ()) for row in of_component)
        for of_component in by_component
    )
    many = {len(one) for of_component in given for one in of_component}
    told_apart = all(reference.spread is not None and reference.run for reference in references)
    if told_apart and len(many) == 1 and many != {0}:
        return given
    return medians


def _weigh(subsystems: Sequence[_Subsystem], model: FaultModel) -> tuple[float, Row]:
    """Return the node's evidence and the row it points at: of the culprit's figures the one that is lowest."""
    # numpy is imported where a rule asks for it, and not by everything that reads a suite.
    from nodeworthy.qualification.likelihood import evidence, family_of

    families = []
    for one in subsystems:
        single = len(one.runs[0][0]) == 1
        families.append(
            family_of(
                one.name.split("/")[0],
                one.runs,
                [reference.median for reference in one.references],
                [0.0 if single else reference.spread or 0.0 for reference in one.references],
                [reference.effective_sigma if single else reference.run or 0.0 for reference in one.references],
            )
        )
    found = evidence(families, model)
    place, component = found.culprit(0)
    rows = subsystems[place].rows
    candidates = rows[component] if component < len(rows) else [row for of_component in rows for row in of_component]
    return float(found.total[0]), min(candidates, key=_relative)


def _relative(row: Row) -> float:
    reference = row.limits.reference if row.limits is not None else None
    return reference.percent(row.value) if reference is not None and row.value is not None else 0.0
