"""A short training over a group: its document, who is late, and what is refused."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nodeworthy_probe import train_step
from nodeworthy_probe.group import Group
from nodeworthy_probe.plan import Plan, TestSpec
from nodeworthy_probe.readings import training
from nodeworthy_probe.readings.context import Context
from nodeworthy_probe.records import Status

REPOSITORY = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((REPOSITORY / "include" / "schemas" / "train-step-1.json").read_text())
NODES = ("gpu-a01", "gpu-a02")
OPTIONS = {"steps": 3, "warmup": 1, "layers": 2, "hidden": 64, "heads": 4, "sequence": 32, "batch": 2, "seed": 20261201}
# 72 operations x 2 layers x (2 x 32) tokens x 64^2 x (1 + 32 / (6 x 64))
FLOPS = 40894464.0
Change = Callable[[dict[str, Any]], object]


def times(milliseconds: float) -> dict[str, float]:
    """Times of one rank, a little apart."""
    return {"median": milliseconds, "least": milliseconds - 1, "most": milliseconds + 2}


def document() -> dict[str, Any]:
    """Two GPUs on each of two nodes, as PyTorch 2.13 printed it on gloo; the second node's second GPU is 9 ms late."""
    ranks = [
        {"rank": rank, "node": NODES[rank // 2], "gpu": rank % 2, "loss": 0.19, "step_ms": times(64.0),
         "compute_ms": times(59.0 if rank == 3 else 50.0)}
        for rank in range(4)
    ]  # fmt: skip
    head: dict[str, Any] = {"schema": "nodeworthy.train-step/1", "backend": "gloo", "device": "cpu"}
    head |= {"versions": {"torch": "2.13.0+cpu"}, "dtype": "bf16"}
    return {**head, **OPTIONS, "flops_per_step": FLOPS, "ranks": ranks}


def context() -> Context:
    """A plan of two nodes with two GPUs each."""
    spec = TestSpec("domain.straggler", "train_step", (), 60.0, {}, {})
    group = Group(0, NODES, ("192.0.2.1", "192.0.2.2"), 28517, "ab" * 32)
    plan = Plan(NODES[0], "S1", 1, "0" * 64, "m2", "h100-sxm-8", 2, 18, (spec,), "0" * 64, group)
    return Context(plan, spec)


def printed(found: dict[str, Any]) -> str:
    """The document between what NCCL prints."""
    info = "gpu-a01:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA\n"
    return f"{info}{json.dumps(found)}\n{info}"


def test_the_late_gpu_its_lag_and_the_rate_are_read() -> None:
    """9 ms behind the middle of 50, 50, 50, 59; 40.9 million operations in 64 ms; over what NCCL names."""
    assert train_step.flops_of(OPTIONS) == FLOPS
    jsonschema.validate(document(), SCHEMA)
    reading = training.read(printed(document()), context())
    values = {row.metric: row.value for row in reading.measurements}
    assert values["compute_lag"] == 9.0
    assert values["step_time"] == 64.0
    assert values["model_rate"] == pytest.approx(40894464.0 / 0.064 / 1e12)
    assert (values["ranks"], values["losses_not_finite"]) == (4, 0)
    lag = reading.measurements[0]
    assert (lag.parameters["slowest_node"], lag.parameters["slowest_gpu"]) == ("gpu-a02", 1)
    assert {row.transport for row in reading.measurements} == {"NET/IB"}
    assert "gpu/1 of gpu-a02 computes 9.0 ms longer than the middle one" in reading.lines[0]


def test_a_loss_that_is_no_number_is_counted() -> None:
    """It was null in the document: JSON has no NaN."""
    found = document()
    found["ranks"][2]["loss"] = None
    values = {row.metric: row.value for row in training.read(printed(found), context()).measurements}
    assert values["losses_not_finite"] == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda found: found["ranks"].pop(), "3 ranks are not one on each of the 4 GPUs"),
        (lambda found: found["ranks"].pop(0), "not all there, each once and in order"),
        (lambda found: found["ranks"][1].update(gpu=0), "4 ranks are not one on each"),
        (lambda found: found["ranks"][1].update(node="gpu-b09"), "4 ranks are not one on each"),
        (lambda found: found["ranks"][1].update(step_ms=times(40.0)), "computed longer than its step"),
        (lambda found: found["ranks"][1].update(compute_ms=times(0.0)), "no compute_ms that is positive"),
        (lambda found: found["ranks"][1]["compute_ms"].update(median=90.0), "no compute_ms that is positive"),
        (lambda found: found.update(flops_per_step=FLOPS * 2), "do not follow from its layers"),
        (lambda found: found.update(layers=True), "is no count"),
        (lambda found: found.pop("versions"), "versions"),
        (lambda found: found.update(schema="nodeworthy.train-step/2"), "0 documents"),
    ],
)
def test_what_is_not_whole_gives_no_figure(change: Change, words: str) -> None:
    """Every row is missing, and the reason is told."""
    found = copy.deepcopy(document())
    change(found)
    reading = training.read(printed(found), context())
    assert words in str(reading.problem)
    assert {row.status for row in reading.measurements} == {Status.MISSING}


def test_a_cut_or_doubled_document_gives_no_figure() -> None:
    """A launcher that died half-way, and one that ran the job twice."""
    whole = printed(document())
    assert "cut" in str(training.read(whole[: whole.index("step_ms")], context()).problem)
    assert "2 documents" in str(training.read(whole + whole, context()).problem)
    assert "0 documents" in str(training.read("", context()).problem)


@settings(max_examples=150, deadline=None)
@given(at=st.integers(0, 5000), length=st.integers(1, 60), filler=st.text(alphabet='0129e.-"{}[],: nul', max_size=20))
def test_whatever_happens_to_the_document_nothing_is_raised(at: int, length: int, filler: str) -> None:
    """A stretch of it is overwritten; either all five figures are there and finite, or none is."""
    whole = printed(document())
    start = at % len(whole)
    rows = training.read(whole[:start] + filler + whole[start + length :], context()).measurements
    assert len({row.value is None for row in rows}) == 1
    assert all(row.value is None or isfinite(row.value) for row in rows)


def test_without_pytorch_the_test_is_not_run() -> None:
    """The exit code that means a missing tool, and a sentence; nothing is printed that could be read."""
    run = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(REPOSITORY / 'probe')!r}); "
           "sys.modules['torch'] = None; from nodeworthy_probe.train_step import main; sys.exit(main([]))"]  # fmt: skip
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (127, "")
    assert "PyTorch is not installed in the probe's image" in done.stderr


@pytest.mark.long
@pytest.mark.skipif("NODEWORTHY_TORCH_PYTHON" not in os.environ, reason="no Python with PyTorch was named")
def test_real_ranks_print_the_document() -> None:
    """Three processes over gloo, with the Python that NODEWORTHY_TORCH_PYTHON names."""
    options = [word for name, value in OPTIONS.items() for word in (f"--{name}", str(value))]
    started = []
    for rank in range(3):
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29517", "OMP_NUM_THREADS": "1"}
        own = {"RANK": str(rank), "WORLD_SIZE": "3", "LOCAL_RANK": str(rank), "PYTHONPATH": str(REPOSITORY / "probe")}
        command = [os.environ["NODEWORTHY_TORCH_PYTHON"], "-W", "ignore", "-m", "nodeworthy_probe.train_step", *options]
        environment = {"PATH": os.environ["PATH"], **meeting, **own}
        started.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE))
    first, *others = [one.communicate(timeout=200)[0].decode() for one in started]
    assert others == ["", ""]
    found = json.loads(first)
    jsonschema.validate(found, SCHEMA)
    assert [row["gpu"] for row in found["ranks"]] == [0, 1, 2]
    assert {row["loss"] is None for row in found["ranks"]} == {False}
