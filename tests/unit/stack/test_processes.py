"""Process groups end completely, and only those that the stack started."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from stack.processes import Group, Groups

CHILD = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
time.sleep(60)
"""


def _wait_for(path: Path) -> str:
    deadline = time.monotonic() + 20
    while not (path.exists() and path.read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return path.read_text().strip()


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_ending_a_group_ends_what_its_leader_started(tmp_path: Path) -> None:
    """A grandchild that nobody waits for is gone after the group was stopped."""
    groups = Groups(tmp_path, tmp_path / "logs")
    group = groups.start("parent", [sys.executable, "-c", CHILD], environment=dict(os.environ), folder=tmp_path)
    grandchild = int(_wait_for(tmp_path / "logs" / "parent.log"))
    assert group.alive()
    assert _runs(grandchild)
    groups.stop()
    deadline = time.monotonic() + 10
    while _runs(grandchild) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not group.alive()
    assert not _runs(grandchild)
    assert groups.all() == []


def test_a_reused_process_id_is_never_taken_for_ours(tmp_path: Path) -> None:
    """A process with the remembered id but another start time is somebody else's."""
    assert not Group("other", os.getpid(), "1").alive()
