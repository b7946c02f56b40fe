"""One look at the host's kernel settings, printed as JSON on standard output; what cannot be read is null.

Reads only what a container sees of the host without privileges: /proc (modules, memory, command line) and /sys.
Run it with ``python -m nodeworthy_probe.host_state``.

Sources: proc(5); Linux admin guide (cpufreq, sysctl kernel.numa_balancing); NVIDIA GPUDirect RDMA guide: either the
module nvidia_peermem, or dma-buf, which the open kernel modules offer.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from .counter_watch import ROOT

SCHEMA = "nodeworthy.host-state/1"


def main() -> int:
    """Print the state."""
    sys.stdout.write(json.dumps(_state(Path(os.environ.get(ROOT) or "/")), indent=1) + "\n")
    return 0


def _state(root: Path) -> dict[str, Any]:
    memory = _text(root / "proc/meminfo")
    return {
        "schema": SCHEMA,
        "kernel_arguments": _text(root / "proc/cmdline"),
        "modules": _modules(_text(root / "proc/modules")),
        "open_driver": _open_driver(_text(root / "proc/driver/nvidia/version")),
        "numa_balancing": _number(_text(root / "proc/sys/kernel/numa_balancing")),
        "clocksource": _text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "governors": _governors(root / "sys/devices/system/cpu"),
        "memory_kib": _line(memory, "MemTotal"),
        "swap_kib": _line(memory, "SwapTotal"),
        "huge_pages": _line(memory, "HugePages_Total"),
    }


def _modules(text: str | None) -> list[str] | None:
    return None if text is None else [line.split()[0] for line in text.splitlines() if line.strip()]


def _open_driver(text: str | None) -> bool | None:
    return None if text is None else "Open Kernel Module" in text


def _governors(cpus: Path) -> dict[str, int]:
    """How many processors have each governor; none where the firmware alone decides on frequencies."""
    found: dict[str, int] = {}
    for path in sorted(cpus.glob("cpu[0-9]*/cpufreq/scaling_governor")):
        word = _text(path) or "unreadable"
        found[word] = found.get(word, 0) + 1
    return found


def _line(text: str | None, name: str) -> int | None:
    found = re.search(rf"^{name}:\s+(\d+)", text or "", re.MULTILINE)
    return int(found[1]) if found else None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return None


if __name__ == "__main__":
    sys.exit(main())
