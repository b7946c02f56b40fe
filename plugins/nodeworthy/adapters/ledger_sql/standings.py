"""The fleet as reconciliation and deadlines need it, in a handful of queries whatever its size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.schema_approvals import requests
from nodeworthy.adapters.ledger_sql.schema_upkeep import identities, outbox
from nodeworthy.adapters.ledger_sql.store import Store
from nodeworthy.lifecycle.upkeep import Identity, Limit, Overdue, Standing

BOOTING_KINDS = ("reset", "node-delete")
"""Effects after which another boot id, or no Node object, is what was ordered."""


_KNOWN = tuple(identities.c[name] for name in ("node", "boot_id", "machine_id", "uid", "system_uuid"))


class Standings(Store):
    """The part of the ledger that sees the whole fleet at once."""

    def standings(self) -> tuple[Standing, ...]:
        """Return every node that has left its first milestone, by name."""
        with self._reading() as connection:
            newest = _newest(connection)
            known = {node: Identity(*rest) for node, *rest in connection.execute(sa.select(*_KNOWN))}
            held, open_ = self._held(connection), _open_episodes(connection)
            boots = _boots(connection)
            table = schema.nodes
            query = sa.select(table.c.serial, table.c.name, table.c.milestone, table.c.since).order_by(table.c.name)
            return tuple(
                Standing(
                    name=row.name,
                    serial=row.serial,
                    milestone=row.milestone,
                    since=row.since,
                    episode=newest[row.serial].episode,
                    revision=newest[row.serial].id,
                    pending=bool(newest[row.serial].pending),
                    held=row.serial in held,
                    booting=any(status in ("intended", "unknown") for status, _ in boots[open_.get(row.serial)]),
                    identity=known.get(row.serial),
                    ordered_boots=frozenset(boot for _, boot in boots[open_.get(row.serial)] if boot),
                )
                for row in connection.execute(query)
                if row.serial in newest
            )

    def pools(self) -> tuple[str, ...]:
        """Return the names of all pools that have a node, ordered."""
        with self._reading() as connection:
            return tuple(sorted(connection.scalars(sa.select(schema.nodes.c.pool).distinct())))

    def overdue(self, limits: Sequence[Limit]) -> tuple[Overdue, ...]:
        """Return the nodes beyond these limits, by name."""
        if not limits:
            return ()
        table = schema.nodes
        with self._reading() as connection:
            held, asked = self._held(connection), self._asked(connection)
            named = (table.c.name, table.c.serial, table.c.sku, table.c.pool)
            query = sa.select(*named, table.c.milestone, table.c.since)
            rows = connection.execute(query.where(sa.or_(*(_beyond(one) for one in limits))).order_by(table.c.name))
            return tuple(Overdue(*row, held.get(row.serial, ""), asked.get(row.serial)) for row in rows)

    def _held(self, connection: sa.Connection) -> Mapping[str, str]:
        """Return the runs with a live lease by the serial of their node."""
        table = schema.leases
        live = (table.c.ended_at.is_(None), table.c.expires > self._clock.now())
        return {row.node: row.run for row in connection.execute(sa.select(table.c.node, table.c.run).where(*live))}

    def _asked(self, connection: sa.Connection) -> Mapping[str, datetime]:
        """Return until when a person is asked about a node, by its serial."""
        waits = (requests.c.ended_at.is_(None), requests.c.expires_at > self._clock.now())
        query = sa.select(requests.c.node, requests.c.expires_at).where(*waits)
        return {row.node: row.expires_at for row in connection.execute(query)}


def _beyond(limit: Limit) -> sa.ColumnElement[bool]:
    table = schema.nodes
    terms = [table.c.milestone == limit.milestone, table.c.since <= limit.before]
    if limit.sku:
        terms.append(table.c.sku == limit.sku)
    elif limit.other_than:
        terms.append(table.c.sku.not_in(sorted(limit.other_than)))
    if limit.pool:
        terms.append(table.c.pool == limit.pool)
    elif limit.other_pools:
        terms.append(table.c.pool.not_in(sorted(limit.other_pools)))
    return sa.and_(*terms)


def _newest(connection: sa.Connection) -> Mapping[str, Any]:
    last = sa.select(sa.func.max(outbox.c.id)).group_by(outbox.c.node)
    pending = outbox.c.delivered_at.is_(None).label("pending")
    query = sa.select(outbox.c.id, outbox.c.node, outbox.c.episode, pending).where(outbox.c.id.in_(last))
    return {row.node: row for row in connection.execute(query)}


def _open_episodes(connection: sa.Connection) -> Mapping[str, int]:
    table = schema.episodes
    query = sa.select(table.c.node, table.c.id).where(table.c.closed_at.is_(None))
    return {row.node: row.id for row in connection.execute(query)}


def _boots(connection: sa.Connection) -> Mapping[int | None, list[tuple[str, str]]]:
    """Return status and proven boot id of every effect of an open episode that boots a node, by episode.

    A Node object that was taken away counts as open until a reset of its episode is proven.
    """
    effects, episodes = schema.effects, schema.episodes
    found: dict[int | None, list[tuple[str, str]]] = defaultdict(list)
    query = (
        sa.select(effects.c.episode, effects.c.kind, effects.c.status, effects.c.proof)
        .select_from(effects.join(episodes))
        .where(episodes.c.closed_at.is_(None), effects.c.kind.in_(BOOTING_KINDS))
        .order_by(effects.c.number)
    )
    for row in connection.execute(query):
        taken = row.kind == "node-delete" and row.status == "proven"
        if row.kind == "reset" and row.status in ("proven", "failed"):
            found[row.episode] = [one for one in found[row.episode] if one[0] != "intended"]
        found[row.episode].append(("intended" if taken else row.status, str(row.proof.get("boot_id", ""))))
    return found
