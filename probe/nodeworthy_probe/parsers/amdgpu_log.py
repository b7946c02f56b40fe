"""RAS errors, ring timeouts and GPU resets that the amdgpu driver reports in the kernel log.

A RAS line counts when its number is not zero; older kernels count since the driver was loaded ("in total"), newer ones
what is new, and both may stand beside each other, so events are counted by line and not by their numbers. Sources:
drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c, amdgpu_job.c, amdgpu_device.c, amdgpu_ras_eeprom.c (Linux 6.8 to 6.14).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from .kernel_log import normal_pci

_PCI = re.compile(r"amdgpu (?P<pci>[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d)")
_TOTAL = re.compile(r"hardware errors? detected in total\b")
_PATTERNS = (
    ("ras-uncorrected", re.compile(r"amdgpu.*\b[1-9]\d* (?:new )?(?:uncorrectable|deferred) hardware error"
                                   r"|amdgpu.*poison.* consum|amdgpu.*RAS: fatal error|amdgpu.*uncorrectable error, ")),
    ("ras-corrected", re.compile(r"amdgpu.*\b[1-9]\d* (?:new )?correctable hardware error")),
    ("bad-pages", re.compile(r"amdgpu.*(?:RAS records:\s*\d+ exceed(?:s)? threshold|bad page threshold|GPU.*RMA)")),
    ("ring-timeout", re.compile(r"amdgpu.*\bring \S+ timeout")),
    ("gpu-reset", re.compile(r"amdgpu.*GPU reset begin")),
    ("gpu-lost", re.compile(r"amdgpu.*(?:device lost from bus|Fatal error during GPU init|GPU.*fallen off)")),
)  # fmt: skip


@dataclass(frozen=True)
class AmdEvent:
    """One line that tells of a GPU in trouble: ``kind``, where it sits, and the driver's words."""

    kind: str
    pci: str | None
    line: str

    @property
    def name(self) -> str:
        """The finding's code, for example ``amdgpu/ras-uncorrected``."""
        return f"amdgpu/{self.kind}"


def parse(lines: Iterable[str]) -> tuple[AmdEvent, ...]:
    """Every event of a stretch of log, in order; a running total that follows its own new count is no second event."""
    found: list[AmdEvent] = []
    for line in lines:
        kind = next((name for name, pattern in _PATTERNS if pattern.search(line)), None)
        if kind is None:
            continue
        place = _PCI.search(line)
        event = AmdEvent(kind, normal_pci(place["pci"]) if place else None, line.strip())
        last = found[-1] if found else None
        repeated = last is not None and (last.kind, last.pci) == (event.kind, event.pci) and " new " in last.line
        if not (repeated and _TOTAL.search(line)):
            found.append(event)
    return tuple(found)
