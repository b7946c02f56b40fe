"""A lab Kubernetes in a thread of its own, or a real cluster where NODEWORTHY_TEST_KUBECONFIG names one."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import small_world

import lab.kubernetes
from lab.certificates import Certificates
from lab.kubelet import sandbox

REAL = os.environ.get("NODEWORTHY_TEST_KUBECONFIG")
NODES = ("node-a", "node-b", "node-c")


class Lab:
    """The lab from another thread: `call` runs something in its event loop."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir = state_dir
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.world: Any = None
        self.handle: Any = None
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(30)

    async def _start(self) -> None:
        self.world = small_world.SmallWorld(self.state_dir, NODES)
        certificates = Certificates(self.state_dir, ["127.0.0.1", "localhost"])
        self.handle = await lab.kubernetes.start(
            self.world, port=0, state_dir=self.state_dir, certificates=certificates, customer_probe=False
        )
        for name in NODES:
            self.world.up(name)

    def call(self, function: Callable[[], Any]) -> Any:
        """Run a function in the lab's loop."""

        async def run() -> Any:
            return function()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(30)

    def close(self) -> None:
        """Stop everything."""
        asyncio.run_coroutine_threadsafe(self.handle.close(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab | None]:
    """The lab, or None when the tests run against a real cluster."""
    if REAL:
        yield None
        return
    denied = sandbox.check()
    if denied:
        pytest.skip(denied)
    server = Lab(tmp_path_factory.mktemp("lab"))
    yield server
    server.close()


@pytest.fixture
def lab_only(lab_server: Lab | None) -> Lab:
    """The lab, for tests that need control over machines or time."""
    if lab_server is None:
        pytest.skip("needs control over the lab; this is a real cluster")
    return lab_server


@pytest.fixture(scope="session")
def kubeconfig(lab_server: Lab | None) -> Path:
    """The administrator's kubeconfig."""
    return Path(REAL) if lab_server is None and REAL else lab_server.state_dir / "kubeconfig"  # type: ignore[union-attr]


@pytest.fixture(scope="session")
def client(kubeconfig: Path) -> Any:
    """The official client's API client."""
    from kubernetes import config

    return config.new_client_from_config(str(kubeconfig))


@pytest.fixture(scope="session")
def core(client: Any) -> Any:
    """The official client's core API, once the nodes are ready."""
    from kubernetes import client as api

    core = api.CoreV1Api(client)
    wait_for(lambda: ready_nodes(core) >= 1, 30)
    return core


@pytest.fixture
def namespace(core: Any) -> Iterator[str]:
    """A fresh namespace that is deleted afterwards."""
    name = core.create_namespace({"metadata": {"generateName": "contract-"}}).metadata.name
    wait_for(lambda: core.list_namespaced_service_account(name).items or not REAL, 10)
    yield name
    core.delete_namespace(name)


def ready_nodes(core: Any) -> int:
    """How many nodes are ready."""
    conditions = [item for node in core.list_node().items for item in node.status.conditions or []]
    return sum(1 for item in conditions if item.type == "Ready" and item.status == "True")


def wait_for(check: Callable[[], Any], seconds: float = 15.0) -> Any:
    """Poll until the check is true; fails with its last value."""
    deadline = time.monotonic() + seconds
    while True:
        value = check()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {seconds} s: {value!r}"
        time.sleep(0.05)
