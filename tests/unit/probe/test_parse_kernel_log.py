"""The kernel log reader finds Xid and SXid events in every form that they are written."""

from __future__ import annotations

import pytest
from nodeworthy_probe.parsers import kernel_log

XID = "NVRM: Xid"


@pytest.mark.parametrize(
    ("line", "code", "pci"),
    [
        ("[  415.2] NVRM: Xid (PCI:0000:9b:00): 79, pid=1, name=x, GPU has fallen off the bus.", 79, "0000:9b:00"),
        ("[  415.2] NVRM: Xid (0000:03:00): 14, Channel 00000001", 14, "0000:03:00"),
        ("[Sun Feb 23 16:24:18 2025] NVRM: Xid (PCI:0000:9b:00): 119, pid=2, name=x, Timeout", 119, "0000:9b:00"),
        (f"kern  :warn  : 2025-01-21T02:21:33,498+00:00 {XID} (PCI:0000:38:00): 13, pid='<unknown>'", 13, "0000:38:00"),
        (f"4,1234,98765,-;{XID} (PCI:0000:1b:00): 48, pid=1, An uncorrectable error", 48, "0000:1b:00"),
        (f"[1.0] {XID} (PCI:0008:01:00.0): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x1 0x2)", 149, "0008:01:00"),
        (f"[1.0] {XID} (PCI:0008:01:00): 154, GPU recovery action changed from 0x0 to 0x1", 154, "0008:01:00"),
    ],
)  # fmt: skip
def test_an_xid_is_found_in_every_form(line: str, code: int, pci: str) -> None:
    """With and without PCI prefix, function, pid and kmsg header."""
    (event,) = kernel_log.parse(line).events

    assert (event.kind, event.code, event.pci) == ("xid", code, pci)


def test_an_unreadable_xid_is_still_an_event() -> None:
    """A line cut inside the code is counted under no code; it is never dropped."""
    (event,) = kernel_log.parse("[ 1.0] NVRM: Xid (PCI:0000:9b:00): 7").events

    assert (event.code, event.name) == (None, "xid/unreadable")


def test_an_nvswitch_event_is_counted_once_and_keeps_its_severity() -> None:
    """Three kinds of line, one event: only the first names the severity."""
    text = "\n".join(
        [
            "[1.0] nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Data {0x10000000, 0x00000000}",
            "[1.0] nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 62 LTSSM Fault Up",
            "[1.0] nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Severity 1 Engine instance 62",
        ]
    )
    report = kernel_log.parse(text)

    assert [(event.code, event.severity) for event in report.events] == [(20034, "Fatal")]
    assert len(report.continuations) == 2


def test_a_continuation_without_its_first_line_is_an_event() -> None:
    """The ring buffer lost the line with the severity; the event happened all the same."""
    report = kernel_log.parse("[1.0] nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 12033, Severity 1 Engine instance 00")

    assert [(event.code, event.severity) for event in report.events] == [(12033, None)]


def test_a_limited_pcie_link_is_read() -> None:
    """The kernel names what the link gives and what it could give, in Gb/s."""
    line = (
        "[ 18.6] mlx5_core 0000:9c:00.0: 252.056 Gb/s available PCIe bandwidth, limited by 32.0 GT/s PCIe x8 link at "
        "0000:97:01.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)"
    )

    (link,) = kernel_log.parse(line).limited_links

    assert (link.pci, link.available_gbit, link.capable_gbit) == ("0000:9c:00.0", 252.056, 504.112)


@pytest.mark.parametrize(
    ("spelling", "normal"),
    [("00000000:9B:00.0", "0000:9b:00"), ("9b:00.0", "0000:9b:00"), ("0008:01:00", "0008:01:00"), ("nonsense", None)],
)
def test_pci_addresses_have_one_spelling(spelling: str, normal: str | None) -> None:
    """NVML pads the domain, the log leaves the function out."""
    assert kernel_log.normal_pci(spelling) == normal
