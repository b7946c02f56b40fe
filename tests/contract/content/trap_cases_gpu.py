"""What nvidia-smi and dcgmi print besides their best-known forms: links, matrices, MIG, old and cut tables."""

from __future__ import annotations

import json
from typing import Any

from tests.contract.content.trap_cases import HEALTHY, dcgm, diag_test, swap

_ROW = "| {:25s} | {:46s} |\n"
_LINE = f"+{'-' * 27}+{'-' * 48}+\n"
_TOP = _LINE + _ROW.format("Diagnostic", "Result") + _LINE.replace("-", "=")
_DEPLOYMENT = ("Denylist", "NVML Library", "CUDA Main Library", "Permissions and OS Blocks", "Persistence Mode",
               "Environment Variables", "Page Retirement/Row Remap", "Graphics Processes", "Inforom")  # fmt: skip


def _section(name: str) -> str:
    return f"|-----  {name}  {'-' * (18 - len(name))}+{'-' * 48}|\n"


def _rows(*pairs: tuple[str, str]) -> str:
    return "".join(_ROW.format(*pair) for pair in pairs)


def _old_table(outcome: str) -> str:
    """A table of DCGM 3.0, which tells no versions."""
    return (
        _TOP + _section("Deployment") + _rows(*((name, "Pass") for name in _DEPLOYMENT))
        + _section("Integration") + _rows(("PCIe", f"{outcome} - All"))
        + _section("Hardware") + _rows(("GPU Memory", f"{outcome} - All")) + _LINE
    )  # fmt: skip


def _table(pcie: str, *texts: tuple[str, str], ids: str = "2901, 2901") -> str:
    """A table of DCGM 4 with two GPUs, whose pcie test ended so."""
    each = (("", "GPU0: Pass"), ("", "GPU1: Pass"))
    head = ("DCGM Version", "4.4.1"), ("Driver Version Detected", "570.172.08"), ("GPU Device IDs Detected", ids)
    return (
        _TOP + _section("Metadata") + _rows(*head) + _section("Deployment") + _rows(("software", "Pass"), *each)
        + _section("Hardware") + _rows(("memory", "Pass"), *each)
        + _section("Integration") + _rows(("pcie", pcie), *texts, *each) + _LINE
    )  # fmt: skip


def _internal() -> dict[str, Any]:
    warning = {"error_id": 95, "error_severity": 3, "warning": "There was an internal error during the test: 'x'"}
    test = diag_test("pcie", "Pass", "Fail")
    test["test_summary"]["warnings"] = [warning]
    return test


def _health(state: str, text: str) -> str:
    found = {"PCIe system": {"overflow": [text], "value": state}}
    gpu = {"0": {"children": {"Errors": {"children": found}}, "value": state}}
    return json.dumps({"body": {"GPU": {"children": gpu}, "Overall Health": {"value": state}},
                       "header": ["Health Monitor Report"]})  # fmt: skip


def _links(count: int, *broken: str) -> str:
    each = "".join(f"\t Link {link}: 53.125 GB/s\n" for link in range(18))
    return "".join(
        f"GPU {gpu}: NVIDIA B200 (UUID: GPU-{gpu})\n{each if str(gpu) not in broken else _DARK}" for gpu in range(count)
    )


_DARK = "NVML: Unable to retrieve NVLink information as all links are inActive\n"
_LISTED = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)\nGPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n"
_LOST = "Unable to determine the device handle for gpu 0000:9B:00.0: GPU is lost.  Reboot the system\n"
_PEERS = "\tGPU0\tGPU1\t\n GPU0\tX\t{0}\t\n GPU1\t{0}\tX\t\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n"
_COUNTERS = "".join(
    f"GPU {gpu}: NVIDIA B300 (UUID: GPU-{gpu})\n"
    + "".join(
        f"\t Link {link}: {name}: {value}\n"
        for link in range(18)
        for name, value in (("Rx Errors", "0"), ("Effective BER", "15e-255"), ("FEC Errors - 0", "3614"))
    )
    for gpu in range(2)
)
CASES = (
    ("a list with a lost GPU", "nvidia-smi", _LISTED + _LOST, "fail", "GPU is lost"),
    ("links of all GPUs", "nvidia-smi", _links(2), "pass", ""),
    ("a GPU whose links are all down", "nvidia-smi", _links(4, "2"), "fail", "all NVLinks of gpu/2"),
    ("corrected blocks are no errors", "nvidia-smi", _COUNTERS, "pass", ""),
    (
        "a link with a high error rate",
        "nvidia-smi",
        _COUNTERS.replace("15e-255", "3e-09", 1),
        "fail",
        "nvlink_effective_ber",
    ),
    ("peers that reach each other", "nvidia-smi", _PEERS.format("OK"), "pass", ""),
    ("peers that cannot", "nvidia-smi", _PEERS.format("GNS"), "not-run", "no access"),
    ("a fan that cannot be read", "nvidia-smi", swap("smi-table", ("| N/A   24C", "|ERR!   24C")), "fail", "ERR!"),
    (
        "a broken InfoROM",
        "nvidia-smi",
        HEALTHY["smi-table"] + "WARNING: infoROM is corrupted at gpu 0000:1A:00.0\n",
        "fail",
        "infoROM",
    ),
    ("no library", "nvidia-smi", "NVIDIA-SMI couldn't find libnvidia-ml.so library ", "tool-error", ""),
    ("an old table", "dcgm-diag-text", _old_table("Pass"), "pass", ""),
    ("an old table that is cut", "dcgm-diag-text", _old_table("Pass").removesuffix(_LINE), "incomplete", "cut"),
    ("an old table, all skipped", "dcgm-diag-text", _old_table("Skip"), "not-run", "PCIe was skipped"),
    ("a table of DCGM 4", "dcgm-diag-text", _table("Pass"), "pass", ""),
    ("a list of ids that is cut", "dcgm-diag-text", _table("Pass", ids="3182, 3182, 3182, 3182, 3182, 3182, 3182, 318"),
     "pass", ""),
    ("a test that fails with no GPU", "dcgm-diag-text", _table("Fail"), "tool-error", "every device passed"),
    (
        "a test with an error of its own",
        "dcgm-diag-text",
        _table("Fail", ("Warning", "There was an internal error during the test:")),
        "tool-error",
        "every device passed",
    ),
    ("a failure of some GPU", "dcgm-diag-text", _table("Fail", ("Warning", "Too many replays")), "fail", "replays"),
    ("a summary with an internal error", "dcgm-diag-json", dcgm(_internal()), "tool-error", "every device passed"),
    (
        "a pass with a numbered warning",
        "dcgm-diag-json",
        dcgm(diag_test("memory", "Pass", warnings=[{"error_id": 21, "warning": "Couldn't allocate 75%"}])),
        "tool-error",
        "allocate",
    ),
    ("the tree of dcgmi health", "dcgm-health", _health("Warning", "8 replays"), "fail", "8 replays"),
    (
        "watches that are off",
        "dcgm-health",
        "Error: Health watches not enabled. Please enable watches.\n",
        "not-run",
        "watches",
    ),
)  # fmt: skip
