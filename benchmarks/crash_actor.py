"""One process of the product, forked, that may be killed or stopped anywhere.

It dies by SIGKILL before or after the port call of a chosen number, or whenever the harness's hand comes down, which
may be inside a transaction or while a request is on its way. A stopped one (SIGSTOP) is the twin: it wakes up later
with the lease that it had.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nodeworthy.errors import NodeworthyError
from nodeworthy.lifecycle.records import Lease
from nodeworthy.procedures.outcome import Waiting

from benchmarks.crash_fleet import CrashFleet
from tests.doubles.crash import Fuse, fused

BEFORE, AFTER, TIMED, STOP = "before a call", "after a call", "at any moment", "stopped"
PATIENCE_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Blow:
    """How a process is struck: at which port call, or how many seconds after its start."""

    how: str = ""
    at: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended: `killed`, `stopped`, `done`, `waiting`, or the name of the error that it raised."""

    how: str
    sentence: str = ""
    calls: int = 0
    lease: Lease | None = None
    pid: int = 0
    pipe: int = -1


@dataclass
class Deadly(Fuse):
    """A fuse that really kills, or stops, the process it is in."""

    how: str = ""

    def burn(self, call: Any) -> Any:
        """Make one port call."""
        self.calls += 1
        if self.calls != self.at:
            return call()
        if self.how == BEFORE:
            os.kill(os.getpid(), signal.SIGKILL)
        result = call()
        os.kill(os.getpid(), signal.SIGSTOP if self.how == STOP else signal.SIGKILL)
        return result


Take = Callable[[Any], Lease | None]
"""How the process gets its lease from the ledger; None for one that needs none."""
Act = Callable[[Any, Any], Any]
"""What the process does with its ports and its lease; returns the procedure's outcome."""


@dataclass
class Actor:
    """Starts processes on one fleet."""

    fleet: CrashFleet

    def run(self, take: Take, act: Act, blow: Blow) -> Ended:
        """Fork, take the lease, act; strike as told. Returns when the child has ended or was stopped."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            self._child(take, act, blow, writing)
        os.close(writing)
        if blow.how == TIMED:
            time.sleep(blow.seconds)
            os.kill(pid, signal.SIGKILL)
        return self.wait(pid, reading)

    def wake(self, twin: Ended) -> Ended:
        """Let a stopped process go on to its end."""
        os.kill(twin.pid, signal.SIGCONT)
        return self.wait(twin.pid, twin.pipe)

    def wait(self, pid: int, reading: int) -> Ended:
        """Wait for a child; one that does not end is ended."""
        signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(PATIENCE_SECONDS)
        try:
            _, status = os.waitpid(pid, os.WUNTRACED)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(reading)
            return Ended("hung", f"the process did not end within {PATIENCE_SECONDS} s")
        finally:
            signal.alarm(0)
        if os.WIFSTOPPED(status):
            return Ended("stopped", pid=pid, pipe=reading)
        with os.fdopen(reading) as told:
            rows = [json.loads(line) for line in told.read().splitlines()]
        lease = next((_lease(row["lease"]) for row in rows if "lease" in row), None)
        if os.WIFSIGNALED(status):
            return Ended("killed", lease=lease)
        last = rows[-1]
        return Ended(last["how"], last["sentence"], last["calls"], lease)

    def _child(self, take: Take, act: Act, blow: Blow, writing: int) -> None:
        """Act in the child and leave it without running anything of the parent's."""
        fuse = Deadly(at=blow.at, how=blow.how)
        how, sentence = "broken", ""
        try:
            ledger = self.fleet.part()
            ports = fused(self.fleet.ports(ledger, lambda line: None), fuse)
            lease = take(ports.ledger)
            if lease is not None:
                _tell(writing, {"lease": [*_plain(lease)]})
            outcome = act(ports, lease)
            how, sentence = ("waiting", outcome.what) if isinstance(outcome, Waiting) else ("done", "")
        except NodeworthyError as error:
            how, sentence = type(error).__name__, error.sentence
        except Exception as error:  # noqa: BLE001 - whatever it is, the parent has to hear of it
            sentence = f"{type(error).__name__}: {error}"
        finally:
            _tell(writing, {"how": how, "sentence": sentence, "calls": fuse.calls})
            os._exit(0)


def _too_long(_number: int, _frame: Any) -> None:
    raise TimeoutError


def _tell(writing: int, row: dict[str, Any]) -> None:
    os.write(writing, json.dumps(row).encode() + b"\n")


def _plain(lease: Lease) -> tuple[str | int, ...]:
    return lease.node, lease.episode, lease.token, lease.run, lease.expires.isoformat()


def _lease(row: list[Any]) -> Lease:
    return Lease(row[0], row[1], row[2], row[3], datetime.fromisoformat(row[4]))
