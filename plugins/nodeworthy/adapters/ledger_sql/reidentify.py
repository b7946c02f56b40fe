"""Reidentify: another chassis stands where a node stood, under its name. Two serials, linked in both audits.

A serial is a node's identity, so nothing that was proven about the old chassis says anything about the new one: the old
one retires, with all that the table voids by that, and the new one is declared. The old one keeps its history under its
name with the serial behind it; the name itself goes to the new one, so that the manifest can be imported.
"""

from __future__ import annotations

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.chain import GENESIS
from nodeworthy.adapters.ledger_sql.episodes import Episodes
from nodeworthy.adapters.ledger_sql.moves import Moves
from nodeworthy.adapters.ledger_sql.schema_upkeep import identities
from nodeworthy.adapters.ledger_sql.store import Row
from nodeworthy.errors import Refused
from nodeworthy.lifecycle import machine
from nodeworthy.lifecycle.machine import Refusal
from nodeworthy.lifecycle.records import EpisodeKind, Lease
from nodeworthy.lifecycle.upkeep import Swap

EVENT = "retire"
COMMAND = "reidentify"
_KEPT = ("sku", "pool", "rack", "position", "batch", "tenant", "fabric_domain", "bmc", "cabling")


class Reidentified(Episodes, Moves):
    """The part of the ledger that follows a chassis swap."""

    def reidentify(self, swap: Swap) -> str:
        """Retire the old chassis and declare the new one under its name, in one transaction; return one sentence.

        Raises Refused when the old serial is unknown, still serves or is worked on, when the ledger knows the new one
        already, and when the same person asks and approves.
        """
        if swap.who == swap.approved_by:
            raise Refused(f"{swap.who} cannot approve a reidentify of their own: have another person approve it.")
        with self._writing() as connection:
            node = self._by_serial(connection, swap.old)
            self._refuse_swap(connection, node, swap)
            self._retire(connection, node, swap)
            name, new_name = node.name, f"{node.name}.was.{swap.old}"
            node = self._locked(connection, name)
            self._update_node(connection, node, {"name": new_name})
            connection.execute(sa.delete(identities).where(identities.c.node == swap.old))
            told = {"old": swap.old, "new": swap.new, "who": swap.who, "approved_by": swap.approved_by, "why": swap.why}
            self._audit(connection, swap.old, "reidentified", {**told, "name": new_name})
            values = {key: getattr(node, key) for key in _KEPT}
            state = {"milestone": self._lifecycle.initial, "since": self._clock.now(), "row_version": 1}
            head = {"audit_sequence": 0, "audit_head": GENESIS}
            connection.execute(sa.insert(schema.nodes).values(serial=swap.new, name=name, **values, **state, **head))
            self._audit(
                connection, swap.new, "declared", {**values, "name": name, "milestone": self._lifecycle.initial}
            )
            self._audit(connection, swap.new, "reidentified", told)
        return (
            f"{name} is the chassis {swap.new} now and begins at {self._lifecycle.initial}; {swap.old} is retired as "
            f"{new_name}, and nothing that was proven about it counts any more."
        )

    def _by_serial(self, connection: sa.Connection, serial: str) -> Row:
        table = schema.nodes
        name = connection.scalar(sa.select(table.c.name).where(table.c.serial == serial))
        if name is None:
            raise Refused(f"The ledger knows no chassis with the serial {serial}: correct the old serial.")
        return self._locked(connection, name)

    def _refuse_swap(self, connection: sa.Connection, node: Row, swap: Swap) -> None:
        table = schema.nodes
        other = connection.scalar(sa.select(table.c.name).where(table.c.serial == swap.new))
        if other is not None:
            raise Refused(f"The ledger knows the serial {swap.new} already, as {other}: correct the new serial.")
        if self._lifecycle.milestone(node.milestone).final:
            raise Refused(f"{node.name} ({swap.old}) is {node.milestone}: declare the new chassis in the manifest.")
        if self._lifecycle.transition(node.milestone, EVENT) is None:
            raise Refused(
                f"{node.name} ({swap.old}) is {node.milestone}, which no node retires from: bring it out of service "
                "and isolate it first."
            )
        episode = self._open_episode(connection, node.serial)
        live = None if episode is None else self._live_lease(connection, episode.id)
        if live is not None and live.expires > self._clock.now():
            raise Refused(
                f"{node.name} is held by {live.run} until {live.expires:%Y-%m-%d %H:%M:%S} UTC: wait for that run or "
                "stop it."
            )

    def _retire(self, connection: sa.Connection, node: Row, swap: Swap) -> None:
        """Move the old chassis to its end by the table, in an episode that ends with it."""
        episode = self._join(connection, node, EpisodeKind.DECOMMISSION)
        lease = Lease(node.name, episode, "", f"{COMMAND}/{swap.who}", self._clock.now())
        facts = {"reason": f"chassis {swap.new} stands in its place: {swap.why}"}
        node = self._locked(connection, node.name)
        known = self._facts(connection, node, lease, (EVENT, facts))
        outcome = machine.advance(self._lifecycle, node.milestone, EVENT, known)
        if isinstance(outcome, Refusal):
            raise Refused(f"{node.name}: {outcome.reason}")
        self._write(connection, node, lease, outcome, (facts, None))
        table = schema.episodes
        connection.execute(sa.update(table).where(table.c.id == episode).values(closed_at=self._clock.now()))
