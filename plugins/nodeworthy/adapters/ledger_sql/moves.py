"""The only place where a milestone is written: the machine decides on what the ledger knows, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.budgets import Absences
from nodeworthy.adapters.ledger_sql.judgements import Judgements
from nodeworthy.adapters.ledger_sql.outbox import Outbox
from nodeworthy.adapters.ledger_sql.store import Row
from nodeworthy.errors import Refused
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.lifecycle import machine
from nodeworthy.lifecycle.guards import OWN_WILL
from nodeworthy.lifecycle.machine import Facts, Moved, Refusal
from nodeworthy.lifecycle.records import Lease
from nodeworthy.lifecycle.rows import CERTIFICATE


class Moves(Absences, Judgements, Outbox):
    """The part of the ledger that moves nodes."""

    def advance(
        self, lease: Lease, event: str, facts: Mapping[str, Any], evidence: EvidenceReference | None = None
    ) -> Moved:
        """Move the node by the table; transition, evidence, what it voids, outbox and audit in one transaction.

        An event that is done already returns Moved to itself and writes nothing. A refusal is kept as the node's reason
        and raised as Refused, word for word.
        """
        with self._writing() as connection:
            node = self._fenced(connection, lease)
            known = self._asking(connection, node, event, self._facts(connection, node, lease, facts))
            outcome = machine.advance(self._lifecycle, node.milestone, event, known)
            if isinstance(outcome, Refusal):
                self._write_refusal(connection, node, lease, (event, outcome))
            elif outcome.changed:
                self._write(connection, node, lease, outcome, (facts, evidence))
        if isinstance(outcome, Refusal):
            raise Refused(f"{lease.node}: {outcome.reason}")
        return outcome

    def _facts(self, connection: sa.Connection, node: Row, lease: Lease, given: Mapping[str, Any]) -> Facts:
        """Collect what the guards may ask, so that no caller can claim it."""
        certificate = self._certificate(connection, node.serial)
        return Facts(
            now=self._clock.now(),
            given=given,
            qualifications=self._qualifications(connection, node.serial, node.name),
            certificate_expires=None if certificate is None else certificate.expires_at,
            holds=self._holds(connection, node.serial, node.name),
            answers=self._answers(connection, node.serial, lease.episode),
        )

    def _asking(self, connection: sa.Connection, node: Row, event: str, facts: Facts) -> Facts:
        """Add what only the guards of voluntary work ask: who is absent, what holds, what the policy says."""
        row = self._lifecycle.transition(node.milestone, event)
        if row is None or OWN_WILL.isdisjoint(row.guards):
            return facts
        absence = self._absence(connection, node)
        if absence is not None:
            return replace(facts, absence=absence)
        asks = self._voluntary_facts(connection, node)
        return replace(facts, policy=asks.policy, groups=asks.groups, incidents=asks.incidents)

    def _write(
        self,
        connection: sa.Connection,
        node: Row,
        lease: Lease,
        moved: Moved,
        proof: tuple[Mapping[str, Any], EvidenceReference | None],
    ) -> None:
        facts, evidence = dict(proof[0]), None if proof[1] is None else asdict(proof[1])
        why = f"{moved.event}: {facts.get('reason') or f'{moved.from_} -> {moved.to}'}"
        for scope in moved.voids:
            if scope == CERTIFICATE:
                self._revoke(connection, node.serial, why)
            else:
                self._void(connection, node.serial, scope, why)
        now = self._clock.now()
        ends = {"from_milestone": moved.from_, "to_milestone": moved.to, "voids": list(moved.voids)}
        row = {
            "node": node.serial,
            "episode": lease.episode,
            "event": moved.event,
            "facts": facts,
            "evidence": evidence,
        }
        connection.execute(sa.insert(schema.transitions).values(**row, **ends, at=now))
        state = {"milestone": moved.to, "since": now, "reason": str(facts.get("reason", ""))}
        self._update_node(connection, node, state)
        self._tell(connection, node, lease.episode, moved.to)
        self._identify(connection, node.serial, facts)
        self._follow(connection, node, lease, (moved, str(facts.get("reason", ""))))
        told = {"episode": lease.episode, "run": lease.run, "event": moved.event, "from": moved.from_, "to": moved.to}
        self._audit(
            connection, node.serial, "moved", {**told, "voids": ends["voids"], "facts": facts, "evidence": evidence}
        )
