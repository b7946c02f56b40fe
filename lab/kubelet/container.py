"""One run of one container: sandbox, process, log, exit."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lab.kubelet import sandbox
from lab.kubelet.logs import LogWriter
from lab.kubelet.processes import Pipe, Process, send_signal

Json = dict[str, Any]
_SETUP_SECONDS = 60.0


class StartError(Exception):
    """The container could not be started; the text is for the status."""


@dataclass(slots=True)
class Recipe:
    """What to run: command, environment, directory and mounts."""

    command: list[str]
    environment: dict[str, str]
    directory: str
    root: sandbox.Root


@dataclass(slots=True)
class Run:
    """What is known about one run of a container."""

    number: int
    started: datetime | None = None
    finished: datetime | None = None
    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    container_id: str = field(default_factory=lambda: "lab://" + os.urandom(16).hex())


class Container:
    """A container's present run: start it, signal it, wait for its end, enter it."""

    def __init__(self, recipe: Recipe, log_path: Path) -> None:
        self.recipe = recipe
        self.log = LogWriter(log_path)
        self._process: Process | None = None
        self._pipes: list[Pipe] = []
        self._stderr_start = b""
        self.init_pid: int | None = None

    async def start(self) -> None:
        """Run the command as process 1 of a new sandbox; StartError in one sentence when that fails."""
        self._refuse_missing()
        table = sandbox.prepare(self.recipe.root)
        command = sandbox.launch_command(table, self.recipe.root, self.recipe.command, self.recipe.directory)
        ready: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        def receive(data: bytes) -> None:
            if not ready.done():
                ready.set_result(data)

        told = Pipe(receive)
        self._pipes = [Pipe(lambda data: self.log.write("stdout", data)), Pipe(self._from_stderr)]
        ends = [pipe.write_end for pipe in self._pipes]
        self._process = Process(command, self.recipe.environment, told.write_end, *ends)
        for pipe in (told, *self._pipes):
            pipe.release()
        await asyncio.wait(
            (ready, told.closed, self._process.exited), timeout=_SETUP_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        told.finish()
        if not ready.done() or ready.result() != b"ok\n":
            await self._refused()
        self.init_pid = self._process.first_child()

    async def _refused(self) -> None:
        assert self._process is not None
        self._process.kill()
        code = await self.wait()
        seen = " ".join(self._stderr_start.decode(errors="replace").split())
        raise StartError(f"failed to create containerd task: the sandbox was refused with status {code}: {seen}")

    def _refuse_missing(self) -> None:
        name, path = self.recipe.command[0], self.recipe.environment.get("PATH", "")
        if "/" not in name and shutil.which(name, path=path) is None:
            raise StartError(
                "failed to create containerd task: failed to create shim task: "
                f'OCI runtime create failed: exec: "{name}": '
                "executable file not found in $PATH"
            )

    def _from_stderr(self, data: bytes) -> None:
        if len(self._stderr_start) < 2000:
            self._stderr_start += data
        self.log.write("stderr", data)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and not self._process.exited.done()

    async def wait(self) -> int:
        """The exit code; all output is in the log by then."""
        assert self._process is not None
        code = await asyncio.shield(self._process.exited)
        for pipe in self._pipes:
            try:
                await asyncio.wait_for(asyncio.shield(pipe.closed), 2.0)
            except TimeoutError:
                pipe.finish()
        self.log.close()
        return code

    def terminate(self) -> None:
        """SIGTERM to process 1."""
        if self.alive and self.init_pid is not None:
            send_signal(self.init_pid, signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL to process 1, and with it to everything in the sandbox."""
        if self.alive and self.init_pid is not None:
            send_signal(self.init_pid, signal.SIGKILL)
        elif self._process is not None:
            self._process.kill()

    def enter(self, command: list[str]) -> tuple[list[str], dict[str, str]]:
        """The argument list and environment that run a command inside."""
        assert self.init_pid is not None
        return sandbox.enter_command(self.init_pid, command, self.recipe.directory), self.recipe.environment


def utc_now() -> datetime:
    """Real time."""
    return datetime.now(UTC)
