"""One look at what the kernel found of processors and memory, as the JSON document of a test.

Only a few of the files of the processors are read, since a server has hundreds of them: one set per socket.

Sources: Linux ABI documents sysfs-devices-system-cpu (topology, lists of processors) and sysfs-devices-node; proc(5)
(cpuinfo, whose `cpu MHz` processors of other makers than Intel's and AMD's lack; cpufreq's scaling_cur_freq is in kHz).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .host_state import number, text_of

SCHEMA = "nodeworthy.host-hardware/1"
_CPUS = "sys/devices/system/cpu"


def look(root: Path) -> dict[str, Any]:
    """Return sockets, cores, threads, NUMA nodes, and the mean frequency of the processors in MHz."""
    online = members(text_of(root / _CPUS / "online"))
    sockets = _sockets(root / _CPUS, online) if online is not None else None
    nodes = members(text_of(root / "sys/devices/system/node/has_memory"))
    memory = re.search(r"^MemTotal:\s+(\d{1,18}) kB", text_of(root / "proc/meminfo") or "", re.MULTILINE)
    return {
        "schema": SCHEMA,
        "threads": None if online is None else len(online),
        "sockets": sockets,
        "numa_nodes": None if nodes is None else len(nodes),
        "memory_kib": int(memory[1]) if memory else None,
        "frequency_mhz": _frequency(root),
    }


def members(text: str | None) -> set[int] | None:
    """Return the numbers of a list as sysfs writes it, `0-3,8`; None for a text that is no such list."""
    if text is None or not re.fullmatch(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*", text, re.ASCII):
        return None
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def _sockets(cpus: Path, online: set[int]) -> list[dict[str, int]] | None:
    """Threads and cores of each socket, from the files of its lowest processor; None when one cannot be read."""
    found, left = [], set(online)
    while left:
        topology = cpus / f"cpu{min(left)}" / "topology"
        package = members(text_of(topology / "package_cpus_list") or text_of(topology / "core_siblings_list"))
        core = members(text_of(topology / "core_cpus_list") or text_of(topology / "thread_siblings_list"))
        if not package or not core or min(left) not in package:
            return None
        found.append({"threads": len(package & online), "cores": len(package & online) // len(core)})
        left -= package
    return found


def _frequency(root: Path) -> float | None:
    """The mean over all processors now."""
    rows = re.findall(r"^cpu MHz\s*:\s*(\d{1,9}(?:\.\d+)?)$", text_of(root / "proc/cpuinfo") or "", re.MULTILINE)
    if rows:
        return round(sum(float(row) for row in rows) / len(rows), 1)
    files = (root / _CPUS).glob("cpu[0-9]*/cpufreq/scaling_cur_freq")
    read = [value / 1000 for path in files if (value := number(text_of(path))) is not None]
    return round(sum(read) / len(read), 1) if read else None
