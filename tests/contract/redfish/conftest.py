"""A lab's BMCs served over TLS from a thread, on a clock that stands: tests move it and never sleep.

Read-only tests use `any_bmc`, which is a real BMC when NODEWORTHY_TEST_BMC_URL (with _USER, _PASSWORD and optionally
_CA_FILE) is set, and a node of the lab otherwise.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import sushy
import sushy.auth

from lab.certificates import Certificates
from lab.redfish.app import RedfishApp
from lab.redfish.latency import load_latency
from lab.server import serve_tls
from lab.truth.fleet import FleetFile, generate
from lab.truth.world import LabClock, World

USERNAME, PASSWORD = "operator", "correct horse"


@dataclass
class ServedLab:
    """A running lab; `do` runs a function in its event loop, `take` hands out a node nobody has touched."""

    world: World
    url: str
    ca_file: str
    loop: asyncio.AbstractEventLoop
    taken: set[str] = field(default_factory=set)
    connections: list[Any] = field(default_factory=list)

    def do(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function in the event loop."""

        async def run() -> Any:
            return function(*arguments)

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(10)

    def advance(self, **duration: float) -> None:
        """Move the lab time ahead."""
        self.do(self.world.clock.advance, timedelta(**duration))

    def take(self, sku: str = "h100-sxm-8", *quirks: str) -> str:
        """A node of this SKU that no other test uses, with these quirks on."""
        name = next(node.name for node in self.world.nodes.values() if node.sku == sku and node.name not in self.taken)
        self.taken.add(name)
        for quirk in quirks:
            self.world.set_quirk(name, quirk, on=True)
        return name

    def client(self, node: str, **options: Any) -> httpx.Client:
        """A client below the node's prefix, not logged in."""
        context = ssl.create_default_context(cafile=self.ca_file)
        base = f"{self.url}/bmc/{node}"
        return httpx.Client(base_url=base, verify=context, timeout=10, **options)

    @contextlib.contextmanager
    def logged_in(self, node: str) -> Iterator[httpx.Client]:
        """The same with a session."""
        body = {"UserName": USERNAME, "Password": PASSWORD}
        with self.client(node) as client:
            answer = client.post("/redfish/v1/SessionService/Sessions", json=body)
            client.headers["X-Auth-Token"] = answer.headers["X-Auth-Token"]
            yield client

    def sushy(self, node: str) -> Any:
        """sushy, connected as the product would."""
        connection = sushy.Sushy(
            self.url,
            root_prefix=f"/bmc/{node}/redfish/v1/",
            auth=sushy.auth.SessionAuth(USERNAME, PASSWORD),
            verify=self.ca_file,
            connect_timeout=5,
            read_timeout=10,
            server_side_retries=1,
            server_side_retries_delay=1,
        )
        self.connections.append(connection)
        return connection

    def close_connections(self) -> None:
        """Log out of sushy's sessions; left to its finaliser, that could block the thread it has to talk to."""
        while self.connections:
            self.connections.pop()._conn._auth.close()


@contextlib.contextmanager
def served(fleet: FleetFile, folder: Path) -> Iterator[ServedLab]:
    """Serve a fleet's BMCs from a thread of its own."""
    loop = asyncio.new_event_loop()
    started, stop = threading.Event(), asyncio.Event()
    found: list[ServedLab] = []

    async def serve() -> None:
        world = World(fleet, folder, clock=LabClock(speed=0))
        world.start()
        certificates = Certificates(folder, ["127.0.0.1"])
        app = RedfishApp(world, USERNAME, PASSWORD, load_latency("fast"))
        async with serve_tls(app, "127.0.0.1", 0, certificates) as port:
            found.append(ServedLab(world, f"https://127.0.0.1:{port}", str(certificates.ca_file), loop))
            started.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert started.wait(20), "the lab's Redfish service did not start"
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


@pytest.fixture(scope="session")
def served_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedLab]:
    """Ninety-six generated nodes; every test takes one of its own."""
    with served(generate(96), tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture
def lab(served_lab: ServedLab) -> Iterator[ServedLab]:
    """The lab for one test; what the test left open is closed."""
    yield served_lab
    served_lab.close_connections()


@pytest.fixture
def any_bmc(lab: ServedLab) -> Iterator[Any]:
    """A sushy connection to a real BMC if the environment names one, to the lab otherwise."""
    url = os.environ.get("NODEWORTHY_TEST_BMC_URL")
    if not url:
        yield lab.sushy(lab.take())
    else:
        user, password = os.environ["NODEWORTHY_TEST_BMC_USER"], os.environ["NODEWORTHY_TEST_BMC_PASSWORD"]
        verify = os.environ.get("NODEWORTHY_TEST_BMC_CA_FILE", True)
        auth = sushy.auth.SessionAuth(user, password)
        connection = sushy.Sushy(url, auth=auth, verify=verify, server_side_retries=1, server_side_retries_delay=1)
        yield connection
        connection._conn._auth.close()
