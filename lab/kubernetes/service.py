"""Puts the parts together: cluster, controllers, kubelets, TLS server, kubeconfig files."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import uvicorn
import yaml

from lab.kubelet import sandbox
from lab.kubelet.fleet import Kubelets
from lab.kubelet.heartbeat import Wheel
from lab.kubernetes.api.app import App
from lab.kubernetes.api.auth import Gate
from lab.kubernetes.cluster import TEST_NAMESPACE, Cluster
from lab.kubernetes.controllers.customer import CustomerProbe
from lab.kubernetes.controllers.definitions import DefinitionController
from lab.kubernetes.controllers.disruption import DisruptionController
from lab.kubernetes.controllers.effects import EffectCounter
from lab.kubernetes.controllers.garbage import GarbageCollector
from lab.kubernetes.controllers.nodes import NodeController
from lab.kubernetes.controllers.scheduler import Scheduler

GOODBYE_SECONDS = 0.5
TEST_TOKEN_LIFE = timedelta(hours=24)


@dataclass(frozen=True)
class Listen:
    """Where the API listens, and under which name others reach it; port 0 takes a free one."""

    port: int = 0
    host: str = "127.0.0.1"
    advertise: str = "127.0.0.1"


class SandboxDenied(RuntimeError):
    """The system does not allow the namespaces that pods need; the text is one sentence for the operator."""


class _Server(uvicorn.Server):  # type: ignore[misc]
    """uvicorn inside the lab's loop: signals are the lab's business."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Handle:
    """A running API server. `url` is where clients reach it."""

    def __init__(self, cluster: Cluster, gate: Gate, wheel: Wheel) -> None:
        self.cluster = cluster
        self.gate = gate
        self.url = ""
        self._wheel = wheel
        self._server: Any = None
        self._task: asyncio.Task[None] | None = None

    async def listen(self, where: Listen, certificates: Any) -> None:
        """Open the TLS port and wait until it answers."""
        listener = socket.create_server((where.host, where.port), backlog=1024)
        # asyncio leaves Nagle's algorithm on for sockets made this way; with it every answer waits 40 ms for an ACK.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        config = uvicorn.Config(
            App(self.cluster, self.gate),
            ssl_certfile=str(certificates.server_certificate),
            ssl_keyfile=str(certificates.server_key),
            log_level="warning",
            access_log=False,
            lifespan="off",
            ws_max_size=64 * 1024 * 1024,
            ws_per_message_deflate=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=2,
            backlog=1024,
        )
        self._server = _Server(config)
        self._task = asyncio.ensure_future(self._server.serve(sockets=[listener]))
        while not self._server.started and not self._task.done():
            await asyncio.sleep(0.01)
        if self._task.done():
            await self._task
        self.url = f"https://{where.advertise}:{listener.getsockname()[1]}"

    async def close(self) -> None:
        """End watches cleanly, kill every pod process, stop serving; nothing stays mounted or running."""
        self._wheel.stop()
        self.cluster.closing.set()
        await self.cluster.kubelets.close()
        await self.cluster.stop_tasks()
        if self._server is not None and self._task is not None:
            self._server.should_exit = True
            await asyncio.wait((self._task,), timeout=GOODBYE_SECONDS)
            # A client that sits idle on a kept connection never answers TLS's goodbye.
            for connection in list(self._server.server_state.connections):
                connection.transport.abort()
            self._server.force_exit = True
            await self._task
        shutil.rmtree(self.cluster.state_dir / "pods", ignore_errors=True)


def kubeconfig(url: str, ca_file: Path, token: str, namespace: str) -> str:
    """A kubeconfig that names its authority by file.

    What stands in the kubeconfig itself the Python client writes into a temporary file of each process, and removes it
    at an ordinary exit only (kubernetes 36, config/kube_config.py): a forked task process of Airflow's has none.
    """
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "nodeworthy-lab", "cluster": {"server": url, "certificate-authority": str(ca_file.resolve())}}
        ],
        "users": [{"name": "lab", "user": {"token": token}}],
        "contexts": [{"name": "lab", "context": {"cluster": "nodeworthy-lab", "user": "lab", "namespace": namespace}}],
        "current-context": "lab",
    }
    return yaml.safe_dump(document, sort_keys=False)


def _write_private(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


async def serve(world: Any, *, where: Listen, state_dir: Path, certificates: Any, customer_probe: bool) -> Handle:
    """See `lab.kubernetes.start`."""
    denied = await asyncio.to_thread(sandbox.check)
    if denied is not None:
        raise SandboxDenied(denied)
    state_dir.mkdir(parents=True, exist_ok=True)
    cluster, gate = Cluster(world, state_dir), Gate()
    kubelets = Kubelets(cluster)
    cluster.kubelets = kubelets
    nodes = NodeController(cluster)
    scheduler = Scheduler(cluster)
    parts: list[Any] = [DefinitionController(cluster), EffectCounter(cluster), nodes, scheduler]
    parts += [GarbageCollector(cluster), DisruptionController(cluster), kubelets]
    if customer_probe:
        parts.append(CustomerProbe(cluster, scheduler))
    for part in parts:
        part.start()
    wheel = Wheel(cluster, kubelets.alive, kubelets.beat, nodes.check_silent)
    wheel.start()
    handle = Handle(cluster, gate, wheel)
    await handle.listen(where, certificates)
    _write_private(state_dir / "kubeconfig", kubeconfig(handle.url, certificates.ca_file, gate.admin_token, "default"))
    token, _ = gate.issue(TEST_NAMESPACE, "default", TEST_TOKEN_LIFE)
    _write_private(state_dir / "kubeconfig-tests", kubeconfig(handle.url, certificates.ca_file, token, TEST_NAMESPACE))
    return handle
