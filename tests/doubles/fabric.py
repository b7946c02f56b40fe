"""A fabric of nodes behind the GroupPods and Cluster ports: a group measures what its slowest member lets through.

Results come as the probe leaves them, so that the real receiving, judging and screening run on them.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from nodeworthy.errors import Refused
from nodeworthy.ports import GroupMember, PodState
from nodeworthy.procedures.receive import FOLDER
from nodeworthy.qualification.columns import components

from tests.doubles.bench import library
from tests.unit.qualification.written_results import healthy

FULL_GBPS = 480.0
OWN = library().suite("m0")
"""What every node watches on itself."""
RAIL_GBPS = 390.0
TCP_GBPS = 94.0
SHARES = {"ring": 0.8, "fabric": 0.8, "alltoall": 0.1625}
"""What the shipped baselines of the virtual fleet expect of the other collectives."""


@dataclass
class Fabric:
    """Who is slow (GB/s that it lets through), who has no RDMA, who never joins; `tested` keeps every group."""

    boot_ids: Mapping[str, str]
    slow: Mapping[str, float] = field(default_factory=dict)
    between: frozenset[str] = frozenset()
    """Nodes that are slow only when they are all in one group."""
    racks: Mapping[str, str] = field(default_factory=dict)
    uplinks: Mapping[str, float] = field(default_factory=dict)
    """Nodes that let through no more than so many GB/s when their group holds nodes of several racks."""
    slow_rail: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    """Who has one adapter that lets only so many Gb/s through; its collectives are slower by as much."""
    slow_tcp: Mapping[str, float] = field(default_factory=dict)
    """Who moves no more than so many Gb/s over TCP."""
    no_rdma: frozenset[str] = frozenset()
    unreachable: frozenset[str] = frozenset()
    counts: Mapping[str, tuple[str, float | None]] = field(default_factory=dict)
    """By node, a count that each group test raises there, and to what; None where it cannot be read."""
    late: Mapping[str, float] = field(default_factory=dict)
    """Nodes whose gpu/3 computes so many milliseconds later in each training step."""
    running: dict[str, dict[str, GroupMember]] = field(default_factory=dict)
    files: dict[tuple[str, str], bytes] = field(default_factory=dict)
    tested: list[tuple[str, ...]] = field(default_factory=list)

    def address(self, node: str) -> str:
        """Return an address."""
        if node in self.unreachable:
            raise Refused(f"Node {node} tells no InternalIP.")
        return f"192.0.2.{len(node)}"

    def start(self, group: str, members: Sequence[GroupMember]) -> None:
        """Run the group to its end at once."""
        if group in self.running:
            return
        self.running[group] = {member.pod: member for member in members}
        nodes = tuple(member.node for member in members)
        self.tested.append(nodes)
        for member in members:
            self._leave(member, nodes)

    def look(self, group: str) -> Mapping[str, PodState]:
        """All pods have ended."""
        return dict.fromkeys(self.running.get(group, ()), PodState(True))

    def remove(self, group: str) -> None:
        """Forget the pods and what lay in them."""
        for pod in self.running.pop(group, ()):
            self.files = {key: content for key, content in self.files.items() if key[0] != pod}

    def _leave(self, member: GroupMember, nodes: tuple[str, ...]) -> None:
        plan = member.plan
        healthy_one = healthy()
        record = healthy_one["tests"][0]
        document = {
            **healthy_one,
            **{name: plan[name] for name in ("node", "serial", "episode", "nonce", "suite", "sku")},
            "simulated": True,
            "boot_id": self.boot_ids[member.node],
            "plan_sha256": sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest(),
            "versions": {"driver": "570.172.08"},
            "findings": [],
            "tests": [{**record, "test": test["test"], "tool": test["tool"]} for test in plan["tests"]],
            "measurements": [row for test in plan["tests"] for row in self._measured(test, member.node, nodes)],
        }
        content = json.dumps(document).encode()
        bundle = _packed(content)
        receipt = {
            "schema": "nodeworthy.receipt/1",
            "bundle_sha256": sha256(bundle).hexdigest(),
            "result_sha256": sha256(content).hexdigest(),
        }
        self.files[member.pod, f"{FOLDER}/bundle.tar.gz"] = bundle
        self.files[member.pod, f"{FOLDER}/return.json"] = json.dumps(receipt).encode()

    def _measured(self, test: Mapping[str, Any], node: str, nodes: tuple[str, ...]) -> list[dict[str, Any]]:
        if test["tool"].startswith("ib_write"):
            return [row for name in str(test["arguments"][0]).split(",") for row in self._rail(test, name, nodes)]
        if test["tool"] == "train_step":
            return self._trained(test, nodes)
        if test["tool"] == "iperf3":
            rate = min([TCP_GBPS, *(self.slow_tcp[node] for node in nodes if node in self.slow_tcp)])
            return [_row(test, metric, rate, "Gb/s", "mean", "") for metric in ("tcp_sent", "tcp_received")]
        if not test["tool"].endswith("_perf"):
            return self._watched(test, node)
        share = next((value for word, value in SHARES.items() if word in test["test"]), 1.0)
        rails = [FULL_GBPS * self.slow_rail[node][1] / RAIL_GBPS for node in nodes if node in self.slow_rail]
        rate = min([FULL_GBPS, *(self.slow[node] for node in nodes if node in self.slow), *rails])
        if len({self.racks.get(node) for node in nodes}) > 1:
            rate = min([rate, *(self.uplinks[node] for node in nodes if node in self.uplinks)])
        if self.between and self.between <= set(nodes):
            rate /= 2
        transport = "NET/Socket" if self.no_rdma & set(nodes) else "NET/IB"
        return [
            _row(test, "bus_bandwidth", rate * share, "GB/s", "max", transport),
            _row(test, "wrong_values", 0.0, "count", "single", transport),
            _row(test, "correctness_checked", 1.0, "bool", "single", transport),
            _row(test, "ranks", 8.0 * len(nodes), "count", "single", transport),
        ]

    def _watched(self, test: Mapping[str, Any], node: str) -> list[dict[str, Any]]:
        """What a node saw on itself: nothing new, except what `counts` says."""
        spec = next((one for one in OWN.tests if one.test == test["test"]), None)
        metric, value = self.counts.get(node, ("", None))
        return [
            {**_row(test, one.metric, 8.0 if one.metric == "gpu_count" else 0.0, one.unit, one.statistic, ""),
             "component": component, **({"value": value} if one.metric == metric else {})}
            for one in (spec.metrics if spec is not None else ())
            for component in components(one.per, 8, {"nic": [f"mlx5_{rail}" for rail in range(8)]})
        ]  # fmt: skip

    def _trained(self, test: Mapping[str, Any], nodes: tuple[str, ...]) -> list[dict[str, Any]]:
        """A step of 77 ms on 534 TFLOPS, held up by whoever is late."""
        lag, slowest = max((self.late.get(node, 0.2), node) for node in nodes)
        transport = "NET/Socket" if self.no_rdma & set(nodes) else "NET/IB"
        late = _row(test, "compute_lag", lag, "ms", "max", transport)
        late["parameters"] = {**late["parameters"], "slowest_node": slowest, "slowest_gpu": 3}
        return [
            late,
            _row(test, "step_time", 80.0 + lag, "ms", "median", transport),
            _row(test, "model_rate", 534.4 * 80.2 / (80.0 + lag), "TFLOPS", "median", transport),
            _row(test, "losses_not_finite", 0.0, "count", "single", transport),
            _row(test, "ranks", 8.0 * len(nodes), "count", "single", transport),
        ]

    def _rail(self, test: Mapping[str, Any], name: str, nodes: tuple[str, ...]) -> list[dict[str, Any]]:
        """One adapter between the two: what the slower of its two sides lets through, both ways, or the latency."""
        if test["tool"].endswith("_lat"):
            return [_row(test, "write_latency", 1.65, "us", "typical", "", f"nic/{name}")]
        slow = [rate for node in nodes for rail, rate in [self.slow_rail.get(node, ("", RAIL_GBPS))] if rail == name]
        rate = min([RAIL_GBPS, *slow])
        return [
            _row(test, metric, rate, "Gb/s", "max", "", f"nic/{name}")
            for metric in ("sent_bandwidth", "received_bandwidth")
        ]


def _row(
    test: Mapping[str, Any],
    metric: str,
    value: float,
    unit: str,
    statistic: str,
    transport: str,
    component: str = "node",
) -> dict[str, Any]:
    row = {"test": test["test"], "component": component, "metric": metric, "value": value, "unit": unit}
    more = {"statistic": statistic, "status": "ok", "parameters": dict(test["parameters"])}
    return {**row, **more, **({"transport": transport} if transport else {})}


def _packed(content: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        info = tarfile.TarInfo("result.json")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)
