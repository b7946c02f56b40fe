"""Captures of machines that do not exist, written by hand in the formats of real ones, for the lab to replay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CAPTURED = {
    "captured-bmc": ("2 x GPU", "names 8"),
    "captured-log": ("Xid", "79"),
    "captured-transport": ("all_reduce", "P2P", "NVLS"),
}
"""The nodes, and the words that their reasons must hold."""

GPU = {
    "ProcessorType": "GPU",
    "Manufacturer": "NVIDIA",
    "Model": "NVIDIA H100 80GB HBM3",
    "Status": {"State": "Enabled"},
}

KERNEL_LOG = """\
[    0.000000] Linux version 5.15.0-1063-nvidia
[ 8211.104417] NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
"""

TIMES = "    time   algbw   busbw #wrong"
UNITS = "    (us)  (GB/s)  (GB/s)       "
SIZES = [8 << step for step in range(31)]
FULL_BUS_BANDWIDTH_GBPS = 300.0
"""At 8 GiB; an H100 baseboard reaches about 480 when its switches add up (NVLS), and this run's did not."""


def write(folder: Path) -> dict[str, dict[str, Path]]:
    """Write all captures below a folder and return what each node replays."""
    tools = folder / "tools"
    tools.mkdir(parents=True)
    (folder / "bmc.json").write_text(json.dumps(_tree()))
    (folder / "kernel.txt").write_text(KERNEL_LOG)
    (tools / "all_reduce_perf.txt").write_text(_all_reduce())
    return {
        "captured-bmc": {"redfish": folder / "bmc.json"},
        "captured-log": {"kernel_log": folder / "kernel.txt"},
        "captured-transport": {"tools": tools},
    }


def _tree() -> dict[str, Any]:
    """A host with two GPUs and nothing else that its BMC would tell."""
    system = "/redfish/v1/Systems/DGX"
    gpus = [
        {"@odata.id": f"{system}/Processors/GPU{n}", "Id": f"GPU{n}", "SerialNumber": f"S{n}", **GPU} for n in (1, 2)
    ]
    return {
        "/redfish/v1/Systems": _collection("/redfish/v1/Systems", system),
        system: {
            "@odata.id": system, "Id": "DGX", "SerialNumber": "CAPTURED-1", "PowerState": "On",
            "BootProgress": {"LastState": "OSRunning"}, "Boot": {},
            "Processors": {"@odata.id": f"{system}/Processors"},
        },
        f"{system}/Processors": _collection(f"{system}/Processors", *(gpu["@odata.id"] for gpu in gpus)),
        **{gpu["@odata.id"]: gpu for gpu in gpus},
    }  # fmt: skip


def _collection(path: str, *members: object) -> dict[str, Any]:
    return {"@odata.id": path, "Members": [{"@odata.id": one} for one in members], "Members@odata.count": len(members)}


def _all_reduce() -> str:
    """The output of all_reduce_perf on eight GPUs that used peer-to-peer copies only."""
    head = [
        "# nThread 1 nGpus 8 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
        "validation: 1 graph: 0",
        "#",
        "# Using devices",
        *(f"#  Rank  {n} Group  0 Pid   4711 on  captured device  {n} [0x{n:02x}] NVIDIA H100 80GB HBM3"
          for n in range(8)),
        *(f"captured:4711:47{n}1 [{n}] NCCL INFO Channel 00/0 : {n}[{n}] -> {(n + 1) % 8}[{(n + 1) % 8}] via P2P/CUMEM"
          for n in range(8)),
        "#",
        f"#{'out-of-place':>60} {'in-place':>34}",
        f"#{'size':>11} {'count':>13} {'type':>9} {'redop':>7} {'root':>7} {TIMES} {TIMES}",
        f"#{'(B)':>11} {'(elements)':>13} {'':>25} {UNITS} {UNITS}",
    ]  # fmt: skip
    tail = ["# Out of bounds values : 0 OK", f"# Avg bus bandwidth    : {_average():.6g} ", "#"]
    return "\n".join([*head, *(_row(size) for size in SIZES), *tail]) + "\n"


def _bus(size: int) -> float:
    return FULL_BUS_BANDWIDTH_GBPS * size / (size + 2**24)


def _average() -> float:
    return sum(_bus(size) for size in SIZES) / len(SIZES)


def _row(size: int) -> str:
    bus = _bus(size)
    algorithm = bus * 8 / 14
    half = f"{size / algorithm / 1e3:8.2f} {algorithm:7.2f} {bus:7.2f}      0"
    return f"{size:12d} {size // 4:13d}     float     sum      -1 {half} {half}"
