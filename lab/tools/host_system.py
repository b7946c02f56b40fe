"""The files that show a host's processors, memory, drives, processes and mounts, written from the view.

What stands below /host is the host's own, as a pod that mounts /proc and /var/log sees it; it is written for such pods.
Formats: proc(5), proc_pid_stat(5), proc_pid_mountinfo(5); Linux ABI documents sysfs-devices-system-cpu, sysfs-block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_ORDERS = 11  # of free blocks of memory: 2^0 to 2^10 pages
_KERNEL_THREAD = 0x00200040
_UP_SECONDS = 3600
_TICKS = 100
Files = Iterator[tuple[str, str]]


def of_every_pod(view: dict[str, Any]) -> Files:
    """What any container sees."""
    settings, host = view.get("settings", {}), view.get("host")
    if host is None:
        return
    yield "proc/self/limits", _limits(settings.get("locked_memory", "unlimited"))
    yield "proc/buddyinfo", _buddyinfo(int(settings.get("free_blocks", 4096)), host["sockets"])
    yield (
        "proc/cpuinfo",
        "".join(f"processor\t: {cpu}\ncpu MHz\t\t: {settings.get('cpu_mhz', 3000)}\n" for cpu in (0, 1)),
    )
    yield from _processors(host)
    yield from _drives(view)


def of_a_pod_with_proc(view: dict[str, Any]) -> Files:
    """The host's /proc: processes and mounts."""
    settings, proc = view.get("settings", {}), "host/proc"
    yield f"{proc}/uptime", f"{_UP_SECONDS}.00 {_UP_SECONDS}.00\n"
    yield f"{proc}/1/mountinfo", "".join(_mounts(settings))
    rows = [("systemd", "S", 0), ("kthreadd", "S", _KERNEL_THREAD), ("kworker/0:1", "I", _KERNEL_THREAD)]
    rows += [(name, "S", 0) for name in settings.get("services", ())]
    rows += [(name, "D", 0) for name in settings.get("stuck", ())]
    rows += [(name, "Z", 0) for name in settings.get("zombies", ())]
    for pid, (name, state, flags) in enumerate(rows, start=1):
        yield f"{proc}/{pid}/stat", _stat(pid, name, state, flags)
        yield (
            f"{proc}/{pid}/status",
            f"Name:\t{name[:15]}\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t1\n",
        )


def of_a_pod_with_logs(view: dict[str, Any]) -> Files:
    """The host's logs: Fabric Manager's, where the image has one."""
    image = view.get("image") or {}
    version = view.get("settings", {}).get("fabric_manager") or image.get("fabric_manager")
    if version:
        yield (
            "host/log/fabricmanager.log",
            f"[Nov 30 2026 10:00:00] [INFO] [tid 1] Fabric Manager version {version} is running with the following "
            "configuration options\n",
        )


def _limits(locked: str) -> str:
    return (
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        f"Max locked memory         {locked:<20} {locked:<20} bytes     \n"
    )


def _buddyinfo(large: int, nodes: int) -> str:
    counts = [100] * (_ORDERS - 3) + [large] * 3
    return "".join(
        f"Node {node}, zone   Normal {''.join(f'{count:>7}' for count in counts)} \n" for node in range(nodes)
    )


def _processors(host: dict[str, Any]) -> Files:
    """Sockets of equal size; the second threads of all cores have the higher numbers, as on Intel and AMD servers."""
    cpus, node = "sys/devices/system/cpu", "sys/devices/system/node"
    sockets, cores, threads = host["sockets"], host["cores"], host["threads"]
    yield f"{cpus}/online", f"0-{sockets * threads - 1}\n"
    yield f"{node}/has_memory", f"0-{sockets - 1}\n" if sockets > 1 else "0\n"
    for socket in range(sockets):
        first = socket * cores
        rows = [(first + half * sockets * cores) for half in range(threads // cores)]
        topology = f"{cpus}/cpu{first}/topology"
        yield f"{topology}/package_cpus_list", ",".join(f"{row}-{row + cores - 1}" for row in rows) + "\n"
        yield f"{topology}/core_cpus_list", ",".join(str(row) for row in rows) + "\n"


def _drives(view: dict[str, Any]) -> Files:
    for drive in view.get("drives", ()):
        folder = f"sys/block/{drive['name']}"
        yield f"{folder}/size", f"{int(drive['capacity_bytes']) // 512}\n"
        yield f"{folder}/device/model", f"{drive['model']:<40}\n"
        yield f"{folder}/device/serial", f"{drive['serial']:<20}\n"
        yield f"{folder}/device/firmware_rev", f"{drive['revision']:<8}\n"


def _mounts(settings: dict[str, Any]) -> Iterator[str]:
    for number, place in enumerate(settings.get("mounts", ("/",)), start=20):
        state = "ro" if place in settings.get("read_only", ()) else "rw"
        yield f"{number} 1 259:{number} / {place} rw,relatime shared:{number} - ext4 /dev/nvme0n1p{number} {state}\n"
    yield "90 1 7:1 / /snap/core ro,nodev shared:90 - squashfs /dev/loop1 ro\n"


def _stat(pid: int, name: str, state: str, flags: int) -> str:
    """A process of the second minute after the boot; the kernel keeps fifteen characters of its name."""
    after = [state, 1, pid, pid, 0, -1, flags, *[0] * 10, 1, 0, 60 * _TICKS, 0, 0]
    return f"{pid} ({name[:15]}) {' '.join(map(str, after))}\n"
