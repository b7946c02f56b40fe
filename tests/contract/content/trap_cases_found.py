"""What published outputs showed that hand-made ones had not, in the form of `trap_cases`."""

from __future__ import annotations

import json
from typing import Any

from tests.contract.content.trap_cases import HEALTHY, dcgm, diag_test, nccl_one_rank, swap

OLD_NAMES = ("Denylist", "NVML Library", "CUDA Main Library", "Permissions and OS-related Blocks", "Persistence Mode",
             "Environmental Variables", "Page Retirement/Row Remap", "Graphics Processes", "Inforom")  # fmt: skip


def old_diag(*names: str) -> str:
    """What DCGM 3.1 writes: capitals, ids as text or number, empty places, a warning before the document."""
    tests: list[dict[str, Any] | None] = []
    for name in names:
        tests += [{"name": name, "results": [{"gpu_ids": "0,1", "status": "PASS"}]}, None]
    custom = {"name": "software", "results": [{"gpu_ids": gpu, "status": "PASS"} for gpu in range(2)]}
    categories = [{"category": "Deployment", "tests": tests}, {"category": "Custom", "tests": [custom]}]
    root = {"test_categories": categories, "version": "3.1.0"}
    return "\tWARNING: nvvs was told to wait\n" + json.dumps({"DCGM GPU Diagnostic": root}, indent=1)


BUSY = {
    "error_id": 107,
    "error_severity": 4,
    "warning": "The memory copy utilization for the GPU: 0 is greater than 10%. This may affect the results of the "
    "nvbandwidth test.",
}
SLOT: dict[str, Any] = {
    "result": {
        "output": {
            "EYE Opening Info (PCIe)": {
                "Initial FOM": {"values": ["145", "140"]},
                "Last FOM": {"values": ["134", "9"]},
            },
            "PCIe Operational (Enabled) Info": {
                "Depth, pcie index, node": "0, 0, 0",
                "Link Speed Active (Enabled)": "32G-Gen 5 (32G-Gen 5)",
                "Link Width Active (Enabled)": "16X (16X)",
            },
        }
    },
    "status": {"code": 0, "message": "success"},
}
_SLOT = json.dumps(SLOT, indent=1)
UNHASHED = nccl_one_rank().replace("\n#", "\n").removeprefix("#")

CASES: tuple[tuple[str, str, str, str, str], ...] = (
    ("the names of DCGM 3.1", "dcgm-diag-json", old_diag(*OLD_NAMES), "pass", ""),
    ("a name of DCGM 3.1 is not there", "dcgm-diag-json", old_diag(*OLD_NAMES[:-1]), "incomplete", "inforom"),
    (
        "a GPU that was still busy",
        "dcgm-diag-json",
        dcgm(diag_test("nvbandwidth", "Fail", warnings=[BUSY])),
        "tool-error",
        "greater than 10%",
    ),
    (
        "a diagnostic that refuses the GPU",
        "dcgm-diag-json",
        'Error: Unable to run diagnostic on unsupported GPU 0.\n{"DCGM GPU Diagnostic": {"version": "4.2.3"}}',
        "tool-error",
        "unsupported GPU",
    ),
    ("a slot's link and eye", "mlxlink", _SLOT, "pass", ""),
    ("a slot that lost lanes", "mlxlink", _SLOT.replace('"16X (16X)"', '"8X (16X)"'), "fail", "8X (16X)"),
    ("a slot of an older generation", "mlxlink", _SLOT.replace('"32G-Gen 5 (', '"16G-Gen 4 ('), "incomplete", "Gen 4"),
    ("a slot whose width is not told", "mlxlink", _SLOT.replace('"16X (16X)"', '"N/A"'), "incomplete", "N/A"),
    ("one rank, pasted without its marks", "nccl-tests", UNHASHED, "invalid", "is 0"),
    ("a job that was stopped and says nothing of it", "fio", swap("fio", ('"runtime": "30"', '"runtime": "300", '
      '"size": "1M"')), "incomplete", "before its runtime 300"),
    (
        "an option that stress-ng does not know",
        "stress-ng",
        "stress-ng: unrecognized option '--nosuch'\nTry 'stress-ng --help' for more information.\n",
        "tool-error",
        "unrecognized",
    ),
    ("a tool that is not there", "smartctl", "bash: line 1: smartctl: command not found\n", "tool-error", "not found"),
    (
        "a tool whose library is not there",
        "fio",
        "fio: error while loading shared libraries: libaio.so.1: cannot open shared object file\n",
        "tool-error",
        "libaio",
    ),
    ("a word of failure beside figures", "hpl", "warning: x: Permission denied\n" + HEALTHY["hpl"], "pass", ""),
)  # fmt: skip
