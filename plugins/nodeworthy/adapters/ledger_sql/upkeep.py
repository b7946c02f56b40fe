"""What housekeeping does in the ledger for the whole fleet: know each node's system again, claim rare duties, say which
evidence is still needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.orphans import Orphans
from nodeworthy.adapters.ledger_sql.restored import Restored
from nodeworthy.adapters.ledger_sql.schema_upkeep import chores, identities
from nodeworthy.adapters.ledger_sql.standings import Standings
from nodeworthy.adapters.ledger_sql.store import Row
from nodeworthy.evidence.verdicts import Verdict
from nodeworthy.lifecycle.upkeep import Closed, Identity

CHORES: Final = 12
"""The line of those who claim a duty."""

_CHUNK: Final = 500
"""Values per IN list: below SQLite's smallest limit of host parameters (999)."""


class Upkeep(Orphans, Restored, Standings):
    """The part of the ledger that housekeeping alone uses."""

    def bind(self, found: Mapping[str, Identity], why: str) -> None:
        """Know these nodes, by serial, by what was seen now; Kubernetes is told anew where the Node object is new."""
        with self._writing() as connection:
            known = _identities(connection, sorted(found))
            # A boot that a run proved since then is newer than what was seen.
            same = {serial: row for serial, row in known.items() if row.boot_id == found[serial].boot_id}
            changed = {serial: _bound(row, found[serial]) for serial, row in same.items()}
            changed = {serial: values for serial, values in changed.items() if values}
            table = sa.update(identities).where(identities.c.node == sa.bindparam("serial"))
            now = self._clock.now()
            rows = [
                {**_plain(known[serial]), **values, "at": now, "serial": serial} for serial, values in changed.items()
            ]
            if rows:
                columns: dict[str, Any] = {name: sa.bindparam(name) for name in (*_FIELDS, "at")}
                connection.execute(table.values(**columns), rows)
            for serial, values in changed.items():
                if known[serial].uid and "uid" in values:
                    self._anew(connection, serial, values, why)

    def claim_chore(self, name: str, every: timedelta) -> bool:
        """Claim a duty that is due once per `every`; False when another run did within that time."""
        now = self._clock.now()
        with self._writing() as connection:
            self._line(connection, CHORES)
            done = connection.scalar(sa.select(chores.c.claimed_at).where(chores.c.name == name))
            if done is not None and done > now - every:
                return False
            if done is None:
                connection.execute(sa.insert(chores).values(name=name, claimed_at=now))
            else:
                connection.execute(sa.update(chores).where(chores.c.name == name).values(claimed_at=now))
            return True

    def closed_episodes(self, older_than: timedelta) -> Mapping[tuple[str, int], Closed]:
        """Return every episode that closed longer ago than this, by serial and number."""
        table, now = schema.episodes, self._clock.now()
        query = sa.select(table.c.node, table.c.id, table.c.closed_at).where(table.c.closed_at <= now - older_than)
        with self._reading() as connection:
            outcomes = self._outcomes(connection)
            return {
                (row.node, row.id): Closed(now - row.closed_at, outcomes.get(row.id, "other"))
                for row in connection.execute(query)
            }

    def _outcomes(self, connection: sa.Connection) -> dict[int, str]:
        """Return what each episode ended with; the later of these words wins over an earlier one: pass, fail, rma."""
        judged, moved = schema.judgements.c, schema.transitions.c
        returns = sorted({row.event for row in self._lifecycle.transitions if row.approval == "rma"})
        found: dict[int, str] = {}
        for word, query in (
            ("pass", sa.select(judged.episode).where(judged.verdict == Verdict.PASS.value)),
            ("fail", sa.select(judged.episode).where(judged.verdict == Verdict.FAIL.value)),
            ("rma", sa.select(moved.episode).where(moved.event.in_(returns))),
        ):
            found.update(dict.fromkeys(connection.scalars(query.distinct()), word))
        return found

    def needed_episodes(self) -> frozenset[tuple[str, int]]:
        """Return serial and number of every episode that a valid qualification or certificate rests on."""
        proofs, signed, now = schema.qualifications, schema.certificates, self._clock.now()
        with self._reading() as connection:
            query = sa.select(proofs.c.node, proofs.c.episode).where(
                proofs.c.voided_by == "", proofs.c.expires_at > now
            )
            valid = sa.select(signed.c.node, signed.c.episode).where(
                signed.c.revoked_at.is_(None), signed.c.expires_at > now
            )
            rows = [*connection.execute(query), *connection.execute(valid)]
        return frozenset((row.node, row.episode) for row in rows)

    def record_removal(self, serial: str, files: Sequence[Mapping[str, Any]], why: str) -> None:
        """Write into a node's audit which evidence was removed."""
        table = schema.nodes
        with self._writing() as connection:
            connection.execute(sa.select(table.c.serial).where(table.c.serial == serial).with_for_update()).one()
            self._audit(connection, serial, "evidence removed", {"files": [dict(one) for one in files], "why": why})

    def _anew(self, connection: sa.Connection, serial: str, values: Mapping[str, str], why: str) -> None:
        """Tell Kubernetes a node's milestone again, since its Node object is a new one."""
        table, episodes = schema.nodes, schema.episodes
        node = connection.execute(sa.select(table).where(table.c.serial == serial).with_for_update()).one()
        newest = sa.select(sa.func.max(episodes.c.id)).where(episodes.c.node == serial)
        self._tell(connection, node, int(connection.execute(newest).scalar_one()), node.milestone)
        self._audit(connection, serial, "identity", {**values, "why": why})


_FIELDS = ("boot_id", "machine_id", "uid", "system_uuid")


def _identities(connection: sa.Connection, serials: Sequence[str]) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for start in range(0, len(serials), _CHUNK):
        chosen = identities.c.node.in_(serials[start : start + _CHUNK])
        query = sa.select(identities).where(chosen).order_by(identities.c.node).with_for_update()
        found.update({row.node: row for row in connection.execute(query)})
    return found


def _plain(row: Row) -> dict[str, str]:
    return {name: getattr(row, name) for name in _FIELDS}


def _bound(row: Row, seen: Identity) -> dict[str, str]:
    """Return the fields that were seen and differ from what is known."""
    values = {name: getattr(seen, name) for name in _FIELDS}
    return {name: value for name, value in values.items() if value and value != getattr(row, name)}
