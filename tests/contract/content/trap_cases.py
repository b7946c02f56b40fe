"""What GPU tools and the kernel say that must not be believed: name, kind, text, word, part of the reason."""

from __future__ import annotations

import json
from typing import Any

from tests.data.content_seeds import SEEDS

HEALTHY: dict[str, str] = {seed.name: seed.text for seed in SEEDS}


def swap(name: str, *pairs: tuple[str, str]) -> str:
    """A healthy file with the first of each pair replaced by the second."""
    text = HEALTHY[name]
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def dcgm(*tests: dict[str, Any], **more: Any) -> str:
    """A diagnostic of one GPU with these tests."""
    entities = [{"entity_group": "GPU", "entities": [{"entity_id": 0, "device_id": "2330"}]}]
    root = {"test_categories": [{"category": "Hardware", "tests": list(tests)}], **more}
    return json.dumps(
        {
            "DCGM Diagnostic": root,
            "entity_groups": entities,
            "metadata": {"version": "4.4.1", "Driver Version Detected": "580.82.09"},
        }
    )


def diag_test(name: str, status: str, summary: str | None = None, **more: Any) -> dict[str, Any]:
    """One test with one result."""
    result = {"entity_group": "GPU", "entity_id": 0, "status": status, **more}
    return {"name": name, "results": [result], "test_summary": {"status": summary or status}}


def nccl_one_rank() -> str:
    """A run on one rank, which prints OK."""
    text = HEALTHY["nccl"]
    lines = [line for line in text.splitlines() if not line.startswith("#  Rank  ") or "Rank  0" in line]
    out = []
    for line in lines:
        cells = line.split()
        if cells and cells[0].isdigit():
            line = line.replace(cells[7], "0.00").replace(cells[11], "0.00")
        out.append("# Avg bus bandwidth    : 0" if "Avg" in line else line)
    return "\n".join(out) + "\n"


def kernel(line: str) -> str:
    """A kernel log whose last line is this one."""
    return f"[  100.000001] pci 0000:00:00.0: enabling device\n[  111.000002] {line}\n"


CASES: tuple[tuple[str, str, str, str, str], ...] = (
    ("one rank prints OK", "nccl-tests", nccl_one_rank(), "invalid", "is 0"),
    ("validation off", "nccl-tests", swap("nccl", ("validation: 1", "validation: 0")), "incomplete", "validation"),
    (
        "a collective that crashed",
        "nccl-tests",
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) validation: 1\n"
        "node1: Test NCCL failure common.cu:958 'unhandled system error'\n",
        "tool-error",
        "NCCL failure",
    ),
    (
        "a test that is still running",
        "nvbandwidth",
        json.dumps(
            {
                "nvbandwidth": {
                    "version": "v0.8",
                    "testcases": [{"name": "host_to_device_memcpy_ce", "status": "Running"}],
                }
            }
        ),
        "incomplete",
        "Running",
    ),
    (
        "a test that failed",
        "nvbandwidth",
        json.dumps(
            {"nvbandwidth": {"version": "v0.8", "testcases": [{"name": "host_to_device_memcpy_ce", "status": "Error"}]}}
        ),
        "tool-error",
        "Error",
    ),
    (
        "everything waived",
        "nvbandwidth",
        json.dumps(
            {
                "nvbandwidth": {
                    "version": "v0.8",
                    "testcases": [{"name": "device_to_device_memcpy_read_ce", "status": "Waived"}],
                }
            }
        ),
        "not-run",
        "waived",
    ),
    (
        "PCIe above physics",
        "nvbandwidth",
        swap("nvbandwidth", (" 55.10     54.90", "155.10     54.90"), ("110.00", "210.00")),
        "impossible",
        "above what a H100",
    ),
    (
        "everything skipped",
        "dcgm-diag-json",
        dcgm(diag_test("memory", "Skip"), diag_test("pcie", "Skip")),
        "not-run",
        "skip",
    ),
    (
        "one test skipped",
        "dcgm-diag-json",
        dcgm(diag_test("memory", "Pass"), diag_test("eud", "Skip")),
        "not-run",
        "eud",
    ),
    (
        "the summary fails and no device",
        "dcgm-diag-json",
        dcgm(diag_test("pcie", "Pass", "Fail")),
        "tool-error",
        "every device passed",
    ),
    (
        "passed with an allocation error",
        "dcgm-diag-json",
        dcgm(diag_test("memory", "Pass", info=["Failed to allocate memory"])),
        "tool-error",
        "allocate",
    ),
    (
        "a runtime error",
        "dcgm-diag-json",
        dcgm(diag_test("memory", "Pass"), runtime_error="nvvs timed out"),
        "tool-error",
        "timed out",
    ),
    (
        "severity by name, not by the number",
        "dcgm-diag-json",
        dcgm(
            diag_test(
                "software", "Fail", warnings=[{"error_id": 29, "error_severity": 2, "warning": "persistence mode"}]
            )
        ),
        "fail",
        "persistence",
    ),
    (
        "a lost device row",
        "dcgm-diag-json",
        dcgm({"name": "memory", "results": [], "test_summary": {"status": "Pass"}}),
        "incomplete",
        "no result of any device",
    ),
    (
        "no connection to the engine",
        "dcgm-diag-text",
        "Error: unable to establish a connection to the specified host\n",
        "tool-error",
        "unable",
    ),
    (
        "warnings that are not named",
        "dcgm-health",
        swap("preflight", ('"warned": 0', '"warned": 1'), ('"passed": 6', '"passed": 5')),
        "incomplete",
        "not named",
    ),
    (
        "health is not healthy",
        "dcgm-health",
        json.dumps({"body": {"Overall Health": {"value": "Warning"}}}),
        "fail",
        "Warning",
    ),
    (
        "a GPU lost",
        "dmesg",
        kernel("NVRM: Xid (PCI:0000:9b:00): 79, pid=1, GPU has fallen off the bus."),
        "fail",
        "Xid 79",
    ),
    ("Xid without pid", "dmesg", kernel("NVRM: Xid (PCI:0000:9b:00): 48, DBE at address"), "fail", "Xid 48"),
    (
        "the driver asks for nothing",
        "dmesg",
        kernel(
            "NVRM: Xid (PCI:0000:9b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
        ),
        "pass",
        "154",
    ),
    (
        "the driver asks for a reboot, newer label",
        "dmesg",
        kernel("NVRM: Xid (PCI:0000:9b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (OS Reboot)"),
        "fail",
        "restart the node",
    ),
    (
        "an Xid of no table",
        "dmesg",
        kernel("NVRM: Xid (PCI:0000:9b:00): 999, something new"),
        "fail",
        "not in the catalogue",
    ),
    ("an unreadable Xid", "dmesg", kernel("NVRM: Xid (PCI:0000:9b"), "incomplete", "cannot be read"),
    (
        "a lower generation alone",
        "dmesg",
        kernel(
            "pci 0000:04:00.0: 252.048 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe "
            "x16 link at 0000:01:00.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)"
        ),
        "incomplete",
        "platform",
    ),
    (
        "a hole in the records",
        "dmesg",
        "".join(HEALTHY["kmsg"].splitlines(keepends=True)[i] for i in (0, 1, 5, 6)),
        "incomplete",
        "missing",
    ),
)
