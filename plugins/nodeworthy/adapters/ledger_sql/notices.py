"""Notices: what waits for a person, and what others did that was put right. Raised once, cleared with its cause."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.chain import link
from nodeworthy.adapters.ledger_sql.schema_upkeep import notices
from nodeworthy.adapters.ledger_sql.store import Row, Store
from nodeworthy.lifecycle.upkeep import Notice

NOTICES: Final = 11
"""The line of those who raise notices: two would raise the same one."""

_CHUNK: Final = 500
"""Values per IN list: below SQLite's smallest limit of host parameters (999)."""

Telling = tuple[str, str, Mapping[str, Any]]
"""Serial, action and detail of one audit row."""


class Notices(Store):
    """The part of the ledger that tells people."""

    def raise_notices(self, found: Sequence[Notice]) -> tuple[Notice, ...]:
        """Raise those that are not open yet, in one transaction with their audit rows; return the new ones."""
        if not found:
            return ()
        with self._writing() as connection:
            self._line(connection, NOTICES)
            known = {(row.kind, row.key) for row in connection.execute(_open(notices.c.kind, notices.c.key))}
            new = {(one.kind, one.key): one for one in found if (one.kind, one.key) not in known}
            if not new:
                return ()
            serials = _serials(connection, {one.node for one in new.values() if one.node})
            now = self._clock.now()
            connection.execute(sa.insert(notices), [self._row(one, serials.get(one.node)) for one in new.values()])
            told = [
                (serials[one.node], "notice raised", {"kind": one.kind, "key": one.key, "sentence": one.sentence})
                for one in new.values()
                if one.node in serials
            ]
            self._audit_many(connection, told)
        return tuple(Notice(n.kind, n.key, n.sentence, n.node, n.detail, now) for n in new.values())

    def clear_notices(self, kind: str, keep: Collection[str], why: str) -> int:
        """Clear the open notices of a kind whose key is not among `keep`; return how many."""
        with self._writing() as connection:
            query = _open(notices).where(notices.c.kind == kind)
            gone = [row for row in connection.execute(query) if row.key not in keep]
            if not gone:
                return 0
            ends = {"cleared_at": self._clock.now(), "cleared_why": why}
            for start in range(0, len(gone), _CHUNK):
                chosen = [row.id for row in gone[start : start + _CHUNK]]
                connection.execute(sa.update(notices).where(notices.c.id.in_(chosen)).values(**ends))
            told = [
                (row.node, "notice cleared", {"kind": kind, "key": row.key, "why": why}) for row in gone if row.node
            ]
            self._audit_many(connection, told)
            return len(gone)

    def notices(self, node: str = "") -> tuple[Notice, ...]:
        """Return the open notices, of one node or of all, newest first."""
        with self._reading() as connection:
            query = _open(notices, schema.nodes.c.name)
            query = query.select_from(notices.outerjoin(schema.nodes)).order_by(notices.c.id.desc())
            query = query.where(schema.nodes.c.name == node) if node else query
            return tuple(_notice(row) for row in connection.execute(query))

    def _row(self, one: Notice, serial: str | None) -> dict[str, Any]:
        words = {"kind": one.kind, "key": one.key, "sentence": one.sentence, "detail": dict(one.detail)}
        return {"node": serial, **words, "raised_at": self._clock.now(), "cleared_why": ""}

    def _audit_many(self, connection: sa.Connection, told: Sequence[Telling]) -> None:
        """Append to many chains at once: one read of the heads, one write of the rows, one of the heads."""
        heads = _heads(connection, sorted({serial for serial, _, _ in told}))
        rows, now = [], self._clock.now()
        for serial, action, detail in told:
            sequence, previous = heads[serial]
            row = link(serial, sequence + 1, now, action, detail, previous)
            heads[serial] = (row["sequence"], row["hash"])
            rows.append(row)
        if rows:
            table = schema.nodes
            connection.execute(sa.insert(schema.audit), rows)
            moved = sa.update(table).where(table.c.serial == sa.bindparam("node_serial"))
            changed = moved.values(audit_sequence=sa.bindparam("head_number"), audit_head=sa.bindparam("head_hash"))
            ends = [{"node_serial": s, "head_number": number, "head_hash": head} for s, (number, head) in heads.items()]
            connection.execute(changed, ends)


def _open(*columns: Any) -> sa.Select[Any]:
    return sa.select(*columns).where(notices.c.cleared_at.is_(None))


def _serials(connection: sa.Connection, names: Collection[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    ordered = sorted(names)
    for start in range(0, len(ordered), _CHUNK):
        table = schema.nodes
        query = sa.select(table.c.name, table.c.serial).where(table.c.name.in_(ordered[start : start + _CHUNK]))
        found.update({row.name: row.serial for row in connection.execute(query)})
    return found


def _heads(connection: sa.Connection, serials: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Lock the nodes, in one order for all writers, and return the heads of their chains."""
    table, found = schema.nodes, {}
    for start in range(0, len(serials), _CHUNK):
        chosen = table.c.serial.in_(serials[start : start + _CHUNK])
        query = sa.select(table.c.serial, table.c.audit_sequence, table.c.audit_head).where(chosen)
        for row in connection.execute(query.order_by(table.c.serial).with_for_update()):
            found[row.serial] = (row.audit_sequence, row.audit_head)
    return found


def _notice(row: Row) -> Notice:
    return Notice(row.kind, row.key, row.sentence, row.name or "", row.detail, row.raised_at)
