"""Random lives of a small fleet on the real ledger: events, crashes inside transactions, stale tokens, clock jumps.

After every step: nobody entered service without both scopes, a certificate and the room of a hold; no stale token did
anything; no voluntary absence was taken beyond a budget; a node that left service is counted; whoever is asked has
a run that will hear the answer; the audit verifies.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from nodeworthy.adapters.ledger_sql import SqlLedger, upgrade
from nodeworthy.errors import NodeworthyError, Refused
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.policy import Action, Policy
from nodeworthy.lifecycle.records import Hold, Lease

from tests.contract.ledger.support import HOUR, LIFECYCLE, START, Bench, ManualClock, node, reference
from tests.contract.ledger.test_approvals import request

EVENTS = sorted({row.event for row in LIFECYCLE.transitions})
PROOF = {key: "seen" for row in LIFECYCLE.transitions for key in row.proof}
RACKS = {"s1": "r1", "s2": "r1", "s3": "r2", "spare": "r2", "new": "r2"}
SERVING = ("s1", "s2", "s3")
NODES = tuple(RACKS)
BRAKE = {"window": "PT2H", "together": "PT1H", "gpu_days_per_fault": 2111, "gpus_per_node": 8, "tolerated_factor": 1}
BRAKE |= {"false_trips_per_month": 0.1, "at_least": 2, "clear_after": "PT2H"}
LIFETIME = timedelta(hours=4)


class Crash(BaseException):
    """The process dies here."""


@dataclass
class FragileClock(ManualClock):
    """A clock at whose n-th reading from now the process dies: most readings happen inside a transaction."""

    readings: int | None = None

    def now(self) -> datetime:
        """Return the present, or die."""
        if self.readings is not None:
            if self.readings == 0:
                raise Crash
            self.readings -= 1
        return self.time


@cache
def template() -> Path:
    """Return a database with three nodes in service, a spare and a new node; made once."""
    path = Path(tempfile.mkdtemp(prefix="nodeworthy-fleet-")) / "template.db"
    url = f"sqlite:///{path}"
    upgrade(url)
    bench = Bench(url)
    bench.ledger.import_fleet([node(name, rack=rack) for name, rack in RACKS.items()])
    for name in (*SERVING, "spare"):
        lease = bench.take(name, run="setup")
        bench.bring(lease, "standby")
        if name in SERVING:
            bench.admit(lease)
        bench.ledger.release(lease, close=True, reason="")
    bench.ledger.close()
    return path


class Fleet(RuleBasedStateMachine):
    """A fleet to which anything may happen; the test keeps its own books of who may do what."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="nodeworthy-life-"))
        shutil.copy(template(), self.folder / "ledger.db")
        self.clock = FragileClock(START + HOUR)
        self.limits = {"pool": 2, "rack": 1}
        self.mode = "auto"
        self.ledger = SqlLedger(f"sqlite:///{self.folder / 'ledger.db'}", self.clock, LIFECYCLE, self._policy)
        self.leases: list[Lease] = []
        self.live: dict[str, tuple[str, datetime]] = {}
        self.keys = 0

    def teardown(self) -> None:
        """Leave nothing behind."""
        self.ledger.close()
        shutil.rmtree(self.folder)

    def _policy(self, pool: str) -> Policy:
        actions = {"drain": self.mode, "reset": self.mode}
        return Policy.from_document({"pool": pool, "actions": actions, "budgets": self.limits, "brake": BRAKE})

    # -- what happens

    @rule(name=st.sampled_from(NODES), run=st.sampled_from(["run-1", "run-2"]))
    def take(self, name: str, run: str) -> None:
        """A run takes a node."""
        with self._may_fail():
            lease = self.ledger.open_episode(name, kind="maintenance", run=run, lifetime=LIFETIME)
            self.live[name] = (lease.token, lease.expires)
            self.leases.append(lease)

    @rule(data=st.data(), close=st.booleans())
    def let_go(self, data: st.DataObject, close: bool) -> None:
        """A run, perhaps one that lost its lease long ago, gives it back."""
        lease = self._any_lease(data)
        if lease is not None:
            was_live = self._is_current(lease)
            with self._may_fail() as outcome:
                self.ledger.release(lease, close=close, reason="")
                outcome.append("done")
            if was_live and outcome:
                del self.live[lease.node]

    @rule(data=st.data(), event=st.sampled_from(EVENTS), proven=st.booleans())
    def happen(self, data: st.DataObject, event: str, proven: bool) -> None:
        """Any event, under any lease that ever was."""
        self._under(data, lambda lease: self.ledger.advance(lease, event, PROOF if proven else {}))

    @rule(data=st.data(), event=st.sampled_from(["suspect", "isolate", "drain", "begin_maintenance", "admit", "clear"]))
    def go_on(self, data: st.DataObject, event: str) -> None:
        """The events around service, with their proof, more often than chance would have it."""
        self._under(data, lambda lease: self.ledger.advance(lease, event, PROOF))

    @rule(data=st.data(), action=st.sampled_from([Action.DRAIN, Action.RESET]))
    def drain(self, data: st.DataObject, action: Action) -> None:
        """An effect with its absence is intended and, if the process lives so long, settled."""
        self.keys += 1
        key = f"step/{self.keys}"

        def act(lease: Lease) -> None:
            effect = self.ledger.intend(lease, action.value, key, {}, absence=(action, "work"))
            self.ledger.settle(lease, effect, "proven", {"seen": True})

        self._under(data, act)

    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        """A node that never left is given back."""
        self._under(data, lambda lease: self.ledger.return_absence(lease, {"ready": True}))

    @rule(data=st.data(), scope=st.sampled_from(Scope), days=st.integers(1, 40))
    def qualify(self, data: st.DataObject, scope: Scope, days: int) -> None:
        """A judgement passes, and a certificate is written."""

        def act(lease: Lease) -> None:
            Bench.qualify(self, lease, scope)  # type: ignore[arg-type]
            self.ledger.record_certificate(lease, reference(f"c{days}"), self.clock.time + timedelta(days=days))

        self._under(data, act)

    @rule(data=st.data(), answer=st.sampled_from(["approve", "refuse"]))
    def answer(self, data: st.DataObject, answer: str) -> None:
        """Somebody answers a plan."""
        self._under(
            data, lambda lease: self.ledger.record_approval(lease, plan_sha256="p", who="ada", answer=answer, why="")
        )

    @rule(data=st.data(), plan=st.sampled_from("pq"), hours=st.integers(1, 40), closes=st.booleans())
    def ask(self, data: st.DataObject, plan: str, hours: int, closes: bool) -> None:
        """A run asks a person about its node, and parks."""

        def act(lease: Lease) -> None:
            until = self.clock.time + timedelta(hours=hours)
            self.ledger.ask(lease, replace(request(lease, plan), expires_at=until, closes=closes))

        self._under(data, act)

    @rule()
    def keep_house(self) -> None:
        """Requests whose time is over and dead leases are ended; nobody is called stranded about whom one is asked."""
        with self._may_fail():
            self.ledger.expire_requests()
            self.ledger.end_dead_leases()
        with self._steady():
            asked = {one.node for one in self.ledger.open_requests()}
            assert asked.isdisjoint(one.node for one in self.ledger.stranded())

    @rule(name=st.sampled_from(NODES), scope=st.sampled_from(["automation", "admission"]), on=st.booleans())
    def hold(self, name: str, scope: str, on: bool) -> None:
        """Somebody holds a node, or releases it."""
        with self._may_fail():
            if on:
                self.ledger.hold(Hold(name, "ada", "work", self.clock.time + HOUR, scope))
            else:
                self.ledger.release_hold(name, who="ada")

    @rule(minutes=st.one_of(st.integers(-90, 400), st.integers(400, 60_000)))
    def jump(self, minutes: int) -> None:
        """Time passes; sometimes a clock is set back."""
        self.clock.pass_(timedelta(minutes=minutes))

    @rule(pool=st.integers(0, 3), rack=st.integers(0, 2), mode=st.sampled_from(["auto", "approve", "observe"]))
    def decide(self, pool: int, rack: int, mode: str) -> None:
        """The policy changes."""
        self.limits, self.mode = {"pool": pool, "rack": rack}, mode

    @rule()
    def watch(self) -> None:
        """The brake is evaluated; a person may end what it found."""
        with self._may_fail():
            for incident in self.ledger.evaluate_brake()[1:]:
                self.ledger.clear_incident(incident.number, who="ada", why="looked")

    @rule(readings=st.integers(0, 6))
    def next_call_dies(self, readings: int) -> None:
        """One of the next readings of the clock kills whoever reads it."""
        self.clock.readings = readings

    # -- what must be true

    @invariant()
    def whoever_left_service_is_counted(self) -> None:
        """A node that is known to have left service, and is not back, has an absence; one in service may have one."""
        with self._steady():
            absent = {one.node for one in self.ledger.absences()}
            for record in self.ledger.nodes(SERVING):
                gone = not LIFECYCLE.milestone(record.milestone).schedulable
                if gone and not LIFECYCLE.milestone(record.milestone).final:
                    assert record.node.name in absent, record

    @invariant()
    def whoever_is_asked_will_be_heard(self) -> None:
        """An open request is of the run that has the node of its open episode: no answer is waited for in vain."""
        with closing(sqlite3.connect(self.folder / "ledger.db")) as ledger:
            unheard = ledger.execute(
                "SELECT r.node, r.run FROM approval_requests r JOIN episodes e ON e.id = r.episode "
                "LEFT JOIN leases l ON l.episode = r.episode AND l.ended_at IS NULL "
                "WHERE r.ended_at IS NULL AND (e.closed_at IS NOT NULL OR l.run IS NULL OR l.run != r.run)"
            ).fetchall()
        assert unheard == []

    @invariant()
    def the_audit_verifies(self) -> None:
        """Every chain is whole, whatever died in between."""
        with self._steady():
            assert self.ledger.verify_audit() == ()

    # -- books

    def _any_lease(self, data: st.DataObject) -> Lease | None:
        # The newest are the likeliest to be live; old ones must do nothing.
        recent = self.leases[-6:]
        return data.draw(st.sampled_from(recent[::-1])) if recent else None

    def _is_current(self, lease: Lease) -> bool:
        return self.live.get(lease.node, ("",))[0] == lease.token

    def _under(self, data: st.DataObject, act: Callable[[Lease], Any]) -> None:
        lease = self._any_lease(data)
        if lease is None:
            return
        expires = self.live[lease.node][1] if self._is_current(lease) else None
        stale = expires is None or expires <= self.clock.time
        before, absent = self._state()
        with self._may_fail() as outcome:
            act(lease)
            outcome.append("done")
        after, now_absent = self._state()
        if stale:
            assert not outcome, f"a stale lease of {lease.node} acted"
            assert (before, absent) == (after, now_absent)
        self._check_service(lease.node, before, after)
        self._check_room(absent, now_absent)

    def _state(self) -> tuple[dict[str, str], dict[str, bool]]:
        with self._steady():
            milestones = {one.node.name: one.milestone for one in self.ledger.nodes()}
            return milestones, {one.node: one.voluntary for one in self.ledger.absences()}

    def _check_service(self, name: str, before: dict[str, str], after: dict[str, str]) -> None:
        if before[name] == after[name] or after[name] != "in_service":
            return
        with self._steady():
            now = self.clock.time
            valid = {one.scope for one in self.ledger.qualifications(name) if one.expires_at > now}
            certificate = self.ledger.certificate(name)
            held = [one for one in self.ledger.holds(name) if one.scope in ("admission", "both")]
        assert valid == set(Scope)
        assert certificate is not None
        assert certificate[1] > now
        assert held == []

    def _check_room(self, before: dict[str, bool], after: dict[str, bool]) -> None:
        for name in after.keys() - before.keys():
            if after[name]:
                beside = [one for one in after if RACKS[one] == RACKS[name]]
                assert len(after) <= self.limits["pool"]
                assert len(beside) <= self.limits["rack"]
                assert self.mode != "observe"
                with self._steady():
                    assert self.ledger.brake_state() == ()

    @contextmanager
    def _may_fail(self) -> Iterator[list[str]]:
        outcome: list[str] = []
        try:
            yield outcome
        except (Refused, Crash):
            pass
        except NodeworthyError as error:
            raise AssertionError(f"neither done nor refused: {error.sentence}") from error
        finally:
            self.clock.readings = None

    @contextmanager
    def _steady(self) -> Iterator[None]:
        """Let the test itself read without dying."""
        readings, self.clock.readings = self.clock.readings, None
        try:
            yield
        finally:
            self.clock.readings = readings


TestFleet = Fleet.TestCase
TestFleet.settings = settings(
    max_examples=10, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.long
class TestManyFleets(Fleet.TestCase):  # type: ignore[misc, name-defined]
    """The same over many more lives."""

    settings = settings(
        max_examples=300, stateful_step_count=60, deadline=None, suppress_health_check=list(HealthCheck)
    )
