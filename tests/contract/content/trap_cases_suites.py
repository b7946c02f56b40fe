"""Suites, exporters and services: reports whole and in JSON, other labels, and what they say when they break."""

from __future__ import annotations

import json
from typing import Any

from tests.contract.content.trap_cases import HEALTHY

_WIDTH = 64


def _box(title: str, *lines: str) -> str:
    rows = "".join(f"│{'  ' + line:<{_WIDTH}}│\n" for line in lines)
    bar = "─" * _WIDTH
    return f"┌{bar}┐\n│{'  ' + title:<{_WIDTH}}│\n├{bar}┤\n{rows}└{bar}┘\n\n"


def _report(*summary: str, status: str = "Succeeded") -> str:
    double = "═" * _WIDTH
    head = f"╔{double}╗\n║{'Certification Report':^{_WIDTH}}║\n╚{double}╝\n\n"
    about = "  Name:      c\n  Platform:  aws\n  GPU:       h100\n  Nodes:     2\n\n"
    part = _box("communication/nccl-all-reduce", f"Status:    {status}", "Duration:  11m 0s", "Nodes/Job: 2",
                "Jobs:      1", "", "Bandwidth:", "  Size       AlgBW        BusBW        Samples",
                "  16 GB      260.20 GB/s  487.87 GB/s  65")  # fmt: skip
    return head + about + part + _box("Summary", *summary)


_GOOD = ("Categories:   1/1 passed", "Failed Nodes: none", "Result:       PASSED")


def _results(result: str = "PASSED", **more: Any) -> str:
    part = {"domain": "communication", "variant": "nccl-all-reduce", "status": "Succeeded", "runtime": "6m",
            "nodesPerJob": 2, "jobs": 1,
            "bandwidth": [{"size": "16 GB", "algBW": "260.20 GB/s", "busBW": "487.87 GB/s", "samples": 65}],
            }  # fmt: skip
    document = {"name": "c", "platform": "aws", "gpu": "h100", "totalNodes": 2, "categories": [part],
                "failedNodes": [], "result": result, **more}  # fmt: skip
    return json.dumps(document)


def _journal(program: str, message: str) -> str:
    return f"Feb 20 08:11:03 n1 {program}[4177]: {message}\n"


_FM_OK = _journal("nv-fabricmanager", "Successfully configured all the available NVSwitches")
_FM_OLD = _journal(
    "nv-fabricmanager", "GPU driver interface version 550.127.05 don't match with driver version 550.120."
)
_FM_FAILED = _journal("systemd", "nvidia-fabricmanager.service: Failed with result 'exit-code'.")
_FM_IDLE = _journal("nv-fabricmanager", "failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]")


def _series(name: str, value: int, labels: str = "") -> str:
    return HEALTHY["prometheus"] + "".join(
        f'{name}{{gpu="{gpu}",UUID="GPU-{gpu}"{labels}}} {value if gpu == 1 else 0}\n' for gpu in range(2)
    )


_MXP = (
    "****** Matrix Generation ******\nSolver iteration 2, L-infinite residual = 1.2e-10\n"
    "||Ax-b||_oo / (EPS * (||A||_oo * ||x||_oo + ||b||_oo) * N) = 0.00012 ...... PASSED\n"
    "N = 370000, NB = 1024, NPROW = 2, NPCOL = 4\nGFLOPS = 1.4432e+06, per GPU = 180400.12\n"
)
_BROKEN = (
    "nvbandwidth Version: v0.7\nDriver Version: 550.127.08\n\nDevice 0: NVIDIA H100 80GB HBM3 (00000000:34:00)\n\n"
    "Running device_to_device_memcpy_read_ce.\n"
)
_PATTERN = " Invalid value when checking the pattern at 0x70a640000000\n Current offset : 11136 \n"
CASES = (
    ("a report that is whole", "active-suite", _report(*_GOOD), "pass", ""),
    (
        "a summary that counts more",
        "active-suite",
        _report("Categories:   2/2 passed", *_GOOD[1:]),
        "incomplete",
        "2 of 2",
    ),
    ("a failed node", "active-suite", _report(_GOOD[0], "Failed Nodes: n7", _GOOD[2]), "fail", "n7"),
    ("a result that runs", "active-suite", _report(*_GOOD[:2], "Result:       RUNNING"), "incomplete", "RUNNING"),
    ("a part that runs", "active-suite", _report(*_GOOD, status="Running"), "incomplete", "Running"),
    ("a part that failed", "active-suite", _report(*_GOOD, status="Failed"), "fail", "Failed"),
    ("results as JSON", "active-suite", _results(), "pass", ""),
    ("JSON with a failed result", "active-suite", _results("FAILED"), "fail", "FAILED"),
    ("JSON with a failed node", "active-suite", _results(failedNodes=["n7"]), "fail", "n7"),
    ("JSON with nodes left out", "active-suite", _results(excludedNodes=["n7"]), "incomplete", "left out"),
    ("a service that started", "fabric-manager", _FM_OK, "pass", ""),
    ("another version of the driver", "fabric-manager", _FM_OLD + _FM_FAILED, "fail-config", "match"),
    ("a service without switches", "fabric-manager", _FM_IDLE + _FM_FAILED, "tool-error", "NOTHING_TO_DO"),
    (
        "a switch that is not named",
        "fabric-manager",
        "[Feb 27 2025 15:10:02] [ERROR] [tid 12727] detected NVSwitch fatal error 20034\n",
        "fail",
        "20034",
    ),
    ("events of an Xid", "gpu-metrics", _series("DCGM_EXP_XID_ERRORS_COUNT", 1, ',xid="79"'), "fail", "Xid 79"),
    ("a health that is bad", "gpu-metrics", _series("DCGM_EXP_GPU_HEALTH_STATUS", 20), "fail", "HEALTH"),
    (
        "a mask with thermal bits",
        "gpu-metrics",
        _series("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", 72),
        "fail",
        "REASONS is 72",
    ),
    ("a mask of an idle GPU", "gpu-metrics", _series("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", 1), "pass", ""),
    ("a fabric in progress", "gpu-metrics", _series("DCGM_FI_DEV_FABRIC_MANAGER_STATUS", 2), "fail", "FABRIC"),
    ("a fabric that is ready", "gpu-metrics", _series("DCGM_FI_DEV_FABRIC_MANAGER_STATUS", 3), "pass", ""),
    ("data that came back wrong", "nvbandwidth", _BROKEN + _PATTERN, "fail", "Invalid value"),
    (
        "an ECC error of a copy",
        "nvbandwidth",
        _BROKEN + "[CUDA_ERROR_ECC_UNCORRECTABLE] uncorrectable ECC error encountered in expression x\n",
        "fail",
        "ECC",
    ),
    (
        "an error of CUDA",
        "nvbandwidth",
        _BROKEN + "[CUDA_ERROR_NOT_READY] x in expression y\n",
        "tool-error",
        "NOT_READY",
    ),
    (
        "a waived test of 0.2",
        "nvbandwidth",
        "nvbandwidth Version: v0.2\n\nWaiving device_to_device_memcpy_write_ce.\n",
        "not-run",
        "was waived",
    ),
    (
        "HPL under a label",
        "hpl",
        "".join(f"0: {line}" for line in HEALTHY["hpl"].splitlines(keepends=True)),
        "pass",
        "",
    ),
    (
        "HPL that is indented",
        "hpl",
        "".join(f"    {line}" for line in HEALTHY["hpl"].splitlines(keepends=True)),
        "pass",
        "",
    ),
    (
        "HPL with an error of CUDA",
        "hpl",
        HEALTHY["hpl"] + "HPL ERROR: CUDART Error 2 (out of memory)\n",
        "tool-error",
        "CUDART",
    ),
    (
        "a copy that came out wrong",
        "gpu-copy",
        HEALTHY["gpu-copy"] + "CheckBuf::Memory check failed\n",
        "fail",
        "check failed",
    ),
    (
        "a copy that broke",
        "gpu-copy",
        HEALTHY["gpu-copy"] + "SetGpu::cudaSetDevice 0 error: 46\n",
        "tool-error",
        "error: 46",
    ),
    ("HPL-MxP", "hpl", _MXP, "pass", ""),
    ("HPL-MxP with a bad residual", "hpl", _MXP.replace("PASSED", "FAILED"), "fail", "FAILED"),
    ("HPL-MxP without its rate", "hpl", _MXP.partition("N = ")[0], "incomplete", "0 rates"),
)
