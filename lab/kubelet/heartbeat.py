"""Heartbeats of all kubelets: one timer for the fleet, leases renewed in one pass.

The interval is ten lab seconds, but never under a real second, and longer for large fleets, so that a fast clock or a
thousand nodes cost little CPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from lab.kubernetes.cluster import Cluster
from lab.kubernetes.registry import utc_text

LEASES = ("coordination.k8s.io", "leases")
LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 40
INTERVAL_LAB_SECONDS = 10.0
RENEWALS_PER_REAL_SECOND = 200.0
LEAST_REAL_SECONDS = 0.5
# How many intervals without a heartbeat make a node unknown: 40 s at an interval of 10 s, as node-monitor-grace-period.
GRACE_INTERVALS = 4.0


def interval(cluster: Cluster, nodes: int) -> timedelta:
    """Lab time between two heartbeats of a node."""
    real = max(1.0, nodes / RENEWALS_PER_REAL_SECOND)
    return timedelta(seconds=max(INTERVAL_LAB_SECONDS, real * cluster.world.clock.speed))


def renew(cluster: Cluster, node: str, owner_uid: str) -> None:
    """Write the node's lease with the present real time."""
    now = utc_text(cluster.registry.now(), micro=True)
    lease = cluster.store.get(LEASES, LEASE_NAMESPACE, node)
    if lease is not None:
        cluster.store.put(LEASES, {**lease, "spec": {**lease["spec"], "renewTime": now}})
        return
    owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": owner_uid}
    body: dict[str, Any] = {
        "metadata": {"name": node, "ownerReferences": [owner]},
        "spec": {"holderIdentity": node, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now},
    }
    cluster.registry.create(cluster.catalogue.by_plural("leases", "coordination.k8s.io"), LEASE_NAMESPACE, body)


class Wheel:
    """Calls `beat` for every living node once per interval, then `after` (who looks for silent nodes)."""

    def __init__(
        self,
        cluster: Cluster,
        alive: Callable[[], Iterable[str]],
        beat: Callable[[str, bool], None],
        after: Callable[[], None],
    ) -> None:
        self._cluster = cluster
        self._alive, self._beat, self._after = alive, beat, after
        self._timer: Any = None
        self._turned = 0.0

    def start(self) -> None:
        """Begin to turn."""
        nodes = len(self._cluster.world.nodes)
        self._timer = self._cluster.world.clock.call_later(interval(self._cluster, nodes), self._turn)

    def _turn(self) -> None:
        # When the clock jumps ahead, the beats that it jumps over count but are not written one by one.
        now = time.monotonic()
        written = now - self._turned >= LEAST_REAL_SECONDS
        self._turned = now if written else self._turned
        for name in tuple(self._alive()):
            self._beat(name, written)
        self._after()
        self.start()

    def stop(self) -> None:
        """Stop turning."""
        if self._timer is not None:
            self._timer.cancel()
