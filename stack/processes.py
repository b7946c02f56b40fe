"""Process groups by name: started with a log file, remembered in a file, ended together.

A remembered process is known by its id *and* its start time, so that a reused id is never killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TERM_PATIENCE_SECONDS = 15.0


def _started_at(pid: int) -> str | None:
    """Return a process's start time in clock ticks (proc(5), field 22); None when it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else fields[19]


@dataclass(frozen=True)
class Group:
    """One remembered process group."""

    name: str
    pid: int
    started_at: str

    def alive(self) -> bool:
        """Tell whether the group's leader still runs."""
        return _started_at(self.pid) == self.started_at


class Groups:
    """The process groups of one stack."""

    def __init__(self, root: Path, logs: Path) -> None:
        self._file = root / "processes.json"
        self._logs = logs

    def all(self) -> list[Group]:
        """Return the remembered groups in the order in which they were started."""
        if not self._file.exists():
            return []
        return [Group(**row) for row in json.loads(self._file.read_text())]

    def start(self, name: str, command: Sequence[str], *, environment: Mapping[str, str], folder: Path) -> Group:
        """Start a command as the leader of a new process group, its output appended to `logs/<name>.log`."""
        self._logs.mkdir(parents=True, exist_ok=True)
        with (self._logs / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                command, env=dict(environment), cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        group = Group(name, process.pid, _started_at(process.pid) or "gone")
        self._remember([*self.all(), group])
        return group

    def stop(self, name: str | None = None, *, how: int = signal.SIGTERM) -> None:
        """End one group, or all at once: `how` first, SIGKILL for what is left after a while."""
        ending = [group for group in reversed(self.all()) if name in (None, group.name)]
        for group in ending:
            if group.alive():
                os.killpg(group.pid, how)
        deadline = time.monotonic() + TERM_PATIENCE_SECONDS
        for group in ending:
            self._end(group, deadline)
        self._remember([group for group in self.all() if name not in (None, group.name)])

    def log_tail(self, name: str, lines: int = 15) -> str:
        """Return the last lines that a group printed."""
        path = self._logs / f"{name}.log"
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else ""

    def _remember(self, groups: Sequence[Group]) -> None:
        self._file.write_text(json.dumps([vars(group) for group in groups]))

    @staticmethod
    def _end(group: Group, deadline: float) -> None:
        while group.alive() and time.monotonic() < deadline:
            _reap(group.pid)
            time.sleep(0.05)
        try:
            os.killpg(group.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        _reap(group.pid)


def _reap(pid: int) -> None:
    """Collect an ended child; a stack that another process started is nobody's child here."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return
