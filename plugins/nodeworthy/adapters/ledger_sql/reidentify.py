"""Reidentify: another chassis stands where a node stood, under its name. Two serials, linked in both audits.

A serial is a node's identity, so nothing that was proven about the old chassis says anything about the new one: the old
one retires, with all that the table voids by that, and the new one is declared. The old one keeps its history under its
name with the serial behind it; the name itself goes to the new one, so that the manifest can be imported.

One person asks, which is a notice until it is answered or its time is over; nothing happens before another one answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.chain import GENESIS
from nodeworthy.adapters.ledger_sql.episodes import Episodes
from nodeworthy.adapters.ledger_sql.moves import Moves
from nodeworthy.adapters.ledger_sql.notices import Notices
from nodeworthy.adapters.ledger_sql.schema_upkeep import identities, notices
from nodeworthy.adapters.ledger_sql.store import Row
from nodeworthy.errors import Refused
from nodeworthy.evidence.canonical import canonical_json, sha256_hex
from nodeworthy.lifecycle import machine
from nodeworthy.lifecycle.approvals import APPROVE, End
from nodeworthy.lifecycle.machine import Refusal
from nodeworthy.lifecycle.records import Answer, EpisodeKind, Lease
from nodeworthy.lifecycle.roles import person_of
from nodeworthy.lifecycle.upkeep import Notice, Swap, SwapAnswer

EVENT = "retire"
COMMAND = "reidentify"
_KEPT = ("sku", "pool", "rack", "position", "batch", "tenant", "fabric_domain", "bmc", "cabling")


class Reidentified(Episodes, Moves, Notices):
    """The part of the ledger that follows a chassis swap."""

    def ask_swap(self, swap: Swap, until: datetime) -> str:
        """Write down that somebody asks for a swap, until a time (aware); return one sentence.

        Raises Refused when the old serial is unknown, still serves or is worked on, when the ledger knows the new one
        already, and while another swap of the same chassis is asked for.
        """
        self.end_swaps()
        with self._writing() as connection:
            node = self._by_serial(connection, swap.old)
            self._refuse_swap(connection, node, swap)
        sentence = (
            f"{node.name}: {swap.who} says that chassis {swap.new} stands where {swap.old} stood ({swap.why}). Another "
            f"person answers until {until:%Y-%m-%d %H:%M} UTC: nodeworthy reidentify {swap.old} --approve --why ... "
            "(or --refuse)."
        )
        detail = {**asdict(swap), "until": until.astimezone(UTC).isoformat()}
        asked = self.raise_notices([Notice(COMMAND, swap.old, sentence, node.name, detail)])
        if not asked and self.asked_swaps().get(swap.old) != swap:
            raise Refused(f"{node.name}: another swap of {swap.old} waits for an answer: see `nodeworthy notices`.")
        return sentence

    def asked_swaps(self) -> Mapping[str, Swap]:
        """Return the swaps that wait for an answer, by the old serial."""
        return {one.key: _swap(one.detail) for one in self.notices() if one.kind == COMMAND}

    def end_swaps(self) -> int:
        """End the requests whose time is over; return how many."""
        now = self._clock.now()
        waiting = [one for one in self.notices() if one.kind == COMMAND]
        over = {one.key for one in waiting if datetime.fromisoformat(one.detail["until"]) <= now}
        if not over:
            return 0
        return self.clear_notices(COMMAND, {one.key for one in waiting} - over, "nobody answered in time")

    def answer_swap(self, answer: SwapAnswer) -> str:
        """Retire the old chassis and declare the new one under its name, in one transaction, or write a "no" down.

        Returns one sentence. Raises Refused when nobody asked or the time is over, when the same person asks and
        answers, and for all that asking refuses.
        """
        with self._writing() as connection:
            node = self._by_serial(connection, answer.old)
            swap = self._asked_swap(connection, answer)
            if person_of(swap.who) == person_of(answer.who):
                raise Refused(f"{answer.who} asked for this swap: have another person answer it.")
            word = "approved" if answer.approved else "refused"
            self._end_notice(connection, node, answer.old, f"{word} by {answer.who}: {answer.why}")
            if not answer.approved:
                return f"{node.name}: the swap of {answer.old} was refused by {answer.who}, so nothing was done."
            return self._follow_swap(connection, self._locked(connection, node.name), (swap, answer))

    def _asked_swap(self, connection: sa.Connection, answer: SwapAnswer) -> Swap:
        query = sa.select(notices.c.detail).where(
            notices.c.kind == COMMAND, notices.c.key == answer.old, notices.c.cleared_at.is_(None)
        )
        detail = connection.scalar(query)
        if detail is None or datetime.fromisoformat(detail["until"]) <= self._clock.now():
            raise Refused(
                f"Nobody asks for a swap of {answer.old} now: ask with `nodeworthy reidentify OLD NEW --why`."
            )
        return _swap(detail)

    def _end_notice(self, connection: sa.Connection, node: Row, key: str, why: str) -> None:
        ended = {"cleared_at": self._clock.now(), "cleared_why": why}
        mine = (notices.c.kind == COMMAND, notices.c.key == key, notices.c.cleared_at.is_(None))
        connection.execute(sa.update(notices).where(*mine).values(**ended))
        self._audit(connection, node.serial, "notice cleared", {"kind": COMMAND, "key": key, "why": why})

    def _follow_swap(self, connection: sa.Connection, node: Row, made: tuple[Swap, SwapAnswer]) -> str:
        swap, answer = made
        self._refuse_swap(connection, node, swap)
        self._retire(connection, node, made)
        name, new_name = node.name, f"{node.name}.was.{swap.old}"
        node = self._locked(connection, name)
        self._update_node(connection, node, {"name": new_name})
        connection.execute(sa.delete(identities).where(identities.c.node == swap.old))
        told = {**asdict(swap), "approved_by": answer.who, "approved_why": answer.why}
        self._audit(connection, swap.old, "reidentified", {**told, "name": new_name})
        values = {key: getattr(node, key) for key in _KEPT}
        state = {"milestone": self._lifecycle.initial, "since": self._clock.now(), "row_version": 1}
        head = {"audit_sequence": 0, "audit_head": GENESIS}
        connection.execute(sa.insert(schema.nodes).values(serial=swap.new, name=name, **values, **state, **head))
        self._audit(connection, swap.new, "declared", {**values, "name": name, "milestone": self._lifecycle.initial})
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

    def _retire(self, connection: sa.Connection, node: Row, made: tuple[Swap, SwapAnswer]) -> None:
        """Move the old chassis to its end by the table, in an episode that ends with it; two people answer for it."""
        swap, answer = made
        plan = sha256_hex(canonical_json(asdict(swap)))
        people = tuple(Answer(plan, one.who, APPROVE, one.why) for one in (swap, answer))
        episode = self._join(connection, node, EpisodeKind.DECOMMISSION)
        lease = Lease(node.name, episode, "", f"{COMMAND}/{swap.who}", self._clock.now())
        facts = {"reason": f"chassis {swap.new} stands in its place: {swap.why}", "plan_sha256": plan}
        node = self._locked(connection, node.name)
        known = replace(self._facts(connection, node, lease, (EVENT, facts)), answers=people)
        outcome = machine.advance(self._lifecycle, node.milestone, EVENT, known)
        if isinstance(outcome, Refusal):
            raise Refused(f"{node.name}: {outcome.reason}")
        self._write(connection, node, lease, outcome, (facts, None))
        self._end_open_request(connection, node, episode, End.REPLACED)
        table = schema.episodes
        connection.execute(sa.update(table).where(table.c.id == episode).values(closed_at=self._clock.now()))


def _swap(detail: Mapping[str, Any]) -> Swap:
    return Swap(detail["old"], detail["new"], detail["who"], detail["why"])
