"""TransferBench 1.62: the presets ``p2p`` (one way) and ``a2a``, and the tests of a configuration file.

Forms: ROCm/TransferBench, client/include/Presets/PeerToPeer.hpp and AllToAll.hpp, and the output of 1.62 in its issues.
All pairs at once reach 96 % of what each reaches alone (46.55 of 48.44 GB/s on MI300X).
"""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

from lab.tools.view import NodeView, Output, disturbed

_VERSION = "1.62.00"
_TOGETHER = 0.961
_SOCKETS = 2
_SECONDS_TO_START, _SECONDS_PER_CELL = 3.0, 0.05
_TRANSFER = re.compile(r"\(([CG]\d+)->([DG]\d+)->([CG]\d+)\)")
_SUFFIXES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def run(tool: str, arguments: list[str], view: NodeView) -> Output:
    """Render one preset, or the tests of a file."""
    what, size = (*arguments, "", "")[:2]
    noise = view.noise(f"{tool} {what if what in _PRESETS else 'file'}", view.attempt(tool))
    lines = _PRESETS[what](view, noise) if what in _PRESETS else _file(what, _bytes(size), view, noise)
    if isinstance(lines, str):
        return Output("", 1, 0.5, lines)
    seconds = _SECONDS_TO_START + len(view.gpus) ** 2 * _SECONDS_PER_CELL
    head = [f"TransferBench v{_VERSION}", "=" * 63]
    return Output("\n".join([*head, *lines]) + "\n", seconds=seconds, uses_gpu=True)


def _bytes(text: str) -> int:
    return int(text[:-1]) * _SUFFIXES[text[-1]] if text[-1:] in _SUFFIXES else int(text or "67108864")


def _alone(view: NodeView, source: str, target: str, noise: random.Random) -> float:
    """What a transfer reaches alone; a device is ``C1`` or ``G3``."""
    bandwidth, places = view.document["bandwidth"], view.indexes
    if source[0] == target[0] == "C":
        return disturbed(35.8, noise)
    if source[0] == "C":
        return disturbed(bandwidth["host_to_device_gbps"][places[int(target[1:])]], noise)
    one = places[int(source[1:])]
    if target[0] == "C":
        return disturbed(bandwidth["device_to_host_gbps"][one], noise)
    if source == target:
        return disturbed(
            bandwidth["device_local_copy_gbps"][one] * view.gpus[int(source[1:])].get("memory_share", 1.0), noise
        )
    return disturbed(bandwidth["device_to_device_gbps"][one][places[int(target[1:])]], noise)


def _p2p(view: NodeView, noise: random.Random) -> list[str]:
    remote = os.environ.get("USE_REMOTE_READ") == "1"
    cpus = int(os.environ.get("NUM_CPU_DEVICES", str(_SOCKETS)))
    devices = [f"C{index}" for index in range(cpus)] + [f"G{index}" for index in range(len(view.gpus))]
    cells = {(one, other): round(_alone(view, one, other, noise), 2) for one in devices for other in devices}
    how = ("Remote", "Local") if remote else ("Local", "Remote")
    lines = [
        "Bytes Per Direction 67108864",
        f"Unidirectional copy peak bandwidth GB/s [{how[0]} read / {how[1]} write] (GPU-Executor: GFX)",
        f"{'SRC' + chr(92) + 'EXE+DST' if remote else 'SRC+EXE' + chr(92) + 'DST':>12}"
        + "".join(f"{_kind(one):>7} {int(one[1:]):02d}" for one in devices),
    ]
    for one in devices:
        row = "".join(f"{cells[one, other]:>10.2f}" for other in devices)
        lines.append(f"{_kind(one):>5} {int(one[1:]):02d}  ->{row}")
    return [*lines, *_averages(cells), ""]


def _kind(device: str) -> str:
    return "CPU" if device[0] == "C" else "GPU"


def _averages(cells: dict[tuple[str, str], float]) -> list[str]:
    printed = []
    for kinds in (("C", "C"), ("C", "G"), ("G", "C"), ("G", "G")):
        values = [value for (one, other), value in cells.items() if one != other and (one[0], other[0]) == kinds]
        printed.append(f"{sum(values) / len(values):>10.2f}" if values else f"{'N/A':>10}")
    return [f"{'':25}  CPU->CPU  CPU->GPU  GPU->CPU  GPU->GPU", f"Averages (During UniDir):{''.join(printed)}"]


def _a2a(view: NodeView, noise: random.Random) -> list[str]:
    count = len(view.gpus)
    pairs = {
        (one, other): round(_alone(view, f"G{one}", f"G{other}", noise) * _TOGETHER, 3)
        for one in range(count)
        for other in range(count)
        if one != other
    }
    lines = [
        "Summary: [67108864 bytes per Transfer]",
        "=" * 58,
        "SRC\\DST " + "".join(f" GPU {index:02d}    " for index in range(count)) + "    STotal      Actual",
    ]
    actual = {}
    for one in range(count):
        row = [f"{pairs[one, other]:>8.3f}  " if one != other else f"{'N/A':>8}  " for other in range(count)]
        sent = [rate for (source, _), rate in pairs.items() if source == one]
        actual[one] = min(sent, default=0.0) * len(sent)
        lines.append(f"GPU {one:02d} {' '.join(row)}    {sum(sent):>8.3f}    {actual[one]:>8.3f}")
    received = [sum(rate for (_, target), rate in pairs.items() if target == index) for index in range(count)]
    total = sum(pairs.values())
    ends = f"{min(actual.values(), default=0):>8.3f}    {max(actual.values(), default=0):>8.3f}"
    lines += ["", f"RTotal {' '.join(f'{value:>8.3f}  ' for value in received)}    {total:>8.3f}    {ends}", ""]
    return [*lines, f"Average   bandwidth (GPU Timed): {total / max(len(pairs), 1):8.3f} GB/s",
            f"Aggregate bandwidth (GPU Timed): {total:8.3f} GB/s",
            f"Aggregate bandwidth (CPU Timed): {total * 0.75:8.3f} GB/s"]  # fmt: skip


def _file(name: str, size: int, view: NodeView, noise: random.Random) -> list[str] | str:
    try:
        text = Path(name).read_text("ascii")
    except OSError:
        return f"[ERROR] Unable to open transfer configuration file: [{name}]\n"
    lines: list[str] = []
    for test, line in enumerate((row for row in text.splitlines() if row.strip() and row[0] != "#"), start=1):
        transfers = _TRANSFER.findall(line)
        if any(int(device[1:]) >= len(view.gpus) for row in transfers for device in row if device[0] != "C"):
            return f"[ERROR] Test {test}: GPU index must be between 0 and {len(view.gpus) - 1} inclusively\n"
        lines += _test(test, transfers, size, view, noise)
    return lines


def _test(
    number: int, transfers: list[tuple[str, str, str]], size: int, view: NodeView, noise: random.Random
) -> list[str]:
    lines = [f"Test {number}:"]
    rates = [
        _alone(view, source, target, noise) * (0.95 if len(transfers) > 1 else 1.0) for source, _, target in transfers
    ]
    for place, ((source, engine, target), rate) in enumerate(zip(transfers, rates, strict=True)):
        index, figures = int(engine[1:]), f"| {rate:8.3f} GB/s | {size / rate / 1e6:8.3f} ms | {size:12d} bytes |"
        lines += [
            f" Executor: DMA {index:02d} {figures} {rate:.3f}  GB/s (sum)",
            f"     Transfer {place:02d}  {figures} {source} -> D{index:03d}:001 -> {target}",
        ]
    total = sum(rates)
    return [*lines, f" Aggregate (CPU)  | {total * 0.99:8.3f} GB/s | {size / total / 1e6:8.3f} ms | {size:12d} bytes | "
                    "Overhead: 0.061 ms"]  # fmt: skip


_PRESETS = {"p2p": _p2p, "a2a": _a2a}
