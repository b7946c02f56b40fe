"""Keeps the counters' process (:mod:`nodeworthy_probe.counter_watch`) beside the tests and asks it around each one.

A look that does not come in time ends the process: what was counted since then is unknown, and the rows say so.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from .plan import Plan

TOOL = "counters"
NETWORK = "network"
_PATIENCE_SECONDS = 20.0
_GRACE_SECONDS = 2.0


@dataclass(frozen=True)
class Look:
    """All counters at one moment; `after` is the test that had just ended, empty before the first."""

    after: str
    document: dict[str, Any]


@dataclass
class Watch:
    """The looks of one plan, in order. `problem` is set from the first look that did not come."""

    looks: list[Look] = field(default_factory=list)
    problem: str | None = None
    _process: subprocess.Popen[bytes] | None = None

    @classmethod
    def of(cls, plan: Plan) -> Watch:
        """A watch that has looked once, if the plan has a test that reads counters; else one that never looks."""
        watch = cls()
        tests = [test for test in plan.tests if test.tool == TOOL]
        if not tests:
            return watch
        devices = [name for test in tests for name in devices_of(test.arguments)]
        command = [sys.executable, "-m", "nodeworthy_probe.counter_watch", plan.vendor, *devices]
        try:
            watch._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            watch.problem = f"the counters' process cannot be started: {error}"
        watch.look("")
        return watch

    def look(self, after: str) -> None:
        """Read all counters, unless nobody asked for them or an earlier look failed."""
        if self._process is None or self.problem:
            return
        answer = self._ask(self._process)
        try:
            self.looks.append(Look(after, json.loads(answer)))
        except ValueError:
            self.problem = f"the counters could not be read {f'after {after}' if after else 'before the first test'}"
            self.end()

    def end(self) -> None:
        """Let the process go; it ends by itself when its input ends, and is ended when it does not."""
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        try:
            process.stdin.close()
            process.wait(_GRACE_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
        finally:
            if process.stdout is not None:
                process.stdout.close()

    @staticmethod
    def _ask(process: subprocess.Popen[bytes]) -> bytes:
        """One line of answer; what came so far when the time is up or the process ended."""
        assert process.stdin is not None
        assert process.stdout is not None
        answer, deadline = b"", time.monotonic() + _PATIENCE_SECONDS
        try:
            process.stdin.write(b"look\n")
            process.stdin.flush()
            while not answer.endswith(b"\n") and (left := deadline - time.monotonic()) > 0:
                if select.select([process.stdout], [], [], left)[0]:
                    part = os.read(process.stdout.fileno(), 1 << 20)
                    if not part:
                        break
                    answer += part
        except OSError:
            return b""
        return answer if answer.endswith(b"\n") else b""


def devices_of(arguments: tuple[str, ...]) -> list[str]:
    """The fabric adapters that a test's arguments name: ``network mlx5_0,mlx5_1``."""
    if len(arguments) < 2 or arguments[0] != NETWORK:
        return []
    return [name for name in arguments[1].split(",") if name]
