"""Checkpoints of the audit: all heads at one moment, kept signed outside, so that whole chains cannot be rewritten.

A checkpoint is written down before it is stored (its body never changes again), so a crash in between leaves one that
the next call stores, with the same bytes. Its number is part of its path in the write-once store: a ledger that was
rolled back cannot write another checkpoint of that number, which is how the loss of the newest ones is noticed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.audit import Audit
from nodeworthy.adapters.ledger_sql.chain import canonical
from nodeworthy.adapters.ledger_sql.store import Row
from nodeworthy.evidence.checkpoint import CHECKPOINT_SCHEMA, FIRST, Checkpoint, Head
from nodeworthy.evidence.measurements import EvidenceReference

CHECKPOINTS: Final = 3
"""The line of those who write a checkpoint."""

_BATCH: Final = 2000


class Checkpoints(Audit):
    """The part of the ledger that vouches for the audit."""

    def begin_checkpoint(self, key_id: str) -> Checkpoint:
        """Write down all heads as the next checkpoint, or return the one that was begun and never stored."""
        table = schema.checkpoints
        with self._writing() as connection:
            self._line(connection, CHECKPOINTS)
            last = connection.execute(sa.select(table).order_by(table.c.number.desc()).limit(1)).first()
            if last is not None and last.path is None:
                return _checkpoint(last)
            number, previous = (1, FIRST) if last is None else (last.number + 1, last.sha256)
            now, nodes = self._clock.now(), schema.nodes
            query = sa.select(nodes.c.serial, nodes.c.audit_sequence, nodes.c.audit_head)
            heads = {row.serial: [row.audit_sequence, row.audit_head] for row in connection.execute(query)}
            named = {"schema": CHECKPOINT_SCHEMA, "number": number, "at": now, "previous": previous, "key_id": key_id}
            body = canonical({**named, "algorithm": "Ed25519", "heads": heads})
            row = {"number": number, "at": now, "key_id": key_id, "previous": previous, "body": body}
            connection.execute(sa.insert(table).values(**row))
            return Checkpoint(number, now, json.loads(body), None)

    def store_checkpoint(self, number: int, reference: EvidenceReference) -> None:
        """Write down where a checkpoint lies. Idempotent; its body is not kept twice."""
        table = schema.checkpoints
        where = {"path": reference.path, "sha256": reference.sha256, "size_bytes": reference.size_bytes}
        with self._writing() as connection:
            begun = sa.update(table).where(table.c.number == number, table.c.path.is_(None))
            connection.execute(begun.values(**where, body=""))

    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Return all stored checkpoints in order, without their bodies."""
        table = schema.checkpoints
        with self._reading() as connection:
            query = sa.select(table).where(table.c.path.is_not(None)).order_by(table.c.number)
            return tuple(_checkpoint(row) for row in connection.execute(query))

    def broken_heads(self, heads: Mapping[str, Head]) -> tuple[str, ...]:
        """Return one sentence per chain that does not run through its head at a checkpoint; linear time, one pass."""
        missing, problems = dict(heads), []
        for row in self.export_audit(detail=False):
            expected = missing.get(row["node"])
            if expected is None or row["sequence"] != expected[0]:
                continue
            del missing[row["node"]]
            if row["hash"] != expected[1]:
                problems.append(f"audit row {row['sequence']} of {row['node']} is another one than at the checkpoint.")
        problems.extend(
            f"the audit of {node} had {sequence} rows at the checkpoint and does not reach them: its end was cut off."
            for node, (sequence, _) in missing.items()
            if sequence
        )
        return tuple(sorted(problems))

    def export_audit(self, node: str | None = None, *, detail: bool = True) -> Iterator[Mapping[str, Any]]:
        """Yield audit rows by serial and sequence, of one node or of all, `detail` as an object; streams."""
        table = schema.audit
        columns = [column for column in table.c if detail or column.name != "detail"]
        query = sa.select(*columns).order_by(table.c.node, table.c.sequence)
        with self._reading() as connection:
            if node is not None:
                query = query.where(table.c.node == self._serial(connection, node))
            rows = connection.execution_options(yield_per=_BATCH).execute(query)
            for row in rows.mappings():
                yield {**row, "detail": json.loads(row["detail"])} if detail else dict(row)


def _checkpoint(row: Row) -> Checkpoint:
    reference = None if row.path is None else EvidenceReference(row.path, row.sha256, row.size_bytes)
    return Checkpoint(row.number, row.at, json.loads(row.body) if row.body else {}, reference)
