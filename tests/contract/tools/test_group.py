"""A collective over several nodes: real probes as processes that find each other, with the lab's mpirun."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import lab.tpm
from lab.truth.faults import catalogue
from lab.truth.fleet import FleetFile, NodeSpec
from lab.truth.world import LabClock, World
from tests.contract.tools.conftest import IMAGE, REPOSITORY
from tests.data import node_views

KEY = "ab" * 32
PORT = 28531
NODES = ("gpu-a01", "gpu-a02", "gpu-a03")
RING: dict[str, Any] = {"test": "pair.all_reduce_ring", "tool": "all_reduce_perf", "timeout_seconds": 40,
        "arguments": ["-b", "16G", "-e", "16G", "-g", "1", "-c", "1", "-n", "20"],
        "environment": {"NCCL_DEBUG": "INFO", "NCCL_ALGO": "RING"}}  # fmt: skip
WRITE: dict[str, Any] = {
    "test": "pair.write",
    "tool": "ib_write_bw",
    "timeout_seconds": 60,
    "parameters": {"memory": "host"},
    "arguments": ["mlx5_0,mlx5_3", "-d", "{device}", "-s", "65536", "-F", "-D", "2", "--report_gbits"],
}
WRITE_GPU = {**WRITE, "test": "pair.write_gpu", "arguments": [*WRITE["arguments"], "--use_cuda_bus_id={gpu}"]}
LATENCY = {"test": "pair.latency", "tool": "ib_write_lat", "timeout_seconds": 60,
           "arguments": ["mlx5_0,mlx5_3", "-d", "{device}", "-F"]}  # fmt: skip
TCP = {"test": "pair.tcp", "tool": "iperf3", "timeout_seconds": 60, "arguments": ["host", "-J", "-t", "5", "-P", "8"]}
SERVE = {"test": "group.member", "tool": "serve", "timeout_seconds": 40}
TRAIN = {"test": "domain.straggler", "tool": "train_step", "timeout_seconds": 40, "arguments": ["--steps", "60"],
         "environment": {"NCCL_DEBUG": "INFO"}}  # fmt: skip
ALLTOALL = {"test": "domain.alltoall", "tool": "alltoall_perf", "timeout_seconds": 40,
            "parameters": {"size_bytes": 17179869184}, "environment": {"NCCL_DEBUG": "INFO"},
            "arguments": ["-b", "16G", "-e", "16G", "-g", "1", "-c", "1", "-n", "10"]}  # fmt: skip
OWN = [{"test": "kernel.log", "tool": "kernel-log"}, {"test": "gpu.counters", "tool": "counters", "arguments": ["gpu"]}]


def address(node: str) -> str:
    """A loopback address of each node."""
    return f"127.77.0.{NODES.index(node) + 1}"


def plan(
    rank: int, members: tuple[str, ...], tests: Sequence[dict[str, Any]] = (RING,), **changes: Any
) -> dict[str, Any]:
    """One member's plan."""
    group = {
        "rank": rank,
        "members": [{"node": node, "address": address(node)} for node in members],
        "port": PORT,
        **changes,
    }
    return node_views.plan(node=members[rank], suite="m1", tests=[*([SERVE] if rank else tests), *OWN], group=group)


def views(folder: Path, faults: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The views of a small fleet, two nodes in a rack, some of them with a fault."""
    specs = tuple(
        NodeSpec(node, "h100-sxm-8", f"A{1 + place // 2}", place, image="validation-2026.11")
        for place, node in enumerate(NODES)
    )
    world = World(FleetFile("lab", specs), folder, 1, LabClock(speed=0, start=datetime(2026, 11, 30, tzinfo=UTC)))
    world.start()
    for node, fault in faults.items():
        assert fault in catalogue()
        world.inject(node, fault, {})
    return {node: {**world.view(node), "speed": 1000.0} for node in NODES}


def run_group(
    folder: Path, members: tuple[str, ...], tests: Sequence[dict[str, Any]] = (RING,), **faults: str
) -> list[dict[str, Any]]:
    """Start one probe a member, wait for all, return their results by rank."""
    of_node = views(folder / "world", {node.replace("_", "-"): fault for node, fault in faults.items()})
    started = []
    for rank, node in enumerate(members):
        place = folder / node
        lab.tpm.ensure_node(place, of_node[node]["serial"])
        view = node_views.write_node(place, of_node[node])
        environment = {
            "PATH": os.environ["PATH"],
            "NODEWORTHY_LAB_VIEW": str(view),
            "NODEWORTHY_OUTPUT": str(place / "xcom"),
            "NODEWORTHY_PLAN": json.dumps(plan(rank, members, tests)),
            "NODEWORTHY_GROUP_KEY": KEY,
        }
        command = [sys.executable, "-I", str(IMAGE / "enter.py")]
        started.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
    said = [one.communicate(timeout=90)[0].decode() for one in started]
    assert [one.returncode for one in started] == [0] * len(members), "\n".join(said)
    return [json.loads((folder / node / "xcom" / "result.json").read_text()) for node in members]


def figure(result: dict[str, Any], metric: str) -> dict[str, Any]:
    """One measurement of the leader's result."""
    return next(dict(row) for row in result["measurements"] if row["metric"] == metric)


def test_a_pair_measures_over_the_wire_and_says_so(tmp_path: Path) -> None:
    """16 ranks, 8 rails of 390 Gb/s at 98.5 %: 384 GB/s over NET/IB; the member measures no bandwidth."""
    leader, member = run_group(tmp_path, NODES[:2])
    bandwidth = figure(leader, "bus_bandwidth")
    assert bandwidth["value"] == pytest.approx(384, rel=0.02)
    assert (bandwidth["transport"], bandwidth["parameters"]["ranks"]) == ("NET/IB", 16)
    assert figure(leader, "wrong_values")["value"] == 0
    assert {(test["test"], test["execution"]) for test in member["tests"][:1]} == {("group.member", "completed")}
    assert member["node"] == "gpu-a02"
    assert "bus_bandwidth" not in {row["metric"] for row in member["measurements"]}
    schema = json.loads((REPOSITORY / "include" / "schemas" / "plan-1.json").read_text())
    jsonschema.validate(plan(0, NODES[:2]), schema)


def test_a_group_is_as_fast_as_its_slowest_rail(tmp_path: Path) -> None:
    """One leaf port of one of three nodes at half speed halves the ring of all."""
    leader = run_group(tmp_path, NODES, gpu_a03="leaf-port-slow")[0]
    assert figure(leader, "bus_bandwidth")["value"] == pytest.approx(192, rel=0.02)
    assert figure(leader, "ranks")["value"] == 24


def test_a_gpu_that_computes_late_is_told_by_node_and_number(tmp_path: Path) -> None:
    """12 ms behind the middle one of 24, found from what the ranks measured before they wait for each other."""
    leader = run_group(tmp_path, NODES, (TRAIN,), gpu_a02="straggler")[0]
    lag = figure(leader, "compute_lag")
    assert lag["value"] == pytest.approx(12, abs=0.7)
    assert (lag["parameters"]["slowest_node"], lag["parameters"]["slowest_gpu"]) == ("gpu-a02", 3)
    assert lag["parameters"]["ranks"] == 24
    assert figure(leader, "model_rate")["value"] == pytest.approx(534.4 * 80.2 / 92.2, rel=0.02)
    assert (figure(leader, "losses_not_finite")["value"], figure(leader, "model_rate")["transport"]) == (0, "NET/IB")


def test_a_slow_uplink_is_seen_by_groups_of_several_racks_alone(tmp_path: Path) -> None:
    """Half of the rails' rate leaves the rack: 384 GB/s beside its neighbour, 192 with a node of the other rack."""
    within = run_group(tmp_path / "within", NODES[:2], gpu_a02="uplink-slow")[0]
    across = run_group(tmp_path / "across", NODES[1:], gpu_a02="uplink-slow")[0]
    assert figure(within, "bus_bandwidth")["value"] == pytest.approx(384, rel=0.02)
    assert figure(across, "bus_bandwidth")["value"] == pytest.approx(192, rel=0.02)


def rails(result: dict[str, Any], test: str) -> dict[tuple[str, str], tuple[float | None, str | None]]:
    """Value and memory of each figure of a test, by component and metric."""
    return {
        (row["component"], row["metric"]): (row["value"], row["parameters"].get("memory"))
        for row in result["measurements"]
        if row["test"] == test
    }


def test_each_adapter_of_a_pair_is_measured_both_ways_out_of_both_memories(tmp_path: Path) -> None:
    """390 Gb/s by platform, 1.05 us plus 0.6 of a switch; the GPU beside each adapter lent its memory."""
    leader = run_group(tmp_path, NODES[:2], [WRITE, WRITE_GPU, LATENCY])[0]
    for test, memory in (("pair.write", "host"), ("pair.write_gpu", "gpu")):
        found = rails(leader, test)
        assert set(found) == {
            (f"nic/{name}", metric)
            for name in ("mlx5_0", "mlx5_3")
            for metric in ("sent_bandwidth", "received_bandwidth")
        }
        assert {memory for _, memory in found.values()} == {memory}
        assert all(value == pytest.approx(390, rel=0.02) for value, _ in found.values())
    latency = rails(leader, "pair.latency")
    assert latency["nic/mlx5_3", "write_latency"][0] == pytest.approx(1.65, rel=0.05)
    raw = next(test for test in leader["tests"] if test["test"] == "pair.write_gpu")
    assert raw["execution"] == "completed"


@pytest.mark.parametrize(("fault", "rate"), [(None, 94), ("tcp-slow", 47)])
def test_hosts_move_what_the_slower_one_does_over_tcp(tmp_path: Path, fault: str | None, rate: float) -> None:
    """94 Gb/s both ways; half of it when the partner is slow."""
    faults = {"gpu_a02": fault} if fault else {}
    leader = run_group(tmp_path, NODES[:2], [TCP], **faults)[0]
    for metric in ("tcp_sent", "tcp_received"):
        assert rails(leader, "pair.tcp")["node", metric][0] == pytest.approx(rate, rel=0.02)
    (test,) = [one for one in leader["tests"] if one["test"] == "pair.tcp"]
    assert test["tool_version"] == "3.16"


def test_a_leaf_port_at_half_speed_shows_on_its_adapter_alone(tmp_path: Path) -> None:
    """The partner's port of rail 3 is slow: both directions of mlx5_3 are at half, mlx5_0 is not."""
    found = rails(run_group(tmp_path, NODES[:2], [WRITE], gpu_a02="leaf-port-slow")[0], "pair.write")
    assert {value and round(value / 390, 1) for (name, _), (value, _) in found.items() if name == "nic/mlx5_3"} == {0.5}
    assert {value and round(value / 390, 1) for (name, _), (value, _) in found.items() if name == "nic/mlx5_0"} == {1.0}


def test_gpu_memory_behind_bridges_that_redirect_is_slow_and_host_memory_is_not(tmp_path: Path) -> None:
    """ACS sends what the adapter reads from the GPU through the root: 45 % are left of that, all of the other."""
    leader = run_group(tmp_path, NODES[:2], [WRITE, WRITE_GPU], gpu_a01="acs-on")[0]
    assert rails(leader, "pair.write")["nic/mlx5_0", "sent_bandwidth"][0] == pytest.approx(390, rel=0.02)
    assert rails(leader, "pair.write_gpu")["nic/mlx5_0", "sent_bandwidth"][0] == pytest.approx(175.5, rel=0.02)


def test_a_rail_that_carries_nothing_is_zero_and_says_on_which_way(tmp_path: Path) -> None:
    """The partner's port has no link: perftest connects, its writes break, and the others are measured all the same."""
    leader = run_group(tmp_path, NODES[:2], [WRITE], gpu_a02="port-down")[0]
    found = rails(leader, "pair.write")
    assert found["nic/mlx5_3", "sent_bandwidth"] == (0.0, "host")
    assert found["nic/mlx5_0", "received_bandwidth"][0] == pytest.approx(390, rel=0.02)


def test_an_adapter_that_one_side_lacks_is_missing_with_that_sides_words(tmp_path: Path) -> None:
    """mlx5_9 is on neither: no figure, no fault, and the log names the node that could not serve."""
    tests = [{**WRITE, "arguments": ["mlx5_9", *WRITE["arguments"][1:]]}]
    leader = run_group(tmp_path, NODES[:2], tests)[0]
    assert rails(leader, "pair.write")["nic/mlx5_9", "sent_bandwidth"] == (None, None)


def test_a_size_that_does_not_part_by_the_ranks_is_known_as_it_was_asked_for(tmp_path: Path) -> None:
    """24 ranks get 715827872 bytes each, 256 less than 16 GiB in all: the figure belongs to the key of 16 GiB."""
    leader = run_group(tmp_path, NODES, (ALLTOALL,))[0]
    bandwidth = figure(leader, "bus_bandwidth")
    assert bandwidth["value"] == pytest.approx(79, rel=0.02)
    assert bandwidth["parameters"] == {"size_bytes": 17179869184, "warmup_iterations": 5, "ranks": 24}
    (raw,) = (tmp_path / NODES[0] / "xcom").rglob("*alltoall*")
    assert " 17179868928 " in raw.read_text()


def test_a_node_without_rdma_shows_in_the_transport(tmp_path: Path) -> None:
    """NCCL falls back to sockets for all, and its own lines say so."""
    leader = run_group(tmp_path, NODES[:2], gpu_a02="rdma-off")[0]
    assert figure(leader, "bus_bandwidth")["transport"] == "NET/Socket"


def test_every_member_tells_what_its_own_kernel_and_counters_saw(tmp_path: Path) -> None:
    """An Xid on one of two that follow stands in its result, with its code, and in nobody else's; the group is fast."""
    leader, second, third = run_group(tmp_path, NODES, gpu_a02="xid-under-load")
    assert [figure(one, "xid_new")["value"] for one in (leader, second, third)] == [0, 1, 0]
    assert [finding["code"] for finding in second["findings"]] == ["xid/79"]
    assert [figure(one, "ecc_uncorrected_new")["value"] for one in (leader, second, third)] == [0, 0, 0]
    assert figure(leader, "bus_bandwidth")["value"] == pytest.approx(384, rel=0.02)


def test_a_caller_without_the_key_runs_nothing(tmp_path: Path) -> None:
    """A stranger gets no command through, and the member goes on waiting for its leader."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY / "probe"),
        "NODEWORTHY_PLAN": json.dumps(plan(1, NODES[:2])),
        "NODEWORTHY_GROUP_KEY": KEY,
    }
    serving = subprocess.Popen(
        [sys.executable, "-u", "-m", "nodeworthy_probe.group", "serve"], env=environment, stdout=subprocess.PIPE
    )
    try:
        assert serving.stdout is not None
        serving.stdout.readline()
        with socket.create_connection((address("gpu-a02"), PORT), 5) as stranger, stranger.makefile("rwb") as stream:
            stream.readline()
            stream.write(json.dumps({"proof": "0" * 64, "command": f"touch {tmp_path / 'done'}"}).encode() + b"\n")
            stream.flush()
            assert json.loads(stream.readline())["exit"] != 0
        assert not (tmp_path / "done").exists()
        assert serving.poll() is None
    finally:
        serving.kill()
        serving.wait()
