"""The collectives of nccl-tests 2.13 and later, with NCCL's own INFO lines and the time of each iteration on request.

Without P2P and shared memory (NCCL_P2P_DISABLE, NCCL_SHM_DISABLE) the ring has to leave by the adapters, as on a real
node. Collectives but all_reduce have no curve of their own here: theirs is all_reduce's, scaled by the platform.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from lab.tools import iterations
from lab.tools.view import NodeView, Output, disturbed

_SUFFIXES = {"K": 1024, "M": 1024**2, "G": 1024**3}
_SECONDS_TO_START = 6.0
_CHANNELS = 16
_OPERATIONS = {"all_reduce": "sum", "reduce_scatter": "sum", "all_gather": "none", "alltoall": "none"}


class Member(NamedTuple):
    """One node of a collective: its GPUs as printed, the rates of its rails, and whether NCCL may use RDMA."""

    node: str
    gpus: list[str]
    rails_gbps: list[float]
    rdma: bool
    shares: dict[str, float]
    wrong: int = 0
    rack: str = ""
    uplink_share: float = 1.0
    late_ms: tuple[float, ...] = ()
    """By GPU, how much longer it computes for a training step than it should."""


def gpu_lines(view: NodeView) -> list[str]:
    """Bus number and name of each GPU."""
    return [f"[0x{gpu['pci_bus_id'].split(':')[1].lower()}] {gpu['name']}" for gpu in view.gpus]


class _Options:
    """The flags that matter: sizes, factor, GPUs, check, iterations."""

    def __init__(self, arguments: list[str]) -> None:
        pairs = dict(zip(arguments[::2], arguments[1::2], strict=False))
        self.smallest = _bytes(pairs.get("-b", pairs.get("--minbytes", "32M")))
        self.largest = _bytes(pairs.get("-e", pairs.get("--maxbytes", "32M")))
        self.factor = max(int(pairs.get("-f", pairs.get("--stepfactor", "2"))), 2)
        self.gpus = int(pairs.get("-g", pairs.get("--ngpus", "1")))
        self.check = int(pairs.get("-c", pairs.get("--check", "1")))
        self.iterations = int(pairs.get("-n", pairs.get("--iters", "20")))
        self.warmup = int(pairs.get("-w", pairs.get("--warmup_iters", "5")))
        self.collective = "all_reduce"
        self.each_iteration = pairs.get("-I", "0") != "0"
        self.json_file = pairs.get("-J")

    @property
    def factor_of_bus(self) -> float:
        """Bus bandwidth / algorithm bandwidth (nccl-tests doc/PERFORMANCE.md)."""
        return (2 if self.collective == "all_reduce" else 1) * (self.gpus - 1) / self.gpus

    def sizes(self) -> list[int]:
        """Every message size of the sweep, in bytes."""
        sizes = [self.smallest]
        while sizes[-1] * self.factor <= self.largest:
            sizes.append(sizes[-1] * self.factor)
        return sizes


def _bytes(text: str) -> int:
    suffix = text[-1:].upper()
    return int(text[:-1]) * _SUFFIXES[suffix] if suffix in _SUFFIXES else int(text)


def run(tool: str, arguments: list[str], view: NodeView, over: Sequence[Member] = ()) -> Output:
    """Render one run of the collective that the tool is named after, over several nodes when members are given."""
    options = _Options(arguments)
    options.collective = tool.removesuffix("_perf") if tool.endswith("_perf") else "all_reduce"
    if options.each_iteration and not iterations.known_to(view.image):
        return Output(iterations.REFUSED.format(tool=tool))
    if over:
        return _rendered(tool, arguments, options, view, _group_truth(options, over), over)
    if options.gpus > len(view.gpus):
        text = f"{view.document['node']}: Test CUDA failure common.cu:1018 'invalid device ordinal'\n"
        return Output(text, 2, 2.0, uses_gpu=True)
    alone = (Member(view.document["node"], gpu_lines(view)[: options.gpus], [], True, {}),)
    return _rendered(tool, arguments, options, view, _truth(options, view), alone)


def _rendered(
    tool: str,
    arguments: list[str],
    options: _Options,
    view: NodeView,
    truth: dict[str, Any],
    over: Sequence[Member],
) -> Output:
    options.gpus = sum(len(member.gpus) for member in over)
    attempt = view.attempt(tool)
    noise = view.noise(f"{tool} " + " ".join(arguments), attempt)
    if attempt == 1 and "first_gbps" in truth:
        truth = _reaching(truth["first_gbps"], options.sizes()[-1], truth)
    rows = [_row(size, options, truth, noise) for size in options.sizes()]
    head = iterations.table_head(_TABLE_HEAD) if options.each_iteration else _TABLE_HEAD
    lines = _header(options, over) + _info(options, truth, view) + head + [row.text for row in rows]
    wrong = int(truth.get("wrong", 0)) if options.check else 0
    average = sum(row.bus for row in rows) / len(rows)
    lines += [f"# Out of bounds values : {1 if wrong else 0} {'FAILED' if wrong else 'OK'}",
              f"# Avg bus bandwidth    : {average:.6g} ", "#"]  # fmt: skip
    if options.json_file:
        run = iterations.Run(options.iterations, options.sizes(), options.gpus, options.collective)
        iterations.write(Path(options.json_file), run, [row.halves for row in rows], average)
    if wrong:
        lines.append(f"\n .. {view.document['node']} pid 4711: Test failure common.cu:401")
    work = sum(row.microseconds for row in rows) / 1e6 * (options.iterations + options.warmup) * 2
    return Output("\n".join(lines) + "\n", 1 if wrong else 0, _SECONDS_TO_START + work, uses_gpu=True)


def _reaching(gbps: float, size: int, truth: dict[str, Any]) -> dict[str, Any]:
    """The same curve, scaled so that messages of `size` bytes reach `gbps`."""
    curve = truth["bus_bandwidth_gbps_by_bytes"]
    scale = gbps / _bus_bandwidth(size, curve)
    return {**truth, "bus_bandwidth_gbps_by_bytes": {key: value * scale for key, value in curve.items()}}


def _group_truth(options: _Options, over: Sequence[Member]) -> dict[str, Any]:
    """A ring over all nodes: as fast as the slowest rail of any of them, times the rails; RDMA only if all have it.

    Over several racks it is no faster than the slowest way out of one.
    """
    shares = over[0].shares
    wire = len(over[0].rails_gbps) * min(rate for member in over for rate in member.rails_gbps) / 8
    wire *= min(member.uplink_share for member in over) if len({member.rack for member in over}) > 1 else 1.0
    proven = all(member.rdma for member in over)
    by_wire = os.environ.get("NCCL_ALGO") == "RING" or os.environ.get("NCCL_P2P_DISABLE") == "1"
    share = shares["ring"] * (1.0 if by_wire else shares["chosen"])
    if options.collective == "alltoall":
        share = shares["alltoall"]
    full = wire * (share if proven else shares["socket"])
    curve = {str(1 << 20): full / 4, str(1 << 30): full, str(1 << 35): full}
    wrong = max(member.wrong for member in over)
    return {"transport": "NET/IB" if proven else "NET/Socket", "wrong": wrong, "bus_bandwidth_gbps_by_bytes": curve}


def _truth(options: _Options, view: NodeView) -> dict[str, Any]:
    """The curve, transport and wrong values of this collective, over the path that NCCL is left with."""
    bandwidth = view.document["bandwidth"]
    truth: dict[str, Any] = bandwidth["all_reduce"]
    if os.environ.get("NCCL_P2P_DISABLE") == "1" and os.environ.get("NCCL_SHM_DISABLE") == "1":
        return {**truth, "transport": "NET/IB", "bus_bandwidth_gbps_by_bytes": bandwidth["by_adapters_gbps_by_bytes"]}
    scale = float(bandwidth.get("collectives", {}).get(options.collective, 1.0))
    curve = {size: value * scale for size, value in truth["bus_bandwidth_gbps_by_bytes"].items()}
    return {**truth, "bus_bandwidth_gbps_by_bytes": curve}


_HALF = "     time   algbw   busbw #wrong"
_UNITS = "     (us)  (GB/s)  (GB/s)       "
_TABLE_HEAD = [
    "#",
    f"#{'out-of-place':>74}{'in-place':>31}{'':10}",
    "#       size         count      type   redop    root" + _HALF + _HALF,
    "#        (B)    (elements)                          " + _UNITS + _UNITS,
]


def _header(options: _Options, over: Sequence[Member]) -> list[str]:
    lines = [
        f"# nThread 1 nGpus {1 if len(over) > 1 else options.gpus} minBytes {options.smallest} "
        f"maxBytes {options.largest} step: {options.factor}(factor) warmup iters: {options.warmup} "
        f"iters: {options.iterations} agg iters: 1 validation: {options.check} graph: 0",
        "#",
        "# Using devices",
    ]
    placed = [(member.node, device, name) for member in over for device, name in enumerate(member.gpus)]
    for rank, (node, device, name) in enumerate(placed):
        lines.append(f"#  Rank {rank:>2} Group  0 Pid {4711:>6} on {node:>10} device {device:>2} "
                     f"{name}")  # fmt: skip
    return lines


def _info(options: _Options, truth: dict[str, Any], view: NodeView) -> list[str]:
    version = view.image.get("nccl", "2.27.3")
    if os.environ.get("NCCL_DEBUG", "").upper() not in ("INFO", "TRACE"):
        return [f"NCCL version {version}+cuda{view.image.get('cuda', '12.4')}"] if os.environ.get("NCCL_DEBUG") else []
    who = f"{view.document['node']}:4711"
    transport = truth.get("transport", "NVLS")
    nvls = _CHANNELS if transport == "NVLS" else 0
    path = {"NVLS": "P2P/CUMEM", "NVLink": "P2P/CUMEM", "P2P": "P2P/CUMEM", "SHM": "SHM/direct/direct",
            "NET/IB": "NET/IB/0/GDRDMA", "NET/Socket": "NET/Socket/0"}.get(transport, transport)  # fmt: skip
    lines = [f"{who}:4711 [0] NCCL INFO NCCL version {version}+cuda{view.image.get('cuda', '12.4')}"]
    for rank in range(options.gpus):
        head = f"{who}:{4720 + rank} [{rank}] NCCL INFO "
        lines.append(head + f"NVLS multicast support is {'' if nvls else 'not '}available on dev {rank}")
        peer = (rank + 1) % options.gpus
        lines += [head + f"Channel {channel:02d}/0 : {rank}[{rank}] -> {peer}[{peer}] via {path}"
                  for channel in range(0, _CHANNELS, 8)]  # fmt: skip
        lines.append(head + f"{_CHANNELS} coll channels, 0 collnet channels, {nvls} nvls channels, "
                     f"{_CHANNELS} p2p channels, {_CHANNELS} p2p channels per peer")  # fmt: skip
        lines.append(head + f"ncclCommInitAll comm 0x5600{rank:04x} rank {rank} nranks {options.gpus} cudaDev {rank} "
                     f"nvmlDev {rank} busId {rank + 1}b000 - Init COMPLETE")  # fmt: skip
    return lines


class _Row:
    """One printed line with the figures that the footer and the run time need."""

    def __init__(self, text: str, bus: float, microseconds: float) -> None:
        self.text, self.bus, self.microseconds = text, bus, microseconds
        self.times: list[float] = []
        self.halves: list[_Row] = []


def _row(size: int, options: _Options, truth: dict[str, Any], noise: random.Random) -> _Row:
    elements = size // 4
    nominal = _bus_bandwidth(size, truth["bus_bandwidth_gbps_by_bytes"])
    halves = [_half(size, disturbed(nominal, noise), options, truth) for _ in range(2)]
    if options.each_iteration:
        for half in halves:
            half.times = iterations.times(half.microseconds, options.iterations, truth.get("stalls"), noise)
            half.text += iterations.cells(half.times)
    if options.collective == "alltoall":
        halves[1].text = halves[1].text[:-5] + "  N/A"  # in place, alltoall overwrites what it would compare with
    shared = options.collective != "all_reduce"
    # Each rank's part is cut down to 16 bytes, so that what is moved may be a little less than what was asked for.
    count = elements // options.gpus & ~3 if shared else elements
    operation = _OPERATIONS[options.collective]
    text = (
        f"{count * (options.gpus if shared else 1) * 4:>12}  {count:>12}     float  {operation:>6}      -1"
        + "".join(half.text for half in halves)
    )
    row = _Row(text, sum(half.bus for half in halves) / 2, sum(half.microseconds for half in halves) / 2)
    row.halves = halves
    return row


def _half(size: int, bus: float, options: _Options, truth: dict[str, Any]) -> _Row:
    factor = options.factor_of_bus
    algorithm = bus / factor if factor else bus
    microseconds = size / algorithm / 1000 if algorithm else 1.0
    printed = _time(microseconds)
    algorithm = size / microseconds / 1000
    wrong = f"{int(truth.get('wrong', 0)):>5}" if options.check else "  N/A"
    return _Row(f"  {printed}  {algorithm:6.2f}  {algorithm * factor:6.2f}  {wrong}", algorithm * factor, microseconds)


def _time(microseconds: float) -> str:
    if microseconds >= 10000:
        return f"{microseconds:7.0f}"
    return f"{microseconds:7.1f}" if microseconds >= 100 else f"{microseconds:7.2f}"


def _bus_bandwidth(size: int, points: dict[str, float]) -> float:
    """Interpolated between the sizes that the ground truth names."""
    known = sorted((int(bytes_), gbps) for bytes_, gbps in points.items())
    if size <= known[0][0]:
        return max(known[0][1] * size / known[0][0], 0.01)
    for (low, low_gbps), (high, high_gbps) in pairwise(known):
        if size <= high:
            return low_gbps + (high_gbps - low_gbps) * (size - low) / (high - low)
    return known[-1][1]
