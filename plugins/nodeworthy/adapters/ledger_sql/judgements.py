"""Results, judgements, qualifications and certificates: what was measured, what it means, and what it still allows.

A result waits for its judgement; a passing judgement may grant a qualification; a failing one voids what its scope had,
so that an old pass never outlives a new failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from math import isfinite
from typing import Any

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.baselines import BaselineVersions
from nodeworthy.adapters.ledger_sql.own_history import OwnHistory, remarks_of
from nodeworthy.adapters.ledger_sql.schema_baselines import judgement_dossiers
from nodeworthy.adapters.ledger_sql.store import Row
from nodeworthy.errors import Refused
from nodeworthy.evidence.history import Figures
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import Qualification, StoredResult
from nodeworthy.evidence.verdicts import Judgement, Reason, Scope, Verdict
from nodeworthy.lifecycle.records import Lease

_proofs, _signed = schema.qualifications.c, schema.certificates.c

_VALID = (
    sa.select(schema.qualifications)
    .where(_proofs.node == sa.bindparam("serial"), _proofs.voided_at.is_(None))
    .order_by(_proofs.id)
)
_VOID = (
    sa.update(schema.qualifications)
    .where(
        _proofs.node == sa.bindparam("of"),
        _proofs.scope.in_(sa.bindparam("scopes", expanding=True)),
        _proofs.voided_at.is_(None),
    )
    .values(voided_by=sa.bindparam("why"), voided_at=sa.bindparam("at"))
)
_CERTIFICATE = (
    sa.select(schema.certificates)
    .where(_signed.node == sa.bindparam("serial"), _signed.revoked_at.is_(None))
    .order_by(_signed.id.desc())
    .limit(1)
)


class Judgements(OwnHistory, BaselineVersions):
    """The part of the ledger that keeps what the evidence says."""

    def record_result(self, lease: Lease, result: StoredResult) -> None:
        """Store a probe result that waits for judgement, and its measurements. Idempotent by the bundle's hash."""
        if (result.node, result.episode) != (lease.node, lease.episode):
            raise Refused(
                f"The result is of {result.node}, episode {result.episode}; the lease is of {lease.node}: drop it."
            )
        table = schema.results
        with self._writing() as connection:
            node = self._fenced(connection, lease)
            same = (table.c.sha256 == result.bundle.sha256, table.c.scope == result.scope.value)
            if connection.scalar(sa.select(table.c.id).where(table.c.episode == lease.episode, *same)) is not None:
                return
            row = {
                **_place(node, lease),
                **asdict(result.bundle),
                "scope": result.scope.value,
                "suite": result.suite,
                "document": dict(result.document),
                "judged": result.judged,
                "at": self._clock.now(),
            }
            number = connection.execute(sa.insert(table).values(**row).returning(table.c.id)).scalar_one()
            measured = list(_measurements(number, result.document))
            if measured:
                connection.execute(sa.insert(schema.measurements), measured)
            told = {"scope": result.scope.value, "suite": result.suite, "evidence": asdict(result.bundle)}
            self._audit(
                connection, node.serial, "result", {"episode": lease.episode, **told, "measurements": len(measured)}
            )

    def results(
        self, *, run: str, scope: Scope, unjudged: bool = True, every: bool = False
    ) -> tuple[StoredResult, ...]:
        """Return the newest result per suite of each node that `run` holds, in this episode, ordered by node.

        With `every`, the older ones too, in the order in which they came.
        """
        table, leases, nodes = schema.results, schema.leases, schema.nodes
        joined = table.join(leases, leases.c.episode == table.c.episode).join(nodes, nodes.c.serial == table.c.node)
        held = (leases.c.run == run, leases.c.ended_at.is_(None), table.c.scope == scope.value)
        query = sa.select(table, nodes.c.name).select_from(joined).where(*held).order_by(nodes.c.name, table.c.id)
        with self._reading() as connection:
            rows = connection.execute(query).all()
        found = rows if every else {(row.name, row.suite): row for row in rows}.values()
        return tuple(_result(row) for row in found if not (unjudged and row.judged))

    def record_judgement(
        self,
        lease: Lease,
        judgement: Judgement,
        qualification: Qualification | None,
        figures: Sequence[Figures] = (),
    ) -> None:
        """Store a judgement, its reasons and, for a pass, the qualification. Refused where there is no pass."""
        passed = judgement.verdict is Verdict.PASS
        if qualification is not None and not passed:
            raise Refused(f"{lease.node}: the verdict is {judgement.verdict} and only a pass grants a qualification.")
        with self._writing() as connection:
            node = self._fenced(connection, lease)
            self._write_judgement(connection, node, lease, judgement)
            for read in figures:
                self._write_history(connection, node, lease, read, judgement.scope.value)
            self._write_part_faults(connection, _place(node, lease), judgement, figures)
            if judgement.verdict is Verdict.FAIL:
                self._void(connection, node.serial, [judgement.scope.value], judgement.sentence)
            if qualification is not None:
                self._grant_qualification(connection, node, lease, qualification)
            if not passed:
                self._update_node(connection, node, {"reason": judgement.sentence})
            told = {"scope": judgement.scope.value, "suite": judgement.suite, "verdict": judgement.verdict.value}
            dossier = None if judgement.dossier is None else asdict(judgement.dossier)
            more = {"episode": lease.episode, "sentence": judgement.sentence, "dossier": dossier}
            self._audit(connection, node.serial, "judgement", {**told, **more})

    def judgements(self, node: str, *, episode: int | None = None) -> tuple[Judgement, ...]:
        """Return judgements of a node, newest first."""
        table, more = schema.judgements, judgement_dossiers
        whole = sa.select(table, more.c.simulated, more.c.path, more.c.sha256, more.c.size_bytes)
        whole = whole.select_from(table.outerjoin(more, more.c.judgement == table.c.id))
        with self._reading() as connection:
            serial = self._serial(connection, node)
            query = whole.where(table.c.node == serial)
            query = query if episode is None else query.where(table.c.episode == episode)
            found = connection.execute(query.order_by(table.c.id.desc())).all()
            noticed = remarks_of(connection, serial) if found else {}
        return tuple(replace(_judgement(row, node), remarks=noticed.get(row.id, ())) for row in found)

    def qualifications(self, node: str) -> tuple[Qualification, ...]:
        """Return the unvoided qualifications of a node, oldest first; they may have expired."""
        with self._reading() as connection:
            return self._qualifications(connection, self._serial(connection, node), node)

    def void_qualifications(self, lease: Lease, scope: Scope, why: str) -> None:
        """Void the node's qualifications of one scope."""
        with self._writing() as connection:
            node = self._fenced(connection, lease)
            ended = self._void(connection, node.serial, [scope.value], why)
            told = {"episode": lease.episode, "scope": scope.value, "why": why, "qualifications": ended}
            self._audit(connection, node.serial, "qualifications voided", told)

    def record_certificate(self, lease: Lease, reference: EvidenceReference, expires_at: datetime) -> None:
        """Store the node's certificate reference. Idempotent by its hash."""
        table = schema.certificates
        with self._writing() as connection:
            node = self._fenced(connection, lease)
            same = (table.c.node == node.serial, table.c.sha256 == reference.sha256)
            if connection.scalar(sa.select(table.c.id).where(*same)) is not None:
                return
            times = {"issued_at": self._clock.now(), "expires_at": expires_at}
            connection.execute(sa.insert(table).values(**_place(node, lease), **asdict(reference), **times))
            told = {"episode": lease.episode, "evidence": asdict(reference), "expires_at": expires_at}
            self._audit(connection, node.serial, "certificate", told)

    def certificate(self, node: str) -> tuple[EvidenceReference, datetime] | None:
        """Return the newest unrevoked certificate and its expiry."""
        with self._reading() as connection:
            row = self._certificate(connection, self._serial(connection, node))
        return None if row is None else (_reference(row), row.expires_at)

    def _write_judgement(self, connection: sa.Connection, node: Row, lease: Lease, judgement: Judgement) -> None:
        kind = {"scope": judgement.scope.value, "suite": judgement.suite}
        words = {"verdict": judgement.verdict.value, "sentence": judgement.sentence}
        reasons = [asdict(reason) for reason in judgement.reasons]
        row = {**_place(node, lease), **kind, **words, "reasons": reasons, "at": self._clock.now()}
        written = sa.insert(schema.judgements).values(**row).returning(schema.judgements.c.id)
        number = connection.execute(written).scalar_one()
        dossier = {} if judgement.dossier is None else asdict(judgement.dossier)
        more = {"judgement": number, "simulated": judgement.simulated, **dossier}
        connection.execute(sa.insert(judgement_dossiers).values(**more))
        self._write_remarks(connection, _place(node, lease), number, judgement)
        table = schema.results
        about = (table.c.episode == lease.episode, table.c.scope == kind["scope"], table.c.suite == kind["suite"])
        connection.execute(sa.update(table).where(*about).values(judged=True))

    def _grant_qualification(self, connection: sa.Connection, node: Row, lease: Lease, granted: Qualification) -> None:
        plain = ("suite", "granted_at", "expires_at", "boot_id", "firmware_set")
        row = {**_place(node, lease), **{key: getattr(granted, key) for key in plain}, "scope": granted.scope.value}
        connection.execute(sa.insert(schema.qualifications).values(**row, **asdict(granted.dossier)))

    def _void(self, connection: sa.Connection, serial: str, scopes: Sequence[str], why: str) -> int:
        values = {"of": serial, "scopes": list(scopes), "why": why, "at": self._clock.now()}
        return connection.execute(_VOID, values).rowcount

    def _revoke(self, connection: sa.Connection, serial: str, why: str) -> None:
        table = schema.certificates
        valid = (table.c.node == serial, table.c.revoked_at.is_(None))
        connection.execute(sa.update(table).where(*valid).values(revoked_at=self._clock.now(), revoked_by=why))

    def _qualifications(self, connection: sa.Connection, serial: str, name: str) -> tuple[Qualification, ...]:
        return tuple(_qualification(row, name) for row in connection.execute(_VALID, {"serial": serial}))

    def _certificate(self, connection: sa.Connection, serial: str) -> Row | None:
        return connection.execute(_CERTIFICATE, {"serial": serial}).first()


def _place(node: Row, lease: Lease) -> dict[str, Any]:
    return {"node": node.serial, "episode": lease.episode}


def _reference(row: Row) -> EvidenceReference:
    return EvidenceReference(row.path, row.sha256, row.size_bytes)


def _measurements(result: int, document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for row in document.get("measurements", ()):
        value = row.get("value")
        texts = {key: str(row.get(key, "")) for key in ("component", "metric", "unit", "statistic", "test", "status")}
        yield {
            "result": result,
            **texts,
            "value": float(value) if isinstance(value, int | float) and isfinite(value) else None,
            "parameters": dict(row.get("parameters") or {}),
            "transport": row.get("transport"),
        }


def _result(row: Row) -> StoredResult:
    return StoredResult(row.name, row.episode, Scope(row.scope), row.suite, _reference(row), row.document, row.judged)


def _judgement(row: Row, node: str) -> Judgement:
    reasons = tuple(Reason(**{**reason, "verdict": Verdict(reason["verdict"])}) for reason in row.reasons)
    return Judgement(
        node=node,
        scope=Scope(row.scope),
        suite=row.suite,
        verdict=Verdict(row.verdict),
        reasons=reasons,
        sentence=row.sentence,
        simulated=bool(row.simulated),
        dossier=None if row.path is None else _reference(row),
    )


def _qualification(row: Row, node: str) -> Qualification:
    return Qualification(
        node=node,
        scope=Scope(row.scope),
        suite=row.suite,
        episode=row.episode,
        granted_at=row.granted_at,
        expires_at=row.expires_at,
        dossier=_reference(row),
        boot_id=row.boot_id,
        firmware_set=row.firmware_set,
        voided_by=row.voided_by,
    )
