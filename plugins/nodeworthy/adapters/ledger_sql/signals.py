"""Signals: an event that the world, or the clock, reports about a node that no run of ours is leading.

A signal joins the open episode or opens one; it takes no lease and ends none. What it may do is what isolation may do:
follow a row that needs no approval. Guards decide as ever. A live holder is not overtaken, except by a row without
guards when the caller says so: a lost boot in service is a fact that no run may keep waiting.
"""

from __future__ import annotations

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql.episodes import Episodes
from nodeworthy.adapters.ledger_sql.moves import Moves
from nodeworthy.adapters.ledger_sql.store import Row
from nodeworthy.errors import Refused
from nodeworthy.lifecycle import machine
from nodeworthy.lifecycle.machine import Moved, Refusal
from nodeworthy.lifecycle.records import EpisodeKind, Lease
from nodeworthy.lifecycle.upkeep import Report


class Signals(Episodes, Moves):
    """The part of the ledger that follows what was reported."""

    def signal(self, report: Report) -> Moved:
        """Follow one event from the very milestone that the report was made about; moved since then is done already.

        Raises Refused for a row that needs approval, a guard that objects, or a run that works on the node now.
        """
        with self._writing() as connection:
            node = self._locked(connection, report.node)
            if node.since != report.since:
                return Moved(node.milestone, node.milestone, report.event)
            self._refuse_overtaking(connection, node, report)
            episode = self._join(connection, node, EpisodeKind[report.kind.upper()])
            lease = Lease(report.node, episode, "", report.run, self._clock.now())
            # Joining may have written into the audit, whose head the node's row carries.
            node = self._locked(connection, report.node)
            known = self._facts(connection, node, lease, (report.event, report.facts))
            outcome = machine.advance(self._lifecycle, node.milestone, report.event, known)
            if isinstance(outcome, Moved) and outcome.changed:
                self._write(connection, node, lease, outcome, (report.facts, None))
            if isinstance(outcome, Refusal):
                # Nothing is written: the episode that was joined for nothing is not kept.
                raise Refused(f"{report.node}: {outcome.reason}")
            return outcome

    def _refuse_overtaking(self, connection: sa.Connection, node: Row, report: Report) -> None:
        row = self._lifecycle.transition(node.milestone, report.event)
        if row is not None and row.risk.needs_approval:
            raise Refused(f"{report.node}: `{row.row}` needs the approval `{row.approval}`: a person starts it.")
        may_overtake = report.overtakes and (row is None or not row.guards)
        episode = self._open_episode(connection, node.serial)
        live = None if episode is None else self._live_lease(connection, episode.id)
        if live is not None and live.expires > self._clock.now() and not may_overtake:
            raise Refused(
                f"{report.node} is held by {live.run} until {live.expires:%Y-%m-%d %H:%M:%S} UTC: `{report.event}` "
                "waits for that run to end."
            )
