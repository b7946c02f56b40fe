"""The effect journal: what was meant is written before it is done, what came of it afterwards, and by which proof.

An effect is named by (episode, kind, key); its id is drawn at random once, travels outside as a header or annotation,
and stays the same for every later call of `intend`. Nonces live here too: one per (episode, purpose), minted once.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.budgets import Absences
from nodeworthy.adapters.ledger_sql.store import Row
from nodeworthy.errors import Refused
from nodeworthy.lifecycle.guards import Refusal
from nodeworthy.lifecycle.policy import Action
from nodeworthy.lifecycle.records import Effect, Lease

INTENDED: Final = "intended"
OUTCOMES: Final = ("proven", "failed", "unknown")

_OPEN: Final = (INTENDED, "unknown")
"""States that a later look at the world may still settle."""


class Effects(Absences):
    """The part of the ledger that stands between deciding and doing."""

    def intend(
        self, lease: Lease, kind: str, key: str, detail: Mapping[str, Any], absence: tuple[Action, str] | None = None
    ) -> Effect:
        """Write an effect down before it is done. A second call returns the first's record, with `fresh` false.

        `absence` (action, why) takes a serving node out voluntarily in the same transaction; refused, neither is
        written. Raises Refused for a stale lease, and for a new effect while a hold forbids automation.
        """
        table = schema.effects
        with self._writing() as connection:
            node = self._fenced(connection, lease)
            named = (table.c.episode == lease.episode, table.c.kind == kind, table.c.key == key)
            present = connection.execute(sa.select(table).where(*named)).first()
            if present is not None:
                return effect_of(present, lease.node)
            self._refuse_held(connection, node, "automation")
            taken = None if absence is None else self._take(connection, node, lease, absence)
            if not isinstance(taken, Refusal):
                return self._write_intent(connection, node, lease, (kind, key, detail))
        raise Refused(f"{lease.node}: {taken.reason}")

    def settle(self, lease: Lease, effect: Effect, status: str, proof: Mapping[str, Any]) -> Effect:
        """Write an effect's outcome and proof. The same outcome again is success; another is Refused."""
        if status not in OUTCOMES:
            raise Refused(f"An effect cannot end as {status}: use one of {', '.join(OUTCOMES)}.")
        table = schema.effects
        with self._writing() as connection:
            node = self._fenced(connection, lease)
            present = connection.execute(sa.select(table).where(table.c.id == effect.id)).first()
            if present is None or present.episode != lease.episode:
                raise Refused(f"{lease.node}: episode {lease.episode} has no effect {effect.id}: intend it first.")
            if present.status == status:
                return effect_of(present, lease.node)
            if present.status not in _OPEN:
                named = f"{lease.node}: {present.kind} {present.key}"
                raise Refused(f"{named} is {present.status} already and cannot become {status}.")
            values = {"status": status, "proof": dict(proof), "settled_at": self._clock.now()}
            changed = sa.update(table).where(table.c.id == effect.id).values(**values).returning(table)
            written = connection.execute(changed).one()
            told = {"id": effect.id, "kind": present.kind, "key": present.key, "status": status, "proof": dict(proof)}
            self._audit(connection, node.serial, "effect settled", told)
            return effect_of(written, lease.node)

    def effects(self, node: str, *, episode: int | None = None) -> tuple[Effect, ...]:
        """Return the effects of a node in the order in which they were intended."""
        table = schema.effects
        query = sa.select(table).join(schema.nodes).where(schema.nodes.c.name == node)
        query = query if episode is None else query.where(table.c.episode == episode)
        with self._reading() as connection:
            found = tuple(effect_of(row, node) for row in connection.execute(query.order_by(table.c.number)))
            if not found:
                self._serial(connection, node)  # refuses an unknown name
            return found

    def nonce(self, lease: Lease, purpose: str) -> str:
        """Return the 256-bit hex nonce of (episode, purpose), minted once."""
        table = schema.nonces
        with self._writing() as connection:
            node = self._fenced(connection, lease)
            named = (table.c.episode == lease.episode, table.c.purpose == purpose)
            present = connection.scalar(sa.select(table.c.nonce).where(*named))
            return str(present) if present is not None else self._mint(connection, node, lease, purpose)

    def renew_nonce(self, lease: Lease, purpose: str) -> str:
        """Mint a new nonce for (episode, purpose): the old one is void."""
        table = schema.nonces
        with self._writing() as connection:
            node = self._fenced(connection, lease)
            connection.execute(sa.delete(table).where(table.c.episode == lease.episode, table.c.purpose == purpose))
            return self._mint(connection, node, lease, purpose)

    def _write_intent(
        self, connection: sa.Connection, node: Row, lease: Lease, asked: tuple[str, str, Mapping[str, Any]]
    ) -> Effect:
        table, (kind, key, detail) = schema.effects, asked
        place = {"node": node.serial, "episode": lease.episode}
        row = {"id": f"fx-{secrets.token_hex(16)}", **place, "kind": kind, "key": key}
        told = {"status": INTENDED, "detail": dict(detail), "proof": {}, "intended_at": self._clock.now()}
        written = connection.execute(sa.insert(table).values(**row, **told).returning(table)).one()
        self._audit(connection, node.serial, "effect intended", {**row, "detail": dict(detail), "run": lease.run})
        return effect_of(written, lease.node, fresh=True)

    def _mint(self, connection: sa.Connection, node: Row, lease: Lease, purpose: str) -> str:
        nonce = secrets.token_hex(32)
        row = {"episode": lease.episode, "purpose": purpose, "nonce": nonce, "minted_at": self._clock.now()}
        connection.execute(sa.insert(schema.nonces).values(**row))
        told = {"episode": lease.episode, "purpose": purpose, "nonce": nonce}
        self._audit(connection, node.serial, "nonce minted", told)
        return nonce


def effect_of(row: Row, node: str, *, fresh: bool = False) -> Effect:
    """Return the value of an effect's row."""
    return Effect(
        id=row.id,
        node=node,
        episode=row.episode,
        kind=row.kind,
        key=row.key,
        status=row.status,
        intended_at=row.intended_at,
        detail=row.detail,
        proof=row.proof,
        fresh=fresh,
    )
