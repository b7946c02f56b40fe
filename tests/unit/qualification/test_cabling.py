"""An InfiniBand fabric against the manifest: every difference is named, and a damaged file decides nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.evidence.inventory import Neighbour
from nodeworthy.procedures.conform import by_lldp
from nodeworthy.qualification.cabling import Seen, differences, links_of
from nodeworthy.ui import command
from nodeworthy_probe.content.kinds import read

from lab.truth import infiniband
from lab.truth.fleet import FleetFile, NodeSpec
from lab.truth.world import LabClock, World
from tests.data.content_seeds_fabric import FABRIC
from tests.doubles.bench import INCLUDE, node_of

PLAN = {
    "n1": (Neighbour("mlx5_0", "leaf-01", "1", "infiniband"), Neighbour("eth0", "oob", "swp4")),
    "n2": (Neighbour("mlx5_0", "leaf-01", "2", "infiniband"),),
    "n3": (Neighbour("mlx5_0", "leaf-01", "3", "infiniband"),),
}


def seen(**changes: tuple[str, str, str]) -> list[Seen]:
    """The planned fabric, some nodes' links changed to (switch, port, rate)."""
    places = {"n1": ("leaf-01", "1", "4xNDR"), "n2": ("leaf-01", "2", "4xNDR"), "n3": ("leaf-01", "3", "4xNDR")}
    return [Seen(node, "mlx5_0", *place) for node, place in {**places, **changes}.items()]


def test_a_fabric_as_planned_has_no_difference() -> None:
    """Ethernet cables of the manifest are LLDP's; a host that the manifest does not know is nobody's."""
    assert differences(PLAN, [*seen(), Seen("login1", "mlx5_0", "leaf-01", "60", "4xHDR")]) == ()


def test_every_kind_of_difference_is_named() -> None:
    """Gone, at another port, slower than most, and not planned."""
    links = [*seen(n2=("leaf-02", "7", "4xNDR"), n3=("leaf-01", "3", "2xNDR"))[1:], Seen("n2", "mlx5_9", "s", "1", "x")]
    found = differences({**PLAN, "n4": (Neighbour("mlx5_0", "leaf-01", "4", "infiniband"),)}, links)
    assert [(one.kind, one.node, one.device) for one in found] == [
        ("missing", "n1", "mlx5_0"),
        ("elsewhere", "n2", "mlx5_0"),
        ("unplanned", "n2", "mlx5_9"),
        ("slow", "n3", "mlx5_0"),
        ("missing", "n4", "mlx5_0"),
    ]
    assert "joined to leaf-02 port 7 where the manifest names leaf-01 port 2" in found[1].phrase


def test_what_the_file_says_of_each_adapter() -> None:
    """Host and device from the node description, the switch's name without its model."""
    document = read("ibnetdiscover", FABRIC).document()
    assert document["findings"] == []
    assert links_of(document) == (
        Seen("gpu-node-1", "mlx5_0", "leaf-01", "1", "4xNDR"),
        Seen("gpu-node-2", "mlx5_0", "leaf-01", "2", "4xNDR"),
    )


def test_inspect_waits_for_no_lldp_of_an_infiniband_cable() -> None:
    """It compares the others."""
    assert [cable.interface for cable in by_lldp(node_of(PLAN["n1"]))] == ["eth0"]


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Three nodes of the lab."""
    specs = tuple(NodeSpec(f"gpu-a0{place}", "h100-sxm-8", "A1", place) for place in (1, 2, 3))
    one = World(FleetFile("lab", specs), tmp_path / "w", 1, LabClock(speed=0, start=datetime(2026, 11, 30, tzinfo=UTC)))
    one.start()
    return one


def manifest(world: World, folder: Path) -> Path:
    """The manifest of the nodes as they were ordered, before any fault."""
    rows = []
    for place, name in enumerate(("gpu-a01", "gpu-a02", "gpu-a03"), start=1):
        nics = [nic for nic in world.parts(name).nics if nic.role == "fabric"]
        cables = ", ".join(
            f"{{interface: mlx5_{nic.index}, switch: {nic.switch}, port: '{nic.port.removeprefix('swp')}', "
            "link: infiniband}"
            for nic in nics
        )
        rows.append(
            f"  - {{name: {name}, serial: S{place}, sku: h100-sxm-8, pool: p, rack: A1, position: {place}, "
            f"bmc: {{address: 'https://10.0.0.{place}'}}, cabling: [{cables}]}}"
        )
    path = folder / "fleet.yaml"
    path.write_text("schema: nodeworthy.fleet/1\nsite: lab\nnodes:\n" + "\n".join(rows) + "\n")
    assert len(YamlLibrary(INCLUDE).fleet(str(path))) == 3
    return path


def run(capsys: pytest.CaptureFixture[str], fleet: Path, text: str) -> tuple[int, str]:
    """Run the command on a file."""
    file = fleet.parent / "fabric.txt"
    file.write_text(text)
    code = command.main(["cabling", str(file), "--fleet", str(fleet)])
    printed = capsys.readouterr()
    return code, printed.out + printed.err


def test_the_labs_swapped_cables_are_found(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As ordered the fabric is the plan; two swapped cables are two differences, a dark port a third."""
    names = ("gpu-a01", "gpu-a02", "gpu-a03")
    fleet = manifest(world, tmp_path)
    code, said = run(capsys, fleet, infiniband.topology((name, world.parts(name)) for name in names))
    assert (code, "cabled as planned: 0 differences from 24" in said) == (0, True), said
    world.inject("gpu-a02", "miscabled")
    swapped = infiniband.topology(((name, world.parts(name)) for name in names), without=[("gpu-a03", 5)])
    code, said = run(capsys, fleet, swapped)
    assert code == 1
    assert "gpu-a02 mlx5_0 is joined to leaf-02 port 2 where the manifest names leaf-01 port 2" in said
    assert "gpu-a02 mlx5_1 is joined to leaf-01 port 2" in said
    assert "gpu-a03 mlx5_5 is not in the fabric where the manifest names leaf-06 port 3" in said
    assert "3 differences from 24" in said


def test_a_file_that_is_cut_decides_nothing(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half a fabric would call every other adapter missing."""
    text = infiniband.topology([("gpu-a01", world.parts("gpu-a01"))])
    code, said = run(capsys, manifest(world, tmp_path), text[: len(text) * 2 // 3])
    assert (code, "not a whole fabric" in said) == (1, True), said
