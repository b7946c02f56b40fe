"""Processors, processes, mounts, drives and Fabric Manager of a host: a row each, and what is unknown is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from nodeworthy_probe import drive_state, fabric_state, host_hardware, host_processes, host_state
from nodeworthy_probe.plan import TestSpec, read_plan
from nodeworthy_probe.readings import drive_parts, hardware, processes, settings
from nodeworthy_probe.readings.context import Context
from nodeworthy_probe.records import Reading

from lab.tools import host_files
from lab.truth.fleet import FleetFile, NodeSpec
from lab.truth.world import LabClock, World
from tests.data import node_views

PARTS = [
    {"count": 2, "models": ["SAMSUNG MZ1L21T9HCLS-00A07"], "capacity_mib": 1831420, "tolerance_percent": 1},
    {"count": 8, "models": ["SAMSUNG MZWLO3T8HCLS-00A07"], "capacity_mib": 3662830, "firmware": ["OPPA3B5Q"]},
]
Host = Callable[..., Path]
Look = tuple[Callable[[Path], dict[str, Any]], Callable[[str, Context], Reading], tuple[str, ...]]
LOOKS: tuple[Look, ...] = (
    (host_state.state, settings.read, ("--full", "90", "--blocks", "8,10")),
    (host_state.state, settings.read_arguments, ("--demand", "iommu=pt")),
    (host_hardware.look, hardware.read, ()),
    (lambda root: host_processes.look(root, lambda _: None), processes.read, ("--zombies", "300")),
    (lambda root: host_processes.look(root, lambda _: None), processes.read_services, ("--demand", "kubelet")),
    (lambda root: host_processes.look(root, lambda _: None), processes.read_mounts, ("--demand", "/raid")),
    (lambda root: fabric_state.look(root, "fabricmanager.log"), settings.read_fabric, ("fabricmanager.log",)),
    (drive_state.look, drive_parts.read, ("--parts", json.dumps(PARTS))),
    (drive_state.look, drive_parts.read_scratch, ("--scratch", "nvme9n1")),
)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Write the files of a healthy H100 node of the virtual fleet, with changes of its settings, drives or host."""
    spec = NodeSpec("gpu-a01", "h100-sxm-8", "A1", 1, image="validation-2026.11")
    world = World(FleetFile("lab", (spec,)), tmp_path / "world", 1, LabClock(speed=0))
    world.start()

    def write(change: Callable[[dict[str, Any]], object] = lambda view: None, **set_: Any) -> Path:
        view = json.loads(json.dumps(world.view("gpu-a01")))
        view["settings"].update(set_)
        change(view)
        host_files.write(tmp_path / "root", view, frozenset({host_files.PROC, host_files.LOGS}))
        return tmp_path / "root"

    return write


def asked(tool: str, *arguments: str) -> Context:
    """Return the context of one test."""
    return Context(read_plan(json.dumps(node_views.plan())), TestSpec("a.b", tool, arguments, 60.0, {}, {}))


def values(reading: Reading) -> dict[str, float | None]:
    """Return the node's rows by metric."""
    assert {row.component for row in reading.measurements} == {"node"}
    return {row.metric: row.value for row in reading.measurements}


def looked(look: dict[str, Any], read: Callable[[str, Context], Reading], *arguments: str) -> dict[str, float | None]:
    """Return what a reader makes of a look."""
    return values(read(json.dumps(look), asked("host", *arguments)))


def test_the_processors_are_counted_by_socket(host: Host) -> None:
    """Two sockets of 56 cores with two threads each; 32 modules of 64 GiB, of which the kernel keeps a sixtieth."""
    assert looked(host_hardware.look(host()), hardware.read) == {
        "cpu_sockets": 2, "cpu_cores": 112, "cpu_threads": 224, "numa_nodes": 2, "cpu_frequency": 3000,
        "memory_installed": pytest.approx(32 * 65536 * 59 / 60, abs=1),
    }  # fmt: skip


def test_processors_that_are_offline_are_not_counted(host: Host) -> None:
    """Processor 223 is off: 223 threads, and the socket keeps 55 whole cores."""
    root = host()
    (root / "sys/devices/system/cpu/online").write_text("0-222\n")
    found = looked(host_hardware.look(root), hardware.read)
    assert (found["cpu_threads"], found["cpu_cores"]) == (223, 56 + 55)


def test_processors_without_a_frequency_in_cpuinfo_tell_it_by_cpufreq(host: Host) -> None:
    """Arm's cpuinfo has none; two processors at 3.4 and 3.0 GHz run at 3200 MHz on average."""
    root = host()
    (root / "proc/cpuinfo").write_text("processor\t: 0\nBogoMIPS\t: 2000.00\n")
    for cpu, khz in ((0, 3_400_000), (1, 3_000_000)):
        (root / f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq").write_text(f"{khz}\n")
    assert looked(host_hardware.look(root), hardware.read)["cpu_frequency"] == 3200


@pytest.mark.parametrize("text", ["", "0-", "a", "0-3,"])
def test_a_list_of_processors_that_is_none_counts_nothing(host: Host, text: str) -> None:
    """A list that cannot be read is unknown, not empty."""
    root = host()
    (root / "sys/devices/system/cpu/online").write_text(text)
    found = looked(host_hardware.look(root), hardware.read)
    assert found["cpu_threads"] is found["cpu_sockets"] is None


@pytest.mark.parametrize(
    ("line", "lacking"),
    [("iommu=pt pci=realloc=off", 0), ("intel_iommu=off pci=realloc=off", 0), ("iommu=ptx", 2), ("pci=realloc", 2)],
)
def test_a_kernel_argument_is_a_whole_word(host: Host, line: str, lacking: int) -> None:
    """Two are demanded, one of them with an alternative; the beginning of a word is not the word."""
    look = host_state.state(host(kernel_arguments=line))
    demand = "iommu=pt|intel_iommu=off,pci=realloc=off"
    found = looked(look, settings.read_arguments, "--demand", demand)
    assert found == {"kernel_arguments_missing": lacking}


@pytest.mark.parametrize(("there", "lacking"), [("1000", 24), ("1024", 0), ("2048", 0), ("?", None)])
def test_huge_pages_are_counted_from_below(host: Host, there: str, lacking: float | None) -> None:
    """1024 are demanded: 24 lack of 1000, more do no harm, and what the kernel does not tell is unknown."""
    root = host()
    (root / "proc/meminfo").write_text(f"MemTotal: 1 kB\nHugePages_Total:  {there}\n")
    found = looked(host_state.state(root), settings.read_huge_pages, "--demand", "1024")
    assert found == {"huge_pages_missing": lacking}


@pytest.mark.parametrize(("free", "full"), [(12, 0), (9, 2)])
def test_a_file_system_is_full_from_ninety_per_cent_on(host: Host, free: int, full: int) -> None:
    """Both file systems that a container stands on: 88 % used are enough room, 91 % are full."""
    space = SimpleNamespace(f_blocks=100, f_bfree=free, f_bavail=free)
    look = host_state.state(host(), lambda _: space)
    assert looked(look, settings.read, "--full", "90")["file_systems_full"] == full


def test_a_file_system_that_does_not_answer_is_unknown(host: Host) -> None:
    """No number is made of it."""

    def space(_path: str) -> Any:
        raise OSError

    assert looked(host_state.state(host(), space), settings.read, "--full", "90")["file_systems_full"] is None


def test_a_quiet_host_has_no_stuck_process_and_loses_no_time(host: Host) -> None:
    """Nothing waits, so nobody looks a second time."""

    def sleep(_seconds: float) -> None:
        raise AssertionError("a healthy node is not waited for")

    found = looked(host_processes.look(host(), sleep), processes.read, "--zombies", "300")
    assert found == {"processes_stuck": 0, "zombies": 0, "file_systems_read_only": 0}


def test_a_process_is_stuck_when_it_did_not_run_in_between(host: Host) -> None:
    """Of two that wait one is scheduled while the probe waits: it was only slow."""
    root = host(stuck=["nfs (client)", "dd"])
    proc = root / "host/proc"
    slow = next(path for path in proc.glob("*/stat") if "(dd)" in path.read_text()).parent

    def sleep(_seconds: float) -> None:
        (slow / "status").write_text("Name:\tdd\nvoluntary_ctxt_switches:\t8\nnonvoluntary_ctxt_switches:\t1\n")

    look = host_processes.look(root, sleep)
    assert [row["name"] for row in look["stuck"]] == ["nfs (client)"]


def test_threads_of_the_kernel_are_left_to_the_kernel(host: Host) -> None:
    """A kernel thread that waits is what its hung-task watch looks at."""
    root = host(stuck=["worker"])
    (place,) = [path for path in (root / "host/proc").glob("*/stat") if "(worker)" in path.read_text()]
    words = place.read_text().split()
    words[8] = str(0x00200040)
    place.write_text(" ".join(words))
    assert host_processes.look(root, lambda _: None)["stuck"] == []


@pytest.mark.parametrize(("limit", "old"), [("300", 2), ("3600", 0)])
def test_a_zombie_counts_from_its_age_on(host: Host, limit: str, old: int) -> None:
    """The host is up for 3600 s and the processes began at 60 s: both zombies are 3540 s old."""
    look = host_processes.look(host(zombies=["sh", "python"]))
    assert looked(look, processes.read, "--zombies", limit)["zombies"] == old


def test_a_file_system_that_turned_read_only_is_told_from_one_that_was_mounted_so(host: Host) -> None:
    """/raid was mounted to be written and is not any more; the squashfs beside it always was read-only."""
    look = host_processes.look(host(read_only=["/raid"]))
    assert looked(look, processes.read, "--zombies", "300")["file_systems_read_only"] == 1
    assert looked(look, processes.read_mounts, "--demand", "/,/raid") == {"mounts_missing": 1}


def test_a_service_is_known_by_the_fifteen_characters_that_the_kernel_keeps(host: Host) -> None:
    """nvidia-persistenced runs, nv-hostengine does not, and a zombie of it does not count."""
    look = host_processes.look(host(services=["nvidia-persistenced"], zombies=["nv-hostengine"]))
    found = looked(look, processes.read_services, "--demand", "nvidia-persistenced,nv-hostengine")
    assert found == {"services_missing": 1}


def test_without_the_hosts_proc_nothing_of_it_is_known(tmp_path: Path) -> None:
    """A pod that does not mount it has missing rows, not zeros."""
    look = host_processes.look(tmp_path)
    assert looked(look, processes.read, "--zombies", "300") == {
        "processes_stuck": None, "zombies": None, "file_systems_read_only": None
    }  # fmt: skip
    assert looked(look, processes.read_services, "--demand", "kubelet") == {"services_missing": None}
    assert looked(look, processes.read_mounts, "--demand", "/") == {"mounts_missing": None}


@pytest.mark.parametrize(("version", "differs"), [("", 0.0), ("570.86.15", 1.0)])
def test_fabric_manager_must_be_of_the_drivers_version(host: Host, version: str, differs: float) -> None:
    """Both are 580.105.08, or Fabric Manager was left behind."""
    look = fabric_state.look(host(fabric_manager=version), "fabricmanager.log")
    assert looked(look, settings.read_fabric, "fabricmanager.log") == {"fabric_manager_differs": differs}


def test_the_newest_line_of_fabric_manager_counts(host: Host) -> None:
    """After an update its log holds two versions; a log that tells none leaves it unknown."""
    root = host()
    log = root / "host/log/fabricmanager.log"
    log.write_text("[INFO] Fabric Manager version 570.86.15 is running\n" + log.read_text())
    assert fabric_state.look(root, log.name)["fabric_manager"] == "580.105.08"
    log.write_text("rotated\n")
    look = fabric_state.look(root, log.name)
    assert looked(look, settings.read_fabric, log.name) == {"fabric_manager_differs": None}


def drives(view: dict[str, Any], change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Change the drives of a view."""
    change(view["drives"])


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda rows: None, {}),
        (lambda rows: rows.pop(4), {"drives_missing": 1}),
        (lambda rows: rows[4].update(model="OTHER"), {"drives_missing": 1, "drives_unknown": 1}),
        (lambda rows: rows[4].update(capacity_bytes=1920383410176), {"drives_of_another_size": 1}),
        (lambda rows: rows[4].update(revision="OPPA1A1A"), {"drives_of_another_firmware": 1}),
    ],
)
def test_drives_are_compared_with_the_parts(
    host: Host, change: Callable[[list[dict[str, Any]]], object], wrong: dict[str, float]
) -> None:
    """Two for the system and eight for data; what is wrong with one shows in its own row."""
    look = drive_state.look(host(lambda view: drives(view, change)))
    none = dict.fromkeys(
        ("drives_missing", "drives_unknown", "drives_of_another_size", "drives_of_another_firmware"), 0
    )
    assert looked(look, drive_parts.read, "--parts", json.dumps(PARTS)) == {**none, **wrong}


def test_a_scratch_drive_with_a_partition_or_a_holder_is_in_use(host: Host) -> None:
    """nvme8n1 has a partition and nvme9n1 is part of an array; nvme7n1 is free; nvme77n1 does not exist."""
    root = host()
    (root / "sys/block/nvme8n1/nvme8n1p1").mkdir()
    (root / "sys/block/nvme9n1/holders/md0").mkdir(parents=True)
    look = drive_state.look(root)
    used = looked(look, drive_parts.read_scratch, "--scratch", "nvme7n1,nvme8n1,nvme9n1")
    assert used == {"scratch_drives_in_use": 2}
    assert looked(look, drive_parts.read_scratch, "--scratch", "nvme77n1") == {"scratch_drives_in_use": None}


FILES = (
    *("proc/cpuinfo", "proc/meminfo", "proc/buddyinfo", "proc/self/limits", "proc/cmdline"),
    *("sys/devices/system/cpu/online", "sys/devices/system/cpu/cpu0/topology/package_cpus_list"),
    *("sys/devices/system/node/has_memory", "sys/block/nvme4n1/size", "proc/driver/nvidia/version"),
    *("host/proc/1/stat", "host/proc/1/mountinfo", "host/proc/uptime", "host/log/fabricmanager.log"),
)


@pytest.mark.parametrize(
    "content", [b"", b"\xc2\xb2", b"\xff\x00", b"0-99999999999", b"cpu MHz\t: 1.2.3\n", b"1 (a) D x", b"- - -"]
)
def test_a_damaged_file_costs_rows_and_never_a_look(host: Host, content: bytes) -> None:
    """A superscript two, a list without end, half a line: every row stays, with a finite number or without one."""
    root = host()
    for place in FILES:
        before = (root / place).read_bytes()
        (root / place).write_bytes(content)
        for look, read, arguments in LOOKS:
            found = looked(look(root), read, *arguments)
            assert found, place
            assert all(value is None or abs(value) < 1e300 for value in found.values()), place
        (root / place).write_bytes(before)
