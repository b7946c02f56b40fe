"""A short training on every rank of a group: how long each GPU computes for one step, and how long the step takes.

Started once per GPU by `mpirun` (or any launcher that sets `RANK`, `WORLD_SIZE` and `LOCAL_RANK`). Every rank holds the
same few layers of a GPT (attention and MLP, random weights of a fixed seed) and random data of its own. A step is
forward, backward, and then the all_reduce of all gradients. The compute time ends before the all_reduce, so that a GPU
that is late is told from those that wait for it; the step time ends after it. NCCL on GPUs, gloo on processors, where
the figures mean nothing and the program can be tried. Rank 0 prints one JSON document (`nodeworthy.train-step/1`).

Floating-point operations of a step: 72 x tokens x layers x hidden^2 x (1 + sequence / (6 x hidden)), which is Narayanan
et al. 2021 (Efficient Large-Scale Language Model Training on GPU Clusters, equation 3) without activations computed
twice and without the vocabulary. Exit codes: 0; 2 arguments; 127 where PyTorch is not installed.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from math import isfinite
from statistics import median
from typing import Any

SCHEMA = "nodeworthy.train-step/1"
_RANK = ("RANK", "OMPI_COMM_WORLD_RANK")
_SIZE = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE")
_LOCAL = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK")
_STATISTICS = ("median", "least", "most")
_NAME_BYTES = 253
"""The longest name of a Kubernetes node."""
_NOT_FOUND = 127
_RATE = 1e-4
"""How far a step moves the weights; small, so that the loss stays finite."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Train on this rank; see the module."""
    given = options(arguments)
    try:
        torch: Any = import_module("torch")
        distributed: Any = import_module("torch.distributed")
    except ImportError as error:
        sys.stderr.write(f"PyTorch is not installed in the probe's image ({error})\n")
        return _NOT_FOUND
    rank, size, local = (_number(names) for names in (_RANK, _SIZE, _LOCAL))
    on_gpu = bool(torch.cuda.is_available())
    device = torch.device("cuda", local) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if on_gpu else "gloo", init_method="env://", rank=rank, world_size=size)
    try:
        figures = _train(torch, distributed, device, given, rank)
        ranks = _gathered(torch, distributed, device, [float(local), *figures])
    finally:
        distributed.destroy_process_group()
    if rank == 0:
        print(json.dumps(_document(torch, given, on_gpu, ranks)), flush=True)
    return 0


def flops_of(given: Mapping[str, int]) -> float:
    """Floating-point operations of one rank's step, forward and backward."""
    hidden, sequence = given["hidden"], given["sequence"]
    tokens = given["batch"] * sequence
    return 72.0 * tokens * given["layers"] * hidden**2 * (1.0 + sequence / (6.0 * hidden))


def options(arguments: Sequence[str] | None) -> dict[str, int]:
    """The numbers of the run, from the command line."""
    parser = argparse.ArgumentParser(prog="train_step")
    defaults = {"steps": 30, "warmup": 10, "layers": 4, "hidden": 4096, "heads": 32, "sequence": 2048, "batch": 4}
    for name, value in {**defaults, "seed": 20261201}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    return dict(vars(parser.parse_args(arguments)))


def _number(names: Sequence[str]) -> int:
    return int(next((os.environ[name] for name in names if name in os.environ), "0" if names is not _SIZE else "1"))


def _node() -> str:
    """The node that this rank runs on: as its own plan names it, else its host's name."""
    try:
        return str(json.loads(os.environ["NODEWORTHY_PLAN"])["node"])
    except (KeyError, ValueError):
        return socket.gethostname()


def _gathered(torch: Any, distributed: Any, device: Any, figures: Sequence[float]) -> list[dict[str, Any]]:
    """What all ranks measured, by rank. Figures and names travel as tensors: nothing is unpickled."""
    name = _node().encode()[:_NAME_BYTES].ljust(_NAME_BYTES, b"\0")
    own = (torch.tensor(figures, dtype=torch.float64, device=device),
           torch.tensor(list(name), dtype=torch.uint8, device=device))  # fmt: skip
    size = distributed.get_world_size()
    all_figures, all_names = ([torch.empty_like(one) for _ in range(size)] for one in own)
    for gathered, one in ((all_figures, own[0]), (all_names, own[1])):
        distributed.all_gather(gathered, one)
    rows = []
    for rank, (found, named) in enumerate(zip(all_figures, all_names, strict=True)):
        local, loss, *times = found.tolist()
        node = bytes(named.tolist()).rstrip(b"\0").decode()
        halves = {"compute_ms": times[:3], "step_ms": times[3:]}
        told = {half: dict(zip(_STATISTICS, values, strict=True)) for half, values in halves.items()}
        rows.append({"rank": rank, "node": node, "gpu": int(local), "loss": loss if isfinite(loss) else None, **told})
    return rows


def _train(torch: Any, distributed: Any, device: Any, given: Mapping[str, int], rank: int) -> list[float]:
    """Run all steps; return the last loss, and median, least and most milliseconds of computing and of a whole step."""
    torch.manual_seed(given["seed"])
    model = _model(torch, given).to(device=device, dtype=torch.bfloat16)
    weights = list(model.parameters())
    torch.manual_seed(given["seed"] + 1 + rank)
    shape = (given["batch"], given["sequence"], given["hidden"])
    data = torch.randn(shape, device=device, dtype=torch.bfloat16)
    clock = _gpu_clock(torch) if device.type == "cuda" else time.perf_counter
    computed: list[float] = []
    whole: list[float] = []
    loss = 0.0
    for step in range(given["warmup"] + given["steps"]):
        distributed.barrier()
        began = clock()
        error = (model(data) - data).float().square().mean()
        error.backward()
        done = clock()
        for weight in weights:
            distributed.all_reduce(weight.grad)
        ended = clock()
        with torch.no_grad():
            for weight in weights:
                weight.add_(weight.grad, alpha=-_RATE / distributed.get_world_size())
                weight.grad = None
        loss = float(error)
        if step >= given["warmup"]:
            computed.append(1000.0 * (done - began))
            whole.append(1000.0 * (ended - began))
    return [loss, *_figures(computed), *_figures(whole)]


def _gpu_clock(torch: Any) -> Any:
    """A clock that tells the time at which all work given to the GPU so far is done."""

    def now() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    return now


def _model(torch: Any, given: Mapping[str, int]) -> Any:
    """Some layers of a GPT: PyTorch's own, pre-normed, without dropout, with the usual MLP of four times the width."""
    layer = torch.nn.TransformerEncoderLayer(
        given["hidden"], given["heads"], 4 * given["hidden"], dropout=0.0, activation="gelu", batch_first=True,
        norm_first=True,
    )  # fmt: skip
    return torch.nn.TransformerEncoder(layer, given["layers"], enable_nested_tensor=False)


def _document(torch: Any, given: Mapping[str, int], on_gpu: bool, ranks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "backend": "nccl" if on_gpu else "gloo",
        "device": torch.cuda.get_device_name() if on_gpu else "cpu",
        "versions": {"torch": str(torch.__version__), **({"nccl": _nccl(torch)} if on_gpu else {})},
        "dtype": "bf16",
        **given,
        "flops_per_step": flops_of(given),
        "ranks": list(ranks),
    }


def _nccl(torch: Any) -> str:
    return ".".join(str(part) for part in torch.cuda.nccl.version())


def _figures(times: Sequence[float]) -> list[float]:
    return [round(value, 4) for value in (median(times), min(times), max(times))]


if __name__ == "__main__":
    sys.exit(main())
