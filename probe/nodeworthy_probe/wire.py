"""perftest or iperf3 between the nodes of a pair: ``python -m nodeworthy_probe.wire DEVICES TOOL ...``.

The leader starts a server on one side and the client on the other, first its own adapter writing to the partner's, then
the other way round; a latency is one of both ways together and is measured once. Each adapter meets the one of the same
name. ``{device}`` in an argument becomes its name and ``{gpu}`` the PCI address of the GPU next to it on that side,
whose memory is used by dma-buf unless nvidia_peermem is loaded there. Every run has its own time limit on both sides,
so a rail that hangs costs the others nothing. iperf3 knows no adapters: its one device is ``host``, the path between
the nodes' own addresses. A section per adapter and direction says what the client printed; where it failed, the
server's words follow, with the node that said them.

    wire near DEVICES      print, as JSON, which GPU is next to each adapter here
"""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import pci_tree
from .each_device import END, HEAD
from .group import PLAN_VARIABLE, Group, ask, group_of, joined
from .host import ROOT

OUT, IN = "out", "in"
"""From the leader to its partner, and the other way."""
PORT = 28601
"""Where the first adapter's server listens, on its own node's address; each further adapter has the next port."""
LIMIT_SECONDS = 15
_TRY_SECONDS = 0.2
_GRACE_SECONDS = 2
_TIMED_OUT = 124
_NOT_CONNECTED = (b"Couldn't connect", b"unable to connect")
_TCP = "iperf3"
_GPU, _DMABUF = "{gpu}", "--use_cuda_dmabuf"


@dataclass(frozen=True)
class Near:
    """What one side knows of itself: the PCI address of the GPU next to each adapter, and how its memory is reached."""

    gpus: Mapping[str, str]
    dmabuf: bool


@dataclass(frozen=True)
class Side:
    """One node of the pair: rank, name, address, and what is near its adapters."""

    rank: int
    node: str
    address: str
    near: Near


def main(arguments: Sequence[str]) -> int:
    """Measure every adapter in both directions; 0 whatever perftest's own exit codes, which stand in the sections."""
    devices = arguments[1 if arguments[0] == "near" else 0].split(",")
    if arguments[0] == "near":
        found = near(Path(os.environ.get(ROOT) or "/"), devices)
        sys.stdout.write(json.dumps({"gpus": dict(found.gpus), "dmabuf": found.dmabuf}) + "\n")
        return 0
    group = group_of(json.loads(os.environ[PLAN_VARIABLE]))
    if group is None or len(group.nodes) != 2 or not group.leads:
        sys.stderr.write("This is measured between two nodes, by the one that leads.\n")
        return 2
    problem = joined(group)
    if problem:
        sys.stderr.write(problem)
        return 4
    _measure(group, devices, arguments[1], arguments[2:])
    return 0


def near(root: Path, devices: Sequence[str]) -> Near:
    """Which GPU shares most PCIe bridges with each adapter; an adapter without one near it is left out."""
    gpus, found = pci_tree.gpus(root), {}
    for name in devices:
        place = pci_tree.adapter(root, name)
        gpu = pci_tree.nearest(place, gpus) if place is not None else None
        if gpu is not None:
            found[name] = gpu.name
    modules = pci_tree.text(root / "proc/modules") or ""
    return Near(found, not any(line.startswith("nvidia_peermem ") for line in modules.splitlines()))


def _measure(group: Group, devices: Sequence[str], tool: str, arguments: Sequence[str]) -> None:
    by_gpu = any(_GPU in argument for argument in arguments)
    own = near(Path(os.environ.get(ROOT) or "/"), devices) if by_gpu else Near({}, False)
    far = _far_near(group, devices) if by_gpu else own
    leader, partner = (
        Side(rank, group.nodes[rank], group.addresses[rank], known) for rank, known in enumerate((own, far))
    )
    ways = ((OUT, leader, partner),) if tool.endswith("_lat") else ((OUT, leader, partner), (IN, partner, leader))
    for place, device in enumerate(devices):
        for way, client, server in ways:
            run = _Run(group, [tool, *arguments], device, PORT + place, client, server)
            code, said = run.result()
            sys.stdout.write(f"{HEAD}{device} {way}\n{said}{END}{code}\n")
            sys.stdout.flush()


def _far_near(group: Group, devices: Sequence[str]) -> Near:
    output = io.BytesIO()
    ask(group, group.addresses[1], f"{sys.executable} -m nodeworthy_probe.wire near {','.join(devices)}", output)
    found = json.loads(output.getvalue() or b"{}")
    return Near(found.get("gpus", {}), bool(found.get("dmabuf")))


@dataclass(frozen=True)
class _Run:
    """One client and one server on one adapter."""

    group: Group
    command: Sequence[str]
    device: str
    port: int
    client: Side
    server: Side

    def result(self) -> tuple[int, str]:
        """The client's exit code and what it printed, with the server's words behind it where the run failed."""
        lacking = [side.node for side in (self.client, self.server) if self._lacks_gpu(side)]
        if lacking:
            return 1, f"no GPU shares a PCIe bridge with {self.device} of {' and '.join(lacking)}\n"
        server = _Started(self.group, self.server.rank, self._serving())
        code, said = self._until_connected(server)
        server.end(at_once=code != 0)
        if code == 0:
            return 0, said
        return code, f"{said}client {self.client.node} ended with {code}\n{_quoted(self.server.node, server)}"

    def _until_connected(self, server: _Started) -> tuple[int, str]:
        """A server says nothing when it begins to listen, so the client tries until it is heard or the server ends."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while True:
            heard = server.alive()
            client = _Started(self.group, self.client.rank, self._calling())
            client.wait()
            refused = client.code not in (0, None) and any(words in client.said for words in _NOT_CONNECTED)
            if not refused or not heard or time.monotonic() > deadline:
                return (client.code if client.code is not None else 1), client.said.decode("utf-8", "replace")
            time.sleep(_TRY_SECONDS)

    def _lacks_gpu(self, side: Side) -> bool:
        return any(_GPU in word for word in self.command) and self.device not in side.near.gpus

    def _serving(self) -> list[str]:
        if self.command[0] == _TCP:
            return [_TCP, "-s", "-1", "-B", self.server.address, "-p", str(self.port)]
        return [*self._line(self.server), "--bind_source_ip", self.server.address]

    def _calling(self) -> list[str]:
        if self.command[0] == _TCP:
            return [*self.command, "-c", self.server.address, "-p", str(self.port)]
        return [*self._line(self.client), self.server.address]

    def _line(self, side: Side) -> list[str]:
        words = [
            word.replace("{device}", self.device).replace(_GPU, side.near.gpus.get(self.device, ""))
            for word in self.command
        ]
        by_gpu = any(_GPU in word for word in self.command)
        return [*words, *([_DMABUF] if by_gpu and side.near.dmabuf else []), "-p", str(self.port)]


class _Started:
    """One process on one of the two nodes, under its own time limit there; `code` is None while it runs."""

    def __init__(self, group: Group, rank: int, command: Sequence[str]) -> None:
        self.code: int | None = None
        self._output = io.BytesIO()
        self._process: subprocess.Popen[bytes] | None = None
        line = ["timeout", "-k", str(_GRACE_SECONDS), str(LIMIT_SECONDS), *command]
        target = self._here if rank == group.rank else self._there
        self._thread = threading.Thread(target=target, args=(group, rank, line), daemon=True)
        self._thread.start()

    @property
    def said(self) -> bytes:
        """What it printed so far, standard error with it."""
        return self._output.getvalue()

    def alive(self) -> bool:
        """Whether it still runs."""
        return self._thread.is_alive()

    def wait(self) -> None:
        """Wait for its end, a little longer than its limit; a node that answers nothing more is not waited for."""
        self._thread.join(LIMIT_SECONDS + 2 * _GRACE_SECONDS)

    def end(self, *, at_once: bool) -> None:
        """Let a server go: it ends with its client, and one of ours without a client is ended here."""
        if at_once and self._process is not None:
            self._process.terminate()
        self._thread.join(_GRACE_SECONDS)

    def _here(self, _group: Group, _rank: int, line: Sequence[str]) -> None:
        try:
            self._process = subprocess.Popen(
                line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        except OSError as error:
            self._output.write(f"{line[0]} cannot be started: {error}\n".encode())
            self.code = 127
            return
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            for part in stream:
                self._output.write(part)
        self.code = self._process.wait()

    def _there(self, group: Group, rank: int, line: Sequence[str]) -> None:
        try:
            self.code = ask(group, group.addresses[rank], f"exec {shlex.join(line)}", self._output)
        except (OSError, ValueError) as error:
            self._output.write(f"{group.nodes[rank]} cannot be asked: {error}\n".encode())
            self.code = 1


def _quoted(node: str, server: _Started) -> str:
    """The server's words, marked, so that none of its lines is taken for a client's figure."""
    end = f"no end within {LIMIT_SECONDS} s" if server.code in (None, _TIMED_OUT) else f"ended with {server.code}"
    lines = [f"server {node} {end}", *server.said.decode("utf-8", "replace").splitlines()[-20:]]
    return "".join(f"| {line}\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
