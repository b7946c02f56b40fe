"""PCIe links, device control and access control, from files laid out by hand after the specification."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import pytest
from nodeworthy_probe import pci_state, pci_tree, plain
from nodeworthy_probe.plan import TestSpec, read_plan
from nodeworthy_probe.readings.context import Context
from nodeworthy_probe.records import Reading

from tests.data import node_views

PORT, UP = "0000:18:01.0", "0000:19:00.0"
DOWN = ("0000:1a:00.0", "0000:1a:01.0")
GPU, NIC = "0000:1b:00.0", "0000:1c:00.0"


def lay(root: Path, way: list[str], *, config: bytes = b"", **files: str) -> Path:
    """Write one device below its bridges, and the link to it."""
    place = root / "sys/devices/pci0000:18" / "/".join(way)
    place.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (place / name).write_text(f"{text}\n")
    if config:
        (place / "config").write_bytes(config)
    link(root / "sys/bus/pci/devices" / way[-1], place)
    return place


def link(name: Path, target: Path) -> None:
    """Make a link as sysfs has them."""
    name.parent.mkdir(parents=True, exist_ok=True)
    name.symlink_to(os.path.relpath(target, name.parent))


def space(control: int = 0x5810, acs: int | None = None) -> bytes:
    """Configuration space: vendor, a capability of power management at 40h, PCI Express at 60h; AER, then ACS."""
    found = bytearray(4096)
    struct.pack_into("<HHHH", found, 0, 0x15B3, 0x1021, 0, 0x10)
    found[0x34] = 0x40
    found[0x40:0x42] = bytes((0x01, 0x60))
    found[0x60:0x62] = bytes((0x10, 0x00))
    struct.pack_into("<H", found, 0x68, control)
    struct.pack_into("<I", found, 0x100, 0x0001 | 2 << 16 | (0x150 << 20 if acs is not None else 0))
    if acs is not None:
        struct.pack_into("<IHH", found, 0x150, 0x000D | 1 << 16, 0x5F, acs)
    return bytes(found)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """One GPU and one adapter behind a switch, all well: 4096 bytes, relaxed ordering, no access control."""
    lay(tmp_path, [PORT], config=space(acs=0x1D))
    lay(tmp_path, [PORT, UP], config=space())
    for down in DOWN:
        best = {"max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16"}
        lay(tmp_path, [PORT, UP, down], config=space(acs=0), **best)
    of_gpu = {"vendor": "0x10de", "class": "0x030200"}
    lay(tmp_path, [PORT, UP, DOWN[0], GPU], config=space(0x2810), **of_gpu)
    nic = lay(tmp_path, [PORT, UP, DOWN[1], NIC], config=space(), current_link_speed="32.0 GT/s PCIe",
              current_link_width="16", max_link_speed="32.0 GT/s PCIe", max_link_width="16")  # fmt: skip
    link(tmp_path / "sys/class/infiniband/mlx5_0/device", nic)
    return tmp_path


def context(tool: str) -> Context:
    """The context of a test of mlx5_0 on a node whose first GPU sits at 1b:00.0."""
    plan = read_plan(json.dumps(node_views.plan(expect={"gpus": 1, "nvlinks_per_gpu": 0})))
    return Context(plan, TestSpec("pcie.x", tool, ("mlx5_0",), 9.0, {}, {}), {"0000:1b:00": 0})


def read(tool: str, root: Path) -> Reading:
    """Read one of the tests."""
    interpret = plain.interpreter(tool)
    assert interpret is not None
    given = context(tool)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NODEWORTHY_HOST_ROOT", str(root))
        return interpret(plain.read_files(given.test).text, given)


def values(reading: Reading) -> dict[tuple[str, str], float | None]:
    """The rows by component and metric."""
    return {(row.component, row.metric): row.value for row in reading.measurements}


def test_a_link_at_its_best_has_the_share_one(root: Path) -> None:
    """32 GT/s x 16 where both ends can do that."""
    found = values(read("pci-link", root))
    assert found == {("nic/mlx5_0", "link_width"): 16, ("nic/mlx5_0", "link_speed"): 32,
                     ("nic/mlx5_0", "link_share"): 1}  # fmt: skip


@pytest.mark.parametrize(("width", "speed", "share"), [("8", "32.0", 0.5), ("16", "16.0", 0.5), ("4", "8.0", 1 / 16)])
def test_a_link_below_its_best_says_what_it_lost(root: Path, width: str, speed: str, share: float) -> None:
    """Lanes and speed multiply."""
    place = pci_tree.adapter(root, "mlx5_0")
    assert place is not None
    (place / "current_link_width").write_text(f"{width}\n")
    (place / "current_link_speed").write_text(f"{speed} GT/s PCIe\n")
    reading = read("pci-link", root)
    assert values(reading)["nic/mlx5_0", "link_share"] == share
    assert "both ends can do 32 GT/s x 16" in reading.lines[0]


@pytest.mark.parametrize("text", ["Unknown", "", "0", "255", "-1"])
def test_a_link_that_tells_nothing_is_missing(root: Path, text: str) -> None:
    """What a dead device's files hold is no width and no speed."""
    place = pci_tree.adapter(root, "mlx5_0")
    assert place is not None
    (place / "current_link_width").write_text(text)
    (place / "current_link_speed").write_text(text)
    assert set(values(read("pci-link", root)).values()) == {None}


def test_read_requests_and_ordering_come_from_device_control(root: Path) -> None:
    """5810h: 4096 bytes, relaxed; 2810h: 512 bytes, relaxed."""
    found = values(read("pci-settings", root))
    assert found == {
        ("nic/mlx5_0", "max_read_request"): 4096,
        ("nic/mlx5_0", "relaxed_ordering"): 1,
        ("gpu/0", "gpu_max_read_request"): 512,
        ("gpu/0", "gpu_relaxed_ordering"): 1,
    }


@pytest.mark.parametrize("seen", [space()[:64], b"", b"\xff" * 4096, space()[:0x68]])
def test_hidden_or_dead_configuration_space_is_missing(root: Path, seen: bytes) -> None:
    """Without CAP_SYS_ADMIN the kernel shows 64 bytes; a device that fell off the bus reads as ones."""
    place = pci_tree.adapter(root, "mlx5_0")
    assert place is not None
    (place / "config").write_bytes(seen)
    assert values(read("pci-settings", root))["nic/mlx5_0", "max_read_request"] is None


def test_only_bridges_between_adapter_and_gpu_count(root: Path) -> None:
    """The root port redirects, but what the two say to each other does not pass it."""
    reading = read("pci-acs", root)
    assert values(reading) == {("node", "acs_redirects"): 0}
    assert "0 of 2 bridges" in reading.lines[0]


@pytest.mark.parametrize(("acs", "count"), [(0x1D, 1), (0x04, 1), (0x08, 1), (0x10, 1), (0x01, 0), (0x43, 0)])
def test_redirecting_bits_count_and_validation_alone_does_not(root: Path, acs: int, count: int) -> None:
    """Request redirect, completion redirect and upstream forwarding; not source validation or translation blocking."""
    lay_again = root / "sys/bus/pci/devices" / DOWN[1] / "config"
    lay_again.write_bytes(space(acs=acs))
    assert values(read("pci-acs", root))["node", "acs_redirects"] == count


def test_a_bridge_that_cannot_be_read_makes_the_count_missing(root: Path) -> None:
    """Unknown is not off."""
    (root / "sys/bus/pci/devices" / DOWN[0] / "config").write_bytes(space()[:64])
    reading = read("pci-acs", root)
    assert values(reading) == {("node", "acs_redirects"): None}
    assert "CAP_SYS_ADMIN" in reading.lines[0]


def test_an_adapter_that_is_not_there_is_missing(tmp_path: Path) -> None:
    """No sysfs at all: rows without a number from every reader."""
    for tool in ("pci-link", "pci-settings", "pci-acs"):
        assert set(values(read(tool, tmp_path)).values()) == {None}


def test_a_list_of_capabilities_that_loops_ends() -> None:
    """A broken device may point a capability at itself."""
    looped = bytearray(space())
    looped[0x41] = 0x40
    struct.pack_into("<I", looped, 0x100, 0x0001 | 0x100 << 20)
    assert pci_state._capability(bytes(looped)) is None
    assert pci_state._extended(bytes(looped)) is None
