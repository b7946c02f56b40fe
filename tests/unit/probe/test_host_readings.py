"""Settings, ports, topology, memory and compute rates: rows for all that was asked, nothing from a broken output."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from nodeworthy_probe import host_state
from nodeworthy_probe.plan import TestSpec, read_plan
from nodeworthy_probe.readings import devices, memory_stream, ports, settings, topology
from nodeworthy_probe.readings.context import Context
from nodeworthy_probe.records import Reading

from lab.tools import compute, host_files, ibstat, mlxlink, nvidia_smi
from lab.tools.view import NodeView
from lab.truth.fleet import FleetFile, NodeSpec
from lab.truth.world import LabClock, World
from tests.data import node_views

WANTED = (
    *("--governor", "performance", "--clocksources", "tsc", "--modules", "nvidia,ib_core"),
    *("--full", "90", "--blocks", "8,10"),
)


@pytest.fixture
def view(tmp_path: Path) -> NodeView:
    """A healthy H100 node of the virtual fleet."""
    spec = NodeSpec("gpu-a01", "h100-sxm-8", "A1", 1, image="validation-2026.11")
    world = World(FleetFile("lab", (spec,)), tmp_path, 1, LabClock(speed=0))
    world.start()
    return NodeView(world.view("gpu-a01"), tmp_path)


def context(tool: str, *arguments: str, **parameters: str) -> Context:
    """Return the context of one test."""
    return Context(read_plan(json.dumps(node_views.plan())), TestSpec("a.b", tool, arguments, 60.0, {}, parameters))


def values(reading: Reading) -> dict[tuple[str, str], float | None]:
    """Return the rows by component and metric."""
    return {(row.component, row.metric): row.value for row in reading.measurements}


def space(_path: str) -> Any:
    """Return the numbers of a file system that is used by 12 %."""
    return SimpleNamespace(f_blocks=100, f_bfree=88, f_bavail=88)


def state(tmp_path: Path, view: NodeView, **changes: Any) -> Reading:
    """Read the host's files of a view."""
    view.document["settings"].update(changes)
    host_files.write(tmp_path / "root", view.document)
    return settings.read(json.dumps(host_state.state(tmp_path / "root", space)), context("host-state", *WANTED))


def test_a_host_set_as_asked(tmp_path: Path, view: NodeView) -> None:
    """Governor, clock source, modules and swap are right; the kernel's arguments are kept as text."""
    reading = state(tmp_path, view)
    found = {metric: value for (_, metric), value in values(reading).items()}
    assert found["cpus_of_another_governor"] == found["modules_missing"] == found["numa_balancing"] == 0
    assert found["clocksource_trusted"] == found["gpu_direct_rdma"] == 1
    assert found["locked_memory_unlimited"] == 1
    assert found["swap"] == found["file_systems_full"] == found["numa_nodes_fragmented"] == 0
    assert any(text.name == "kernel_arguments" and "iommu=pt" in text.value for text in reading.texts)


@pytest.mark.parametrize(
    ("changes", "metric", "value"),
    [
        ({"governor": "powersave"}, "cpus_of_another_governor", 4),
        ({"clocksource": "hpet"}, "clocksource_trusted", 0),
        ({"numa_balancing": "1"}, "numa_balancing", 1),
        ({"swap_kib": 2097152}, "swap", 2048),
        ({"modules": ["nvidia"]}, "modules_missing", 1),
        ({"modules": ["nvidia", "ib_core"]}, "gpu_direct_rdma", 0),
        ({"locked_memory": "65536"}, "locked_memory_unlimited", 0),
        ({"free_blocks": 9}, "numa_nodes_fragmented", 2),
    ],
)
def test_each_wrong_setting_shows_in_its_own_row(
    tmp_path: Path, view: NodeView, changes: dict[str, Any], metric: str, value: float
) -> None:
    """2 GiB of swap are 2048 MiB; without nvidia_peermem and without the open driver there is no GPUDirect RDMA."""
    assert values(state(tmp_path, view, **changes))["node", metric] == value


def test_a_host_that_tells_nothing_has_no_settings(tmp_path: Path) -> None:
    """No file can be read: nothing is taken for right, except that nobody else governs the processors."""
    text = json.dumps(host_state.state(tmp_path / "nowhere"))
    found = values(settings.read(text, context("host-state", *WANTED)))
    assert found.pop(("node", "cpus_of_another_governor")) == 0
    assert set(found.values()) == {None}


def test_a_port_without_a_link_is_not_active(view: NodeView) -> None:
    """One of two polls; an adapter that is not listed has no row with a number."""
    view.document["rdma"][1]["up"] = False
    reading = ports.read(ibstat.run("ibstat", [], view).text, context("ibstat", devices="mlx5_0,mlx5_1,mlx5_99"))
    found = values(reading)
    assert (found["nic/mlx5_0", "port_active"], found["nic/mlx5_0", "port_rate"]) == (1, 400)
    assert (found["nic/mlx5_1", "port_active"], found["nic/mlx5_1", "port_rate"]) == (0, 0)
    assert found["nic/mlx5_99", "port_active"] is None


def test_a_list_of_ports_that_broke_off_is_not_believed(view: NodeView) -> None:
    """ibpanic after two adapters: nothing of the list counts."""
    text = ibstat.run("ibstat", [], view).text + "ibpanic: [77] main: stat of IB device 'mlx5_7' failed\n"
    reading = ports.read(text, context("ibstat", devices="mlx5_0"))
    assert reading.problem
    assert set(values(reading).values()) == {None}


def test_the_topology_counts_pairs_and_links(view: NodeView) -> None:
    """28 pairs by 18 links; one link down costs a link on its pairs; half a matrix costs both rows."""
    text = nvidia_smi.run("nvidia-smi", ["topo", "-m"], view).text
    assert list(values(topology.read(text, context("nvidia-smi"))).values()) == [28, 18]
    view.document["gpus"][2]["nvlinks"][7]["up"] = False
    hurt = nvidia_smi.run("nvidia-smi", ["topo", "-m"], view).text
    assert list(values(topology.read(hurt, context("nvidia-smi"))).values()) == [28, 17]
    cut = topology.read(text[: len(text) // 3], context("nvidia-smi"))
    assert cut.problem
    assert set(values(cut).values()) == {None}


def test_memory_streams_are_read_in_gigabytes(view: NodeView) -> None:
    """A GPU's copy is near 2900 GB/s, the host's near 470, which STREAM prints as MB/s."""
    gpus = values(memory_stream.read_gpus(compute.run("gpu_stream", [], view).text, context("gpu_stream")))
    host = values(memory_stream.read_host(compute.run("stream", [], view).text, context("stream")))
    assert gpus["gpu/7", "memory_copy"] == pytest.approx(2900, rel=0.01)
    assert host["node", "memory_triad"] == pytest.approx(480, rel=0.01)
    assert len(gpus) == 16


@pytest.mark.parametrize("tool", ["gpu_stream", "stream"])
def test_half_a_stream_measures_nothing(view: NodeView, tool: str) -> None:
    """Cut output keeps its rows without numbers."""
    text = compute.run(tool, [], view).text
    read = memory_stream.read_gpus if tool == "gpu_stream" else memory_stream.read_host
    reading = read(text[: len(text) // 2], context(tool))
    assert reading.problem
    assert set(values(reading).values()) == {None}


def gemm(text: str) -> float | None:
    """Read one GPU's section."""
    reading = devices.read(f"=== device 0\n{text}=== exit 0\n", context("cublaslt_gemm", "0"))
    return values(reading)["gpu/0", "gemm_rate"]


def test_a_compute_rate_must_follow_from_its_time() -> None:
    """8192 x 8192 x 16383 operations in 1384.7 us are 794.0 TFLOPS; another rate or a second line is not believed."""
    assert gemm("8192\t8192\t8192\t0\t1384.700000\t794.010000\n") == pytest.approx(794.01)
    assert gemm("8192\t8192\t8192\t0\t1384.700000\t894.000000\n") is None
    assert gemm("8192\t8192\t8192\t0\t1384.700000\tnan\n") is None
    assert gemm("8192\t8192\t8192\t0\t1384.7\t794.0\n" * 2) is None
    assert gemm("") is None


def test_a_hot_gpu_computes_slower(view: NodeView, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three quarters of 794 TFLOPS on the GPU that is throttled."""
    view.document["gpus"][7]["throttle_reasons"] = 64
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    text = compute.run("cublaslt_gemm", ["-m", "8192", "-n", "8192", "-k", "8192", "-t", "bf16"], view).text
    assert gemm(text) == pytest.approx(795.0 * 0.75, rel=0.01)


def test_a_cable_is_read_by_its_errors_after_correction(view: NodeView) -> None:
    """No error got through, nothing is faulty; a link that is down has faults and no rate to believe."""
    view.document["rdma"][3]["up"] = False
    text = ""
    for name in ("mlx5_0", "mlx5_3"):
        out = mlxlink.run("mlxlink", ["-d", name, "--json"], view)
        text += f"=== device {name}\n{out.text}=== exit {out.exit_code}\n"
    found = values(devices.read(text, context("mlxlink", "mlx5_0,mlx5_3,mlx5_9", "-d", "{device}")))
    assert (found["nic/mlx5_0", "effective_ber"], found["nic/mlx5_0", "link_faults"]) == (0, 0)
    assert found["nic/mlx5_0", "raw_ber"] == 5e-10
    assert (found["nic/mlx5_3", "link_faults"] or 0) >= 1
    assert found["nic/mlx5_9", "link_faults"] is None
