"""The harness's own books: what the lab counted from outside, held against what the ledger says it ordered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from nodeworthy.adapters.ledger_sql import SqlLedger, schema
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.table import Lifecycle

from benchmarks.crash_fleet import CrashFleet

ONCE = ("reset", "firmware-update")
"""Kinds that must not happen twice. A boot order may be given again, and a Node of one uid can only go once."""
WORDS = (
    "effects under a stale token",
    "repeated effects",
    "effects nobody wrote down",
    "admissions without both scopes",
    "customers' pods on a node that was never admitted",
    "audit rows lost or unverifiable",
    "nodes without an owner",
    "processes that broke or hung",
)
"""What is counted; each must be 0."""


@dataclass
class Books:
    """What was found wrong, in words, and what is remembered to find it."""

    fleet: CrashFleet
    lifecycle: Lifecycle
    found: Counter[str] = field(default_factory=Counter)
    sentences: list[str] = field(default_factory=list)
    excused: set[tuple[str, int]] = field(default_factory=set)
    """Node and episode in which a boot was lost, or a person decided to send something again."""
    admitted: set[str] = field(default_factory=set)
    heads: list[tuple[str, int, str]] = field(default_factory=list)

    @property
    def ledger(self) -> SqlLedger:
        """The ledger, as the harness reads it."""
        return self.fleet.opened

    def wrong(self, word: str, sentence: str, number: int = 1) -> None:
        """Write something down that must not be."""
        assert word in WORDS, word
        self.found[word] += number
        self.sentences.append(f"{word}: {sentence}")

    def head(self, name: str) -> tuple[int, str]:
        """Return the number and hash of a node's newest audit row, and remember them."""
        table = schema.nodes.c
        row = self._rows(sa.select(table.serial, table.audit_sequence, table.audit_head).where(table.name == name))[0]
        self.heads.append((row.serial, row.audit_sequence, row.audit_head))
        return row.audit_sequence, row.audit_head

    def milestone(self, name: str) -> str:
        """Return where a node stands."""
        return self.ledger.nodes([name])[0].milestone

    def check_admission(self, name: str) -> None:
        """A node that is in service now, and was not before, has both scopes and a certificate in force."""
        if name in self.admitted or self.milestone(name) != "in_service":
            return
        self.admitted.add(name)
        now = self.fleet.clock.now()
        valid = {one.scope for one in self.ledger.qualifications(name) if one.expires_at > now}
        certificate = self.ledger.certificate(name)
        if valid != set(Scope) or certificate is None or certificate[1] <= now:
            self.wrong("admissions without both scopes", f"{name} is in service with {sorted(valid)}")

    def check_stale(self, name: str, since: int, head: tuple[int, str], who: str) -> None:
        """Nothing was done to a node, and nothing written about it, by somebody whose lease is over."""
        done = [row for row in self.fleet.effects(since) if row["node"] == name]
        if done:
            kinds = ", ".join(row["kind"] for row in done)
            self.wrong("effects under a stale token", f"{who} did {kinds} to {name}", len(done))
        if self.head(name) != head:
            self.wrong("effects under a stale token", f"{who} wrote about {name} into the ledger")

    def close(self) -> Mapping[str, int]:
        """Count everything at the end; return how often the lab saw what."""
        rows = self.fleet.effects()
        self._count_effects(rows)
        strangers = {row["node"] for row in rows if row["kind"] == "customer-pod-scheduled"} - self.admitted
        for name in sorted(strangers):
            self.wrong("customers' pods on a node that was never admitted", name)
        self._check_audit()
        self._check_owners()
        return Counter(row["kind"] for row in rows)

    def _count_effects(self, rows: list[dict[str, Any]]) -> None:
        known = {one.id: one for name in self.fleet.names for one in self.ledger.effects(name)}
        by_id, by_step = Counter[str](), Counter[tuple[str, int, str, str]]()
        for row in rows:
            if row["kind"] not in ONCE:
                continue
            effect = known.get(row["effect_id"] or "")
            if effect is None:
                self.wrong("effects nobody wrote down", f"{row['kind']} of {row['node']} with id {row['effect_id']}")
                continue
            by_id[effect.id] += 1
            by_step[effect.node, effect.episode, effect.kind, effect.key.rsplit("/", 1)[0]] += 1
        for effect_id, times in by_id.items():
            if times > 1:
                self.wrong("repeated effects", f"{known[effect_id].kind} {effect_id} {times} times", times - 1)
        for (name, episode, kind, step), times in by_step.items():
            if times > 1 and (name, episode) not in self.excused:
                self.wrong(
                    "repeated effects", f"{kind} of {step} on {name}, episode {episode}, {times} times", times - 1
                )

    def _check_audit(self) -> None:
        for sentence in self.ledger.verify_audit():
            self.wrong("audit rows lost or unverifiable", sentence)
        table = schema.audit.c
        there = {
            (row.node, row.sequence): row.hash for row in self._rows(sa.select(table.node, table.sequence, table.hash))
        }
        for serial, sequence, digest in self.heads:
            if sequence and there.get((serial, sequence)) != digest:
                self.wrong("audit rows lost or unverifiable", f"row {sequence} of {serial} is gone or another")

    def _check_owners(self) -> None:
        """Each node stands in a milestone that somebody answers for, held by nobody dead, with nothing left open."""
        stranded = {one.node for one in self.ledger.stranded()}
        for record in self.ledger.nodes():
            name, row = record.node.name, self.lifecycle.milestone(record.milestone)
            ways = [one.owner for one in self.lifecycle.transitions if one.from_ == row.name]
            if not (row.final or (ways and all(ways))):
                self.wrong("nodes without an owner", f"{name} at {row.name}: no team answers for a way on")
            if record.run:
                self.wrong("nodes without an owner", f"{name} is still held by {record.run}")
            if record.episode is not None and name not in stranded and not record.reason:
                self.wrong("nodes without an owner", f"{name}: episode {record.episode} is open and nobody is told")
        for orphan in self.ledger.orphans():
            self.wrong("nodes without an owner", f"{orphan.effect.node}: {orphan.effect.kind} is open for ever")

    def _rows(self, query: Any) -> list[Any]:
        with self.ledger._reading() as connection:
            return list(connection.execute(query))
