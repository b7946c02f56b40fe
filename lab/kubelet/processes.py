"""Child processes without threads: a pidfd tells the event loop when one ends, pipes are read as they fill."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

_CHUNK = 65536


class Process:
    """A started child. `exited` resolves to its exit code as a shell would see it (128 + signal)."""

    def __init__(
        self, command: list[str], environment: Mapping[str, str], stdin: int, stdout: int, stderr: int
    ) -> None:
        self._popen = subprocess.Popen(
            command,
            env=dict(environment),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            close_fds=True,
        )
        self.pid = self._popen.pid
        self._loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[int] = self._loop.create_future()
        self._pidfd = os.pidfd_open(self.pid)
        self._loop.add_reader(self._pidfd, self._ended)

    def _ended(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        code = self._popen.wait()
        if not self.exited.done():
            self.exited.set_result(code if code >= 0 else 128 - code)

    def first_child(self) -> int | None:
        """The host pid of the only child, or None when there is none (any more)."""
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="ascii").split()
            return int(words[0]) if words else None
        return None

    def kill(self) -> None:
        """End the child and its group at once.

        `unshare --kill-child` ties its child to itself only after the fork; a kill in that moment would leave the
        child behind, so the group is killed, which the child is in from the first.
        """
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)


def send_signal(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process that may be gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


class Pipe:
    """A pipe whose read end feeds a callback from the event loop; `closed` resolves at end of file."""

    def __init__(self, receive: Callable[[bytes], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self.closed: asyncio.Future[None] = self._loop.create_future()
        self._receive = receive
        self._read, self.write_end = os.pipe()
        os.set_blocking(self._read, False)
        self._loop.add_reader(self._read, self._ready)

    def _ready(self) -> None:
        try:
            data = os.read(self._read, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            # The other side of a terminal is gone.
            data = b""
        if data:
            self._receive(data)
        else:
            self.finish()

    def adopt(self, descriptor: int) -> None:
        """Read from another descriptor (a terminal) instead of the pipe."""
        self._loop.remove_reader(self._read)
        os.close(self._read)
        self.release()
        self._read = descriptor
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._ready)

    def release(self) -> None:
        """Close our copy of the write end, so that the end of the child is the end of the pipe."""
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1

    def finish(self) -> None:
        """Stop reading."""
        self.release()
        if self._read >= 0:
            self._loop.remove_reader(self._read)
            os.close(self._read)
            self._read = -1
        if not self.closed.done():
            self.closed.set_result(None)


class Feeder:
    """Writes to a process's input without ever blocking the event loop; what does not fit yet waits here."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._waiting = bytearray()
        self._closing = False
        os.set_blocking(descriptor, False)

    @property
    def pending(self) -> int:
        """Bytes that the process has not taken yet."""
        return len(self._waiting)

    def write(self, data: bytes) -> None:
        """Pass on data, now or when there is room."""
        if self.descriptor < 0 or self._closing:
            return
        if not self._waiting:
            self._loop.add_writer(self.descriptor, self._flush)
        self._waiting += data

    def _flush(self) -> None:
        try:
            del self._waiting[: os.write(self.descriptor, self._waiting)]
        except BlockingIOError:
            return
        except OSError:
            # The process closed its input or is gone: what is left has no reader.
            self._waiting.clear()
            self._closing = True
        if not self._waiting:
            self._loop.remove_writer(self.descriptor)
            if self._closing:
                self.close_now()

    def close(self) -> None:
        """End of input, after everything was passed on."""
        self._closing = True
        if not self._waiting:
            self.close_now()

    def close_now(self) -> None:
        """End of input without the rest."""
        if self.descriptor >= 0:
            self._loop.remove_writer(self.descriptor)
            os.close(self.descriptor)
            self.descriptor = -1
