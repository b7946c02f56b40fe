"""Holds and approvals: what people said about a node. A hold moves nothing; leases, effects and guards ask for it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.store import Row, Store
from nodeworthy.errors import Refused
from nodeworthy.lifecycle.records import Answer, Hold, Lease

SCOPES: Final = ("automation", "admission", "both")
ANSWERS: Final = ("approve", "refuse")

_holds, _approvals = schema.holds.c, schema.approvals.c

_IN_FORCE = (
    sa.select(schema.holds)
    .where(
        _holds.node == sa.bindparam("serial"),
        _holds.released_at.is_(None),
        sa.or_(_holds.until.is_(None), _holds.until > sa.bindparam("now")),
    )
    .order_by(_holds.id)
)
_ANSWERS = (
    sa.select(schema.approvals)
    .where(
        _approvals.node == sa.bindparam("serial"),
        _approvals.episode == sa.bindparam("episode"),
        _approvals.voided_at.is_(None),
    )
    .order_by(_approvals.id)
)


class Holds(Store):
    """The part of the ledger that keeps people's words."""

    def hold(self, hold: Hold) -> None:
        """Put a hold on a node. Refused for a scope that does not exist."""
        if hold.scope not in SCOPES:
            raise Refused(f"A hold has no scope {hold.scope}: use one of {', '.join(SCOPES)}.")
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

    def record_approval(self, lease: Lease, *, plan_sha256: str, who: str, answer: str, why: str) -> None:
        """Store who answered a plan's approval request (`approve` or `refuse`)."""
        if answer not in ANSWERS:
            raise Refused(f"An approval request has no answer {answer}: use one of {', '.join(ANSWERS)}.")
        with self._writing() as connection:
            row = self._fenced(connection, lease)
            words = asdict(Answer(plan_sha256, who, answer, why))
            place = {"node": row.serial, "episode": lease.episode, "at": self._clock.now()}
            connection.execute(sa.insert(schema.approvals).values(**place, **words))
            self._audit(connection, row.serial, "approval", {"episode": lease.episode, **words})

    def approval(self, node: str, episode: int, plan_sha256: str) -> tuple[str, str, str] | None:
        """Return (who, answer, why), the last for exactly this plan; None when nobody answered or it was voided."""
        with self._reading() as connection:
            serial = self._serial(connection, node)
            answers = [a for a in self._answers(connection, serial, episode) if a.plan_sha256 == plan_sha256]
        return (answers[-1].who, answers[-1].answer, answers[-1].why) if answers else None

    def _holds(self, connection: sa.Connection, serial: str, name: str) -> tuple[Hold, ...]:
        rows = connection.execute(_IN_FORCE, {"serial": serial, "now": self._clock.now()})
        return tuple(Hold(name, row.who, row.why, row.until, row.scope) for row in rows)

    def _refuse_held(self, connection: sa.Connection, node: Row, scope: str) -> None:
        for hold in self._holds(connection, node.serial, node.name):
            if hold.scope in (scope, "both"):
                end = f"until {hold.until:%Y-%m-%d %H:%M} UTC" if hold.until else "until it is released"
                raise Refused(f"{node.name} is held by {hold.who} {end}: {hold.why}.")

    def _answers(self, connection: sa.Connection, serial: str, episode: int) -> tuple[Answer, ...]:
        rows = connection.execute(_ANSWERS, {"serial": serial, "episode": episode})
        return tuple(Answer(row.plan_sha256, row.who, row.answer, row.why) for row in rows)

    def _void_approvals(self, connection: sa.Connection, episode: int) -> None:
        table = schema.approvals
        open_ones = sa.update(table).where(table.c.episode == episode, table.c.voided_at.is_(None))
        connection.execute(open_ones.values(voided_at=self._clock.now()))
