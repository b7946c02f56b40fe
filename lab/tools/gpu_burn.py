"""gpu-burn 1.1: progress per GPU with compute rate, errors and temperature, and the summary."""

from __future__ import annotations

from typing import Any

from lab.tools.view import NodeView, Output, disturbed

_STEPS = tuple(5.0 * step for step in range(1, 21))
_WRONG_AT = 40.0


def run(_tool: str, arguments: list[str], view: NodeView) -> Output:
    """Render one burn; its last argument is the number of seconds."""
    seconds = float(arguments[-1]) if arguments and arguments[-1].isdigit() else 10.0
    gpus = view.gpus
    if not gpus:
        return Output("No CUDA devices\n", 1, 1.0)
    noise = view.noise("gpu_burn", view.attempt("gpu_burn"))
    rates = [int(disturbed(float(view.document["bandwidth"]["burn_gflops"]), noise)) for _ in gpus]
    lines = [f"GPU {number}: {gpu['name']} (UUID: {gpu['uuid']})" for number, gpu in enumerate(gpus)]
    lines.append(f"Burning for {seconds:.0f} seconds.")
    wrong = [int(gpu.get("wrong_products", 0)) for gpu in gpus]
    wrong[0] += int(view.document["bandwidth"]["all_reduce"].get("wrong", 0))
    for step in _STEPS:
        at = [_heated(gpu, rate, seconds * step / 100) for gpu, rate in zip(gpus, rates, strict=True)]
        done = " - ".join(f"{int(rate * step / 100)} ({rate} Gflop/s)" for rate, _ in at)
        errors = " - ".join(str(count if step == _WRONG_AT else 0) for count in wrong)
        heat = " - ".join(f"{celsius} C" for _, celsius in at)
        lines.append(f"{step:.1f}%  proc'd: {done}   errors: {errors}   temps: {heat}")
    lines += ["Killing processes with SIGTERM (soft kill)", "", f"Tested {len(gpus)} GPUs:"]
    lines += [f"\tGPU {number}: {'FAULTY' if count else 'OK'}" for number, count in enumerate(wrong)]
    return Output("\n".join(lines) + "\n", 1 if any(wrong) else 0, seconds, uses_gpu=True)


def _heated(gpu: dict[str, Any], rate: int, seconds: float) -> tuple[int, int]:
    """Rate (Gflop/s) and temperature (C) of a GPU after so many seconds of load."""
    weak = gpu.get("cooling")
    if weak and seconds > float(weak["after_seconds"]):
        return int(rate * float(weak["slows_to"])), int(weak["temperature_celsius"])
    return rate, int(gpu["temperature_celsius"]) + 30
