"""The log of NVIDIA Fabric Manager: NVSwitch errors by port, its own errors, its version."""

from __future__ import annotations

import re

from .sheet import Sheet

TOOL = "nvidia-fabricmanager"
_LINE = re.compile(r"^\[(?P<time>[^\]]+)\] \[(?P<level>[A-Z]+)\] (?:\[tid \d+\] )?(?P<message>.*)$")
_SWITCH = re.compile(r"detected NVSwitch (?P<word>non-fatal|fatal) error (?P<code>\d{1,6}) .*?pci bus id "
                     r"(?P<pci>[0-9a-fA-F:.]+) .*?port (?P<port>\d+)")  # fmt: skip
_VERSION = re.compile(r"[Ff]abric [Mm]anager version (?:is )?:?\s*(\d+\.\d+[\d.]*)")
_MISMATCH = re.compile(r"version .*(?:don't|doesn't|does not|do not) match", re.IGNORECASE)


def read(text: str, sheet: Sheet) -> None:
    """Read every line; repeats of one error on one port are counted and noted once."""
    seen: dict[tuple[str, str, str, str], int] = {}
    lines = errors = 0
    found = _VERSION.search(text)
    sheet.version = found[1] if found else None
    for raw in text.splitlines():
        line = _LINE.match(raw)
        if line is None:
            continue
        lines += 1
        if line["level"] not in ("ERROR", "FATAL", "CRITICAL"):
            continue
        errors += 1
        if switch := _SWITCH.search(line["message"]):
            key = (switch["code"], switch["word"], switch["pci"].lower(), switch["port"])
            seen[key] = seen.get(key, 0) + 1
        else:
            code = "config/version-mismatch" if _MISMATCH.search(line["message"]) else "hardware/fabric-error"
            sheet.note(code, "node", line["message"])
    for (code, word, pci, port), count in seen.items():
        sheet.note(f"sxid/{code}", f"pci/{pci}", f"NVSwitch {word} error {code} on port {port}, {count} times",
                   severity=word.capitalize(), port=int(port), times=count)  # fmt: skip
    sheet.number("node", "lines", lines, "count")
    sheet.number("node", "error_lines", errors, "count")
    sheet.number("node", "error_ports", len({key[2:] for key in seen}), "count")
    if not lines:
        sheet.note("document/unreadable", "file", "no line is one of Fabric Manager's")
    if not text.endswith("\n"):
        sheet.note("document/cut", "file", "the log stops in the middle of a line")
