"""A stretch of kernel log: Xid and SXid with their words, PCIe links that give less, other faults.

A log proves nothing by silence unless it is whole: sequence numbers of /dev/kmsg records must
follow each other, and the last line must end. A link that lost lanes is a fault; one that runs at
a lower generation may be what the platform can do; a display controller's x1 link is harmless.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

from nodeworthy_probe.parsers import kernel_log
from nodeworthy_probe.parsers.kernel_log import KernelEvent

from .sheet import Sheet

TOOL = "dmesg"
_WORDS = re.compile(r", (?P<unit>[A-Z][A-Z0-9_/]+) (?P<fatal>Fatal|Nonfatal|Non-fatal) \S+ i\d+ Link (?P<link>-?\d+) "
                    r"\((?P<words>0x[0-9a-fA-F]+(?: 0x[0-9a-fA-F]+)*)\)")  # fmt: skip
_ACTION = re.compile(r"changed from 0x(?P<old>[0-9a-fA-F]+).* to 0x(?P<new>[0-9a-fA-F]+)(?: \((?P<label>[^)]*)\))?")
_LIMITED = re.compile(
    r"(?P<driver>\S+) (?P<pci>[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d): (?P<available>[\d.]+) Gb/s available "
    r"PCIe bandwidth, limited by (?P<rate>[\d.]+) GT/s PCIe x(?P<width>\d+) link at \S+ "
    r"\(capable of (?P<capable>[\d.]+) Gb/s with (?P<best_rate>[\d.]+) GT/s PCIe x(?P<best_width>\d+) link\)"
)
_CAUSED = re.compile(r"caused by previous Xid (\d{1,4})\b")
_LIKE_KERNEL = re.compile(
    r"^(?:\d+,\d+,\d+,|<\d+>|\[\s*\d+\.\d+\]|\[\w{3} \w{3}|kern\s*:|kernel: |\d{4}-\d\d-\d\dT\S+,\d{6}"
    r"|(?:\d{4}-\d\d-\d\dT\S+|\w{3}\s+\d+ \d\d:\d\d:\d\d) \S+ kernel:)",
    re.MULTILINE,
)
_PRECISE = re.compile(r"^(?:\d+,\d+,\d+,|.*\d\d:\d\d:\d\d,\d{6}|\[\s*\d+\.\d{6}\])")
# Bit 61 of a bank's status means uncorrected: the second bit of its first digit (Intel SDM, volume 3B).
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple((code, re.compile(pattern)) for code, pattern in (
    ("hardware/driver-init", r"RmInitAdapter failed|NVIDIA probe routine failed|None of the NVIDIA devices were init"
                             r"|nvidia\b.*: probe .*failed with error"),
    ("hardware/gpu-locked", r"NVRM: .*RC watchdog: GPU is probably locked"),
    ("config/driver-mismatch", r"NVRM: API mismatch"),
    ("hardware/aer-fatal", r"AER: .*(?:Uncorrect\w*|Fatal).* error|PCIe Bus Error: severity=Uncorrect"),
    ("note/aer-corrected", r"AER: .*Correct(?:ed|able) error|PCIe Bus Error: severity=Corrected"),
    ("hardware/pcie-containment", r"DPC: (?:containment event|unmasked uncorrectable error)"),
    ("hardware/pcie-removed", r"pciehp: Slot\(\S+\): (?:Card not present|Link Down)"),
    ("hardware/mce", r"mce: \[Hardware Error\].*(?:Uncorrected|PCC|[Ff]atal|Machine Check Exception"
                     r"|Bank \d+: [2367abefABEF][0-9a-fA-F]{15})|Uncorrected hardware memory error|Memory failure: 0x"),
    ("note/mce", r"mce: \[Hardware Error\]|Machine check events logged"),
    ("hardware/ras-uncorrected", r"\[Hardware Error\]: event severity: (?:fatal|recoverable)"
                                 r"|amdgpu .*\b[1-9]\d* (?:new )?uncorrectable hardware error"
                                 r"|amdgpu .*poison.* consumed"),
    ("hardware/edac-uncorrected", r"EDAC .*\b[1-9]\d* UE\b"),
    ("note/edac-corrected", r"EDAC .*\b\d+ CE\b"),
    ("hardware/lockup", r"soft lockup|hard LOCKUP|blocked for more than \d+ seconds|rcu.*detected (?:expedited )?"
                        r"stall"),
    ("hardware/kernel-crash", r"Kernel panic - not syncing|\bOops: |BUG: (?:unable to handle|kernel NULL)"
                              r"|general protection fault"),
    ("note/segfault", r"\]: segfault at "),
    ("note/out-of-memory", r"Out of memory: Killed process|oom-kill:"),
    ("hardware/gpu-reset", r"amdgpu .*(?:GPU reset begin|ring \S+ timeout)"),
    ("hardware/drive", r"nvme\d+: controller is down|nvme nvme\d+: I/O .*timeout|I/O error,? (?:on )?dev "
                       r"|blk_update_request: .*I/O error|critical (?:medium|target) error"),
    ("hardware/read-only", r"[Rr]emounting filesystem read-only"),
    ("hardware/nic", r"mlx5_core .*(?:health compromised|fatal error|assert_var|Cable error)"),
    ("note/link-down", r"(?:mlx5_core|bnxt|ice) .*[Ll]ink (?:is )?[Dd]own"),
    ("hardware/thermal", r"GPU .*thermal.*(?:slowdown|shutdown)|temperature above threshold, cpu clock throttled"
                         r"|critical temperature reached"),
))  # fmt: skip
_DISPLAY_WIDTH = 2


def read(text: str, sheet: Sheet) -> None:
    """Read every line; a log that holds no line of a kernel is unreadable."""
    report = kernel_log.parse(text)
    for event in report.events:
        _event(event, sheet)
    _causes(report.events, sheet)
    counts = {kind: len(report.of(kind)) for kind in ("xid", "sxid")}
    for kind, count in counts.items():
        sheet.number("node", f"{kind}_events", count, "count")
    for (name, component), count in Counter((event.name, f"pci/{event.pci}") for event in report.events).items():
        sheet.number(component, "events", count, "count", parameters={"code": name})
    sheet.number("node", "sxid_continuations", len(report.continuations), "count")
    for line in text.splitlines():
        _line(line, sheet)
    if not _LIKE_KERNEL.search(text) and not report.events:
        sheet.note("document/unreadable", "file", "no line looks like a kernel's")
    _whole(text, sheet)


def _event(event: KernelEvent, sheet: Sheet) -> None:
    details: dict[str, object] = {}
    if words := _WORDS.search(event.line):
        details = {"unit": words["unit"], "link": int(words["link"]), "words": words["words"].split()}
    if action := _ACTION.search(event.line):
        details = {"recovery_action": int(action["new"], 16), "label": action["label"]}
    if place := re.search(r"\(GPC (\d+), TPC (\d+)", event.line):
        details = {"gpc": int(place[1]), "tpc": int(place[2])}
    severity = event.severity or (words["fatal"] if words else None)
    sheet.note(event.name, f"pci/{event.pci}", event.line, severity=severity, **details)


def _causes(events: tuple[KernelEvent, ...], sheet: Sheet) -> None:
    """An Xid that is only named as another's cause happened too, before this stretch of log."""
    own = {(event.code, event.pci) for event in events}
    for event in events:
        cause = _CAUSED.search(event.line)
        if cause and (int(cause[1]), event.pci) not in own:
            own.add((int(cause[1]), event.pci))
            sheet.note(f"xid/{int(cause[1])}", f"pci/{event.pci}", event.line, named_by=event.code)


def troubles(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each line that tells of something other than an Xid or SXid, with its code (``family/what``)."""
    sheet = Sheet(TOOL, TOOL)
    for line in lines:
        if "Xid (" not in line:
            _line(line, sheet)
    return ((note.code, note.line) for note in sheet.notes)


def _line(line: str, sheet: Sheet) -> None:
    if found := _LIMITED.search(line):
        _limited(found, sheet)
    for code, pattern in _PATTERNS:
        if pattern.search(line):
            sheet.note(code, "node", line)
            return


def _limited(found: re.Match[str], sheet: Sheet) -> None:
    component = f"pci/{found['pci']}"
    sheet.number(
        component, "pcie_available", found["available"], "Gb/s", parameters={"capable": float(found["capable"])}
    )
    width, best = int(found["width"]), int(found["best_width"])
    seen = f"x{width} at {found['rate']} GT/s of x{best} at {found['best_rate']} GT/s ({found['driver']})"
    if best <= _DISPLAY_WIDTH:
        sheet.note("note/pcie-small", component, f"a small device runs {seen}")
    elif width < best:
        sheet.note("hardware/pcie-width", component, f"the link lost lanes: {seen}")
    else:
        sheet.note("context/pcie-generation", component, f"the link runs {seen}: a limit of the platform or a fault")


def _ends_like_another(lines: list[str]) -> bool:
    """Whether an unterminated last line has as many words as an earlier one and ends in the same two."""
    last = lines[-1].split()
    return any((len(words), words[-2:]) == (len(last), last[-2:]) for words in map(str.split, lines[:-1]))


def _whole(text: str, sheet: Sheet) -> None:
    lines = text.split("\n")
    if lines[-1] != "" and not _ends_like_another(lines):
        sheet.note("document/cut", "file", "the log stops in the middle of a line")
    numbers = [number for number in map(kernel_log.sequence_number, lines) if number is not None]
    for first, second in pairwise(numbers):
        if second > first + 1:
            sheet.note("row/missing", "file", f"the records between {first} and {second} are missing")
    twice = [first for first, second in pairwise(lines) if first == second and _PRECISE.match(first)]
    if twice or len(numbers) != len(set(numbers)):
        sheet.note("document/duplicate", "file", f"a record is there twice: {twice[0][:80] if twice else 'by number'}")
    torn = [line for line in lines if line.strip() and numbers and kernel_log.sequence_number(line) is None
            and not line.startswith(" ")]  # fmt: skip
    for line in torn[:5]:
        if re.match(r"^\d+,", line):
            sheet.note("row/unreadable", "file", f"a record cannot be read: {line[:80]}")
