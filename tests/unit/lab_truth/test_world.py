"""Identity, figures, firmware, manifest and measured boot of the ground truth."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lab.truth.fleet import NodeSpec, generate, load_fleet
from lab.truth.images import load_images
from lab.truth.manifest import fleet_manifest
from lab.truth.measured_boot import golden_measurements
from lab.truth.platforms import load_platforms, platform_for_sku
from lab.truth.view import between

Make = Callable[..., Any]


def test_the_same_seed_makes_the_same_fleet(make_world: Make) -> None:
    """Serials, UUIDs, addresses and figures depend on seed and name alone."""
    one, two, other = make_world()[0], make_world()[0], make_world(seed=2)[0]
    assert one.parts("a") == two.parts("a")
    assert one.view("b") == two.view("b")
    assert one.parts("a") != other.parts("a")


def test_no_serial_appears_twice(make_world: Make) -> None:
    """Every part of both nodes has a serial of its own."""
    world, _ = make_world()
    kinds = ("gpus", "nics", "cpus", "dimms", "drives", "psus", "switches")
    serials = [part.serial for name in world.nodes for kind in kinds for part in getattr(world.parts(name), kind)]
    assert len(serials) == len(set(serials)) == 2 * (8 + 11 + 2 + 32 + 10 + 6 + 4)


@pytest.mark.parametrize(
    ("name", "all_reduce", "to_device", "peer"), [("a", 478.9, 52.0, 396.0), ("b", 478.0, 55.4, 396.0)]
)
def test_healthy_figures(make_world: Make, name: str, all_reduce: float, to_device: float, peer: float) -> None:
    """A healthy node shows the published figures within 0.3 %."""
    bandwidth = make_world()[0].view(name)["bandwidth"]
    assert bandwidth["all_reduce"]["bus_bandwidth_gbps_by_bytes"][str(8 << 30)] == pytest.approx(all_reduce, rel=0.0031)
    assert bandwidth["host_to_device_gbps"] == pytest.approx([to_device] * 8, rel=0.0031)
    peers = [value for row in bandwidth["device_to_device_gbps"] for value in row if value is not None]
    assert len(peers) == 56
    assert peers == pytest.approx([peer] * 56, rel=0.0031)


def test_the_size_curve_is_straight_between_known_sizes() -> None:
    """Half-way in powers of two between 1 and 4 MiB lies half-way in GB/s."""
    assert between({1 << 20: 40.0, 1 << 22: 80.0}, 1 << 21) == 60.0
    assert between({1 << 20: 40.0, 1 << 22: 80.0}, 1 << 30) == 80.0


def test_the_manifest_knows_no_faults(make_world: Make) -> None:
    """Serial and cabling are what was ordered, whatever lies over the node."""
    world, _ = make_world()
    before = fleet_manifest(world, "https://x", Path("ca.pem"))
    world.inject("a", "serial-swapped")
    world.inject("a", "miscabled")
    assert fleet_manifest(world, "https://x", Path("ca.pem")) == before
    assert before["nodes"][0]["bmc"]["root"] == "/bmc/a/redfish/v1/"
    assert world.view("a")["serial"] != before["nodes"][0]["serial"]


def test_staged_firmware_wakes_with_the_right_event(make_world: Make) -> None:
    """A reset wakes what needs a reset, an AC cycle what needs one."""
    world, _ = make_world()
    node = world.nodes["a"]
    node.firmware.stage("HostBIOS_0", "9.0", "reset")
    node.firmware.stage("CPLDMB_0", "8.0", "ac-cycle")
    world.boot.reset(node, "ForceRestart")
    assert node.firmware.version("HostBIOS_0") == "9.0"
    assert node.firmware.version("CPLDMB_0") == "0.2.1.9"
    world.boot.ac_cycle(node)
    assert node.firmware.version("CPLDMB_0") == "8.0"


def test_measurements_follow_from_versions(make_world: Make) -> None:
    """A node with the current firmware and a shipped image measures nothing but reference values."""
    world, _ = make_world(
        NodeSpec("a", "h100-sxm-8", "A1", 1, image="service-2026.11"),
        NodeSpec("b", "h100-sxm-8", "A1", 2, image="service-2026.11", firmware={"HostBIOS_0": "1.05.03"}),
    )
    golden = golden_measurements()
    good, behind = ([event["digest_sha256"] for event in world.view(name)["tpm"]["events"]] for name in ("a", "b"))
    assert set(good) <= set(golden.values())
    assert len(good) == 1 + 8 + 8 + 2 + 1 + 1
    assert [digest for digest in behind if digest not in golden.values()] == [
        hashlib.sha256(b"nodeworthy-lab:firmware:HostBIOS_0:1.05.03").hexdigest()
    ]


def test_effects_are_counted(make_world: Make) -> None:
    """Each recorded effect keeps its id; kinds are counted."""
    world, _ = make_world()
    world.record_effect("reset", "a", "e1", reset_type="On")
    world.record_effect("reset", "b", None)
    assert world.effects.counts() == {"reset": 2}
    assert [effect.effect_id for effect in world.effects] == ["e1", None]


def test_the_demo_fleet(make_world: Make) -> None:
    """Eight nodes, three of them faulty, two healthy ones behind in one firmware item."""
    fleet = load_fleet("demo")
    assert [node.name for node in fleet.nodes] == [f"gpu-a0{number}" for number in range(1, 9)]
    assert {node.name: node.faults[0]["fault"] for node in fleet.nodes if node.faults} == {
        "gpu-a03": "sku-mismatch",
        "gpu-a06": "nvlink-degraded",
        "gpu-a08": "firmware-stuck",
    }
    assert [node.name for node in fleet.nodes if node.firmware and not node.faults] == ["gpu-a02", "gpu-a05"]
    world, _ = make_world(*fleet.nodes)
    names = {gpu["name"] for gpu in world.view("gpu-a03")["gpus"]}
    assert names == {"NVIDIA H100 80GB HBM3", "NVIDIA H200"}


def test_generated_fleets_have_racks_and_batches() -> None:
    """Racks of sixteen, batches of sixty-four, one SKU a rack."""
    nodes = generate(100).nodes
    assert len({node.name for node in nodes}) == 100
    assert (nodes[15].rack, nodes[16].rack, nodes[63].batch, nodes[64].batch) == (
        "R001",
        "R002",
        "batch-01",
        "batch-02",
    )
    assert all(len({node.sku for node in nodes if node.rack == rack}) == 1 for rack in {node.rack for node in nodes})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("schema: other/1\n", "no fleet file"),
        ("schema: lab.fleet/1\nnodes: []\n", "has no nodes"),
        ("schema: lab.fleet/1\nnodes: [{name: a, sku: s, rack: r}]\n", "lacks position"),
        ("schema: lab.fleet/1\nnodes: [{name: a, sku: s, rack: r, position: 1, colour: red}]\n", "unknown key colour"),
    ],
)
def test_a_senseless_fleet_file_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    """One sentence says what is wrong with it."""
    (tmp_path / "fleet.yaml").write_text(text)
    with pytest.raises(ValueError, match=reason):
        load_fleet(str(tmp_path / "fleet.yaml"))


def test_data_files_hang_together() -> None:
    """Platforms are found by their SKUs, firmware items for GPUs and adapters exist, images register tainted."""
    for platform in load_platforms().values():
        assert all(platform_for_sku(sku) is platform for sku in platform.skus)
        wanted = [
            platform.gpu[key].format(number=number)
            for key in ("firmware", "inforom")
            if key in platform.gpu
            for number in range(1, 9)
        ]
        wanted += [
            row["firmware"].format(index=index)
            for row in platform.nics
            if row["firmware"]
            for index in range(row["count"])
        ]
        assert set(wanted) <= set(platform.firmware)
        assert len(platform.firmware) >= 30
    assert {image.kind for image in load_images().values()} == {"validation", "service"}
    assert all(taint.key == "nodeworthy.dev/unqualified" for i in load_images().values() for taint in i.register_taints)


def test_a_missing_sku_is_told() -> None:
    """The error names what there is."""
    with pytest.raises(ValueError, match="h100-sxm-8, h200-sxm-8"):
        platform_for_sku("abacus")


def test_the_view_keeps_up_with_the_clock(make_world: Make) -> None:
    """`now` is the lab's time."""
    world, _ = make_world()
    world.clock.advance(timedelta(hours=1))
    assert world.view("a")["now"] == "2026-11-30T13:00:00+00:00"
