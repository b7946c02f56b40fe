"""Episodes and leases: who works on a node now, and the token that proves it.

At most one episode is open per node and its number only grows, so it fences effects. A lease ends by being given back,
or by expiring and being taken over, which is written down; it is never ended behind the back of a live holder.
While a person is asked nothing beats: the lease runs out and the request is what keeps the node, until its own time.
"""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.holds import Holds
from nodeworthy.adapters.ledger_sql.store import Row
from nodeworthy.errors import Refused
from nodeworthy.lifecycle.approvals import End
from nodeworthy.lifecycle.records import EpisodeKind, Lease

_HELD = (
    sa.select(schema.leases.c.id, schema.leases.c.heartbeat, schema.leases.c.lifetime_seconds)
    .where(
        schema.leases.c.run == sa.bindparam("run"),
        schema.leases.c.ended_at.is_(None),
        schema.leases.c.expires > sa.bindparam("now"),
    )
    .order_by(schema.leases.c.id)
)
_RENEW = (
    sa.update(schema.leases)
    .where(schema.leases.c.id == sa.bindparam("of"), schema.leases.c.ended_at.is_(None))
    .values(heartbeat=sa.bindparam("now"), expires=sa.bindparam("until"))
)


class Episodes(Holds):
    """The part of the ledger that says who works on what."""

    def open_episode(self, node: str, *, kind: str, run: str, lifetime: timedelta) -> Lease:
        """Open the node's episode or take the free or expired lease of the open one; the same run has its own renewed.

        Raises Refused when another run holds it, when a hold forbids automation, or when the node is at its end.
        """
        wanted = _kind(kind)
        with self._writing() as connection:
            row = self._locked(connection, node)
            if self._lifecycle.milestone(row.milestone).final:
                raise Refused(f"{node} is {row.milestone}: no work is done on it any more.")
            self._refuse_held(connection, row, "automation")
            episode = self._join(connection, row, wanted)
            live = self._live_lease(connection, episode)
            if live is not None and live.run == run:
                return self._renew(connection, node, live, lifetime)
            if live is not None:
                self._take_over(connection, row, live, run)
            return self._grant(connection, row, episode, run, lifetime)

    def lease(self, node: str, run: str) -> Lease:
        """Return the lease that `run` holds, renewed by its lifetime. Refused when it holds none any more."""
        with self._writing() as connection:
            row = self._locked(connection, node)
            episode = self._open_episode(connection, row.serial)
            live = None if episode is None else self._live_lease(connection, episode.id)
            if live is None or live.run != run:
                holder = "nobody does" if live is None else f"{live.run} does"
                raise Refused(f"{run} does not hold {node}, {holder}: start from the first task of a run.")
            return self._renew(connection, node, live, timedelta(seconds=live.lifetime_seconds))

    def beat(self, run: str) -> int:
        """Renew every live lease of a run by its life; return how many. One that expired stays expired.

        A run lives as a whole: a node whose task waits for the others' keeps its lease because theirs beat. Leases that
        were renewed a short while ago are left alone, so that many waiting tasks cost no more than one.
        """
        now = self._clock.now()
        # Most beats find nothing to do, and must not stand in the line of SQLite's writers for it.
        with self._reading() as connection:
            if not _to_renew(connection, _HELD, run, now):
                return 0
        # A lease that somebody has locked is being renewed or ended there.
        with self._writing() as connection:
            due = _to_renew(connection, _HELD.with_for_update(skip_locked=True), run, now)
            if due:
                connection.execute(_RENEW, due)
            return len(due)

    def run_nodes(self, run: str) -> tuple[str, ...]:
        """Return the names of all nodes whose lease `run` ever held, ordered; the run's id without its DAG will do."""
        leases, nodes = schema.leases, schema.nodes
        same = sa.or_(leases.c.run == run, leases.c.run.endswith(f"/{run}", autoescape=True))
        with self._reading() as connection:
            query = sa.select(nodes.c.name).distinct().select_from(leases.join(nodes)).where(same)
            return tuple(sorted(connection.scalars(query)))

    def release(self, lease: Lease, *, close: bool = False, reason: str = "") -> None:
        """Give the lease back; `close` ends the episode. A lease that has ended already changes nothing."""
        with self._writing() as connection:
            row = self._locked(connection, lease.node)
            episode = self._open_episode(connection, row.serial)
            live = None if episode is None else self._live_lease(connection, episode.id)
            if live is None or live.token != lease.token:
                return
            self._give_back(connection, row, live, (reason, close))

    def refuse(self, lease: Lease, reason: str) -> None:
        """Keep why the last step refused, for display, until the node makes progress."""
        with self._writing() as connection:
            row = self._fenced(connection, lease)
            self._update_node(connection, row, {"reason": reason})
            self._audit(
                connection, row.serial, "refused", {"episode": lease.episode, "run": lease.run, "reason": reason}
            )

    def _join(self, connection: sa.Connection, node: Row, wanted: EpisodeKind) -> int:
        """Return the open episode, raised to the wanted class where that is higher, or a new one."""
        table, kind = schema.episodes, wanted.name.lower()
        episode = self._open_episode(connection, node.serial)
        if episode is None:
            row = {"node": node.serial, "kind": kind, "opened_at": self._clock.now()}
            number: int = connection.execute(sa.insert(table).values(**row).returning(table.c.id)).scalar_one()
            self._audit(connection, node.serial, "episode opened", {"episode": number, "kind": kind})
            return number
        if _kind(episode.kind) < wanted:
            connection.execute(sa.update(table).where(table.c.id == episode.id).values(kind=kind))
            self._void_approvals(connection, node, episode.id)
            told = {"episode": episode.id, "from": episode.kind, "to": kind, "approvals": "void"}
            self._audit(connection, node.serial, "episode raised", told)
        found: int = episode.id
        return found

    def _take_over(self, connection: sa.Connection, node: Row, live: Row, run: str) -> None:
        if live.expires > self._clock.now():
            raise Refused(
                f"{node.name} is held by {live.run} until {live.expires:%Y-%m-%d %H:%M:%S} UTC: "
                "wait for that run or stop it, then try again."
            )
        self._end(connection, node, live, f"expired, taken over by {run}")
        told = {"episode": live.episode, "from": live.run, "to": run, "expired": live.expires}
        self._audit(connection, node.serial, "lease taken over", told)

    def _grant(self, connection: sa.Connection, node: Row, episode: int, run: str, lifetime: timedelta) -> Lease:
        now, token = self._clock.now(), secrets.token_hex(32)
        row = {"node": node.serial, "episode": episode, "token": token, "run": run, "since": now, "heartbeat": now}
        life = {"lifetime_seconds": lifetime.total_seconds(), "expires": now + lifetime}
        connection.execute(sa.insert(schema.leases).values(**row, **life))
        self._audit(connection, node.serial, "lease taken", {"episode": episode, "run": run, "expires": now + lifetime})
        return Lease(node.name, episode, token, run, now + lifetime)

    def _renew(self, connection: sa.Connection, name: str, live: Row, lifetime: timedelta) -> Lease:
        """Move a lease's end; a heartbeat tells nothing about the node, so it has no audit row."""
        table, now = schema.leases, self._clock.now()
        life = {"heartbeat": now, "expires": now + lifetime, "lifetime_seconds": lifetime.total_seconds()}
        connection.execute(sa.update(table).where(table.c.id == live.id).values(**life))
        return Lease(name, live.episode, live.token, live.run, now + lifetime)

    def _give_back(self, connection: sa.Connection, node: Row, live: Row, how: tuple[str, bool]) -> None:
        """End a lease with a reason for the operator, and its episode where it closes."""
        reason, close = how
        self._end(connection, node, live, reason or "given back")
        if close:
            table = schema.episodes
            ended = sa.update(table).where(table.c.id == live.episode).values(closed_at=self._clock.now())
            connection.execute(ended)
        if reason or close:
            self._update_node(connection, node, {"reason": reason})
        told = {"episode": live.episode, "run": live.run, "closed": close, "reason": reason}
        self._audit(connection, node.serial, "lease given back", told)

    def _end(self, connection: sa.Connection, node: Row, live: Row, why: str) -> None:
        """End a lease; what its run asked and nobody answered is asked no more, since nobody would hear the answer."""
        self._end_open_request(connection, node, live.episode, End.WITHDRAWN)
        table = schema.leases
        ended = {"ended_at": self._clock.now(), "ended_why": why}
        connection.execute(sa.update(table).where(table.c.id == live.id).values(**ended))


def _to_renew(connection: sa.Connection, held: sa.Select[Any], run: str, now: datetime) -> list[dict[str, Any]]:
    """Return the leases of a run whose last heartbeat is older than an eighth of their life, with their new end."""
    rows = connection.execute(held, {"run": run, "now": now}).all()
    lives = {row.id: timedelta(seconds=row.lifetime_seconds) for row in rows}
    return [
        {"of": row.id, "now": now, "until": now + lives[row.id]}
        for row in rows
        if now - row.heartbeat >= lives[row.id] / 8
    ]


def _kind(word: str) -> EpisodeKind:
    try:
        return EpisodeKind[word.upper()]
    except KeyError as error:
        known = ", ".join(kind.name.lower() for kind in EpisodeKind)
        raise Refused(f"There is no episode of the class {word}: use one of {known}.") from error
