"""Rates of GPUs and of the host's memory: SuperBench's cublaslt_gemm and gpu_stream, and STREAM 5.10.

A GPU that is too hot computes at three quarters of its rate. A type that this cublaslt_gemm does not know ends it.
"""

from __future__ import annotations

import os
import random
from typing import Any

from lab.tools.view import NodeView, Output, disturbed

_HOT = 0.75
_BLOCKS = {128: 1.0, 256: 0.976, 512: 0.923, 1024: 0.853}
_KERNELS = {"COPY": ("copy", 1.0), "SCALE": ("copy", 0.995), "ADD": ("triad", 0.999), "TRIAD": ("triad", 1.0)}
_BUFFER = 4294967296
_ELEMENTS = 400_000_000
_RULE = "-" * 61
_UNKNOWN = "terminate called after throwing an instance of 'std::invalid_argument'\n  what():  Unknown type {}\n"


def run(tool: str, arguments: list[str], view: NodeView) -> Output:
    """Render one run of the named tool."""
    noise = view.noise(f"{tool} {os.environ.get('CUDA_VISIBLE_DEVICES', '')}", view.attempt(tool))
    if tool == "stream":
        return _stream(view, noise)
    return (_gemm if tool == "cublaslt_gemm" else _gpu_stream)(arguments, view, noise)


def _gemm(arguments: list[str], view: NodeView, noise: random.Random) -> Output:
    options = dict(zip(arguments, [*arguments[1:], ""], strict=True))
    number = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    if not number.isdigit() or int(number) >= len(view.gpus):
        return Output("", 1, 0.5, "CUDA error: no CUDA-capable device is detected\n")
    m, n, k = (int(options.get(name) or 16) for name in ("-m", "-n", "-k"))
    kind = options.get("-t", "fp8e4m3")
    rates: dict[str, float] = view.document["bandwidth"]["gemm_tflops"]
    if kind not in rates:
        return Output("", 134, 0.5, _UNKNOWN.format(kind))
    gpu = view.gpus[int(number)]
    rate = disturbed(float(rates[kind]), noise) * heat(gpu) * float(gpu.get("compute_share", 1.0))
    microseconds = m * n * (2 * k - 1) / rate / 1e6
    text = f"{m}\t{n}\t{k}\t{options.get('-b') or 0}\t{microseconds:f}\t{rate:f}\n"
    return Output(text, seconds=4.0, uses_gpu=True)


def _gpu_stream(_arguments: list[str], view: NodeView, noise: random.Random) -> Output:
    figures: dict[str, float] = view.document["bandwidth"]["gpu_stream"]
    peak = figures["peak_gbps"]
    lines = ["STREAM Benchmark", f"Buffer size(bytes): {_BUFFER}", "Number of warm up runs: 10",
             "Number of loops: 40", "Check data: No"]  # fmt: skip
    for number, gpu in enumerate(view.gpus):
        clock = f"Memory: 2619.00MHz x 5120-bit = {peak:.2f} GB/s PEAK   ECC is ON"
        lines += ["", f'Device {number}: "{gpu["name"]}"  132 SMs(9.0)  {clock}']
        share = heat(gpu) * float(gpu.get("memory_share", 1.0))
        base = {name: disturbed(figures[f"{name}_gbps"], noise) * share for name in ("copy", "triad")}
        for kernel, (name, share) in _KERNELS.items():
            for block, part in _BLOCKS.items():
                value = base[name] * share * part
                lines.append(f"STREAM_{kernel}_double_gpu_{number}_buffer_{_BUFFER}_block_{block}"
                             f"\t{value:.2f}\t{value / peak * 100:.2f}")  # fmt: skip
    return Output("\n".join(lines) + "\n", seconds=20.0, uses_gpu=True)


def heat(gpu: dict[str, Any]) -> float:
    """What share of its rate a GPU keeps: all of it, unless it is slowed down."""
    return _HOT if gpu.get("throttle_reasons") else 1.0


def _stream(view: NodeView, noise: random.Random) -> Output:
    figures: dict[str, float] = view.document["bandwidth"]["host_stream"]
    lines = [
        _RULE, "STREAM version $Revision: 5.10 $", _RULE, "This system uses 8 bytes per array element.", _RULE,
        f"Array size = {_ELEMENTS} (elements), Offset = 0 (elements)",
        "Memory per array = 3051.8 MiB (= 3.0 GiB).", "Total memory required = 9155.3 MiB (= 8.9 GiB).",
        "Each kernel will be executed 10 times.",
        " The *best* time for each kernel (excluding the first iteration)",
        " will be used to compute the reported bandwidth.", _RULE,
        "Number of Threads requested = 112", "Number of Threads counted = 112", _RULE,
        "Your clock granularity/precision appears to be 1 microseconds.",
        "Each test below will take on the order of 12105 microseconds.", "   (= 12105 clock ticks)",
        "Increase the size of the arrays if this shows that", "you are not getting at least 20 clock ticks per test.",
        _RULE, "Function    Best Rate MB/s  Avg time     Min time     Max time",
    ]  # fmt: skip
    for kernel, name, arrays in (("Copy", "copy", 2), ("Scale", "copy", 2), ("Add", "triad", 3), ("Triad", "triad", 3)):
        best = arrays * _ELEMENTS * 8 / disturbed(figures[f"{name}_gbps"], noise) / 1e9
        rate = arrays * _ELEMENTS * 8 / best / 1e6
        lines.append(f"{kernel + ':':<12}{rate:>12.1f}     {best * 1.003:.6f}     {best:.6f}     {best * 1.01:.6f}")
    lines += [_RULE, "Solution Validates: avg error less than 1.000000e-13 on all three arrays", _RULE]
    return Output("\n".join(lines) + "\n", seconds=5.0)
