"""A stretch of kernel log: Xid and SXid with their words, PCIe links that give less, other faults.

A log proves nothing by silence unless it is whole: sequence numbers of /dev/kmsg records must
follow each other, and the last line must end. A link that lost lanes is a fault; one that runs at
a lower generation may be what the platform can do; a display controller's x1 link is harmless.
"""

from __future__ import annotations

import re
from collections import Counter
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
_LIKE_KERNEL = re.compile(r"^(?:\d+,\d+,\d+,|<\d+>|\[\s*\d+\.\d+\]|\[\w{3} \w{3}|kern"
                          r"\s*:|\d{4}-\d\d-\d\dT|\w{3}\s+\d+ \d\d:)",
                          re.MULTILINE)  # fmt: skip
_PRECISE = re.compile(r"^(?:\d+,\d+,\d+,|.*\d\d:\d\d:\d\d,\d{6}|\[\s*\d+\.\d{6}\])")
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple((code, re.compile(pattern)) for code, pattern in (
    ("hardware/fallen-off-bus", r"GPU .*has fallen off the bus|RmInitAdapter failed"),
    ("config/driver-mismatch", r"NVRM: API mismatch"),
    ("hardware/aer-fatal", r"AER: .*(?:Uncorrect\w*|Fatal).* error|PCIe Bus Error: severity=Uncorrect"),
    ("note/aer-corrected", r"AER: .*Corrected error|PCIe Bus Error: severity=Corrected"),
    ("hardware/mce", r"mce: \[Hardware Error\].*(?:Uncorrected|PCC|fatal)|Uncorrected hardware memory error"),
    ("note/mce", r"mce: \[Hardware Error\]|Machine check events logged"),
    ("hardware/edac-uncorrected", r"EDAC .*\b[1-9]\d* UE\b"),
    ("note/edac-corrected", r"EDAC .*\b\d+ CE\b"),
    ("hardware/lockup", r"soft lockup|hard LOCKUP|blocked for more than \d+ seconds|rcu.*detected stalls"),
    ("note/out-of-memory", r"Out of memory: Killed process|oom-kill:"),
    ("hardware/ras-uncorrected", r"amdgpu .*\b[1-9]\d* uncorrectable hardware error|amdgpu .*poison.* consumed"),
    ("hardware/gpu-reset", r"amdgpu .*(?:GPU reset begin|ring \S+ timeout)"),
    ("hardware/drive", r"nvme\d+: controller is down|nvme nvme\d+: I/O .*timeout|blk_update_request: .*I/O "
                       r"error|critical medium error"),
    ("hardware/read-only", r"[Rr]emounting filesystem read-only"),
    ("note/link-down", r"(?:mlx5_core|bnxt|ice) .*[Ll]ink (?:is )?[Dd]own"),
    ("hardware/thermal", r"GPU .*thermal.*(?:slowdown|shutdown)|temperature above threshold, cpu clock throttled"),
))  # fmt: skip
_DISPLAY_WIDTH = 2


def read(text: str, sheet: Sheet) -> None:
    """Read every line; a log that holds no line of a kernel is unreadable."""
    report = kernel_log.parse(text)
    for event in report.events:
        _event(event, sheet)
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
