"""How often each fabric adapter's link fell in the last hours, from the kernel log and the adapter's own counter.

The counter runs since the driver was loaded, so it tells of the window only while the machine has not been up for
longer; the kernel log tells of any window that its ring buffer still holds, but not every driver writes every fall.

Sources: Linux ABI document sysfs-class-infiniband (link_downed); mlx5_core's and other drivers' lines "Link down" and
"Port module event ... Cable unplugged"; kernel admin guide, /dev/kmsg (microseconds since boot).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from . import pci_tree
from .kernel_source import read_log
from .pci_state import devices_of

_DOWN = re.compile(
    r"(?P<pci>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\b[^:]*: .*?"
    r"(?:\bLink (?:is )?[Dd]own\b|Cable unplugged|lost carrier)"
)
_STAMP = re.compile(r"(?:<\d+>)?\[\s*(?P<seconds>\d+\.\d+)\]|\d+,\d+,(?P<micros>\d+),")


def look(root: Path, arguments: Sequence[str]) -> dict[str, Any]:
    """Falls by adapter; ``arguments`` are the adapters and the window in hours: ``mlx5_0,mlx5_1 6``."""
    hours = float(arguments[1])
    log = read_log()
    up = re.match(r"\d+(?:\.\d+)?", pci_tree.text(root / "proc/uptime") or "")
    stamps = [_seconds(line) for line in log.lines[-1:]]
    now = float(up[0]) if up else next((stamp for stamp in stamps if stamp is not None), None)
    logged = None if log.problem or now is None else _falls(log.lines, now - hours * 3600)
    adapters = {}
    for name in devices_of(arguments):
        place = pci_tree.adapter(root, name)
        counted = pci_tree.text(root / "sys/class/infiniband" / name / "ports/1/counters/link_downed") or ""
        adapters[name] = {
            "logged": None if logged is None or place is None else logged.get(place.name, 0),
            "counted": int(counted) if counted.isdigit() else None,
        }
    return {"hours": hours, "up_seconds": now, "adapters": adapters}


def _falls(lines: Iterable[str], since: float) -> dict[str, int]:
    """How often the kernel said of each PCI address that its link went down, from a moment on."""
    found: dict[str, int] = {}
    for line in lines:
        fell = _DOWN.search(line)
        at = _seconds(line) if fell else None
        if fell and at is not None and at >= since:
            found[fell["pci"]] = found.get(fell["pci"], 0) + 1
    return found


def _seconds(line: str) -> float | None:
    found = _STAMP.match(line)
    if found is None:
        return None
    return float(found["seconds"]) if found["seconds"] else int(found["micros"]) / 1e6
