"""Reads Xid, SXid and PCIe bandwidth lines out of a kernel log, whatever wrote it.

Works on dmesg text (seconds, ``-T`` or ISO times, decoded facility), ``/dev/kmsg`` records and
files of them. An NVSwitch event prints up to three kinds of line; only the first holds the
severity word, the others continue it. A line that names an Xid and cannot be read is an event
of unknown code: it is counted, never dropped. A GPU that was lost before it could raise Xid 79 is
told in words over several lines; that is the same event. On a GPU in MIG mode the address is
followed by the instances. Source: NVIDIA Xid catalogue, NVSwitch guide; open-gpu-kernel-modules
(kernel_rc.c, kernel_graphics.c); NVIDIA/NVSentinel issue 155.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_KMSG = re.compile(r"^\d+,(\d+),\d+,[^;]*;")
_XID = re.compile(
    r"NVRM: Xid \((?:PCI:)?(?P<pci>[0-9a-fA-F:.]+)(?: GPU-I:\d+)?(?: GPU-CI:\d+)?\): (?P<code>\d{1,4}), (?P<rest>.*)"
)
_SXID = re.compile(r"nvidia-nvswitch\d+: SXid \(PCI:(?P<pci>[0-9a-fA-F:.]+)\): (?P<code>\d{1,6}), (?P<rest>.*)")
_ANY_XID = re.compile(r"\b(S?)Xid \(")
_SEVERITY = re.compile(r"^(Fatal|Non-fatal)\b")
_CONTINUATION = re.compile(r"^(Severity \d|Data \{)")
_OFF_BUS = re.compile(r"\bfallen off the bus")
_OFF_BUS_CODE = 79
_NAMED_GPU = re.compile(
    r"NVRM: (?:The NVIDIA )?GPU (?:at )?(?:PCI:)?(?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F:.]+?):?(?: |$)"
)
_LIMITED = re.compile(
    r"(?P<pci>[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d): (?P<available>[\d.]+) Gb/s available PCIe bandwidth, "
    r"limited by .*? \(capable of (?P<capable>[\d.]+) Gb/s"
)
_PCI = re.compile(r"^(?:([0-9a-f]+):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.\d)?$")


@dataclass(frozen=True)
class KernelEvent:
    """One Xid or SXid. ``code`` is None for a line that cannot be read."""

    kind: str
    code: int | None
    pci: str | None
    severity: str | None
    line: str

    @property
    def name(self) -> str:
        """The finding's code, for example ``xid/79``."""
        return f"{self.kind}/{self.code if self.code is not None else 'unreadable'}"


@dataclass(frozen=True)
class LimitedLink:
    """A PCIe device whose link gives less than it could, in Gb/s (10^9 bits)."""

    pci: str
    available_gbit: float
    capable_gbit: float


@dataclass(frozen=True)
class KernelReport:
    """All events of a stretch of log; ``continuations`` are further lines of the same events."""

    events: tuple[KernelEvent, ...]
    continuations: tuple[KernelEvent, ...]
    limited_links: tuple[LimitedLink, ...]

    def of(self, kind: str) -> tuple[KernelEvent, ...]:
        """The events of one kind, ``xid`` or ``sxid``."""
        return tuple(event for event in self.events if event.kind == kind)


def parse(text: str) -> KernelReport:
    """Read a stretch of log; a continuation whose first line is lost becomes an event itself."""
    events: list[KernelEvent] = []
    continuations: list[KernelEvent] = []
    limited: list[LimitedLink] = []
    for line in text.splitlines():
        _read_line(line, events, continuations)
        if found := _LIMITED.search(line):
            limited.append(LimitedLink(found["pci"], float(found["available"]), float(found["capable"])))
    events += _lost(text, {event.pci for event in events if event.code == _OFF_BUS_CODE})
    known = {(event.code, event.pci) for event in events if event.kind == "sxid"}
    events += [event for event in continuations if (event.code, event.pci) not in known]
    return KernelReport(tuple(events), tuple(continuations), tuple(limited))


def _lost(text: str, known: set[str | None]) -> list[KernelEvent]:
    """GPUs that are said to have fallen off the bus in words alone, each once."""
    found: dict[str | None, KernelEvent] = {}
    pci = None
    for line in text.splitlines():
        if named := _NAMED_GPU.search(line):
            pci = normal_pci(named["pci"])
        if _OFF_BUS.search(line) and not _ANY_XID.search(line) and pci not in known and "NVRM" in line:
            found.setdefault(pci, KernelEvent("xid", _OFF_BUS_CODE, pci, None, _KMSG.sub("", line).strip()))
    return list(found.values())


def normal_pci(address: str) -> str | None:
    """``0000:9b:00`` for any spelling of a PCI address (NVML pads the domain, the log drops the function)."""
    found = _PCI.match(address.strip().lower())
    if not found:
        return None
    return f"{int(found[1] or '0', 16):04x}:{int(found[2], 16):02x}:{int(found[3], 16):02x}"


def sequence_number(line: str) -> int | None:
    """The record number of a ``/dev/kmsg`` line, else None."""
    found = _KMSG.match(line)
    return int(found[1][:18]) if found else None


def _read_line(line: str, events: list[KernelEvent], continuations: list[KernelEvent]) -> None:
    if not _ANY_XID.search(line):
        return
    plain = _KMSG.sub("", line).strip()
    if found := _XID.search(line):
        events.append(KernelEvent("xid", int(found["code"]), normal_pci(found["pci"]), None, plain))
        return
    found = _SXID.search(line)
    if found is None:
        kind = "sxid" if "SXid (" in line else "xid"
        events.append(KernelEvent(kind, None, None, None, plain))
        return
    severity = _SEVERITY.match(found["rest"])
    event = KernelEvent("sxid", int(found["code"]), normal_pci(found["pci"]), severity[1] if severity else None, plain)
    (continuations if _CONTINUATION.match(found["rest"]) else events).append(event)
