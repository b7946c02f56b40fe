"""Figures per adapter and drive: one section per device, and what is not believed is missing, never a number."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from nodeworthy_probe.each_device import main, sections
from nodeworthy_probe.plan import TestSpec, read_plan
from nodeworthy_probe.readings import devices, host
from nodeworthy_probe.readings.context import Context
from nodeworthy_probe.records import Reading

from lab.tools import gpu_burn, perftest
from lab.tools import host as lab_host
from lab.tools.view import NodeView
from lab.truth.fleet import FleetFile, NodeSpec
from lab.truth.world import LabClock, World
from tests.data import node_views

Values = dict[tuple[str, str], float | None]


@pytest.fixture
def view(tmp_path: Path) -> NodeView:
    """A healthy H100 node of the virtual fleet."""
    spec = NodeSpec("gpu-a01", "h100-sxm-8", "A1", 1, image="validation-2026.11")
    world = World(FleetFile("lab", (spec,)), tmp_path, 1, LabClock(speed=0))
    world.start()
    return NodeView(world.view("gpu-a01"), tmp_path)


def context(tool: str, *arguments: str) -> Context:
    """Return the context of one test."""
    return Context(read_plan(json.dumps(node_views.plan())), TestSpec("a.b", tool, arguments, 60.0, {}, {}))


def per_device(view: NodeView, tool: str, names: str, *arguments: str) -> Reading:
    """Run a fake tool on every device as `each_device` would, and read it."""
    text = ""
    for name in names.split(","):
        given = [argument.replace("{device}", name) for argument in arguments]
        out = (perftest if tool.startswith("ib_") else lab_host).run(tool, given, view)
        text += f"=== device {name}\n{out.text}=== exit {out.exit_code}\n"
    return devices.read(text, context(tool, names, *arguments))


def values(reading: Reading) -> Values:
    """Return the rows by component and metric."""
    return {(row.component, row.metric): row.value for row in reading.measurements}


READ = ("--name=read", "--filename=/dev/{device}", "--rw=read", "--direct=1", "--runtime=10", "--time_based")


def test_each_device_brings_its_figures(view: NodeView) -> None:
    """A 400 Gb/s port at about 390, a drive at about 12.4 GB/s, whole health."""
    rails = values(per_device(view, "ib_write_bw", "mlx5_0,mlx5_7", "-d", "{device}", "127.0.0.1"))
    delay = values(per_device(view, "ib_write_lat", "mlx5_0", "-d", "{device}", "127.0.0.1"))
    disks = values(per_device(view, "fio", "nvme2n1", *READ))
    health = values(per_device(view, "smartctl", "nvme2n1", "-j", "-x", "/dev/{device}"))
    assert rails["nic/mlx5_0", "write_bandwidth"] == pytest.approx(390, rel=0.01)
    assert set(rails) == {("nic/mlx5_0", "write_bandwidth"), ("nic/mlx5_7", "write_bandwidth")}
    assert delay["nic/mlx5_0", "write_latency"] == pytest.approx(1.05, abs=0.02)
    assert disks["drive/nvme2n1", "read_bandwidth"] == pytest.approx(12.4, rel=0.01)
    assert disks["drive/nvme2n1", "io_errors"] == 0
    assert (health["drive/nvme2n1", "spare"], health["drive/nvme2n1", "health_faults"]) == (100, 0)


def test_a_drive_at_its_end_says_so_whatever_it_passes(view: NodeView) -> None:
    """No spare left and the endurance used up are two faults, though the drive's own word is passed."""
    drive = next(one for one in view.document["drives"] if one["name"] == "nvme3n1")
    drive.update(spare_percent=5, used_percent=104)
    health = values(per_device(view, "smartctl", "nvme3n1", "-j", "-x", "/dev/{device}"))
    assert health["drive/nvme3n1", "health_faults"] == 2
    assert health["drive/nvme3n1", "endurance_used"] == 104


@pytest.mark.parametrize("cut", [40, 400, 1000])
def test_a_device_that_is_gone_or_cut_is_missing(view: NodeView, cut: int) -> None:
    """An adapter that is not there, and a drive whose output breaks off, have rows without a number."""
    rails = values(per_device(view, "ib_write_bw", "mlx5_0,mlx5_99", "-d", "{device}", "127.0.0.1"))
    assert rails["nic/mlx5_99", "write_bandwidth"] is None
    whole = lab_host.run("fio", [word.replace("{device}", "nvme2n1") for word in READ], view).text
    disks = values(devices.read(f"=== device nvme2n1\n{whole[:cut]}", context("fio", "nvme2n1", *READ)))
    assert set(disks.values()) == {None}


def test_without_any_section_the_output_is_unusable() -> None:
    """Nothing was run: a problem, and still a row per device."""
    reading = devices.read("", context("fio", "nvme2n1,nvme3n1", *READ))
    assert reading.problem
    assert len(reading.measurements) == 4


def test_the_runner_writes_a_section_per_device_and_keeps_exit_codes(capfd: pytest.CaptureFixture[str]) -> None:
    """The device's name is put into the arguments; a failing tool ends its own section only."""
    script = "import sys; print('on', sys.argv[1]); sys.exit(int(sys.argv[1]))"
    assert main(["0,3", sys.executable, "-c", script, "{device}"]) == 0
    assert list(sections(capfd.readouterr().out)) == [("0", "on 0\n", 0), ("3", "on 3\n", 3)]


def test_the_clock_follows_a_source_or_not(view: NodeView) -> None:
    """An offset of zero that nobody corrects is not a good clock."""
    good = values(host.read_clock(lab_host.run("chronyc", ["tracking"], view).text, context("chronyc")))
    assert good == {("node", "clock_offset"): pytest.approx(2.1e-05), ("node", "clock_synchronised"): 1}
    view.document["clock"] = {"synchronised": False, "offset_seconds": 0.0}
    bad = values(host.read_clock(lab_host.run("chronyc", ["tracking"], view).text, context("chronyc")))
    assert bad["node", "clock_synchronised"] == 0


def test_stressors_that_did_not_run_are_not_counted(view: NodeView) -> None:
    """Two kinds ran; a text that breaks off has no count at all."""
    text = lab_host.run("stress-ng", ["--cpu", "0", "--vm", "4", "--timeout", "60s"], view).text
    assert values(host.read_stress(text, context("stress-ng")))["node", "stressors_run"] == 2
    assert set(values(host.read_stress(text[: len(text) // 2], context("stress-ng"))).values()) == {None}


def test_a_gpu_that_computes_wrong_is_named(view: NodeView) -> None:
    """Five errors in one interval of four are five, and the summary's word is not ok."""
    assert values(host.read_burn(gpu_burn.run("gpu_burn", ["60"], view).text, context("gpu_burn")))["gpu/0", "burn_ok"]
    view.document["bandwidth"]["all_reduce"]["wrong"] = 5
    reading = host.read_burn(gpu_burn.run("gpu_burn", ["60"], view).text, context("gpu_burn"))
    found = values(replace(reading))
    assert (found["gpu/0", "burn_errors"], found["gpu/0", "burn_ok"], found["gpu/1", "burn_errors"]) == (5, 0, 0)
    named: list[Any] = [finding.component for finding in reading.findings]
    assert "gpu/0" in named
