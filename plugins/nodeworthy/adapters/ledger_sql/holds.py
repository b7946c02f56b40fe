"""Holds: what keeps automation off a node. A hold moves nothing; leases, effects and guards ask for it."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.approvals import Approvals
from nodeworthy.adapters.ledger_sql.store import Row
from nodeworthy.errors import Refused
from nodeworthy.lifecycle.records import Hold

SCOPES: Final = ("automation", "admission", "both")

_holds = schema.holds.c

_IN_FORCE = (
    sa.select(schema.holds)
    .where(
        _holds.node == sa.bindparam("serial"),
        _holds.released_at.is_(None),
        sa.or_(_holds.until.is_(None), _holds.until > sa.bindparam("now")),
    )
    .order_by(_holds.id)
)


class Holds(Approvals):
    """The part of the ledger that keeps who holds what."""

    def hold(self, hold: Hold) -> None:
        """Put a hold on a node. Refused for an unknown scope, without a reason, and for an end in the past."""
        if hold.scope not in SCOPES:
            raise Refused(f"A hold has no scope {hold.scope}: use one of {', '.join(SCOPES)}.")
        if not hold.why.strip():
            raise Refused(f"A hold of {hold.node} needs a reason: whoever finds it must know why.")
        if hold.until is not None and hold.until <= self._clock.now():
            raise Refused(f"{hold.until:%Y-%m-%d %H:%M} {hold.until:%Z} has passed: a hold ends in the future.")
        with self._writing() as connection:
            row = self._locked(connection, hold.node)
            words = {"who": hold.who, "why": hold.why, "until": hold.until, "scope": hold.scope}
            connection.execute(sa.insert(schema.holds).values(node=row.serial, placed_at=self._clock.now(), **words))
            self._audit(connection, row.serial, "hold", words)

    def release_hold(self, node: str, *, who: str) -> None:
        """End all holds of a node; moves nothing. Idempotent."""
        with self._writing() as connection:
            row = self._locked(connection, node)
            table = schema.holds
            ended = connection.execute(
                sa.update(table)
                .where(table.c.node == row.serial, table.c.released_at.is_(None))
                .values(released_at=self._clock.now(), released_by=who)
            )
            if ended.rowcount:
                self._audit(connection, row.serial, "hold released", {"who": who, "holds": ended.rowcount})

    def holds(self, node: str) -> tuple[Hold, ...]:
        """Return the holds in force, oldest first."""
        with self._reading() as connection:
            return self._holds(connection, self._serial(connection, node), node)

    def _holds(self, connection: sa.Connection, serial: str, name: str) -> tuple[Hold, ...]:
        rows = connection.execute(_IN_FORCE, {"serial": serial, "now": self._clock.now()})
        return tuple(Hold(name, row.who, row.why, row.until, row.scope) for row in rows)

    def _refuse_held(self, connection: sa.Connection, node: Row, scope: str) -> None:
        for hold in self._holds(connection, node.serial, node.name):
            if hold.scope in (scope, "both"):
                end = f"until {hold.until:%Y-%m-%d %H:%M} UTC" if hold.until else "until it is released"
                raise Refused(f"{node.name} is held by {hold.who} {end}: {hold.why}.")
