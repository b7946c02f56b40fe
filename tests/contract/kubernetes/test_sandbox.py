"""The sandbox itself: what it needs, what it leaves behind, and that an ordinary user can have it too."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab.kubelet import sandbox

REPOSITORY = Path(__file__).resolve().parents[3]


def test_the_check_answers_in_one_sentence() -> None:
    """None here, or one sentence about what is denied."""
    answer = sandbox.check()
    assert answer is None or (answer.endswith(".") and "\n" not in answer)


def test_a_missing_tool_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system without util-linux is told what to install."""
    with pytest.raises(FileNotFoundError, match="needs `no-such-tool`"):
        sandbox.tool("no-such-tool")


@pytest.mark.skipif(os.geteuid() != 0, reason="already runs as an ordinary user")
def test_an_ordinary_user_can_isolate(tmp_path: Path) -> None:
    """The same check passes without any privilege."""
    if sandbox.check() is not None:
        pytest.skip("namespaces are denied here")
    runuser, python = shutil.which("setpriv"), shutil.which("python3", path="/usr/bin")
    if runuser is None or python is None:
        pytest.skip("needs setpriv and a system Python that other users can run")
    shutil.copytree(REPOSITORY / "lab" / "kubelet", tmp_path / "lab" / "kubelet")
    (tmp_path / "lab" / "__init__.py").touch()
    for parent in (*tmp_path.parents, tmp_path):
        if parent.is_relative_to("/tmp") and parent != Path("/tmp"):
            parent.chmod(0o755)
    command = [runuser, "--reuid=65534", "--regid=65534", "--clear-groups", python, "-c"]
    code = "from lab.kubelet import sandbox; print(sandbox.check())"
    environment = {"PATH": os.environ["PATH"], "HOME": "/", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, code], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=30, check=False
    )
    assert done.stdout.strip() == "None", done.stdout + done.stderr


def test_a_killed_lab_leaves_no_process(tmp_path: Path) -> None:
    """When the process that started a sandbox dies without warning, the sandbox dies with it."""
    if sandbox.check() is not None:
        pytest.skip("namespaces are denied here")
    code = (
        "import subprocess, sys\n"
        "from pathlib import Path\n"
        "from lab.kubelet import sandbox\n"
        f"root = sandbox.Root(Path({str(tmp_path)!r}) / 'root', 'x')\n"
        "command = sandbox.launch_command(sandbox.prepare(root), root, ['sleep', '98765'], '/')\n"
        "print('ready', flush=True)\n"
        "subprocess.run(command, stdin=subprocess.PIPE)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=REPOSITORY, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"ready\n"
    deadline = time.monotonic() + 10
    while not _sleepers() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert _sleepers()
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    while _sleepers() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _sleepers()


def _sleepers() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", b"98765"]:
            found.append(path.parent.name)
    return found
