"""nvidia-smi in all its forms: -q text and XML, the table, nvlink, topo, -L; and lspci.

The long forms of drivers from 515 to 590 name the same facts differently; both become one set of
names and are looked at by the same rules. What the driver prints instead of an answer (no
devices, GPU lost, version mismatch) is an answer too.
"""

from __future__ import annotations

import re

from . import nvidia_smi_short, nvidia_smi_text, nvidia_smi_xml
from .gpu_facts import GpuFacts, judge
from .sheet import Sheet

TOOL = "nvidia-smi"
_PHRASES: tuple[tuple[str, str], ...] = (
    ("hardware/gpu-lost", r".*(?:Unable to determine the device handle for .*|GPU is lost.*|Unknown Error.*)"),
    ("hardware/reset-required", r".*(?:GPU requires reset|Reset the GPU).*"),
    ("hardware/no-gpu", r"No devices were found.*"),
    ("config/driver-mismatch", r".*Driver/library version mismatch.*"),
    ("hardware/inforom", r"WARNING: infoROM is corrupted at gpu .*"),
    ("tool/failed", r"(?:NVIDIA-SMI has failed because|NVIDIA-SMI couldn't find|Failed to initialize NVML(?!.*mismatch)"
                    r"|Segmentation fault|.*command not found).*"),
)  # fmt: skip


def read(text: str, sheet: Sheet) -> None:
    """Read whichever form the file has."""
    for code, pattern in _PHRASES:
        for line in re.findall(rf"^{pattern}$", text, re.MULTILINE)[:4]:
            sheet.note(code, "node", line)
    facts = _long(text, sheet)
    if facts is not None:
        judge(facts, sheet)
        return
    if not nvidia_smi_short.read(text, sheet) and not sheet.notes:
        sheet.note("document/unreadable", "file", "the file is no output of nvidia-smi or lspci that is known")


def _long(text: str, sheet: Sheet) -> GpuFacts | None:
    if "<nvidia_smi_log" in text or "<?xml" in text:
        return nvidia_smi_xml.facts(text, sheet)
    if "NVSMI LOG" in text or re.search(r"^Attached GPUs\s+:", text, re.MULTILINE):
        return nvidia_smi_text.facts(text, sheet)
    return None
