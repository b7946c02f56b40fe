"""The lab's Kubernetes: an API server over TLS with the controllers and kubelets behind it, all in one event loop.

`start` is the only entry: it takes the lab's world and returns a handle with `url` and `close()`. The API is faithful
where clients, kubectl and KubernetesPodOperator depend on it; timestamps are real time because clients compare them
with their own clock, while the delays of machines (heartbeats, boots, tolerated absences) follow the lab's clock.

Left out, because nothing here needs it: CEL rules and conversion of custom resources, probes and resource limits of
containers, services' networking, workload controllers (their objects are only stored), SPDY, protobuf beyond the few
kinds that kubectl sends (api/protobuf.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.kubernetes.service import Handle, Listen

__all__ = ["start"]


async def start(
    world: Any, *, state_dir: Path, certificates: Any, where: Listen | None = None, customer_probe: bool = True
) -> Handle:
    """Serve there (a free loopback port when nothing is said); write kubeconfigs to `state_dir`.

    `certificates` has `ca_file`, `server_certificate` and `server_key`. Raises SandboxDenied, in one sentence, where
    the system does not let the lab isolate pods.
    """
    from lab.kubernetes.service import Listen, serve

    return await serve(
        world,
        where=where or Listen(),
        state_dir=state_dir,
        certificates=certificates,
        customer_probe=customer_probe,
    )
