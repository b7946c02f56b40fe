"""Runs one fake tool: ``main.py TOOL [arguments ...]``.

Kept apart from the rendering so that the faults of a tool (it hangs, crashes, prints half or
garbage) and captured outputs work the same way for every one of them.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lab.tools import host_files
from lab.tools.view import NodeView, Output, load

_MATRIX = re.compile(r"^\s*GPU0\s+", re.MULTILINE)
_MODULES = {
    "dcgmi": "dcgmi",
    "nvidia-smi": "nvidia_smi",
    "amd-smi": "amd_smi",
    "TransferBench": "transferbench",
    "hipblaslt-bench": "amd_compute",
    "hip-stream": "amd_compute",
    "nvbandwidth": "nvbandwidth",
    "all_reduce_perf": "all_reduce_perf",
    "all_gather_perf": "all_reduce_perf",
    "reduce_scatter_perf": "all_reduce_perf",
    "alltoall_perf": "all_reduce_perf",
    "mpirun": "mpirun",
    "orted": "mpirun",
    "chronyc": "host",
    "stress-ng": "host",
    "smartctl": "host",
    "fio": "host",
    "ib_write_bw": "perftest",
    "iperf3": "iperf3",
    "ib_write_lat": "perftest",
    "gpu_burn": "gpu_burn",
    "lldpcli": "lldpcli",
    "ibstat": "ibstat",
    "mlxlink": "mlxlink",
    "cublaslt_gemm": "compute",
    "gpu_stream": "compute",
    "stream": "compute",
    "dmesg": "dmesg",
    "tpm2_quote": "tpm2",
    "tpm2_pcrread": "tpm2",
}


def main(arguments: list[str]) -> int:
    """Play one tool; its exit code is the real tool's."""
    tool, rest = Path(arguments[0]).name, arguments[1:]
    try:
        view = load()
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{tool}: the lab's node view cannot be read ({error})\n")
        return 127
    output = _replayed(tool, rest, view) or import_module(f"lab.tools.{_MODULES[tool]}").run(tool, rest, view)
    fault = view.document.get("tool_faults", {}).get(tool)
    if output.uses_gpu:
        _log_under_load(view)
        _count_under_load(view, output.seconds)
    if fault == "hang":
        _hang()
    time.sleep(output.seconds / view.speed)
    text = _spoil(output.text, fault, view)
    sys.stderr.write(output.error)
    _print(text)
    if fault == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    return output.exit_code


def _replayed(tool: str, arguments: list[str], view: NodeView) -> Output | None:
    """A captured output, if the node is backed by captures that hold this tool; the others answer as on any node.

    The view names a folder. Its ``index.json`` maps a tool to entries of ``match`` (a part of the
    command line), ``file`` and ``exit_code``; without an index ``<tool>.txt`` or ``<tool>.json`` is
    printed whatever the arguments.
    """
    place = view.document.get("replay_tools")
    if not place:
        return None
    folder = view.folder / str(place)
    line = " ".join(arguments)
    for entry in _entries(folder, tool):
        if entry.get("match", "") in line:
            text = (folder / entry["file"]).read_text("utf-8", "surrogateescape")
            if "topo" in arguments and not _MATRIX.search(text):
                return None  # what nvidia-smi printed when it was asked for something else
            return Output(text, int(entry.get("exit_code", 0)), uses_gpu=True)
    return None


def _entries(folder: Path, tool: str) -> list[dict[str, Any]]:
    index = folder / "index.json"
    if index.exists():
        entries: list[dict[str, Any]] = json.loads(index.read_text("utf-8")).get(tool, [])
        return entries
    names = [f"{tool}{suffix}" for suffix in (".txt", ".json") if (folder / f"{tool}{suffix}").exists()]
    return [{"file": name} for name in names]


def _log_under_load(view: NodeView) -> None:
    """Let the kernel say what load brings about, and once a boot what a capture of its log holds."""
    lines, captured = view.document.get("kernel_log_under_load", []), view.document.get("kernel_log_captured", [])
    log = view.folder / "kmsg"
    try:
        if captured and captured[-1] not in log.read_text("utf-8", "replace"):
            lines = [*captured, *lines]
        if lines:
            with log.open("a", encoding="utf-8") as stream:
                stream.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        sys.stderr.write(f"lab: the kernel log cannot be written ({error})\n")


def _count_under_load(view: NodeView, seconds: float) -> None:
    """Let counters rise as the view says that load makes them."""
    view.attempt("load")
    _warm_up(view, seconds)
    root, rises = os.environ.get("NODEWORTHY_HOST_ROOT"), view.document.get("rises_under_load") or {}
    if root and rises:
        host_files.bump(Path(root), rises, view.document)


def _warm_up(view: NodeView, seconds: float) -> None:
    """Say how long the GPUs are loaded, where one of them has weak cooling; the fake NVML shows what that does."""
    if any(gpu.get("cooling") for gpu in view.document.get("gpus", [])):
        (view.folder / "load_seconds").write_text(f"{seconds}\n", "utf-8")


def _hang() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as a process that waits for a lost GPU
    while True:
        time.sleep(3600)


def _spoil(text: str, fault: str | None, view: NodeView) -> str:
    if fault in ("truncate", "crash"):
        return text[: len(text) * 3 // 5]
    if fault == "garbage":
        noise = random.Random(str(view.document.get("boot_id")))
        return "".join(noise.choice('\x00\x07\x1b[{}":,0123456789abcXYZ \n\ufffd') for _ in range(4000))
    return text


def _print(text: str) -> None:
    try:
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
