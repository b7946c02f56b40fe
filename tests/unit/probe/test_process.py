"""A tool runs under a time limit, and nothing of it survives."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from nodeworthy_probe import process
from nodeworthy_probe.process import run_tool


def test_output_and_exit_code_are_kept() -> None:
    """Both streams, the exit code and the given environment."""
    run = run_tool(["sh", "-c", 'echo "$WORD"; echo bad >&2; exit 3'], 10, {"WORD": "good"})

    assert (run.exit_code, run.stdout, run.stderr, run.timed_out) == (3, b"good\n", b"bad\n", False)
    assert run.raw == b"good\n--- standard error ---\nbad\n"


def test_a_tool_that_is_not_there_is_no_exception() -> None:
    """The run says why it could not start."""
    run = run_tool(["no-such-tool-of-nodeworthy"], 10, {})

    assert run.exit_code is None
    assert run.start_error


def test_a_hanging_tool_is_ended_with_all_its_children(tmp_path: Path) -> None:
    """SIGTERM is ignored by both; the group is killed, and what was printed is kept."""
    child = f"trap '' TERM; echo $$ > {tmp_path}/child; while :; do sleep 0.1; done"
    script = f"trap '' TERM; echo begun; sh -c \"{child}\" & while :; do sleep 0.1; done"
    script = script.replace("$$", r"\$\$")

    run = run_tool(["sh", "-c", script], 0.5, {})

    assert run.timed_out
    assert run.exit_code == -9
    assert run.stdout == b"begun\n"
    number = int((tmp_path / "child").read_text())
    assert not _lives(number)


def test_a_grandchild_that_holds_the_output_open_does_not_hold_the_probe() -> None:
    """The tool ended at once; its background child is ended after the drain time."""
    started = time.monotonic()
    run = run_tool(["sh", "-c", "echo done; sleep 60 &"], 30, {})

    assert (run.exit_code, run.stdout, run.timed_out) == (0, b"done\n", False)
    assert time.monotonic() - started < 10


def test_output_beyond_the_cap_is_dropped_and_reported() -> None:
    """A tool that prints for ever cannot fill the memory."""
    code = f"import sys\nsys.stdout.write('x' * ({process.OUTPUT_CAP_BYTES} + 10))"
    run = run_tool([sys.executable, "-I", "-S", "-c", code], 30, {})

    assert run.overflowed
    assert len(run.stdout) == process.OUTPUT_CAP_BYTES


def test_a_stop_request_ends_the_running_tool() -> None:
    """The pod is being deleted: the tool is ended long before its limit."""
    started = time.monotonic()
    run = run_tool(["sleep", "60"], 60, {}, stopping=lambda: True)

    assert run.interrupted
    assert not run.timed_out
    assert time.monotonic() - started < 10


def _lives(number: int) -> bool:
    """Whether the process still runs; a killed one may need a moment to be gone."""
    for _ in range(100):
        try:
            if Path(f"/proc/{number}/stat").read_text().split()[2] == "Z":
                return False
        except (FileNotFoundError, ProcessLookupError):
            return False
        time.sleep(0.02)
    return True
