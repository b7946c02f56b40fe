"""What dead runs left behind: leases that expired, effects without an outcome.

Each is ended or settled in a transaction that looks again whether it is still dead, so that two runs of housekeeping,
or one and a run that came back to life, never both act.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.approvals import request_of
from nodeworthy.adapters.ledger_sql.effects import INTENDED, OUTCOMES, Effects, effect_of
from nodeworthy.adapters.ledger_sql.episodes import Episodes
from nodeworthy.adapters.ledger_sql.nodes import fleet_node
from nodeworthy.adapters.ledger_sql.schema_approvals import requests
from nodeworthy.adapters.ledger_sql.store import Row
from nodeworthy.errors import Refused
from nodeworthy.lifecycle.approvals import End
from nodeworthy.lifecycle.records import Effect
from nodeworthy.lifecycle.upkeep import DeadLease, Orphan

EXPIRED: Final = "expired"
"""Why a lease ended that nobody gave back."""


class Orphans(Episodes, Effects):
    """The part of the ledger that cleans up behind dead runs."""

    def end_dead_leases(self) -> tuple[DeadLease, ...]:
        """End every lease that expired and was not renewed; its episode stays open for whoever goes on.

        A lease whose run waits for a person's answer is not dead: it ends with the request.
        """
        leases, nodes = schema.leases, schema.nodes
        asked = sa.select(requests.c.episode).where(requests.c.ended_at.is_(None))
        query = (
            sa.select(leases.c.id, nodes.c.name)
            .select_from(leases.join(nodes))
            .where(leases.c.ended_at.is_(None), leases.c.expires <= self._clock.now(), leases.c.episode.not_in(asked))
            .order_by(leases.c.id)
        )
        with self._reading() as connection:
            found = connection.execute(query).all()
        ended = (self._end_dead(row.id, row.name) for row in found)
        return tuple(one for one in ended if one is not None)

    def expire_requests(self) -> tuple[str, ...]:
        """End every request whose time is over, and what waited for its answer; return a sentence for each."""
        nodes = schema.nodes
        query = (
            sa.select(requests.c.run, nodes.c.name)
            .select_from(requests.join(nodes))
            .where(requests.c.ended_at.is_(None), requests.c.expires_at <= self._clock.now())
            .order_by(requests.c.id)
        )
        with self._reading() as connection:
            found = connection.execute(query).all()
        return tuple(self.expire_request(row.name, row.run) for row in found)

    def expire_request(self, node: str, run: str) -> str:
        """End what `run` asked about a node and nobody answered in time; return the sentence that says so. Idempotent.

        The run's lease ends with that reason, and the episode where the request says so. Whoever comes second, the run
        or housekeeping, finds it done.
        """
        with self._writing() as connection:
            row = self._locked(connection, node)
            last = self._last_request(connection, row.serial, run)
            if last is None:
                raise Refused(f"{run} asked nobody about {node}: there is no request that could expire.")
            asked = request_of(last, node)
            if asked.end is End.OPEN:
                self._end_request(connection, row, last, End.EXPIRED)
            live = self._live_lease(connection, last.episode)
            if live is not None and live.run == run:
                self._give_back(connection, row, live, (asked.unanswered, asked.closes))
            return asked.unanswered

    def stranded(self) -> tuple[DeadLease, ...]:
        """Return the open episodes whose last lease expired and that nobody took up since, oldest first."""
        leases, episodes, nodes = schema.leases, schema.episodes, schema.nodes
        last = sa.select(sa.func.max(leases.c.id)).group_by(leases.c.episode)
        query = (
            sa.select(nodes.c.name, leases.c.episode, leases.c.run, leases.c.expires, nodes.c.milestone)
            .select_from(leases.join(episodes, leases.c.episode == episodes.c.id).join(nodes))
            .where(episodes.c.closed_at.is_(None), leases.c.id.in_(last), leases.c.ended_why == EXPIRED)
            .order_by(leases.c.id)
        )
        with self._reading() as connection:
            return tuple(DeadLease(*row) for row in connection.execute(query))

    def orphans(self) -> tuple[Orphan, ...]:
        """Return the effects without an outcome that no live lease answers for, oldest first."""
        effects, leases = schema.effects, schema.leases
        live = sa.select(leases.c.episode).where(leases.c.ended_at.is_(None), leases.c.expires > self._clock.now())
        query = (
            sa.select(effects)
            .where(effects.c.status == INTENDED, effects.c.episode.not_in(live))
            .order_by(effects.c.number)
        )
        with self._reading() as connection:
            rows = connection.execute(query).all()
            return _with_nodes(connection, rows)

    def undecided(self) -> tuple[Orphan, ...]:
        """Return effects of open episodes whose outcome is unknown and that no later attempt has left behind."""
        effects, episodes = schema.effects, schema.episodes
        query = (
            sa.select(effects)
            .select_from(effects.join(episodes))
            .where(episodes.c.closed_at.is_(None), effects.c.status == "unknown")
            .order_by(effects.c.number)
        )
        with self._reading() as connection:
            rows = [row for row in connection.execute(query) if not _left_behind(connection, row)]
            return _with_nodes(connection, rows)

    def settle_orphan(self, effect: Effect, status: str, proof: Mapping[str, Any], *, run: str) -> Effect:
        """Write the outcome of an effect whose lease is dead.

        Raises Refused when a live lease answers for it again, or when it has another outcome already.
        """
        if status not in OUTCOMES:
            raise Refused(f"An effect cannot end as {status}: use one of {', '.join(OUTCOMES)}.")
        table = schema.effects
        with self._writing() as connection:
            node = self._locked(connection, effect.node)
            live = self._live_lease(connection, effect.episode)
            named = f"{effect.node}: {effect.kind} {effect.key}"
            if live is not None and live.expires > self._clock.now():
                raise Refused(f"{named} is {live.run}'s to settle, which holds the node again.")
            present = connection.execute(sa.select(table).where(table.c.id == effect.id)).one()
            if present.status == status:
                return effect_of(present, effect.node)
            if present.status != INTENDED:
                raise Refused(f"{named} is {present.status} already and cannot become {status}.")
            values = {"status": status, "proof": dict(proof), "settled_at": self._clock.now()}
            written = sa.update(table).where(table.c.id == effect.id).values(**values).returning(table)
            row = connection.execute(written).one()
            told = {"id": effect.id, "kind": effect.kind, "key": effect.key, "status": status, "proof": dict(proof)}
            self._audit(connection, node.serial, "effect settled", {**told, "run": run, "by": "looking"})
            return effect_of(row, effect.node)

    def _end_dead(self, lease: int, node: str) -> DeadLease | None:
        """End one lease if it is still dead; another run may have renewed or ended it since it was read."""
        table = schema.leases
        with self._writing() as connection:
            row = self._locked(connection, node)
            live = connection.execute(sa.select(table).where(table.c.id == lease)).one()
            if live.ended_at is not None or live.expires > self._clock.now():
                return None
            if (waits := self._newest_request(connection, live.episode)) is not None and waits.ended_at is None:
                return None
            self._end(connection, row, live, EXPIRED)
            told = {"episode": live.episode, "run": live.run, "expired": live.expires}
            self._audit(connection, row.serial, "lease expired", told)
            return DeadLease(node, live.episode, live.run, live.expires, row.milestone)


def _with_nodes(connection: sa.Connection, rows: Sequence[Row]) -> tuple[Orphan, ...]:
    table, found = schema.nodes, dict[str, Row]()
    for serial in sorted({row.node for row in rows}):
        found[serial] = connection.execute(sa.select(table).where(table.c.serial == serial)).one()
    return tuple(
        Orphan(effect_of(row, found[row.node].name), fleet_node(found[row.node]), found[row.node].milestone)
        for row in rows
    )


def _left_behind(connection: sa.Connection, row: Any) -> bool:
    """Whether a later attempt of the same step exists: a person decided, and the work went on."""
    table = schema.effects
    step = row.key.rsplit("/", 1)[0]
    same = (table.c.episode == row.episode, table.c.kind == row.kind, table.c.number > row.number)
    later = connection.scalars(sa.select(table.c.key).where(*same))
    return any(key.rsplit("/", 1)[0] == step for key in later)
