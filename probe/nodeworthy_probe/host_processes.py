"""One look at the host's processes and mounts, as the JSON document of a test.

The pod sees them in the host's /proc, mounted read-only at /host/proc: it can look and end nothing. Processes that wait
in uninterruptible sleep are looked at again some seconds later, and count only when they have not run in between.

Sources: proc(5) and proc_pid_stat(5), proc_pid_status(5), proc_pid_mountinfo(5); include/linux/sched.h (PF_KTHREAD).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .host_state import number, text_of

SCHEMA = "nodeworthy.host-processes/1"
PLACE = "host/proc"
PATIENCE_SECONDS = 5.0
_KERNEL_THREAD = 0x00200000
_FIELDS_AFTER_NAME = 20  # up to starttime, the 22nd of all
_SWITCHES = re.compile(r"^(?:non)?voluntary_ctxt_switches:\s+(\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class _Process:
    pid: int
    name: str
    state: str
    parent: int
    flags: int
    started_ticks: int

    @property
    def is_kernel_thread(self) -> bool:
        return bool(self.flags & _KERNEL_THREAD)


def look(root: Path, sleep: Callable[[float], None] = time.sleep) -> dict[str, Any]:
    """Return names, stuck processes, zombies with their age in seconds, and mounts; nulls where there is no /proc."""
    proc = root / PLACE
    processes = list(_processes(proc))
    mounts = _mounts(text_of(proc / "1/mountinfo"))
    if not processes:
        return {"schema": SCHEMA, "processes": None, "names": None, "stuck": None, "zombies": None, "mounts": mounts}
    up = re.match(r"\d{1,18}(\.\d+)?", text_of(proc / "uptime") or "")
    return {
        "schema": SCHEMA,
        "processes": len(processes),
        "names": sorted({one.name for one in processes if not one.is_kernel_thread and one.state != "Z"}),
        "stuck": _stuck(proc, processes, sleep),
        "zombies": _zombies(processes, float(up[0])) if up else None,
        "mounts": mounts,
    }


def _processes(proc: Path) -> Iterator[_Process]:
    try:
        entries = sorted(int(entry.name) for entry in os.scandir(proc) if number(entry.name) is not None)
    except OSError:
        return
    for pid in entries:
        process = _process(text_of(proc / str(pid) / "stat"))
        if process is not None:
            yield process


def _process(text: str | None) -> _Process | None:
    """A line of stat. The name stands in brackets and may hold any character, brackets too: the last one ends it."""
    head, _, rest = (text or "").rpartition(")")
    pid, _, name = head.partition(" (")
    words = rest.split()
    if number(pid) is None or len(words) < _FIELDS_AFTER_NAME:
        return None
    try:
        return _Process(int(pid), name, words[0], int(words[1]), int(words[6]), int(words[19]))
    except ValueError:
        return None


def _stuck(proc: Path, processes: list[_Process], sleep: Callable[[float], None]) -> list[dict[str, Any]]:
    """Processes that did not leave uninterruptible sleep. The kernel's own threads are left to its hung-task watch."""
    waiting = [one for one in processes if one.state == "D" and not one.is_kernel_thread]
    before = {one.pid: _switches(proc, one.pid) for one in waiting}
    if waiting:
        sleep(PATIENCE_SECONDS)
    found = []
    for one in waiting:
        later = _process(text_of(proc / str(one.pid) / "stat"))
        same = later is not None and (later.state, later.started_ticks) == ("D", one.started_ticks)
        if same and _switches(proc, one.pid) == before[one.pid]:
            found.append({"pid": one.pid, "name": one.name})
    return found


def _zombies(processes: list[_Process], up_seconds: float) -> list[dict[str, Any]]:
    tick = os.sysconf("SC_CLK_TCK")
    return [
        {"pid": one.pid, "name": one.name, "parent": one.parent, "age_seconds": up_seconds - one.started_ticks / tick}
        for one in processes
        if one.state == "Z"
    ]


def _switches(proc: Path, pid: int) -> int:
    return sum(int(count) for count in _SWITCHES.findall(text_of(proc / str(pid) / "status") or ""))


def _mounts(text: str | None) -> list[dict[str, Any]] | None:
    """Where each file system is mounted, of which type, and whether mount and file system may be written."""
    if not text:
        return None
    found = []
    for line in text.splitlines():
        mount, _, rest = line.partition(" - ")
        words, more = mount.split(), rest.split()
        if len(words) >= 6 and len(more) >= 3:
            found.append(
                {
                    "at": _unescaped(words[4]),
                    "type": more[0],
                    "mount_writable": "rw" in words[5].split(","),
                    "writable": "rw" in more[2].split(","),
                }
            )
    return found


def _unescaped(path: str) -> str:
    """Blanks and backslashes stand there as three octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), path)
