"""Facts of the host that the probe's pod sees through mounted files.

Each place can be moved by an environment variable, because a container sees the host's files
where its pod mounts them. A file that is not there is an unknown, never an empty string that
looks like a value.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = "NODEWORTHY_HOST_ROOT"
"""Where a test's process finds the host's /proc and /sys; the root folder when it is not set."""
_PLACES = {
    "NODEWORTHY_BOOT_ID_FILE": "/proc/sys/kernel/random/boot_id",
    "NODEWORTHY_MACHINE_ID_FILE": "/etc/machine-id",
    "NODEWORTHY_SERIAL_FILE": "/sys/class/dmi/id/product_serial",
    "NODEWORTHY_IMAGE_FILE": "/etc/nodeworthy-image",
    "NODEWORTHY_KERNEL_RELEASE_FILE": "/proc/sys/kernel/osrelease",
}


@dataclass(frozen=True)
class HostFacts:
    """Identity of the machine and of its current boot; None where it could not be read."""

    boot_id: str | None
    machine_id: str | None
    serial: str | None
    image: str | None
    kernel: str | None
    simulated: bool


def read_host(environment: Mapping[str, str] | None = None) -> HostFacts:
    """Read all facts; an unreadable one is None."""
    given = os.environ if environment is None else environment
    values = [_first_line(place(name, given)) for name in _PLACES]
    return HostFacts(
        boot_id=values[0],
        machine_id=values[1],
        serial=values[2],
        image=values[3],
        kernel=values[4],
        simulated=given.get("NODEWORTHY_SIMULATED", "").lower() == "true",
    )


def place(name: str, environment: Mapping[str, str] | None = None) -> Path:
    """The file behind one of the ``NODEWORTHY_..._FILE`` variables."""
    given = os.environ if environment is None else environment
    return Path(given.get(name) or _PLACES[name])


def _first_line(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            line = stream.readline(4096).strip()
    except OSError:
        return None
    return line or None
