"""Every fault that the lab lays over a node is seen by the probe's readers as what it is, and as nothing else."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from nodeworthy_probe.plan import read_plan
from nodeworthy_probe.readings import bandwidth, collective, gpu_diag
from nodeworthy_probe.readings.context import Context

from lab.tools import all_reduce_perf, dcgmi, lldpcli, nvbandwidth, nvidia_smi
from lab.tools.view import NodeView
from lab.truth.faults import catalogue
from lab.truth.fleet import FleetFile, NodeSpec
from lab.truth.world import LabClock, World
from tests.contract.tools.conftest import RunProbe
from tests.data import node_views

IMAGE = "validation-2026.11"
SKUS = ("h100-sxm-8", "h200-sxm-8")
Values = dict[tuple[str, str], float | None]


def _world(folder: Path, sku: str = SKUS[0]) -> World:
    spec = NodeSpec("gpu-a01", sku, "A1", 1, image=IMAGE)
    world = World(FleetFile("lab", (spec,)), folder, 1, LabClock(speed=0, start=datetime(2026, 11, 30, tzinfo=UTC)))
    world.start()
    return world


def _values(document: dict[str, Any], folder: Path) -> Values:
    """The L1 figures of a view, without starting a process."""
    view = NodeView(document, folder)
    plan = read_plan(json.dumps(node_views.plan()))
    found: Values = {}
    for spec in plan.tests:
        tool, read = {
            "dcgmi": (dcgmi, gpu_diag.read),
            "nvbandwidth": (nvbandwidth, bandwidth.read),
            "all_reduce_perf": (all_reduce_perf, collective.read),
        }.get(spec.tool, (None, None))
        if tool is not None and read is not None:
            reading = read(tool.run(spec.tool, list(spec.arguments), view).text, Context(plan, spec))
            found |= {(row.component, row.metric): row.value for row in reading.measurements}
    return found


def _changed(healthy: Values, sick: Values) -> set[str]:
    """Metrics that differ by more than noise."""
    return {
        metric
        for (component, metric), value in healthy.items()
        if (other := sick[component, metric]) != value
        and (other is None or value is None or abs(other - value) > 0.015 * abs(value))
    }


@pytest.mark.parametrize("sku", SKUS)
def test_a_healthy_node_of_each_kind_is_whole(tmp_path: Path, sku: str) -> None:
    """No figure is missing and nothing fails."""
    values = _values(_world(tmp_path, sku).view("gpu-a01"), tmp_path)

    assert all(value is not None for value in values.values())
    assert sum(value or 0 for (_, metric), value in values.items() if "failures" in metric) == 0
    assert values["node", "wrong_values"] == 0


EXPECTED = {
    "gpu-missing": {
        "diag_failures", "diag_config_failures", "host_to_device_bandwidth", "device_to_host_bandwidth",
        "peer_bandwidth", "peer_bandwidth_min", "bus_bandwidth", "wrong_values", "correctness_checked", "ranks",
    },
    "nvlink-degraded": {"bus_bandwidth", "peer_bandwidth", "peer_bandwidth_min"},
    "nvlink-down": {"bus_bandwidth", "peer_bandwidth", "peer_bandwidth_min", "diag_failures"},
    "pcie-narrow": {"host_to_device_bandwidth", "device_to_host_bandwidth"},
    "hbm-uncorrected": {"diag_failures"},
    "remap-pending": {"diag_failures"},
    "remap-failed": {"diag_failures"},
    "wrong-values": {"wrong_values"},
    "persistence-off": {"diag_config_failures"},
    "stalls": {"bus_bandwidth"},
}  # fmt: skip


@pytest.mark.parametrize("fault", sorted(catalogue()))
def test_each_fault_changes_its_own_figures(tmp_path: Path, fault: str) -> None:
    """Faults of tools, of the BMC, of boot and of the TPM leave the figures alone."""
    world = _world(tmp_path)
    healthy = _values(world.view("gpu-a01"), tmp_path)
    world.inject("gpu-a01", fault)
    view = world.view("gpu-a01")
    for tool, arguments in (
        (nvidia_smi, []),
        (nvidia_smi, ["-q", "-x"]),
        (lldpcli, ["-f", "json0", "show", "neighbors"]),
    ):
        assert tool.run("x", list(arguments), NodeView(view, tmp_path)).exit_code == 0

    changed = _changed(healthy, _values(view, tmp_path))

    if fault == "dcgm-fail":
        assert changed in ({"diag_failures"}, {"diag_config_failures"}, set())  # its test may be beyond level 1
    else:
        assert changed == EXPECTED.get(fault, set())


def test_faults_that_the_driver_shows(tmp_path: Path, run_probe: RunProbe) -> None:
    """One real probe run over a node with several sick GPUs, read through NVML."""
    world = _world(tmp_path)
    for fault in ("pcie-narrow", "nvlink-down", "remap-pending", "throttled", "persistence-off", "fabric-incomplete"):
        world.inject("gpu-a01", fault)
    world.inject("gpu-a01", "sku-mismatch")
    view = {**world.view("gpu-a01"), "speed": 1000.0}

    run = run_probe(view, node_views.plan(tests=node_views.L1[:1]))

    assert run.exit_code == 0
    assert (run.value("gpu/1", "pcie_width"), run.value("gpu/1", "pcie_width_current")) == (16, 8)
    assert run.value("gpu/2", "nvlinks_up") == 17
    assert (run.value("gpu/0", "rows_remap_pending"), run.value("gpu/0", "recovery_action")) == (1, 1)
    assert (run.value("gpu/7", "throttle_hardware"), run.value("gpu/7", "temperature")) == (1, 91)
    assert (run.value("gpu/0", "persistence_mode"), run.value("gpu/0", "fabric_state")) == (0, 2)
    models = {text["component"]: text["value"] for text in run.result["texts"] if text["name"] == "model"}
    assert models["gpu/3"] != models["gpu/2"]
