"""Falls of links within a window, from log and counter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nodeworthy_probe import plain
from nodeworthy_probe.plan import TestSpec, read_plan
from nodeworthy_probe.readings.context import Context
from nodeworthy_probe.records import Reading

from tests.data import node_views
from tests.unit.probe.test_pci import NIC, lay, link

HOUR = 3600.0
OTHER = "0000:2c:00.0"


def down(at: float, pci: str = NIC) -> str:
    """One line of mlx5_core."""
    return f"[{at:12.6f}] mlx5_core {pci} enp28s0np0: Link down"


def read(folder: Path, lines: list[str], *, up: float | None, counted: str | None) -> Reading:
    """Read the test on a node with one adapter, its log, its uptime in seconds and its counter."""
    place = lay(folder, ["0000:18:01.0", NIC])
    link(folder / "sys/class/infiniband/mlx5_0/device", place)
    if counted is not None:
        counter = folder / "sys/class/infiniband/mlx5_0/ports/1/counters/link_downed"
        counter.parent.mkdir(parents=True)
        counter.write_text(f"{counted}\n")
    if up is not None:
        (folder / "proc").mkdir()
        (folder / "proc/uptime").write_text(f"{up:.2f} 1.00\n")
    (folder / "kmsg").write_text("".join(f"{line}\n" for line in lines))
    given = Context(read_plan(json.dumps(node_views.plan())), TestSpec("n.f", "link-flaps", ("mlx5_0", "6"), 9, {}, {}))
    interpret = plain.interpreter("link-flaps")
    assert interpret is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NODEWORTHY_HOST_ROOT", str(folder))
        patch.setenv("NODEWORTHY_KERNEL_LOG", str(folder / "kmsg"))
        return interpret(plain.read_files(given.test).text, given)


def flaps(reading: Reading) -> float | None:
    """The one row's value."""
    (row,) = reading.measurements
    assert (row.component, row.metric, row.unit) == ("nic/mlx5_0", "link_flaps", "count")
    return row.value


def test_only_falls_within_the_window_count(tmp_path: Path) -> None:
    """Up for ten hours: what fell three and nine hours ago is one fall in six, whatever was counted since boot."""
    lines = [down(1 * HOUR), down(7 * HOUR), down(7.1 * HOUR, OTHER)]
    assert flaps(read(tmp_path, lines, up=10 * HOUR, counted="40")) == 1


def test_the_counter_tells_of_a_machine_that_booted_within_the_window(tmp_path: Path) -> None:
    """InfiniBand ports write no line; five falls since a boot an hour ago are five in six hours."""
    reading = read(tmp_path, [], up=HOUR, counted="5")
    assert flaps(reading) == 5
    assert "5 falls in 6 h (0 in the log, 5 counted since boot)" in reading.lines[0]


def test_without_an_uptime_the_newest_line_is_now(tmp_path: Path) -> None:
    """The records of /dev/kmsg count microseconds since the boot."""
    lines = [
        f"6,{number},{int(second * 1e6)},-;mlx5_core {NIC}: Link down" for number, second in enumerate((1, 2, 30000))
    ]
    assert flaps(read(tmp_path, lines, up=None, counted=None)) == 1


@pytest.mark.parametrize(
    ("line", "count"),
    [
        (f"[  10.000000] mlx5_core {NIC}: Port module event: module 0, Cable unplugged", 1),
        (f"[  10.000000] ixgbe {NIC} eth0: NIC Link is Down", 1),
        (f"[  10.000000] mlx5_core {NIC} ib0: Link up", 0),
        (f"[  10.000000] mlx5_core {NIC}: Port module event: module 0, Cable plugged", 0),
        ("[  10.000000] eth0: Link down", 0),
        ("Link down", 0),
    ],
)
def test_lines_of_other_drivers(tmp_path: Path, line: str, count: int) -> None:
    """A line that names no PCI address is nobody's."""
    assert flaps(read(tmp_path, [line], up=60, counted=None)) == count


def test_nothing_known_is_missing(tmp_path: Path) -> None:
    """Up for longer than the window, and no log: the counter tells nothing of the last six hours."""
    (tmp_path / "kmsg").mkdir()
    place = lay(tmp_path, ["0000:18:01.0", NIC])
    link(tmp_path / "sys/class/infiniband/mlx5_0/device", place)
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/uptime").write_text("90000.0 1.0\n")
    given = Context(read_plan(json.dumps(node_views.plan())), TestSpec("n.f", "link-flaps", ("mlx5_0", "6"), 9, {}, {}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NODEWORTHY_HOST_ROOT", str(tmp_path))
        patch.setenv("NODEWORTHY_KERNEL_LOG", str(tmp_path / "kmsg"))
        text = plain.read_files(given.test).text
    interpret = plain.interpreter("link-flaps")
    assert interpret is not None
    assert flaps(interpret(text, given)) is None
