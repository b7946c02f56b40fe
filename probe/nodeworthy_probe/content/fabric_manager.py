"""The log of NVIDIA Fabric Manager: NVSwitch errors by port, its own errors, its version.

The same words stand in the journal and in ``systemctl status``, there without a level: what such a line says decides.
A service that another version of the driver keeps from starting is a fault of the installation, not of the tool.
"""

from __future__ import annotations

import re

from .sheet import Sheet

TOOL = "nvidia-fabricmanager"
_LINE = re.compile(r"^\[(?P<time>[^\]]+)\] \[(?P<level>[A-Z]+)\] (?:\[tid \d+\] )?(?P<message>.*)$")
_JOURNAL = re.compile(r"^(?:\S.* )?(?P<program>nv-fabricmanager|nvidia-fabricmanager-start\.sh|systemd)\[\d+\]: "
                      r"(?P<message>.*)$")  # fmt: skip
_STATUS = re.compile(r"^\s*Active: (?P<state>\w+(?:-\w+)?(?: \([^)]*\))?)")
_SWITCH = re.compile(r"detected NVSwitch (?P<word>non-fatal|fatal) error (?P<code>\d{1,6})\b(?:.*?pci (?:bus id )?"
                     r"(?P<pci>[0-9a-fA-F:.]+))?(?:.*?port (?P<port>\d{1,4}))?")  # fmt: skip
_VERSION = re.compile(r"[Ff]abric [Mm]anager version (?:is )?:?\s*(\d+\.\d+[\d.]*)")
_MISMATCH = re.compile(r"version .*(?:don't|doesn't|does not|do not) match", re.IGNORECASE)
_STOPPED = re.compile(r"NV_WARN_NOTHING_TO_DO|failed! Exit code|Failed with result|Failed to start|/FAILURE|core-dump")
_WRONG = re.compile(r"\b(?:failed|failure|fatal|errors?|unable|cannot)\b", re.IGNORECASE)


def read(text: str, sheet: Sheet) -> None:
    """Read every line; repeats of one error on one port are counted and noted once."""
    seen: dict[tuple[str, str, str, str], int] = {}
    found = _VERSION.search(text)
    sheet.version = found[1] if found else None
    lines = errors = 0
    for raw in text.splitlines():
        line = _level(raw, mismatch=bool(_MISMATCH.search(text)))
        lines += line is not None
        if line is None or not line[0]:
            continue
        errors += 1
        if switch := _SWITCH.search(line[1]):
            key = (switch["code"], switch["word"], (switch["pci"] or "").lower(), switch["port"] or "")
            seen[key] = seen.get(key, 0) + 1
        else:
            sheet.note(line[0], "node", line[1])
    _switches(seen, sheet)
    sheet.number("node", "lines", lines, "count")
    sheet.number("node", "error_lines", errors, "count")
    sheet.number("node", "error_ports", len({key[2:] for key in seen}), "count")
    if not lines:
        sheet.note("document/unreadable", "file", "no line is one of Fabric Manager's")
    if not text.endswith("\n"):
        sheet.note("document/cut", "file", "the log stops in the middle of a line")


def _level(raw: str, *, mismatch: bool) -> tuple[str, str] | None:
    """The code that a line is worth, empty for one that is in order, and what it says; None for no line of the tool."""
    if line := _LINE.match(raw):
        bad = line["level"] in ("ERROR", "FATAL", "CRITICAL")
        code = "config/version-mismatch" if _MISMATCH.search(line["message"]) else "hardware/fabric-error"
        return (code if bad else "", line["message"])
    if status := _STATUS.match(raw):
        active = status["state"].startswith("active")
        return ("" if active or mismatch else "tool/failed", f"the service is {status['state']}")
    line = _JOURNAL.match(raw)
    if line is None or (line["program"] == "systemd" and not re.search("fabric.?manager", raw, re.IGNORECASE)):
        return None
    return (_said(line["message"], systemd=line["program"] == "systemd", mismatch=mismatch), line["message"])


def _said(message: str, *, systemd: bool, mismatch: bool) -> str:
    if _MISMATCH.search(message):
        return "config/version-mismatch"
    if _STOPPED.search(message):
        return "" if mismatch else "tool/failed"
    return "hardware/fabric-error" if _WRONG.search(message) and not systemd else ""


def _switches(seen: dict[tuple[str, str, str, str], int], sheet: Sheet) -> None:
    for (code, word, pci, port), count in seen.items():
        where = f"port {port}" if port else "a port that is not named"
        number = int(port) if port else None
        sheet.note(f"sxid/{code}", f"pci/{pci}" if pci else "node", f"NVSwitch {word} error {code} on {where}, "
                   f"{count} times", severity=word.capitalize(), port=number, times=count)  # fmt: skip
