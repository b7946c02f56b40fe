"""One look at the NVMe drives that the kernel found, as the JSON document of a test.

Source: Linux ABI document sysfs-block (size is in sectors of 512 bytes, holders); drivers/nvme/host/sysfs.c (model,
serial, firmware_rev of a controller, and of a subsystem where the kernel uses several paths to one drive).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .host_state import number, text_of

SCHEMA = "nodeworthy.drive-state/1"
_SECTOR_BYTES = 512
_NAMESPACE = re.compile(r"nvme\d+n\d+")


def look(root: Path) -> dict[str, Any]:
    """Return every NVMe namespace with model, firmware, capacity in MiB, and what uses it; null without /sys/block."""
    try:
        folders = sorted((root / "sys/block").iterdir())
    except OSError:
        return {"schema": SCHEMA, "drives": None}
    return {"schema": SCHEMA, "drives": [_drive(one) for one in folders if _NAMESPACE.fullmatch(one.name)]}


def _drive(folder: Path) -> dict[str, Any]:
    sectors = number(text_of(folder / "size"))
    return {
        "name": folder.name,
        "model": text_of(folder / "device/model"),
        "serial": text_of(folder / "device/serial"),
        "firmware": text_of(folder / "device/firmware_rev"),
        "capacity_mib": None if sectors is None else sectors * _SECTOR_BYTES // (1024 * 1024),
        "partitions": sorted(one.name for one in folder.glob(f"{folder.name}p*")),
        "holders": sorted(one.name for one in folder.glob("holders/*")),
    }
