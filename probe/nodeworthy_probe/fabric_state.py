"""One look at which Fabric Manager runs beside which driver, as the JSON document of a test.

The pod sees the host's logs, mounted read-only at /host/log. The newest line in which Fabric Manager tells its version
counts: it is of the process that runs, not of the package that was installed since.

Source: NVIDIA Fabric Manager user guide: its version must equal the driver's, or it does not start.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .host_state import text_of

SCHEMA = "nodeworthy.fabric-state/1"
PLACE = "host/log"
_LAST_BYTES = 4 * 1024 * 1024
_SAID = re.compile(r"[Ff]abric [Mm]anager version (?:is )?:?\s*(\d+(?:\.\d+)+)")
_DRIVER = re.compile(r"Kernel Module\s+(?:for \S+\s+)?(\d+(?:\.\d+)+)")


def look(root: Path, log: str) -> dict[str, Any]:
    """Return both versions as the host tells them; null for one that it does not tell."""
    driver = _DRIVER.search(text_of(root / "proc/driver/nvidia/version") or "")
    said = _SAID.findall(_end_of(root / PLACE / log))
    return {
        "schema": SCHEMA,
        "driver": driver[1] if driver else None,
        "fabric_manager": said[-1] if said else None,
    }


def _end_of(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - _LAST_BYTES))
            return stream.read().decode("utf-8", "replace")
    except OSError:
        return ""
