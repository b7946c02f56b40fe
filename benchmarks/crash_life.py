"""Random lives of nodes whose processes are killed, stopped and woken too late, by a seed.

One node is led at a time from the rack into service, with detours: it is quarantined and tested again, its certificate
runs out, it loses a boot, it is held. Each step is struck until its luck, or the number of blows, runs out.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from nodeworthy.lifecycle.records import Lease
from nodeworthy.procedures.deadlines import deadlines
from nodeworthy.procedures.outcome import Done
from nodeworthy.procedures.reconcile import reconcile
from nodeworthy.procedures.settle import settle

from benchmarks.crash_actor import AFTER, BEFORE, STOP, TIMED, Actor, Blow, Ended, Take
from benchmarks.crash_books import Books
from benchmarks.crash_steps import (
    ADMIT,
    APPROVE,
    APPROVE_ADMISSION,
    HOLD,
    LIFETIME,
    QUARANTINE,
    STEPS,
    UNHOLD,
    Step,
    retest,
)

UNANSWERED = "has no answer that decides"
"""What a step says whose approval has grown old over days of kills: whoever clears it clears the question, too."""

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
HOWS = (BEFORE, BEFORE, BEFORE, AFTER, AFTER, AFTER, TIMED, STOP)
PAUSES = (timedelta(), timedelta(), timedelta(seconds=10), 3 * MINUTE, 3 * HOUR)
SKEWS = (timedelta(), timedelta(), -5 * MINUTE, timedelta(seconds=40))
MOST_BLOWS = 6
"""Blows to one step before it is let through."""
MOST_TRIES = 80
MOST_RUNS = 5
"""Runs that may leave a node where it stands, one after the other."""
FIRST_GUESS = 20
"""Port calls that a step is taken to make before it was seen."""
DUTIES: dict[str, Callable[[Any], str]] = {"settle": settle, "deadlines": deadlines, "reconcile": reconcile}
ERRORS = ("Refused", "Permanent", "OutcomeUnknown")


@dataclass
class Life:
    """One fleet's lives. `kills` counts processes that died by SIGKILL, by step and how."""

    actor: Actor
    books: Books
    chance: random.Random
    wanted: int
    kills: Counter[tuple[str, str]] = field(default_factory=Counter)
    tries: Counter[str] = field(default_factory=Counter)
    persons: Counter[str] = field(default_factory=Counter)
    """Sentences that ended a step for a person, by step."""
    longest: dict[str, int] = field(default_factory=dict)
    leases: dict[str, list[Lease]] = field(default_factory=dict)
    runs: int = 0

    def lead_all(self) -> None:
        """Lead every node into service, each with its share of the blows."""
        names = self.actor.fleet.names
        for number, name in enumerate(names, 1):
            self._lead(name, self.wanted * number // len(names))
        self._wind_up()

    # -- one node

    def _lead(self, name: str, until: int) -> None:
        """Lead a node until as many processes died, then into service."""
        run, stuck = self._new_run("bring_up"), 0
        while (milestone := self.books.milestone(name)) != "in_service":
            if stuck > MOST_RUNS or self.books.found["processes that broke or hung"]:
                self.books.wrong("processes that broke or hung", f"{name} was left at {milestone}")
                return
            if milestone == "standby":
                self._at_standby(name, more=sum(self.kills.values()) < until)
                run = self._new_run("bring_up")
            elif milestone == "quarantined":
                self._step(name, retest(run), run)
            else:
                run = self._stage(name, STEPS[milestone], run)
            if self.chance.random() < 0.03 and milestone in ("validation_booted", "burned_in", "provisioned"):
                run = self._lose_boot(name, run)
            stuck = stuck + 1 if self.books.milestone(name) == milestone else 0
        if self.chance.random() < 0.5:
            self._trouble_in_service(name)

    def _stage(self, name: str, steps: tuple[Step, ...], run: str) -> str:
        for step in steps:
            run, reached = self._step(name, step, run)
            if not reached:
                # Whoever holds it may be dead: the next run comes when that lease is over.
                self._pass(3 * HOUR)
                return self._new_run("bring_up")
        return run

    def _at_standby(self, name: str, *, more: bool) -> None:
        """Choose what happens to a spare: a detour while blows are left, else admission."""
        way = self.chance.choice(("quarantine", "expire", "boot", "hold")) if more else "admit"
        if way == "quarantine":
            self._step(name, QUARANTINE, self._new_run("sweep"))
        elif way == "expire":
            self._pass(31 * DAY)
            self._refused(name)
            self._duty("deadlines")
        elif way == "boot":
            self.actor.fleet.crash(name)
            self._refused(name)
            self._duty("reconcile")
        elif way == "hold":
            self._step(name, HOLD, "")
            self._refused(name)
            self._step(name, UNHOLD, "")
            self._step(name, QUARANTINE, self._new_run("sweep"))
        else:
            run, _ = self._step(name, APPROVE_ADMISSION, self._new_run("admit"))
            self._step(name, ADMIT, run)
            self.books.check_admission(name)

    def _refused(self, name: str) -> None:
        """Try to admit a node that must not be; then let go."""
        run, _ = self._step(name, APPROVE_ADMISSION, self._new_run("admit"), most_errors=1)
        run, _ = self._step(name, ADMIT, run, most_errors=1)
        self.books.check_admission(name)
        self._give_back(name, run, "not admitted", close=True)

    def _lose_boot(self, name: str, run: str) -> str:
        """A node loses its power feed in the middle of its bring-up; its run is gone and housekeeping notices."""
        record = self.books.ledger.nodes([name])[0]
        if record.episode is not None:
            self.books.excused.add((name, record.episode))
        self._pass(3 * HOUR)
        self.actor.fleet.crash(name)
        self._duty("settle")
        self._duty("reconcile")
        return self._new_run("bring_up")

    def _trouble_in_service(self, name: str) -> None:
        """A node in service reboots by itself: suspect at once, isolated at its deadline."""
        self.actor.fleet.crash(name)
        self._duty("reconcile")
        if self.books.milestone(name) != "suspect":
            self.books.wrong("nodes without an owner", f"{name} lost its boot in service and nobody noticed")
        self._pass(5 * HOUR)
        self._duty("deadlines")
        self._duty("reconcile")

    # -- one step

    def _step(self, name: str, step: Step, run: str, *, most_errors: int = 4) -> tuple[str, bool]:
        """Do one step in processes that are struck, until it is done; return the run that did it, and whether."""
        blows, errors = self.chance.randint(1, MOST_BLOWS), 0
        for _ in range(MOST_TRIES):
            self.tries[step.name] += 1
            ended = self._strike(name, step, run, self._blow(step.name) if blows > 0 else Blow())
            if ended.how == "done":
                self.books.head(name)
                self._old_lease(name, step)
                return run, True
            if ended.how == "stopped":
                return self._twin(name, step, run, ended)
            if ended.how in ERRORS:
                errors += 1
                self._person(name, step, run, ended)
                if errors >= most_errors:
                    return run, False
            elif ended.how == "killed":
                blows -= 1
                run = self._after_a_kill(run)
            elif not self._wait(ended):
                break
        self.books.wrong("processes that broke or hung", f"{step.name} of {name} ({ended.how}): {ended.sentence}")
        return run, False

    def _wait(self, ended: Ended) -> bool:
        """Let the world follow; tell whether that is what the process asked for."""
        if ended.how == "Transient":
            # The sessions of processes that died fill a BMC up until they time out.
            self.tries["tried again later"] += 1
        self._pass(10 * MINUTE if ended.how == "Transient" else 5 * MINUTE)
        return ended.how in ("Transient", "waiting")

    def _strike(self, name: str, step: Step, run: str, blow: Blow) -> Ended:
        node = self.books.ledger.nodes([name])[0].node

        def take(ledger: Any) -> Lease | None:
            return ledger.open_episode(name, kind=step.kind, run=run, lifetime=LIFETIME) if step.leases else None

        ended = self.actor.run(take, lambda ports, lease: step.act(lease, node, ports), blow)
        if ended.lease is not None:
            self.leases.setdefault(name, []).append(ended.lease)
        if ended.how == "killed":
            self.kills[step.name, blow.how] += 1
        self.longest[step.name] = max(self.longest.get(step.name, 0), ended.calls)
        return ended

    def _blow(self, step: str) -> Blow:
        how = self.chance.choice(HOWS)
        if how == TIMED:
            return Blow(how, seconds=self.chance.uniform(0, 0.12))
        return Blow(how, at=self.chance.randint(1, self.longest.get(step) or FIRST_GUESS))

    def _after_a_kill(self, run: str) -> str:
        """Let some time pass and the clock be wrong; return who goes on: the same run, or another that takes over."""
        pause = self.chance.choice(PAUSES)
        if self.chance.random() < 0.1:
            self.actor.fleet.set_skew(self.chance.choice(SKEWS))
        self._pass(pause)
        if pause < HOUR or not run:
            return run
        if self.chance.random() < 0.3:
            self._duty("settle")
        return self._new_run("retry")

    def _twin(self, name: str, step: Step, run: str, twin: Ended) -> tuple[str, bool]:
        """A process stops; others finish its step; it wakes and goes on where it was. Return who finished, and whether.

        Mostly its lease is over by then and it must do nothing. Sometimes its own run goes on without it, as Airflow
        does when heartbeats stop: then its lease is good, and only repetition is wrong.
        """
        stale = step.leases and self.chance.random() < 0.75
        self._pass(3 * HOUR if stale else 5 * MINUTE)
        other, reached = self._step(name, step, self._new_run("retry") if stale else run)
        since, head = len(self.actor.fleet.effects()), self.books.head(name)
        woken = self.actor.wake(twin)
        self.tries["twin that woke too late" if stale else "twin of a living run"] += 1
        if woken.how in ("broken", "hung"):
            self.books.wrong("processes that broke or hung", f"twin in {step.name} of {name}: {woken.sentence}")
        if stale:
            self.books.check_stale(name, since, head, f"a twin of {step.name} ({woken.how}: {woken.sentence})")
        return other, reached

    def _old_lease(self, name: str, step: Step) -> None:
        """In three of ten cases somebody comes with a lease of long ago and does whatever the node's next step is."""
        old = [one for one in self.leases.get(name, ()) if one.token != self.leases[name][-1].token]
        steps = (*STEPS.get(self.books.milestone(name), ()), ADMIT)
        if not old or self.chance.random() > 0.3:
            return
        lease, late = self.chance.choice(old), self.chance.choice(steps)
        node = self.books.ledger.nodes([name])[0].node
        since, head = len(self.actor.fleet.effects()), self.books.head(name)
        nobody: Take = lambda _: None  # noqa: E731 - a process that takes no lease
        ended = self.actor.run(nobody, lambda ports, _: late.act(lease, node, ports), Blow())
        self.tries["actor with an old lease"] += 1
        if ended.how in ("broken", "hung"):
            self.books.wrong("processes that broke or hung", f"{late.name} under an old lease: {ended.sentence}")
        self.books.check_stale(name, since, head, f"{late.name} under the lease of {lease.run}")

    def _person(self, name: str, step: Step, run: str, ended: Ended) -> None:
        """A step stopped for a person, who clears the task: the lease is given back and the step begins again."""
        self.persons[f"{step.name}: {ended.how}: {ended.sentence.replace(name, 'NODE')[:140]}"] += 1
        if ended.how in ("OutcomeUnknown", "Permanent"):
            record = self.books.ledger.nodes([name])[0]
            if record.episode is not None:
                self.books.excused.add((name, record.episode))
        self._give_back(name, run, ended.sentence)
        if UNANSWERED in ended.sentence:
            self._strike(name, APPROVE_ADMISSION if step is ADMIT else APPROVE, run, Blow())

    # -- the house

    def _duty(self, duty: str) -> None:
        """Do a duty of housekeeping, struck as any step."""
        fleet, run = self.actor.fleet, self._new_run("housekeeping")

        def act(ports: Any, _: Any) -> Done:
            return Done(DUTIES[duty](fleet.house(ports, ports.ledger, run)))

        for number in range(MOST_BLOWS):
            self.tries[duty] += 1
            blow = self._blow(duty) if number < 2 else Blow()
            ended = self.actor.run(lambda _: None, act, blow if blow.how != STOP else Blow())
            self.longest[duty] = max(self.longest.get(duty, 0), ended.calls)
            if ended.how == "done":
                return
            if ended.how == "killed":
                self.kills[duty, blow.how] += 1
            elif ended.how in (*ERRORS, "Transient"):
                self.persons[f"{duty}: {ended.how}: {ended.sentence[:140]}"] += 1
            else:
                self.books.wrong("processes that broke or hung", f"{duty}: {ended.sentence}")

    def _wind_up(self) -> None:
        """Let everything that is dead be found: two days of housekeeping."""
        self.actor.fleet.set_skew(timedelta())
        for _ in range(2):
            self._pass(DAY)
            self._duty("settle")
            self._duty("reconcile")

    def _give_back(self, name: str, run: str, reason: str, *, close: bool = False) -> None:
        held = [one for one in self.leases.get(name, ()) if one.run == run]
        if held:
            self.books.ledger.release(held[-1], close=close, reason="" if close else reason)

    def _pass(self, time: timedelta) -> None:
        if time:
            self.actor.fleet.pass_(time)

    def _new_run(self, dag: str) -> str:
        self.runs += 1
        return f"{dag}/{self.runs}"
