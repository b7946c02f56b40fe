"""Runs one tool under a time limit and keeps what it printed.

The tool gets a process group of its own; when its time is up the whole group is ended, first
politely and then by force, so that no grandchild keeps a GPU busy. Output beyond the cap is
thrown away while the tool runs on, and the run is marked as overflowing.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

OUTPUT_CAP_BYTES = 16 * 1024 * 1024
_GRACE_SECONDS = 2.0
_DRAIN_SECONDS = 1.0
_TICK_SECONDS = 0.2


@dataclass(frozen=True)
class ToolRun:
    """How a tool ended. ``exit_code`` is negative for a signal, None if it never started."""

    command: tuple[str, ...]
    exit_code: int | None
    timed_out: bool
    overflowed: bool
    stdout: bytes
    stderr: bytes
    duration_seconds: float
    start_error: str | None = None
    interrupted: bool = False

    @property
    def text(self) -> str:
        """Standard output as text; bytes that are not UTF-8 become U+FFFD."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def raw(self) -> bytes:
        """Both streams, for the evidence file."""
        if not self.stderr:
            return self.stdout
        gap = b"" if self.stdout.endswith(b"\n") or not self.stdout else b"\n"
        return self.stdout + gap + b"--- standard error ---\n" + self.stderr


def never() -> bool:
    """The default for a run that nobody interrupts."""
    return False


def run_tool(
    command: Sequence[str],
    timeout_seconds: float,
    environment: Mapping[str, str],
    stopping: Callable[[], bool] = never,
) -> ToolRun:
    """Run ``command`` to its end, to the time limit or until ``stopping``; never raises for what the tool does."""
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return ToolRun(tuple(command), None, False, False, b"", b"", time.monotonic() - started, str(error))
    try:
        collected = _collect(process, started + timeout_seconds, stopping)
    finally:
        _end_group(process)
    return ToolRun(
        command=tuple(command),
        exit_code=process.returncode,
        timed_out=collected.timed_out,
        overflowed=collected.overflowed,
        stdout=bytes(collected.stdout),
        stderr=bytes(collected.stderr),
        duration_seconds=time.monotonic() - started,
        interrupted=collected.interrupted,
    )


@dataclass
class _Collected:
    stdout: bytearray
    stderr: bytearray
    timed_out: bool = False
    overflowed: bool = False
    interrupted: bool = False


def _collect(process: subprocess.Popen[bytes], deadline: float, stopping: Callable[[], bool]) -> _Collected:
    assert process.stdout is not None
    assert process.stderr is not None
    collected = _Collected(bytearray(), bytearray())
    buffers = {process.stdout.fileno(): collected.stdout, process.stderr.fileno(): collected.stderr}
    with selectors.DefaultSelector() as selector:
        for descriptor in buffers:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            if process.poll() is not None:
                # A grandchild may hold the pipe open for ever; what the tool printed is there soon.
                deadline = min(deadline, time.monotonic() + _DRAIN_SECONDS)
            if _over(process, deadline, stopping, collected):
                return collected
            for key, _ in selector.select(min(max(deadline - time.monotonic(), 0), _TICK_SECONDS)):
                collected.overflowed |= _read_some(selector, key.fd, buffers)
    while process.poll() is None and not _over(process, deadline, stopping, collected):
        time.sleep(_TICK_SECONDS / 10)  # a tool may close its output long before it ends
    return collected


def _over(
    process: subprocess.Popen[bytes], deadline: float, stopping: Callable[[], bool], collected: _Collected
) -> bool:
    if time.monotonic() >= deadline:
        collected.timed_out = process.poll() is None
        return True
    collected.interrupted = stopping()
    return collected.interrupted


def _read_some(selector: selectors.BaseSelector, descriptor: int, buffers: dict[int, bytearray]) -> bool:
    chunk = os.read(descriptor, 65_536)
    if not chunk:
        selector.unregister(descriptor)
        return False
    room = OUTPUT_CAP_BYTES - len(buffers[descriptor])
    buffers[descriptor] += chunk[: max(room, 0)]
    return len(chunk) > room


def _end_group(process: subprocess.Popen[bytes]) -> None:
    for number, wait in ((signal.SIGTERM, _GRACE_SECONDS), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        try:
            process.wait(wait)
        except subprocess.TimeoutExpired:
            continue
        if number == signal.SIGTERM and not _group_lives(process.pid):
            break
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
