"""A lab Kubernetes in a thread of its own, and how the tests wait."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

import lab.kubernetes
from lab.certificates import Certificates
from tests.contract.kubernetes.small_world import SmallWorld

NODES = ("node-a", "node-b", "node-c")


class Lab:
    """The lab from another thread: `call` runs something in its event loop."""

    def __init__(self, state_dir: Path, *, customer_probe: bool = False) -> None:
        self.state_dir = state_dir
        self._customer = customer_probe
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.world: Any = None
        self.handle: Any = None
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(30)

    async def _start(self) -> None:
        self.world = SmallWorld(self.state_dir, NODES)
        certificates = Certificates(self.state_dir, ["127.0.0.1", "localhost"])
        self.handle = await lab.kubernetes.start(
            self.world, state_dir=self.state_dir, certificates=certificates, customer_probe=self._customer
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


def raw_client(kubeconfig: Path, token: str | None = "") -> httpx.Client:
    """Plain HTTP with the kubeconfig's server and authority; another token, or none with None."""
    import base64
    import ssl

    import yaml

    document = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    inline = base64.b64decode(cluster.get("certificate-authority-data", "")).decode() or None
    context = ssl.create_default_context(cafile=cluster.get("certificate-authority"), cadata=inline)
    headers = {} if token is None else {"Authorization": f"Bearer {token or user['token']}"}
    return httpx.Client(base_url=cluster["server"], verify=context, headers=headers, timeout=20)


def sleeper(name: str, command: str = "sleep 60", **spec: Any) -> dict[str, Any]:
    """A pod that runs a shell command anywhere."""
    container = {"name": "c", "image": "alpine:3", "command": ["sh", "-c", command]}
    base: dict[str, Any] = {"restartPolicy": "Never", "containers": [container], "terminationGracePeriodSeconds": 1}
    base["tolerations"] = [{"operator": "Exists"}]
    return {"metadata": {"name": name, "labels": {"app": name}}, "spec": {**base, **spec}}
