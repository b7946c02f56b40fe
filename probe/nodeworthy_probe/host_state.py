"""One look at the host's kernel settings, as the JSON document of a test; what cannot be read is null.

Reads only what a container sees of the host without privileges: /proc (modules, memory, command line), /sys, the limits
that a container inherits from its runtime, and how full the file systems are that its own files stand on.

Sources: proc(5); getrlimit(2); Linux admin guide (cpufreq, sysctl kernel.numa_balancing); NVIDIA GPUDirect RDMA guide:
either the module nvidia_peermem, or dma-buf, which the open kernel modules offer.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

SCHEMA = "nodeworthy.host-state/1"
_PLACES = {"containers": "", "kubelet": "etc/hosts"}
"""Where a container's own files stand: its root on the runtime's file system, /etc/hosts in the kubelet's folder."""

_DIGITS = 18

Space = Callable[[str], Any]


def state(root: Path, space: Space = os.statvfs) -> dict[str, Any]:
    """Return the host's settings; ``space`` tells a file system's size and what is free of it."""
    memory = text_of(root / "proc/meminfo")
    return {
        "schema": SCHEMA,
        "kernel_arguments": text_of(root / "proc/cmdline"),
        "modules": _modules(text_of(root / "proc/modules")),
        "open_driver": _open_driver(text_of(root / "proc/driver/nvidia/version")),
        "numa_balancing": number(text_of(root / "proc/sys/kernel/numa_balancing")),
        "clocksource": text_of(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "governors": _governors(root / "sys/devices/system/cpu"),
        "swap_kib": _line(memory, "SwapTotal"),
        "huge_pages": _line(memory, "HugePages_Total"),
        "locked_memory": _locked(text_of(root / "proc/self/limits")),
        "free_blocks": _free_blocks(text_of(root / "proc/buddyinfo")),
        "used_percent": _used(root, space),
    }


def text_of(path: Path) -> str | None:
    """Return a file's text without the blanks around it; None for one that cannot be read."""
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return None


def number(text: str | None) -> int | None:
    """Return a text of digits as a number; None for anything else."""
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


def _modules(text: str | None) -> list[str] | None:
    return None if text is None else [line.split()[0] for line in text.splitlines() if line.strip()]


def _open_driver(text: str | None) -> bool | None:
    return None if text is None else "Open Kernel Module" in text


def _governors(cpus: Path) -> dict[str, int]:
    """How many processors have each governor; none where the firmware alone decides on frequencies."""
    found: dict[str, int] = {}
    for path in sorted(cpus.glob("cpu[0-9]*/cpufreq/scaling_governor")):
        word = text_of(path) or "unreadable"
        found[word] = found.get(word, 0) + 1
    return found


def _line(text: str | None, name: str) -> int | None:
    found = re.search(rf"^{name}:\s+(\d{{1,18}})\b", text or "", re.MULTILINE | re.ASCII)
    return int(found[1]) if found else None


def _locked(text: str | None) -> str | None:
    """The soft limit of locked memory that containers start with: a number of bytes, or `unlimited`."""
    found = re.search(r"^Max locked memory\s+(\S+)", text or "", re.MULTILINE)
    return found[1] if found else None


def _free_blocks(text: str | None) -> dict[str, list[int]] | None:
    """Free blocks of memory of each NUMA node's zone Normal by order: 2^order pages each (proc(5), buddyinfo)."""
    rows = re.findall(r"^Node\s+(\d+), zone\s+Normal((?:\s+\d{1,18})+)\s*$", text or "", re.MULTILINE | re.ASCII)
    return {node: [int(count) for count in counts.split()] for node, counts in rows} or None


def _used(root: Path, space: Space) -> Mapping[str, float | None]:
    return {name: _percent(root / place, space) for name, place in _PLACES.items()}


def _percent(path: Path, space: Space) -> float | None:
    """How much of what an unprivileged writer may use is used (as df counts)."""
    try:
        seen = space(str(path))
    except OSError:
        return None
    used = seen.f_blocks - seen.f_bfree
    whole = used + seen.f_bavail
    return round(100.0 * used / whole, 2) if whole > 0 else None
