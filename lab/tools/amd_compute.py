"""Rates of AMD's GPUs: hipblaslt-bench of ROCm 7.0 and BabelStream 5.0 with HIP (``hip-stream``), one GPU a run.

A GPU that is too hot computes at three quarters of its rate. Forms: ROCm/hipBLASLt, AMD's customer acceptance guide.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from lab.tools.compute import heat
from lab.tools.view import NodeView, Output, disturbed

_HEAD = ("transA,transB,grouped_gemm,batch_count,m,n,k,alpha,lda,stride_a,beta,ldb,stride_b,ldc,stride_c,ldd,stride_d,"
         "a_type,b_type,c_type,d_type,compute_type,activation_type,bias_vector,"
         "hipblaslt-Gflops,hipblaslt-GB/s,us")  # fmt: skip
_TYPES = {"bf16_r": "bf16", "f8_fnuz_r": "fp8e4m3", "f32_r": "fp32", "f64_r": "fp64"}
_DEFAULT_ELEMENTS = 33_554_432
_KERNELS = {"Copy": ("copy", 2, 1.0), "Mul": ("copy", 2, 0.967), "Add": ("triad", 3, 1.002),
            "Triad": ("triad", 3, 1.0), "Dot": ("copy", 2, 0.911)}  # fmt: skip
Gpu = dict[str, Any]


def run(tool: str, arguments: list[str], view: NodeView) -> Output:
    """Render one run of the named tool on the GPU that ``--device`` names."""
    options = dict(zip(arguments, [*arguments[1:], ""], strict=True))
    number = options.get("--device", "0")
    if not number.isdigit() or int(number) >= len(view.gpus):
        return Output("", 1, 0.5, "Invalid device index\n")
    noise = view.noise(f"{tool} {number}", view.attempt(tool))
    return _TOOLS[tool](options, view.gpus[int(number)], view, noise)


def _gemm(options: Mapping[str, str], gpu: Gpu, view: NodeView, noise: random.Random) -> Output:
    m, n, k = (int(options.get(name) or 128) for name in ("-m", "-n", "-k"))
    kind = options.get("--precision", "f32_r")
    rates: dict[str, float] = view.document["bandwidth"]["gemm_tflops"]
    if _TYPES.get(kind) not in rates:
        return Output("", 1, 0.5, f"Invalid value for --precision {kind}\n")
    rate = disturbed(float(rates[_TYPES[kind]]), noise) * heat(gpu) * float(gpu.get("compute_share", 1.0))
    took = 2 * m * n * k / rate / 1e6
    figures = (
        f"N,N,0,1,{m},{n},{k},1,{m},{m * k},0,{k},{n * k},{m},{m * n},{m},{m * n},"
        f"{kind},{kind},{kind},{kind},f32_r,none,0,{rate * 1000:.6g},{3 * 2 * m * n / took / 1e3:.6g},{took:.6g}"
    )
    text = f"hipBLASLt version: 100000\nIs supported 1 / Total solutions: 1\n[0]:{_HEAD}\n    {figures}\n"
    return Output(text, seconds=4.0, uses_gpu=True)


def _stream(options: Mapping[str, str], gpu: Gpu, view: NodeView, noise: random.Random) -> Output:
    figures: dict[str, float] = view.document["bandwidth"]["gpu_stream"]
    elements = int(options.get("-s") or _DEFAULT_ELEMENTS)
    share = float(gpu.get("memory_share", 1.0)) * heat(gpu)
    lines = [
        "BabelStream", "Version: 5.0", "Implementation: HIP", f"Running kernels {options.get('-n') or 100} times",
        "Precision: double", f"Array size: {elements * 8 / 1e6:.1f} MB (={elements * 8 / 1e9:.1f} GB)",
        f"Total size: {elements * 24 / 1e6:.1f} MB (={elements * 24 / 1e9:.1f} GB)",
        f"Using HIP device {gpu['name']}", "Driver: 60241133", "Memory: DEFAULT",
        f"{'Function':<12}{'MBytes/sec':<12}{'Min (sec)':<12}{'Max':<12}{'Average':<12}",
    ]  # fmt: skip
    for kernel, (name, arrays, part) in _KERNELS.items():
        rate = disturbed(figures[f"{name}_gbps"], noise) * part * share * 1000
        took = arrays * elements * 8 / rate / 1e6
        lines.append(f"{kernel:<12}{rate:<12.3f}{took:<12.5f}{took * 1.1:<12.5f}{took * 1.02:<12.5f}")
    return Output("\n".join(lines) + "\n", seconds=6.0, uses_gpu=True)


_TOOLS: Mapping[str, Callable[[Mapping[str, str], Gpu, NodeView, random.Random], Output]] = {
    "hipblaslt-bench": _gemm,
    "hip-stream": _stream,
}
