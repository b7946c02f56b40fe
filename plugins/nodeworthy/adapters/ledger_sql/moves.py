"""The only place where a milestone is written: the machine decides on what the ledger knows, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.budgets import Absences
from nodeworthy.adapters.ledger_sql.chain import link
from nodeworthy.adapters.ledger_sql.judgements import Judgements
from nodeworthy.adapters.ledger_sql.outbox import Outbox
from nodeworthy.adapters.ledger_sql.schema_upkeep import outbox
from nodeworthy.adapters.ledger_sql.store import AUDIT_COLUMNS, SOON, Row
from nodeworthy.adapters.ledger_sql.together import Together
from nodeworthy.errors import Refused, Transient
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.lifecycle import machine
from nodeworthy.lifecycle.guards import APPROVING, OWN_WILL, SCOPES_REQUIRED, certificate_valid
from nodeworthy.lifecycle.machine import Facts, Moved, Refusal
from nodeworthy.lifecycle.records import Lease
from nodeworthy.lifecycle.rows import CERTIFICATE

_nodes = schema.nodes.c
_TRANSITION = ("node", "episode", "event", "from_milestone", "to_milestone", "facts", "voids", "evidence", "at")
_MOVE = Together(
    sa.update(schema.nodes)
    .where(
        _nodes.serial == sa.bindparam("of"),
        _nodes.row_version == sa.bindparam("version"),
        _nodes.audit_sequence == sa.bindparam("before"),
    )
    .values(
        milestone=sa.bindparam("to"),
        since=sa.bindparam("at"),
        reason=sa.bindparam("why"),
        row_version=_nodes.row_version + 1,
        audit_sequence=sa.bindparam("sequence"),
        audit_head=sa.bindparam("head"),
    ),
    {
        schema.transitions: _TRANSITION,
        outbox: ("node", "episode", "milestone", "at", "outcome"),
        schema.audit: AUDIT_COLUMNS,
    },
)
"""A move, whole: the transition, what Kubernetes is told, the audit's row, and the node that now stands elsewhere."""


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
            known = self._asking(connection, node, event, self._facts(connection, node, lease, (event, facts)))
            outcome = machine.advance(self._lifecycle, node.milestone, event, known)
            if isinstance(outcome, Refusal):
                self._write_refusal(connection, node, lease, (event, outcome))
            elif outcome.changed:
                self._write(connection, node, lease, outcome, (facts, evidence))
        if isinstance(outcome, Refusal):
            raise Refused(f"{lease.node}: {outcome.reason}")
        return outcome

    def _facts(self, connection: sa.Connection, node: Row, lease: Lease, asked: tuple[str, Mapping[str, Any]]) -> Facts:
        """Collect what the guards of an event's row may ask, so that no caller can claim it.

        What no guard of the row asks is not read: each of these facts refuses where it is absent.
        """
        event, given = asked
        row = self._lifecycle.transition(node.milestone, event)
        guards = frozenset(row.guards if row else ())
        certificate = self._certificate(connection, node.serial) if certificate_valid.__name__ in guards else None
        judged = not guards.isdisjoint(SCOPES_REQUIRED)
        answered = not guards.isdisjoint(APPROVING)
        return Facts(
            now=self._clock.now(),
            given=given,
            qualifications=self._qualifications(connection, node.serial, node.name) if judged else (),
            certificate_expires=None if certificate is None else certificate.expires_at,
            # The one that refuses by its presence is read always.
            holds=self._holds(connection, node.serial, node.name),
            answers=self._answers(connection, node, lease.episode) if answered else (),
            policy=self._policy(node.pool) if answered else None,
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
        return replace(facts, groups=asks.groups, incidents=asks.incidents)

    def _write(
        self,
        connection: sa.Connection,
        node: Row,
        lease: Lease,
        moved: Moved,
        proof: tuple[Mapping[str, Any], EvidenceReference | None],
    ) -> None:
        facts, evidence = dict(proof[0]), None if proof[1] is None else asdict(proof[1])
        reason = str(facts.get("reason", ""))
        if moved.voids:
            self._end_proofs(connection, node, moved, f"{moved.event}: {reason or f'{moved.from_} -> {moved.to}'}")
        now, voids = self._clock.now(), list(moved.voids)
        place = {"node": node.serial, "episode": lease.episode, "at": now}
        told = {"episode": lease.episode, "run": lease.run, "event": moved.event, "from": moved.from_, "to": moved.to}
        detail = {**told, "voids": voids, "facts": facts, "evidence": evidence}
        row = link(node.serial, node.audit_sequence + 1, now, "moved", detail, node.audit_head)
        ends = {"event": moved.event, "from_milestone": moved.from_, "to_milestone": moved.to, "voids": voids}
        rows = {
            schema.transitions: {**place, **ends, "facts": facts, "evidence": evidence},
            outbox: {**place, "milestone": moved.to, "outcome": ""},
            schema.audit: row,
        }
        state = {"to": moved.to, "at": now, "why": reason, "sequence": row["sequence"], "head": row["hash"]}
        known = {"of": node.serial, "version": node.row_version, "before": node.audit_sequence}
        if _MOVE.write(connection, rows, {**state, **known}) != 1:
            raise Transient(f"{node.name} was changed by somebody else in between: try again.", SOON)
        self._identify(connection, node.serial, facts)
        self._follow(connection, node, lease, (moved, reason))

    def _end_proofs(self, connection: sa.Connection, node: Row, moved: Moved, why: str) -> None:
        """End what a move voids: qualifications by scope, and the certificate."""
        scopes = [name for name in moved.voids if name != CERTIFICATE]
        if scopes:
            self._void(connection, node.serial, scopes, why)
        if CERTIFICATE in moved.voids:
            self._revoke(connection, node.serial, why)
