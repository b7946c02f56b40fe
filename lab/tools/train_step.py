"""The probe's short training over several nodes: the document that PyTorch's ranks would give, without PyTorch.

A GPU computes at a share of its GEMM rate; one that is late holds up the step of all, as the all_reduce does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lab.tools.view import NodeView, Output, disturbed

if TYPE_CHECKING:
    from lab.tools.all_reduce_perf import Member

SHARE = 0.7
"""Of a GPU's GEMM rate in bf16: 540 of 794 TFLOPS on H100 (NVCRE, Nemotron-4 15B on AWS)."""
_COMMUNICATION = 0.04
_DEFAULTS = {"steps": 30, "warmup": 10, "layers": 4, "hidden": 4096, "heads": 32, "sequence": 2048, "batch": 4,
             "seed": 20261201}  # fmt: skip
_TRANSPORT = {True: "NET/IB/0/GDRDMA", False: "NET/Socket/0"}


def run(tool: str, arguments: list[str], view: NodeView, over: Sequence[Member]) -> Output:
    """Render one run over all members."""
    pairs = zip(arguments[::2], arguments[1::2], strict=True)
    given = {**_DEFAULTS, **{name.removeprefix("--"): int(value) for name, value in pairs}}
    noise = view.noise(f"{tool} {' '.join(arguments)}", view.attempt(tool))
    tokens = given["batch"] * given["sequence"]
    flops = 72.0 * tokens * given["layers"] * given["hidden"] ** 2 * (1.0 + given["sequence"] / (6.0 * given["hidden"]))
    usual = flops / (SHARE * float(view.document["bandwidth"]["gemm_tflops"]["bf16"])) / 1e9
    late = [(member.node, gpu, milliseconds) for member in over for gpu, milliseconds in enumerate(member.late_ms)]
    computed = [disturbed(usual, noise) + milliseconds for _, _, milliseconds in late]
    step = max(computed) + usual * _COMMUNICATION
    ranks = [
        {"rank": rank, "node": node, "gpu": gpu, "loss": 1.0, "compute_ms": _figures(own), "step_ms": _figures(step)}
        for rank, ((node, gpu, _), own) in enumerate(zip(late, computed, strict=True))
    ]
    document = {
        "schema": "nodeworthy.train-step/1", "backend": "nccl", "device": view.gpus[0]["name"],
        "versions": {"torch": "2.9.1", "nccl": view.image.get("nccl", "2.27.3")}, "dtype": "bf16", **given,
        "flops_per_step": flops, "ranks": ranks,
    }  # fmt: skip
    path = _TRANSPORT[all(member.rdma for member in over)]
    lines = [f"{view.document['node']}:4711:4720 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via {path}"]
    seconds = (given["steps"] + given["warmup"]) * step / 1000 + 20.0
    return Output("\n".join([*lines, json.dumps(document)]) + "\n", seconds=seconds, uses_gpu=True)


def _figures(milliseconds: float) -> dict[str, Any]:
    shares = {"median": 1.0, "least": 0.99, "most": 1.02}
    return {name: round(milliseconds * share, 4) for name, share in shares.items()}
