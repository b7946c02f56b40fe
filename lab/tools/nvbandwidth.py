"""nvbandwidth 0.8: ``-j`` and text output, ``-t`` by name or number, ``-l``."""

from __future__ import annotations

import json
import random
from typing import Any

from lab.tools.view import NodeView, Output, disturbed

_VERSION = "v0.8"
_TESTS = (
    "host_to_device_memcpy_ce",
    "device_to_host_memcpy_ce",
    "host_to_device_bidirectional_memcpy_ce",
    "device_to_host_bidirectional_memcpy_ce",
    "device_to_device_memcpy_read_ce",
    "device_to_device_memcpy_write_ce",
    "device_to_device_bidirectional_memcpy_read_ce",
    "device_to_device_bidirectional_memcpy_write_ce",
    "host_device_latency_sm",
    "device_local_copy",
)
_ARROWS = {
    "host_to_device_memcpy_ce": "CPU(row) -> GPU(column)",
    "device_to_host_memcpy_ce": "CPU(row) <- GPU(column)",
    "host_to_device_bidirectional_memcpy_ce": "CPU(row) <-> GPU(column)",
    "device_to_host_bidirectional_memcpy_ce": "CPU(row) <-> GPU(column)",
    "device_to_device_memcpy_read_ce": "GPU(row) -> GPU(column)",
    "device_to_device_memcpy_write_ce": "GPU(row) <- GPU(column)",
}
_FIGURES = {"host_device_latency_sm": "host_device_latency_ns", "device_local_copy": "device_local_copy_gbps"}
_SECONDS_PER_CELL = 0.45
_SECONDS_TO_START = 4.0

Matrix = list[list[float | None]]


def run(_tool: str, arguments: list[str], view: NodeView) -> Output:
    """Render the chosen tests."""
    if "-l" in arguments or "--list" in arguments:
        return Output("\n".join(f"{number}, {name}" for number, name in enumerate(_TESTS)) + "\n")
    chosen = _chosen(arguments)
    if isinstance(chosen, Output):
        return chosen
    if not view.gpus:
        return Output("", 1, 1.0, "CUDA_ERROR_NO_DEVICE no CUDA-capable device is detected\n")
    noise = view.noise("nvbandwidth " + " ".join(chosen), view.attempt("nvbandwidth"))
    matrices = {name: _matrix(name, view, noise) for name in chosen}
    cells = sum(len(row) for matrix in matrices.values() if matrix for row in matrix)
    render = _json if "-j" in arguments or "--json" in arguments else _plain
    return Output(render(matrices, view), seconds=_SECONDS_TO_START + cells * _SECONDS_PER_CELL, uses_gpu=True)


def _chosen(arguments: list[str]) -> list[str] | Output:
    names: list[str] = []
    collecting = False
    for argument in arguments:
        if argument.startswith("-"):
            collecting = argument in ("-t", "--testcase")
        elif collecting:
            name = _TESTS[int(argument)] if argument.isdigit() and int(argument) < len(_TESTS) else argument
            if name not in _TESTS:
                return Output("", 1, 0.2, f"ERROR: Testcase {name} not found!\n")
            names.append(name)
    return names or list(_TESTS)


def _matrix(name: str, view: NodeView, noise: random.Random) -> Matrix:
    """Cells in GB/s; an empty matrix is a waived test."""
    bandwidth: dict[str, Any] = view.document.get("bandwidth", {})
    if name in _FIGURES:
        values = bandwidth.get(_FIGURES[name], [])
        return [[disturbed(values[place], noise) for place in view.indexes]] if values else []
    factor = 1.9 if "bidirectional" in name else 1.0
    if name.startswith("device_to_device"):
        return _peer_matrix(bandwidth["device_to_device_gbps"], view.indexes, factor, noise)
    key = "host_to_device_gbps" if name.startswith("host_to_device") else "device_to_host_gbps"
    return [[disturbed(bandwidth[key][place] * factor, noise) for place in view.indexes]]


def _peer_matrix(cells: list[list[float | None]], indexes: list[int], factor: float, noise: random.Random) -> Matrix:
    if len(indexes) < 2:
        return []
    return [[_peer_cell(cells[row][column], factor, noise) for column in indexes] for row in indexes]


def _peer_cell(value: float | None, factor: float, noise: random.Random) -> float | None:
    return None if value is None else disturbed(value * factor, noise)


def _description(name: str) -> str:
    if name == "host_device_latency_sm":
        return "memory latency SM CPU(row) <-> GPU(column) (ns)"
    if name == "device_local_copy":
        return "memcpy local GPU(column) bandwidth (GB/s)"
    return f"memcpy CE {_ARROWS.get(name, 'GPU(row) <-> GPU(column)')} bandwidth (GB/s)"


def _json(matrices: dict[str, Matrix], view: NodeView) -> str:
    root: dict[str, Any] = {
        "CUDA Runtime Version": _cuda_number(view),
        "Driver Version": view.image.get("driver", ""),
        "git_version": _VERSION,
        "testcases": [_case(name, matrix) for name, matrix in matrices.items()],
    }
    root["version"] = _VERSION
    return json.dumps({"nvbandwidth": root}, indent="\t", separators=(",", " : ")) + "\n"


def _case(name: str, matrix: Matrix) -> dict[str, Any]:
    cells = [cell for row in matrix for cell in row if cell is not None]
    if not cells:
        return {"name": name, "status": "Waived"}
    return {
        "average": sum(cells) / len(cells),
        "bandwidth_description": _description(name) + " ",
        "bandwidth_matrix": [["N/A" if cell is None else f"{cell:.6g}" for cell in row] for row in matrix],
        "max": max(cells),
        "min": min(cells),
        "name": name,
        "status": "Passed",
        "sum": sum(cells),
    }


def _cuda_number(view: NodeView) -> int:
    major, _, minor = str(view.image.get("cuda", "12.4")).partition(".")
    return int(major) * 1000 + int(minor or 0) * 10


def _plain(matrices: dict[str, Matrix], view: NodeView) -> str:
    lines = [
        f"nvbandwidth Version: {_VERSION}",
        f"Built from Git version: {_VERSION}",
        "",
        f"CUDA Runtime Version: {_cuda_number(view)}",
        f"CUDA Driver Version: {_cuda_number(view)}",
        f"Driver Version: {view.image.get('driver', '')}",
        "",
        str(view.document.get("node", "")),
    ]
    lines += [f"Device {place}: {gpu['name']} ({gpu['pci_bus_id']})" for place, gpu in enumerate(view.gpus)]
    for name, matrix in matrices.items():
        lines += ["", *(_plain_case(name, matrix) if matrix else [f"Waived: {name}"])]
    lines += ["", "NOTE: The reported results may not reflect the full capabilities of the platform.",
              "Performance can vary with software drivers, hardware clocks, and system topology."]  # fmt: skip
    return "\n".join(lines) + "\n"


def _plain_case(name: str, matrix: Matrix) -> list[str]:
    header = "".join(f"{column:>10}" for column in range(len(matrix[0])))
    rows = ["".join([f"{place:>2}", *("       N/A" if cell is None else f"{cell:>10.2f}" for cell in row)])
            for place, row in enumerate(matrix)]  # fmt: skip
    total = sum(cell for row in matrix for cell in row if cell is not None)
    return [f"Running {name}.", _description(name), "  " + header, *rows, "", f"SUM {name} {total:.2f}"]
