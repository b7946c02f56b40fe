"""Starts everything the lab consists of in one event loop, and writes the files that others find it by.

Order: world, certificates, Kubernetes (so that it hears the first machine come up), Redfish, control door, files, and
only then `ready`. Whatever was started is closed again, in the opposite order, when `stop` is called or a signal comes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
import yaml

from lab.certificates import Certificates, write_private
from lab.control import SOCKET, Control, IsolationDenied, LabError
from lab.redfish.app import RedfishApp
from lab.redfish.latency import load_latency
from lab.spdm.authority import ensure_authority as ensure_components_authority
from lab.tpm import ensure_authority, ensure_node
from lab.truth.clock import LabClock
from lab.truth.fleet import FleetFile
from lab.truth.manifest import fleet_manifest
from lab.truth.measured_boot import golden_measurements
from lab.truth.world import MachineUp, World, WorldEvent

_KEEP_ALIVE_SECONDS = 30
_BACKLOG = 1024


@dataclass(frozen=True, slots=True)
class Settings:
    """How to start a lab. `host` is where it listens, `advertise` how others reach it; port 0 takes a free one."""

    fleet: FleetFile
    state_dir: Path
    seed: int = 1
    speed: float = 60.0
    host: str = "127.0.0.1"
    advertise: str = "127.0.0.1"
    port_redfish: int = 0
    port_kubernetes: int = 0
    latency: str = "fast"
    kubernetes: bool = True


class _Uvicorn(uvicorn.Server):  # type: ignore[misc]
    """uvicorn inside our own loop: signals are the lab's business, not each server's."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def serve_tls(app: Any, host: str, port: int, certificates: Certificates) -> AsyncIterator[int]:
    """Serve an ASGI app over TLS while the context is open; yields the port."""
    listener = socket.create_server((host, port), backlog=_BACKLOG)
    # asyncio leaves Nagle's algorithm on for sockets made this way; with it every answer waits 40 ms for an ACK.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    config = uvicorn.Config(
        app,
        ssl_certfile=str(certificates.server_certificate),
        ssl_keyfile=str(certificates.server_key),
        log_level="critical",
        access_log=False,
        lifespan="off",
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=1,
        backlog=_BACKLOG,
    )
    config.load()
    config.ssl.minimum_version = ssl.TLSVersion.TLSv1_2
    server = _Uvicorn(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        while not server.started:
            if task.done():
                task.result()
                raise LabError("The TLS server stopped while it was starting; look into the lab's log.")
            await asyncio.sleep(0.01)
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await task


async def run(settings: Settings, ready: asyncio.Event | None = None) -> None:
    """Run a lab until it is told to stop (control door, SIGTERM or SIGINT)."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with started(settings, stop) as _:
        if ready is not None:
            ready.set()
        await stop.wait()


@contextlib.asynccontextmanager
async def started(settings: Settings, stop: asyncio.Event) -> AsyncIterator[World]:
    """The world of a lab that is up; it goes down when the context closes."""
    state = settings.state_dir
    state.mkdir(parents=True, exist_ok=True)
    world = World(settings.fleet, state, settings.seed, LabClock(settings.speed))
    names = sorted({"127.0.0.1", "::1", "localhost", "lab", settings.advertise, socket.gethostname()})
    certificates = Certificates(state, names)
    credentials = {"username": "nodeworthy", "password": secrets.token_urlsafe(18)}
    app = RedfishApp(world, credentials["username"], credentials["password"], load_latency(settings.latency))
    _certify_tpms(world)
    async with contextlib.AsyncExitStack() as stack:
        endpoints: dict[str, Any] = {"control": str(state / SOCKET)}
        cluster = await _kubernetes(world, settings, certificates)
        if cluster is not None:
            stack.push_async_callback(cluster.close)
            endpoints["kubernetes"] = cluster.url
        port = await stack.enter_async_context(serve_tls(app, settings.host, settings.port_redfish, certificates))
        endpoints["redfish"] = f"https://{settings.advertise}:{port}"
        control = Control(world, endpoints, stop.set)
        await control.open(state / SOCKET)
        stack.push_async_callback(control.close)
        world.start()
        _write_files(world, certificates, credentials, endpoints)
        yield world


def _certify_tpms(world: World) -> None:
    """The vendor's authority at once, a node's key and certificate when its system first comes up."""
    ensure_authority(world.state_dir)
    ensure_components_authority(world.state_dir)

    def certify(event: WorldEvent) -> None:
        if isinstance(event, MachineUp):
            ensure_node(world.state_dir / "nodes" / event.node, world.parts(event.node).serial, world.state_dir)

    world.subscribe(certify)


async def _kubernetes(world: World, settings: Settings, certificates: Certificates) -> Any:
    """The Kubernetes API with its kubelets, or None for a lab of BMCs alone."""
    if not settings.kubernetes:
        return None
    # Imported late: a lab of BMCs alone needs neither its schema nor its memory.
    from lab.kubernetes import start
    from lab.kubernetes.service import Listen, SandboxDenied

    where = Listen(settings.port_kubernetes, settings.host, settings.advertise)
    try:
        return await start(world, where=where, state_dir=settings.state_dir, certificates=certificates)
    except SandboxDenied as error:
        raise IsolationDenied(str(error)) from error


def _write_files(
    world: World, certificates: Certificates, credentials: dict[str, str], endpoints: dict[str, Any]
) -> None:
    state = world.state_dir
    write_private(state / "credentials.json", json.dumps(credentials, indent=1).encode())
    manifest = fleet_manifest(world, endpoints["redfish"], certificates.ca_file)
    (state / "fleet.yaml").write_text(_yaml(manifest), encoding="utf-8")
    _write_json(state / "golden-measurements.json", golden_measurements())
    _write_json(state / "endpoints.json", endpoints)


def _write_json(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _yaml(document: Any) -> str:
    """YAML by libyaml where it is there: a thousand nodes take a second instead of ten."""
    text: str = yaml.dump(document, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False)
    return text
