"""Learnt baselines: proposed, answered, in force, withdrawn; and the past results that they are learnt from.

Nothing here is about one node, so nothing here is fenced by a lease. A version names its own hash: an answer is to
exactly what was shown.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.schema_baselines import baseline_versions
from nodeworthy.adapters.ledger_sql.store import Row, Store
from nodeworthy.errors import Refused
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.qualification.versions import BaselineVersion, NewVersion

APPROVE = "approve"


class BaselineVersions(Store):
    """The part of the ledger that keeps what was learnt."""

    def propose_baselines(self, proposal: NewVersion) -> BaselineVersion:
        """Store a proposal under the SKU's next number; the same content again returns the open one of before."""
        table = baseline_versions
        with self._writing() as connection:
            same = (table.c.sku == proposal.sku, table.c.sha256 == proposal.sha256, table.c.withdrawn_at.is_(None))
            known = connection.execute(sa.select(table).where(*same).order_by(table.c.id.desc()).limit(1)).first()
            if known is not None and known.answer in ("", APPROVE):
                return _version(known)
            last = connection.scalar(sa.select(sa.func.max(table.c.number)).where(table.c.sku == proposal.sku))
            empty = dict.fromkeys(("answer", "who", "why", "withdrawn_by", "withdrawn_why"), "")
            row = {**asdict(proposal), "document": dict(proposal.document), "evidence": asdict(proposal.evidence)}
            values = {**row, **empty, "number": (last or 0) + 1, "proposed_at": self._clock.now()}
            connection.execute(sa.insert(table).values(**values))
            return _version(self._version_row(connection, proposal.sku, values["number"]))

    def answer_baselines(self, sku: str, number: int, *, who: str, answer: str, why: str) -> BaselineVersion:
        """Write who answered a proposal with what. Refused when another answer stands there."""
        table = baseline_versions
        with self._writing() as connection:
            row = self._version_row(connection, sku, number)
            if row.answer and row.answer != answer:
                raise Refused(
                    f"Version {number} of {sku} was answered with '{row.answer}' by {row.who}: propose a new one."
                )
            if not row.answer:
                values = {"answer": answer, "who": who, "why": why, "answered_at": self._clock.now()}
                connection.execute(sa.update(table).where(table.c.id == row.id).values(**values))
            return _version(self._version_row(connection, sku, number))

    def withdraw_baselines(self, sku: str, number: int, *, who: str, why: str) -> BaselineVersion:
        """Take an approved version back: the approved one before it is in force again. Refused when it is not."""
        table = baseline_versions
        with self._writing() as connection:
            row = self._version_row(connection, sku, number)
            if row.answer != APPROVE or row.withdrawn_at is not None:
                raise Refused(f"Version {number} of {sku} is not in force: there is nothing to withdraw.")
            values = {"withdrawn_by": who, "withdrawn_why": why, "withdrawn_at": self._clock.now()}
            connection.execute(sa.update(table).where(table.c.id == row.id).values(**values))
            return _version(self._version_row(connection, sku, number))

    def baseline_versions(self, sku: str = "") -> tuple[BaselineVersion, ...]:
        """Return all versions (of one SKU), oldest first."""
        table = baseline_versions
        query = sa.select(table).order_by(table.c.sku, table.c.number)
        with self._reading() as connection:
            found = connection.execute(query.where(table.c.sku == sku) if sku else query)
            return tuple(_version(row) for row in found)

    def past_results(self, sku: str, suite: str = "", *, every: bool = False) -> tuple[StoredResult, ...]:
        """Return the newest result per node, scope and suite of one SKU, by node; with `every`, the older too."""
        table, nodes = schema.results, schema.nodes
        joined = table.join(nodes, nodes.c.serial == table.c.node)
        query = sa.select(table, nodes.c.name).select_from(joined).where(nodes.c.sku == sku)
        query = query.where(table.c.suite == suite) if suite else query
        with self._reading() as connection:
            rows = connection.execute(query.order_by(nodes.c.name, table.c.id)).all()
        newest = {(row.name, row.scope, row.suite): row for row in rows}
        return tuple(_result(row) for row in (rows if every else newest.values()))

    def _version_row(self, connection: sa.Connection, sku: str, number: int) -> Row:
        table = baseline_versions
        row = connection.execute(sa.select(table).where(table.c.sku == sku, table.c.number == number)).first()
        if row is None:
            raise Refused(f"There is no version {number} of the baselines of {sku}: list them first.")
        return row


def _version(row: Row) -> BaselineVersion:
    plain: dict[str, Any] = {
        key: getattr(row, key)
        for key in ("sku", "number", "document", "sha256", "run", "proposed_at", "answer", "who", "why", "answered_at")
    }
    ended = {key: getattr(row, key) for key in ("withdrawn_at", "withdrawn_by", "withdrawn_why")}
    return BaselineVersion(**plain, **ended, evidence=EvidenceReference(**row.evidence))


def _result(row: Row) -> StoredResult:
    reference = EvidenceReference(row.path, row.sha256, row.size_bytes)
    return StoredResult(row.name, row.episode, Scope(row.scope), row.suite, reference, row.document, row.judged)
