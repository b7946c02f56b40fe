"""New and old Xid and SXid events, and what else the kernel reported, from its log cut at the start of the plan.

The test's first argument names the Xid codes that decide nothing when they came before the plan, as numbers and ranges
(``1-45,47``). Any other Xid since the boot, also one that cannot be read, waits for a reboot; without an argument every
one does. The second names those that a reset of the GPU ends: the driver says so itself, in an Xid 154 that takes its
"GPU reset" back for the same GPU (0x1, or 0x4 with a drain, to 0x0). What that GPU reports later waits anew.

Source: NVIDIA Xid catalogue, 154 (the driver's own recovery action); its number decides, since R610 labels it anew.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nodeworthy_probe.content import dmesg
from nodeworthy_probe.kernel_source import Split
from nodeworthy_probe.parsers import amdgpu_log, kernel_log
from nodeworthy_probe.parsers.kernel_log import KernelEvent, KernelReport
from nodeworthy_probe.plan import AMD, NVIDIA
from nodeworthy_probe.records import Finding, Measurement, Reading, missing

from .context import Context, component_at

_MOST_FINDINGS = 200
_HIGHEST_CODE = 9999
_RECOVERY = 154
_TAKEN_BACK = re.compile(r"recovery action changed from 0x[14]\b.* to 0x0\b")
_METRICS = (
    "xid_new",
    "sxid_new",
    "xid_since_boot",
    "xid_awaiting_boot",
    "hardware_events_new",
    "corrected_events_new",
    "pcie_links_narrow",
)
_ALARMS = ("bad-pages",)
_OF_AMD = {
    "ras_uncorrected_new": ("ras-uncorrected",),
    "ras_corrected_new": ("ras-corrected",),
    "gpu_resets_new": ("ring-timeout", "gpu-reset", "gpu-lost"),
    "bad_page_alarms": _ALARMS,
}
"""Rows of an AMD node by the kinds of the driver's lines that they count."""
_OF_NVIDIA = ("xid_new", "sxid_new", "xid_since_boot", "xid_awaiting_boot")
_HARDWARE, _NARROW = "hardware/", "hardware/pcie-width"
_CORRECTED = ("note/aer-corrected", "note/mce", "note/edac-corrected")


def read(split: Split, context: Context) -> Reading:
    """Seven counts of the node and a finding per event; without a boundary nothing is counted."""
    if split.problem:
        names = _METRICS if context.plan.vendor == NVIDIA else (*_METRICS, *_OF_AMD)
        rows = tuple(missing("node", metric, "count") for metric in names)
        return Reading(_asked(rows, context), problem=split.problem)
    before = kernel_log.parse("\n".join(split.before))
    after = kernel_log.parse("\n".join(split.after))
    troubles = list(dmesg.troubles(split.after))
    old = before.of("xid")
    waiting = _waiting(old, context.test.arguments)
    counts = (
        len(after.of("xid")),
        len(after.of("sxid")),
        len(old) + len(after.of("xid")),
        len(waiting),
        sum(code.startswith(_HARDWARE) and code != _NARROW for code, _ in troubles),
        sum(code in _CORRECTED for code, _ in troubles),
        # Links are trained at boot, so that what was said before the plan counts as well.
        sum(code == _NARROW for code, _ in (*troubles, *dmesg.troubles(split.before))),
    )
    rows = tuple(Measurement("node", metric, float(count), "count")
                 for metric, count in zip(_METRICS, counts, strict=True))  # fmt: skip
    findings = [_finding(event, "test", context) for event in after.events]
    findings += [_finding(event, "before", context) for event in before.events]
    if context.plan.vendor == AMD:
        amd_rows, amd_findings = _amd(split, context)
        rows, findings = (*rows, *amd_rows), [*amd_findings, *findings]
    return Reading(
        _asked(rows, context),
        findings=tuple(findings[:_MOST_FINDINGS]),
        lines=(*_lines(split, before, after), *(f"new: {line}"[:300] for _, line in troubles[:10])),
    )


def _asked(rows: Sequence[Measurement], context: Context) -> tuple[Measurement, ...]:
    """The rows that mean something for this vendor's driver: no Xid is looked for where none can come."""
    return tuple(row for row in rows if context.plan.vendor == NVIDIA or row.metric not in _OF_NVIDIA)


def _amd(split: Split, context: Context) -> tuple[list[Measurement], list[Finding]]:
    new, old = amdgpu_log.parse(split.after), amdgpu_log.parse(split.before)
    boot = (*old, *new)  # what was retired too often is said at boot, before the plan
    rows = [
        Measurement("node", metric, float(sum(event.kind in kinds for event in (new, boot)[kinds == _ALARMS])), "count")
        for metric, kinds in _OF_AMD.items()
    ]
    findings = [
        Finding(event.name, component_at(event.pci, context), "kernel.log", during, event.line[:1000])
        for during, events in (("test", new), ("before", old))
        for event in events
    ]
    return rows, findings


def _waiting(old: Sequence[KernelEvent], arguments: Sequence[str]) -> list[KernelEvent]:
    """The events from before the plan that still decide, in order."""
    tolerated, reset = (_codes(one) for one in (*arguments, "", "")[:2])
    found: list[KernelEvent] = []
    for event in old:
        if event.pci is not None and event.code == _RECOVERY and _TAKEN_BACK.search(event.line):
            found = [one for one in found if one.pci != event.pci or one.code not in reset]
        if event.code is None or event.code not in tolerated:
            found.append(event)
    return found


def _codes(argument: str) -> frozenset[int]:
    codes: set[int] = set()
    for part in argument.split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and (last or first).isdigit():
            codes.update(range(int(first), min(int(last or first), _HIGHEST_CODE) + 1))
    return frozenset(codes)


def _finding(event: KernelEvent, during: str, context: Context) -> Finding:
    return Finding(
        event.name, component_at(event.pci, context), "kernel.log", during, event.line[:1000], event.severity
    )


def _lines(split: Split, before: KernelReport, after: KernelReport) -> tuple[str, ...]:
    lines = [
        f"{len(split.after)} new lines since the plan began: {len(after.of('xid'))} Xid, {len(after.of('sxid'))} SXid; "
        f"{len(split.before)} lines from before: {len(before.of('xid'))} Xid, {len(before.of('sxid'))} SXid"
    ]
    lines += [f"new: {event.line}"[:300] for event in after.events[:10]]
    lines += [
        f"PCIe link of {link.pci} gives {link.available_gbit} of {link.capable_gbit} Gb/s"
        for report in (before, after)
        for link in report.limited_links
    ]
    return tuple(lines)
