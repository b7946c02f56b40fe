"""What tools say that must not be believed, as small hand-written files: each rule of the formats, once.

The cases follow the known traps of the tools: exit code 0 and "pass" roll-ups that lie, zeros that mean absence, figures
above physics, cuts, skips, and contradictions.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from nodeworthy.qualification.content import ContentContext

from tests.contract.content.reading import judged
from tests.data.content_seeds import SEEDS

HEALTHY = {seed.name: seed.text for seed in SEEDS}


def _swap(name: str, *pairs: tuple[str, str]) -> str:
    text = HEALTHY[name]
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def _dcgm(*tests: dict[str, Any], **more: Any) -> str:
    entities = [{"entity_group": "GPU", "entities": [{"entity_id": 0, "device_id": "2330"}]}]
    root = {"test_categories": [{"category": "Hardware", "tests": list(tests)}], **more}
    return json.dumps(
        {
            "DCGM Diagnostic": root,
            "entity_groups": entities,
            "metadata": {"version": "4.4.1", "Driver Version Detected": "580.82.09"},
        }
    )


def _test(name: str, status: str, summary: str | None = None, **more: Any) -> dict[str, Any]:
    result = {"entity_group": "GPU", "entity_id": 0, "status": status, **more}
    return {"name": name, "results": [result], "test_summary": {"status": summary or status}}


def _nccl_one_rank() -> str:
    text = HEALTHY["nccl"]
    lines = [line for line in text.splitlines() if not line.startswith("#  Rank  ") or "Rank  0" in line]
    out = []
    for line in lines:
        cells = line.split()
        if cells and cells[0].isdigit():
            line = line.replace(cells[7], "0.00").replace(cells[11], "0.00")
        out.append("# Avg bus bandwidth    : 0" if "Avg" in line else line)
    return "\n".join(out) + "\n"


def _kernel(line: str) -> str:
    return f"[  100.000001] pci 0000:00:00.0: enabling device\n[  111.000002] {line}\n"


CASES: tuple[tuple[str, str, str, str, str], ...] = (
    ("one rank prints OK", "nccl-tests", _nccl_one_rank(), "invalid", "is 0"),
    ("validation off", "nccl-tests", _swap("nccl", ("validation: 1", "validation: 0")), "incomplete", "validation"),
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
        _swap("nvbandwidth", (" 55.10     54.90", "155.10     54.90"), ("110.00", "210.00")),
        "impossible",
        "above what a H100",
    ),
    ("everything skipped", "dcgm-diag-json", _dcgm(_test("memory", "Skip"), _test("pcie", "Skip")), "not-run", "skip"),
    ("one test skipped", "dcgm-diag-json", _dcgm(_test("memory", "Pass"), _test("eud", "Skip")), "not-run", "eud"),
    (
        "the summary fails and no device",
        "dcgm-diag-json",
        _dcgm(_test("pcie", "Pass", "Fail")),
        "tool-error",
        "every device passed",
    ),
    (
        "passed with an allocation error",
        "dcgm-diag-json",
        _dcgm(_test("memory", "Pass", info=["Failed to allocate memory"])),
        "tool-error",
        "allocate",
    ),
    (
        "a runtime error",
        "dcgm-diag-json",
        _dcgm(_test("memory", "Pass"), runtime_error="nvvs timed out"),
        "tool-error",
        "timed out",
    ),
    (
        "severity by name, not by the number",
        "dcgm-diag-json",
        _dcgm(
            _test("software", "Fail", warnings=[{"error_id": 29, "error_severity": 2, "warning": "persistence mode"}])
        ),
        "fail",
        "persistence",
    ),
    (
        "a lost device row",
        "dcgm-diag-json",
        _dcgm({"name": "memory", "results": [], "test_summary": {"status": "Pass"}}),
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
        _swap("preflight", ('"warned": 0', '"warned": 1'), ('"passed": 6', '"passed": 5')),
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
        _kernel("NVRM: Xid (PCI:0000:9b:00): 79, pid=1, GPU has fallen off the bus."),
        "fail",
        "Xid 79",
    ),
    ("Xid without pid", "dmesg", _kernel("NVRM: Xid (PCI:0000:9b:00): 48, DBE at address"), "fail", "Xid 48"),
    (
        "the driver asks for nothing",
        "dmesg",
        _kernel(
            "NVRM: Xid (PCI:0000:9b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
        ),
        "pass",
        "154",
    ),
    (
        "the driver asks for a reboot, newer label",
        "dmesg",
        _kernel("NVRM: Xid (PCI:0000:9b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (OS Reboot)"),
        "fail",
        "restart the node",
    ),
    (
        "an Xid of no table",
        "dmesg",
        _kernel("NVRM: Xid (PCI:0000:9b:00): 999, something new"),
        "fail",
        "not in the catalogue",
    ),
    ("an unreadable Xid", "dmesg", _kernel("NVRM: Xid (PCI:0000:9b"), "incomplete", "cannot be read"),
    (
        "a lower generation alone",
        "dmesg",
        _kernel(
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
    ("an interrupted job", "fio", "fio: terminating on signal 2\n" + HEALTHY["fio"], "incomplete", "signal"),
    (
        "a job that ended early",
        "fio",
        _swap("fio", ('"runtime": "30"', '"runtime": "300"')),
        "incomplete",
        "before its",
    ),
    ("a job error", "fio", _swap("fio", ('"error": 0', '"error": 5')), "fail", "error 5"),
    ("no summary", "gpu-burn", HEALTHY["gpu-burn"].partition("Tested")[0], "incomplete", "summary"),
    (
        "errors in one interval only",
        "gpu-burn",
        _swap("gpu-burn", ("errors: 0 - 0", "errors: 0 - 7 (WARNING!)")),
        "fail",
        "7 compute errors",
    ),
    ("0 C in a guest", "gpu-metrics", _swap("prometheus", ("45", "0")), "incomplete", "TEMP"),
    (
        "a remap that waits",
        "gpu-metrics",
        _swap(
            "prometheus",
            (
                'PENDING{gpu="0",UUID="GPU-0",modelName="NVIDIA H100",Hostname="gpu-node-1"} 0',
                'PENDING{gpu="0",UUID="GPU-0",modelName="NVIDIA H100",Hostname="gpu-node-1"} 1',
            ),
        ),
        "fail",
        "PENDING",
    ),
    (
        "the tool breaks off",
        "ibstat",
        HEALTHY["ibstat"] + "ibpanic: [4711] main: stat of IB device 'mlx5_4' failed\n",
        "incomplete",
        "ibpanic",
    ),
    (
        "a port that polls",
        "ibstat",
        _swap("ibstat", ("State: Active", "State: Down"), ("state: LinkUp", "state: Polling")),
        "fail",
        "Polling",
    ),
    ("a narrow link among its equals", "ibstat", _swap("ibstat", ("Rate: 400", "Rate: 200")), "incomplete", "200 Gb/s"),
    (
        "a GPU that is not allocatable",
        "k8s",
        HEALTHY["k8s"][::-1].replace("8     :upg/moc.aidivn", "7     :upg/moc.aidivn", 1)[::-1],
        "fail",
        "7 of 8",
    ),
    (
        "a node that is not ready",
        "k8s",
        "NAME         STATUS     ROLES    AGE   VERSION\ngpu-node-1   NotReady   <none>   10d   v1.31.2\n",
        "fail",
        "NotReady",
    ),
    (
        "a healthy body with a failed status",
        "mlxlink",
        _swap("mlxlink", ('"code": 0', '"code": 1')),
        "tool-error",
        "status 1",
    ),
    (
        "effective errors",
        "mlxlink",
        _swap("mlxlink", ('"Effective Physical Errors": "0"', '"Effective Physical Errors": "12"')),
        "fail",
        "12",
    ),
    ("a hot module", "mlxlink", _swap("mlxlink", ("55 [-10..80]", "85 [-10..80]")), "fail", "85"),
    ("the driver cannot read", "nvidia-smi", _swap("smi-table", ("24C", "ERR!")), "fail", "ERR!"),
    (
        "a lost GPU",
        "nvidia-smi",
        "Unable to determine the device handle for GPU0000:CB:00.0: Unknown Error\n",
        "fail",
        "device handle",
    ),
    (
        "a driver of another version",
        "nvidia-smi",
        "Failed to initialize NVML: Driver/library version mismatch\n",
        "fail-config",
        "mismatch",
    ),
    (
        "a link that is down",
        "nvidia-smi",
        _swap("smi-nvlink", ("Link 3: 26.562 GB/s", "Link 3: <inactive>")),
        "fail",
        "inactive",
    ),
    (
        "no row of results",
        "perftest",
        "\n".join(line for line in HEALTHY["perftest"].splitlines() if "1048576" not in line) + "\n",
        "incomplete",
        "no row",
    ),
    ("MB/s that are Gb/s", "perftest", HEALTHY["perftest"].replace("Gb/sec", "MB/sec"), "incomplete", "disagree"),
    (
        "a bad mirror of the count",
        "redfish",
        _swap("redfish", ('"Health": "OK"', '"Health": "Critical"')),
        "fail",
        "Critical",
    ),
    (
        "passed without spare",
        "smartctl",
        _swap("smartctl", ('"available_spare": 100', '"available_spare": 0')),
        "fail",
        "spare",
    ),
    (
        "worn out",
        "smartctl",
        _swap("smartctl", ('"percentage_used": 1', '"percentage_used": 104')),
        "fail",
        "endurance",
    ),
    (
        "nvme's own log in kelvin",
        "smartctl",
        json.dumps(
            {
                "critical_warning": 0,
                "temperature": 310,
                "avail_spare": 100,
                "spare_thresh": 10,
                "percent_used": 1,
                "media_errors": 0,
                "num_err_log_entries": 0,
                "power_on_hours": 5,
                "unsafe_shutdowns": 1,
                "data_units_read": 1,
                "data_units_written": 1,
                "controller_busy_time": 1,
                "power_cycles": 1,
                "warning_temp_time": 0,
                "critical_comp_time": 0,
            }
        ),
        "pass",
        "",
    ),
    (
        "every stressor skipped",
        "stress-ng",
        "stress-ng: info:  [9] dispatching hogs: 1 rdrand\nstress-ng: info:  [9] skipped: 1: rdrand (1)\n"
        "stress-ng: info:  [9] successful run completed in 0.00s\n",
        "not-run",
        "skipped",
    ),
    (
        "a stressor failed",
        "stress-ng",
        HEALTHY["stress-ng"] + "stress-ng: fail:  [9] matrix: value mismatch\n",
        "fail",
        "mismatch",
    ),
    (
        "memory that fails",
        "stress-ng",
        "memtester version 4.6.0 (64-bit)\nLoop 1/1:\n  Stuck Address       : ok\n"
        "  Random Value        : FAILURE: 0x1 != 0x3 at offset 0x7.\nDone.\n",
        "fail",
        "FAILURE",
    ),
    (
        "memory that holds, with backspaces",
        "stress-ng",
        "memtester version 4.6.0 (64-bit)\nLoop 1/1:\n  Stuck Address       : setting\b\b\b\b\b\b\bok\n"
        "  Random Value        : ok\n\nDone.\n",
        "pass",
        "",
    ),
    (
        "zero offset without a source",
        "time-sync",
        _swap(
            "chrony",
            ("Leap status     : Normal", "Leap status     : Not synchronised"),
            ("C0000202 (192.0.2.2)", "00000000 ()"),
            ("Stratum         : 3", "Stratum         : 0"),
            ("0.000001234 seconds fast", "0.000000000 seconds fast"),
        ),
        "fail",
        "Not synchronised",
    ),
    ("an offset above the limit", "time-sync", _swap("chrony", ("0.000001234", "0.004000000")), "fail", "limit"),
    ("a bank of zeros", "tpm", "  sha256:\n" + "".join(f"    {i} : 0x{'0' * 64}\n" for i in range(8)), "fail", "zero"),
    (
        "a TPM out of reach",
        "tpm",
        "ERROR: Unable to open /dev/tpmrm0\nERROR: Unable to run tpm2_pcrread\n",
        "tool-error",
        "Unable",
    ),
    (
        "a switch without effect",
        "active-suite",
        HEALTHY["nvcre"] + "\n" + HEALTHY["nvcre"].split("\n\n", 2)[2].replace("Enabled ", "Disabled"),
        "invalid",
        "did nothing",
    ),
    ("a suite that failed", "active-suite", _swap("nvcre", ("Succeeded", "Failed   ")), "fail", "Failed"),
    (
        "memory errors of the host",
        "host-inventory",
        _swap("edac", ("mc0/ue_count: 0", "mc0/ue_count: 1")),
        "fail",
        "ue_count",
    ),
    ("a residual that fails", "hpl", _swap("hpl", ("PASSED", "FAILED")), "fail", "FAILED"),
    (
        "a solution that does not validate",
        "stream",
        _swap("stream", ("Solution Validates", "Failed Validation")),
        "fail",
        "validate",
    ),
    ("an empty file", "lsblk", "\n", "incomplete", "empty"),
)


@pytest.mark.parametrize(
    ("kind", "text", "word", "says"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_trap(kind: str, text: str, word: str, says: str) -> None:
    """The word, and what the reason names."""
    verdict = judged(kind, text)

    assert (verdict.verdict.value, says in verdict.reason) == (word, True), verdict.reason


def test_the_line_rate_decides_what_is_low() -> None:
    """382 Gb/s is a 400G port's figure and too low for an 800G port."""
    text = HEALTHY["perftest"]

    assert judged("perftest", text, ContentContext(line_rate_gbps=400)).verdict.value == "pass"
    assert judged("perftest", text, ContentContext(line_rate_gbps=800)).verdict.value == "fail"
    assert judged("perftest", text, ContentContext(line_rate_gbps=200)).verdict.value == "impossible"


def test_the_sku_says_how_many_gpus_and_which() -> None:
    """Two GPUs of eight are not all of them, and an H100 is no MI300X."""
    text = HEALTHY["smi-nvlink"]

    assert judged("nvidia-smi", text).verdict.value == "pass"
    assert judged("nvidia-smi", text, ContentContext(gpus=2)).verdict.value == "pass"
    assert judged("nvidia-smi", text, ContentContext(sku="h100-sxm-8")).reason == "2 of 8 GPUs are there"
    assert judged("nvidia-smi", text, ContentContext(sku="mi300x-8", gpus=2)).verdict.value == "invalid"
