"""A node's own history: figures of earlier runs, remarks, and faults by the serial of the part that had them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.schema_history import figure_runs, figures, part_faults, remarks
from nodeworthy.adapters.ledger_sql.store import Row, Store
from nodeworthy.evidence.history import Figure, Figures
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Judgement, Remark, Verdict
from nodeworthy.lifecycle.records import Lease

_KEY = Figure._fields


class OwnHistory(Store):
    """The part of the ledger that remembers what each node and each part did before."""

    def earlier_figures(self, stored: StoredResult, first: int, latest: int) -> tuple[tuple[Figure, ...], ...]:
        """Return the history of a result's node before it, oldest first: its first runs and the latest ones."""
        runs, known = figure_runs.c, schema.results.c
        driver = str((stored.document.get("versions") or {}).get("driver") or "")
        alike = (runs.scope == stored.scope.value, runs.driver == driver)
        with self._reading() as connection:
            serial = self._serial(connection, stored.node)
            of_node = (known.node == serial, known.episode == stored.episode, known.scope == stored.scope.value)
            own = connection.scalar(sa.select(known.id).where(*of_node, known.sha256 == stored.bundle.sha256))
            if own is None:
                return ()
            simulated = bool(stored.document.get("simulated"))
            query = sa.select(runs.result).where(
                runs.node == serial, *alike, runs.simulated == simulated, runs.result < own
            )
            numbers = [int(number) for number in connection.scalars(query.order_by(runs.result))]
            chosen = numbers if len(numbers) <= first + latest else [*numbers[:first], *numbers[-latest:]]
            found: dict[int, list[Figure]] = {number: [] for number in chosen}
            rows = sa.select(figures).where(figures.c.result.in_(chosen)).order_by(figures.c.result, figures.c.id)
            for row in connection.execute(rows):
                found[row.result].append(Figure(*(getattr(row, name) for name in _KEY)))
        return tuple(tuple(run) for run in found.values())

    def _write_history(self, connection: sa.Connection, node: Row, lease: Lease, read: Figures, scope: str) -> None:
        """Add a run's figures to the history, once per result: judging again adds nothing."""
        known = schema.results.c
        of_node = (known.node == node.serial, known.episode == lease.episode, known.scope == scope)
        result = connection.scalar(sa.select(known.id).where(*of_node, known.sha256 == read.result_sha256))
        taken = sa.select(figure_runs.c.result).where(figure_runs.c.result == result)
        if result is None or not read.figures or connection.scalar(taken) is not None:
            return
        run = {"result": result, "node": node.serial, "scope": scope, "driver": read.driver}
        connection.execute(
            sa.insert(figure_runs).values(**run, simulated=read.simulated, at=self._clock.now()),
        )
        connection.execute(sa.insert(figures), [{"result": result, **figure._asdict()} for figure in read.figures])

    def _write_remarks(self, connection: sa.Connection, place: dict[str, Any], number: int, one: Judgement) -> None:
        rows = [
            {
                **place,
                "judgement": number,
                "code": remark.code,
                "component": remark.component,
                "part": remark.part,
                "metric": remark.metric,
                "sentence": remark.sentence,
                "at": self._clock.now(),
            }
            for remark in one.remarks
        ]
        if rows:
            connection.execute(sa.insert(remarks), rows)

    def _write_part_faults(
        self, connection: sa.Connection, place: dict[str, Any], one: Judgement, read: Sequence[Figures]
    ) -> None:
        """Remember a confirmed fault by the serial of the part, once per part and episode."""
        if one.verdict is not Verdict.FAIL:
            return
        known = sa.select(part_faults.c.kind, part_faults.c.serial).where(part_faults.c.episode == place["episode"])
        seen = {(row.kind, row.serial) for row in connection.execute(known)}
        parts = {component: serial for run in read for component, serial in run.parts.items()}
        new = {key: value for key, value in _faults(one, place["node"], parts).items() if key not in seen}
        rows = [
            {**place, "kind": kind, "serial": serial, "component": component, "code": code, "at": self._clock.now()}
            for (kind, serial), (component, code) in new.items()
        ]
        if rows:
            connection.execute(sa.insert(part_faults), rows)


def _faults(one: Judgement, chassis: str, parts: Mapping[str, str]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return (component, code) of every part that a failing reason names, by kind and serial; a node is one too."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    if one.reasons:
        found["node", chassis] = ("node", one.reasons[0].code)
    for reason in one.reasons:
        serial = parts.get(reason.component, "")
        if reason.verdict is Verdict.FAIL and serial:
            found.setdefault((reason.component.split("/")[0], serial), (reason.component, reason.code))
    return found


def remarks_of(connection: sa.Connection, node: str) -> dict[int, tuple[Remark, ...]]:
    """Return the remarks of a node's judgements, by the judgement's number."""
    found: dict[int, list[Remark]] = {}
    for row in connection.execute(sa.select(remarks).where(remarks.c.node == node).order_by(remarks.c.id)):
        found.setdefault(row.judgement, []).append(_remark(row))
    return {number: tuple(of_one) for number, of_one in found.items()}


def _remark(row: Row) -> Remark:
    return Remark(row.code, row.component, row.part, row.metric, row.sentence)
