"""The audit, read back: the life of a node as rows, and the check that none was changed, removed or cut off."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.chain import breaks
from nodeworthy.adapters.ledger_sql.store import Row, Store


class Audit(Store):
    """The part of the ledger that can be checked."""

    def history(self, node: str) -> tuple[Mapping[str, Any], ...]:
        """Return a node's audit rows in order, with `detail` as a mapping."""
        with self._reading() as connection:
            rows = _rows(connection, self._serial(connection, node))
            return tuple({**row, "detail": json.loads(row["detail"])} for row in rows)

    def verify_audit(self, node: str | None = None) -> tuple[str, ...]:
        """Return one sentence per broken place of one node's chain, or of all; empty when they hold. Linear time."""
        table = schema.nodes
        query = sa.select(table).order_by(table.c.name)
        if node is not None:
            query = query.where(table.c.name == node)
        with self._reading() as connection:
            checked = [problem for row in connection.execute(query).all() for problem in _check(connection, row)]
            if node is None:
                checked.extend(_orphans(connection))
        return tuple(checked)

    def audit_heads(self) -> Mapping[str, tuple[int, str]]:
        """Return sequence and hash of every chain's head by serial: what a signed checkpoint holds."""
        table = schema.nodes
        query = sa.select(table.c.serial, table.c.audit_sequence, table.c.audit_head).order_by(table.c.serial)
        with self._reading() as connection:
            return {row.serial: (row.audit_sequence, row.audit_head) for row in connection.execute(query)}


def _rows(connection: sa.Connection, serial: str) -> list[dict[str, Any]]:
    table = schema.audit
    query = sa.select(table).where(table.c.node == serial).order_by(table.c.sequence)
    return [dict(row) for row in connection.execute(query).mappings()]


def _check(connection: sa.Connection, node: Row) -> Iterator[str]:
    rows = _rows(connection, node.serial)
    yield from breaks(rows)
    head = (rows[-1]["sequence"], rows[-1]["hash"]) if rows else (0, "")
    if head != (node.audit_sequence, node.audit_head):
        yield f"the audit of {node.name} ends at row {head[0]} of {node.audit_sequence}: its end was cut off."
    moves = [json.loads(row["detail"]) for row in rows if row["action"] in ("moved", "declared")]
    told = moves[-1].get("to") or moves[-1].get("milestone") if moves else None
    if told != node.milestone:
        yield f"{node.name} is {node.milestone} and its audit tells {told}: it was moved past the ledger."


def _orphans(connection: sa.Connection) -> Iterator[str]:
    known = sa.select(schema.nodes.c.serial)
    query = sa.select(schema.audit.c.node).distinct().where(schema.audit.c.node.not_in(known))
    for serial in connection.scalars(query):
        yield f"the node with the serial {serial} has an audit and no row: it was removed past the ledger."
