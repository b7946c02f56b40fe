"""Runs an operator's own check: a container of the same pod that waits for its turn.

The pod gives every check a container with its own image. What the check prints goes into a shared folder, and the
container begins only when the probe says so, so that checks and tests never disturb each other:

    NAME.start   written here: begin         NAME.stop   written here: time is up
    NAME.out, NAME.err, NAME.rc              written there: output, errors, exit code
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from .plan import TestSpec
from .process import OUTPUT_CAP_BYTES, ToolRun

TOOL = "own-check"
_DEFAULT_FOLDER = "/nodeworthy-checks"
_TICK_SECONDS = 0.2
_GRACE_SECONDS = 6.0


def run_check(spec: TestSpec, stopping: Callable[[], bool]) -> ToolRun:
    """Let the check's container run to its end, to its time limit or until ``stopping``; never raises."""
    folder = Path(os.environ.get("NODEWORTHY_CHECKS") or _DEFAULT_FOLDER)
    started = time.monotonic()
    try:
        (folder / f"{spec.test}.start").write_text("")
    except OSError as error:
        return ToolRun(spec.arguments, None, False, False, b"", b"", 0.0, f"the folder of checks is missing ({error})")
    deadline = started + spec.timeout_seconds
    ending = folder / f"{spec.test}.rc"
    while not ending.exists() and time.monotonic() < deadline and not stopping():
        time.sleep(_TICK_SECONDS)
    timed_out = not ending.exists() and time.monotonic() >= deadline
    interrupted = not ending.exists() and not timed_out
    if timed_out or interrupted:
        _stop(folder, spec.test, ending)
    out, err = (_read(folder / f"{spec.test}.{name}") for name in ("out", "err"))
    return ToolRun(
        command=spec.arguments,
        exit_code=_exit_code(ending),
        timed_out=timed_out,
        overflowed=len(out) > OUTPUT_CAP_BYTES,
        stdout=out[:OUTPUT_CAP_BYTES],
        stderr=err[:OUTPUT_CAP_BYTES],
        duration_seconds=time.monotonic() - started,
        interrupted=interrupted,
    )


def _stop(folder: Path, name: str, ending: Path) -> None:
    (folder / f"{name}.stop").write_text("")
    deadline = time.monotonic() + _GRACE_SECONDS
    while not ending.exists() and time.monotonic() < deadline:
        time.sleep(_TICK_SECONDS)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(OUTPUT_CAP_BYTES + 1)
    except OSError:
        return b""


def _exit_code(ending: Path) -> int:
    """The check's exit code; 137, as of a process that was killed, when its container never said."""
    try:
        return int(ending.read_text())
    except (OSError, ValueError):
        return 137
