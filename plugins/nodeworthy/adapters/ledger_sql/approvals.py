"""Requests for an approval and their answers. At most one request of an episode is open.

What is asked, answered, answered by somebody who may not, or left to expire, is a row in the audit each.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

import sqlalchemy as sa

from nodeworthy.adapters.ledger_sql import schema
from nodeworthy.adapters.ledger_sql.schema_approvals import requests
from nodeworthy.adapters.ledger_sql.store import Row, Store
from nodeworthy.errors import Refused
from nodeworthy.lifecycle.approvals import APPROVE, POLICY, REFUSE, End, Request, decide
from nodeworthy.lifecycle.records import Answer, Lease

ANSWERS: Final = (APPROVE, REFUSE)

_approvals = schema.approvals.c
_leases = schema.leases.c
_BEGAN = sa.select(_leases.since).where(_leases.episode == sa.bindparam("episode"), _leases.ended_at.is_(None))
_ANSWERS = (
    sa.select(schema.approvals)
    .where(
        _approvals.node == sa.bindparam("serial"),
        _approvals.episode == sa.bindparam("episode"),
        _approvals.voided_at.is_(None),
        # A person's approval serves the lease under which it was given to its end, and later ones while it is young.
        sa.or_(
            _approvals.answer != APPROVE,
            _approvals.who == POLICY,
            _approvals.at >= _BEGAN.scalar_subquery(),
            _approvals.at > sa.bindparam("oldest"),
        ),
    )
    .order_by(_approvals.id)
)
_FOR_EVER = datetime(1970, 1, 1, tzinfo=UTC)


class Approvals(Store):
    """The part of the ledger that keeps who was asked and who answered."""

    def ask(self, lease: Lease, request: Request) -> Request:
        """Write a request down, or return the open one for the same plan as it was first written.

        A request of this run that was refused is returned as it ended. Any other open request of the episode ends as
        replaced; one whose time is over ends as expired, and the new one is asked.
        """
        with self._writing() as connection:
            node = self._fenced(connection, lease)
            newest = self._newest_request(connection, lease.episode)
            if newest is not None and newest.plan_sha256 == request.plan_sha256:
                lives = newest.ended_at is None and newest.expires_at > self._clock.now()
                if lives or (newest.ended_as == End.REFUSED and newest.run == lease.run):
                    return request_of(newest, lease.node)
            self._end_open_request(connection, node, lease.episode, End.REPLACED)
            row = {"node": node.serial, "episode": lease.episode, "run": lease.run, "ended_as": End.OPEN.value}
            row["closes"] = request.closes
            told = {
                "plan_sha256": request.plan_sha256,
                "approval": request.approval,
                "subject": request.subject,
                "answers": request.answers,
                "may_answer": list(request.may_answer),
            }
            times = {"asked_at": self._clock.now(), "expires_at": request.expires_at}
            written = connection.execute(sa.insert(requests).values(**row, **told, **times).returning(requests)).one()
            self._audit(
                connection,
                node.serial,
                "approval asked",
                {"episode": lease.episode, "run": lease.run, **told, "expires_at": request.expires_at},
            )
            return request_of(written, lease.node)

    def settle_request(self, lease: Lease) -> None:
        """End what of the episode still waits for an answer, since its run goes on without one. Idempotent."""
        with self._writing() as connection:
            self._end_open_request(connection, self._fenced(connection, lease), lease.episode, End.REPLACED)

    def open_request(self, lease: Lease) -> Request | None:
        """Return the request of the episode that waits for an answer."""
        with self._reading() as connection:
            newest = self._newest_request(connection, lease.episode)
        return None if newest is None or newest.ended_at is not None else request_of(newest, lease.node)

    def open_requests(self) -> tuple[Request, ...]:
        """Return the requests that wait for an answer, oldest first."""
        nodes, episodes = schema.nodes, schema.episodes
        joined = requests.join(nodes, nodes.c.serial == requests.c.node).join(
            episodes, episodes.c.id == requests.c.episode
        )
        waits = (requests.c.ended_at.is_(None), episodes.c.closed_at.is_(None))
        query = sa.select(requests, nodes.c.name).select_from(joined).where(*waits)
        with self._reading() as connection:
            return tuple(request_of(row, row.name) for row in connection.execute(query.order_by(requests.c.id)))

    def record_approval(self, lease: Lease, *, plan_sha256: str, who: str, answer: str, why: str) -> None:
        """Store who answered a plan's approval request (`approve` or `refuse`), and end the request if that decides."""
        if answer not in ANSWERS:
            raise Refused(f"An approval request has no answer {answer}: use one of {', '.join(ANSWERS)}.")
        with self._writing() as connection:
            row = self._fenced(connection, lease)
            words = asdict(Answer(plan_sha256, who, answer, why))
            place = {"node": row.serial, "episode": lease.episode, "at": self._clock.now()}
            connection.execute(sa.insert(schema.approvals).values(**place, **words))
            self._audit(connection, row.serial, "approval", {"episode": lease.episode, **words})
            newest = self._newest_request(connection, lease.episode)
            if newest is not None and newest.ended_at is None and newest.plan_sha256 == plan_sha256:
                answers = self._answers(connection, row, lease.episode)
                made = decide([one for one in answers if one.plan_sha256 == plan_sha256], newest.answers)
                if made is not None:
                    self._end_request(connection, row, newest, End.APPROVED if made.approved else End.REFUSED)

    def refuse_answer(self, lease: Lease, *, plan_sha256: str, who: str, answer: str, why: str) -> None:
        """Write down an answer that does not count, and why it does not. Asks for no live lease: it does nothing."""
        with self._writing() as connection:
            row = self._locked(connection, lease.node)
            asked = None if plan_sha256 else self._last_request(connection, row.serial, lease.run)
            plan, episode = (asked.plan_sha256, asked.episode) if asked else (plan_sha256, lease.episode)
            told = {"episode": episode, "plan_sha256": plan, "who": who, "answer": answer, "why": why}
            self._audit(connection, row.serial, "answer refused", told)

    def answers(self, node: str, episode: int, plan_sha256: str = "") -> tuple[Answer, ...]:
        """Return the answers to exactly this plan, or of the whole episode, oldest first.

        Without those voided, and without approvals that are too old for the lease of now.
        """
        with self._reading() as connection:
            table = schema.nodes
            row = connection.execute(sa.select(table).where(table.c.serial == self._serial(connection, node))).one()
            found = self._answers(connection, row, episode)
        return tuple(answer for answer in found if plan_sha256 in ("", answer.plan_sha256))

    def _answers(self, connection: sa.Connection, node: Row, episode: int) -> tuple[Answer, ...]:
        policy = self._policy(node.pool)
        lives = policy.approval_lives if policy else None
        oldest = _FOR_EVER if lives is None else self._clock.now() - lives
        rows = connection.execute(_ANSWERS, {"serial": node.serial, "episode": episode, "oldest": oldest})
        return tuple(Answer(row.plan_sha256, row.who, row.answer, row.why) for row in rows)

    def _void_approvals(self, connection: sa.Connection, node: Row, episode: int) -> None:
        table = schema.approvals
        open_ones = sa.update(table).where(table.c.episode == episode, table.c.voided_at.is_(None))
        connection.execute(open_ones.values(voided_at=self._clock.now()))
        self._end_open_request(connection, node, episode, End.REPLACED)

    def _newest_request(self, connection: sa.Connection, episode: int) -> Row | None:
        query = sa.select(requests).where(requests.c.episode == episode).order_by(requests.c.id.desc())
        return connection.execute(query.limit(1)).first()

    def _last_request(self, connection: sa.Connection, serial: str, run: str) -> Row | None:
        """Return what a run asked last about a node."""
        query = sa.select(requests).where(requests.c.node == serial, requests.c.run == run)
        return connection.execute(query.order_by(requests.c.id.desc()).limit(1)).first()

    def _end_open_request(self, connection: sa.Connection, node: Row, episode: int, end: End) -> None:
        """End what of an episode waits for an answer; by its own time where that is over already."""
        newest = self._newest_request(connection, episode)
        if newest is not None and newest.ended_at is None:
            over = newest.expires_at <= self._clock.now()
            self._end_request(connection, node, newest, End.EXPIRED if over else end)

    def _end_request(self, connection: sa.Connection, node: Row, request: Row, end: End) -> None:
        values = {"ended_as": end.value, "ended_at": self._clock.now()}
        connection.execute(sa.update(requests).where(requests.c.id == request.id).values(**values))
        if end in (End.EXPIRED, End.REPLACED, End.WITHDRAWN):
            told: dict[str, Any] = {"episode": request.episode, "plan_sha256": request.plan_sha256}
            self._audit(connection, node.serial, f"approval {end.value}", {**told, "subject": request.subject})


def request_of(row: Row, node: str) -> Request:
    """Return a row as a request about the node of that name."""
    return Request(
        node=node,
        episode=row.episode,
        plan_sha256=row.plan_sha256,
        approval=row.approval,
        subject=row.subject,
        answers=row.answers,
        may_answer=tuple(row.may_answer),
        run=row.run,
        asked_at=row.asked_at,
        expires_at=row.expires_at,
        end=End(row.ended_as),
        closes=row.closes,
    )
