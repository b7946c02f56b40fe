"""pods/exec over WebSocket: the v5, v4, channel and base64 subprotocols of the real API server.

Frames are a channel byte and data: 0 stdin, 1 stdout, 2 stderr, 3 the final Status, 4 terminal size; v5 closes a
channel with 255 and its number.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import fcntl
import json
import os
import pty
import struct
import termios
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from lab.kubelet.processes import Feeder, Pipe, Process
from lab.kubernetes import errors
from lab.kubernetes.api.pods import container_of, kubelet_down
from lab.kubernetes.api.request import Request, Target
from lab.kubernetes.cluster import Cluster
from lab.kubernetes.errors import ApiError
from lab.kubernetes.resources import Json

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io", "channel.k8s.io", "base64.channel.k8s.io")
STDIN, STDOUT, STDERR, STATUS, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
_AFTER_DISCONNECT_SECONDS = 2.0
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def check_pod(cluster: Cluster, request: Request, target: Target) -> tuple[Json, str]:
    """The pod and container of an exec; 400 when it is not scheduled."""
    pod = cluster.registry.get(target.resource, target.namespace, target.name)
    container = container_of(pod, request.query.get("container", ""))
    if not pod["spec"].get("nodeName"):
        raise errors.bad_request(f"pod {target.name} does not have a host assigned")
    return pod, container


def open_session(cluster: Cluster, request: Request, target: Target, offered: list[str]) -> ExecSession:
    """Check everything that can be refused before the upgrade."""
    chosen = next((name for name in PROTOCOLS if name in offered), None)
    if offered and chosen is None:
        raise ApiError(403, "Forbidden", f"unable to upgrade: no supported subprotocol among {', '.join(offered)}", {})
    pod, container = check_pod(cluster, request, target)
    kubelets = cluster.kubelets
    if not kubelets.reachable(pod["spec"]["nodeName"]):
        raise kubelet_down(cluster, pod, f"exec/{target.namespace}/{target.name}/{container}")
    command = request.lists.get("command") or []
    if not command:
        raise errors.bad_request("you must specify at least 1 command for the container")
    running = kubelets.running(pod, container)
    if running is None:
        text = f'Internal error occurred: unable to upgrade connection: container not found ("{container}")'
        raise ApiError(500, "InternalError", text)
    flags = {
        name: request.query.get(name, "").lower() in ("1", "true") for name in ("stdin", "stdout", "stderr", "tty")
    }
    return ExecSession(running, command, flags, chosen or "")


class ExecSession:
    """One exec: a process inside a running container and its streams."""

    def __init__(self, container: Any, command: list[str], flags: dict[str, bool], protocol: str) -> None:
        self._container = container
        self._command = command
        self._flags = flags
        self._protocol = protocol
        self._out: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue()
        self._stdin: Feeder | None = None
        self._terminal = -1
        self._pipes: list[Pipe] = []

    async def run(self, receive: Receive, send: Send) -> None:
        """Accept the connection, run the command, close."""
        await receive()
        await send({"type": "websocket.accept", "subprotocol": self._protocol or None})
        process = self._start()
        await self._frame(send, STDOUT if self._flags["stdout"] else STDERR, b"")
        listening = asyncio.ensure_future(self._listen(receive))
        sending = asyncio.ensure_future(self._send_output(send))
        try:
            await asyncio.wait((listening, process.exited), return_when=asyncio.FIRST_COMPLETED)
            self._close_stdin()
            if not process.exited.done():
                await self._abandon(process)
                return
            await self._drain()
            await sending
            await self._report(send, process.exited.result())
        except (RuntimeError, OSError):
            # The client went while we were sending; there is nobody left to tell.
            process.kill()
        finally:
            for task in (listening, sending):
                task.cancel()
            if self._stdin is not None:
                self._stdin.close_now()
            for pipe in self._pipes:
                pipe.finish()

    async def _abandon(self, process: Process) -> None:
        """The client is gone: end of input, then the end."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(process.exited), _AFTER_DISCONNECT_SECONDS)
        process.kill()

    def _start(self) -> Process:
        command, environment = self._container.enter(self._command)
        if self._flags["tty"]:
            return self._start_terminal(command, environment)
        if self._flags["stdin"]:
            read_end, write_end = os.pipe()
            self._stdin = Feeder(write_end)
        else:
            read_end = os.open(os.devnull, os.O_RDONLY)
        self._pipes = [Pipe(lambda data: self._put(STDOUT, data)), Pipe(lambda data: self._put(STDERR, data))]
        process = Process(command, environment, read_end, *(pipe.write_end for pipe in self._pipes))
        os.close(read_end)
        for pipe in self._pipes:
            pipe.release()
        return process

    def _start_terminal(self, command: list[str], environment: dict[str, str]) -> Process:
        self._terminal, inner = pty.openpty()
        self._stdin = Feeder(os.dup(self._terminal))
        process = Process(command, {**environment, "TERM": "xterm"}, inner, inner, inner)
        os.close(inner)
        pipe = Pipe(lambda data: self._put(STDOUT, data))
        pipe.adopt(self._terminal)
        self._pipes = [pipe]
        return process

    def _put(self, channel: int, data: bytes) -> None:
        if self._flags["stdout" if channel == STDOUT else "stderr"] or self._flags["tty"]:
            self._out.put_nowait((channel, data))

    async def _drain(self) -> None:
        for pipe in self._pipes:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(pipe.closed), 1.0)
        self._out.put_nowait((-1, b""))

    async def _send_output(self, send: Send) -> None:
        while True:
            channel, data = await self._out.get()
            if channel < 0:
                return
            await self._frame(send, channel, data)

    async def _frame(self, send: Send, channel: int, data: bytes) -> None:
        if self._protocol.startswith("base64"):
            await send({"type": "websocket.send", "text": str(channel) + base64.b64encode(data).decode()})
        else:
            await send({"type": "websocket.send", "bytes": bytes([channel]) + data})

    async def _report(self, send: Send, code: int) -> None:
        """The final Status (as text for the old protocols, and only for failures), then a normal close."""
        if self._protocol in PROTOCOLS[:2]:
            await self._frame(send, STATUS, json.dumps(exit_status(code)).encode())
        elif code:
            await self._frame(send, STATUS, exit_status(code)["message"].encode())
        await send({"type": "websocket.close", "code": 1000})

    async def _listen(self, receive: Receive) -> None:
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                return
            self._input(message)

    def _input(self, message: MutableMapping[str, Any]) -> None:
        channel, data = self._decode(message)
        if channel == STDIN and data and self._stdin is not None:
            self._stdin.write(data)
        elif channel == CLOSE and data[:1] == bytes([STDIN]):
            self._close_stdin()
        elif channel == RESIZE and self._terminal >= 0:
            self._resize(data)

    def _decode(self, message: MutableMapping[str, Any]) -> tuple[int, bytes]:
        """Channel and data of a frame; clients may send the binary protocols' frames as text."""
        raw = message.get("bytes") or str(message.get("text") or "").encode()
        if not raw:
            return STDIN, b""
        if self._protocol.startswith("base64"):
            return int(raw[:1]), base64.b64decode(raw[1:])
        return raw[0], raw[1:]

    def _resize(self, data: bytes) -> None:
        with contextlib.suppress(ValueError, KeyError, OSError):
            size = json.loads(data)
            packed = struct.pack("HHHH", size["Height"], size["Width"], 0, 0)
            fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, packed)

    def _close_stdin(self) -> None:
        if self._stdin is not None:
            self._stdin.close()


def exit_status(code: int) -> Json:
    """The Status that ends an exec."""
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
