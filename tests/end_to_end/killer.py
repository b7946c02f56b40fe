"""Kills the worker of a chosen step of a chosen node with SIGKILL, at a moment that a seed chooses.

Airflow names the process of a task by the id of its task instance, so the processes of one run are known exactly and
nobody else's is ever touched. A deferred step has several processes, one per resumption: `start` says which is killed.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stack.rest import FINISHED
from tests.end_to_end.running import Running

TITLE = b"airflow worker -- "
LOOK_EVERY_SECONDS = 0.03
ASK_EVERY_SECONDS = 0.5
LATEST_SECONDS = 0.4


@dataclass(frozen=True)
class Blow:
    """What is killed: the `start`-th process of a step (of one node), alone or with the executor's worker above it."""

    step: str
    node: str = ""
    start: int = 1
    with_worker: bool = False
    latest_seconds: float = LATEST_SECONDS
    """The longest the process may live after it was seen; a quick step needs a quick hand."""


class Killer:
    """Follows one run to its end and deals the blows."""

    def __init__(self, running: Running, dag: str, run: str, nodes: Sequence[str], *, seed: int) -> None:
        self._running = running
        self._dag = dag
        self._run = run
        self._nodes = sorted(nodes)
        self._random = random.Random(seed)
        self._squares: dict[str, tuple[str, str]] = {}
        self._starts: dict[tuple[str, str], list[int]] = defaultdict(list)

    def follow(self, blows: Sequence[Blow], *, patience_seconds: float) -> tuple[str, list[Blow]]:
        """Return the state in which the run ended, and the blows that hit a living process."""
        left, hit = list(blows), []
        deadline, asked = time.monotonic() + patience_seconds, 0.0
        while True:
            if time.monotonic() - asked > ASK_EVERY_SECONDS:
                state = self._ask()
                asked = time.monotonic()
                if state in FINISHED:
                    return state, hit
                if asked > deadline:
                    raise TimeoutError(f"run {self._run} is still {state} after {patience_seconds:.0f} s")
            for blow in self._due(left):
                left.remove(blow)
                if self._deal(blow):
                    hit.append(blow)
            time.sleep(LOOK_EVERY_SECONDS)

    def _ask(self) -> str:
        for task in self._running.api.tasks(self._dag, self._run):
            index = task["map_index"]
            self._squares[task["id"]] = (
                task["task_id"].rsplit(".", 1)[-1],
                self._nodes[index] if 0 <= index < len(self._nodes) else "",
            )
        return self._running.api.run_state(self._dag, self._run)

    def _due(self, left: Sequence[Blow]) -> list[Blow]:
        for pid, task in task_processes():
            square = self._squares.get(task)
            if square is not None and pid not in self._starts[square]:
                self._starts[square].append(pid)
        return [blow for blow in left if len(self._starts[blow.step, blow.node]) >= blow.start]

    def _deal(self, blow: Blow) -> bool:
        pid = self._starts[blow.step, blow.node][blow.start - 1]
        time.sleep(self._random.uniform(0, blow.latest_seconds))
        try:
            above = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            if blow.with_worker:
                os.kill(above, signal.SIGKILL)
            os.kill(pid, signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            return False
        return True


def task_processes() -> Iterator[tuple[int, str]]:
    """Yield process id and task instance id of every task that runs on this machine now."""
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                command = (path / "cmdline").read_bytes()
            except OSError:
                continue
            if command.startswith(TITLE):
                yield int(path.name), command[len(TITLE) :].rstrip(b"\0 ").decode()
