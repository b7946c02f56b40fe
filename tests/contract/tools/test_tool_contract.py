"""Each fake tool as a process: start-up cost, faults, captures, and the shape of real outputs."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.data import node_views

RunTool = Callable[..., subprocess.CompletedProcess[str]]
SAMPLES = Path(os.environ.get("NODEWORTHY_SAMPLES") or Path(__file__).resolve().parents[4] / "shared" / "samples")
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples of real tool outputs are not here")

CALLS = {
    "dcgmi": ("diag", "-r", "1", "-j"),
    "nvidia-smi": (),
    "nvbandwidth": ("-j", "-t", "host_to_device_memcpy_ce"),
    "all_reduce_perf": ("-b", "1G", "-e", "8G", "-f", "2", "-g", "8"),
    "lldpcli": ("-f", "json0", "show", "neighbors"),
    "dmesg": (),
}


@pytest.mark.parametrize("tool", sorted(CALLS))
def test_a_tool_costs_little(run_tool: RunTool, tool: str) -> None:
    """Thousands run in a demo: start, render and print within 150 ms of CPU, most of it Python's start."""
    run_tool(node_views.view(), tool, *CALLS[tool])  # warm the byte code
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run_tool(node_views.view(), tool, *CALLS[tool])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)

    assert done.returncode == 0, done.stderr
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.15


def test_tool_faults(run_tool: RunTool) -> None:
    """Half an output with exit code 0, a signal, noise."""
    call = ("nvbandwidth", *CALLS["nvbandwidth"])
    whole = run_tool(node_views.view(), *call)
    cut, crash, noise = (
        run_tool(node_views.view(tool_faults={"nvbandwidth": fault}), *call)
        for fault in ("truncate", "crash", "garbage")
    )

    json.loads(whole.stdout)
    assert cut.returncode == 0
    assert 0 < len(cut.stdout) < len(whole.stdout)
    assert crash.returncode in (-11, 139)
    assert "nvbandwidth" not in noise.stdout


def test_a_hanging_tool_ignores_a_polite_end(run_tool: RunTool) -> None:
    """It ends only when it is killed, as a process that waits for a lost GPU."""
    view = node_views.view(tool_faults={"dmesg": "hang"})

    done = run_tool(view, "timeout", "--signal=TERM", "--kill-after=0.5", "0.7", "dmesg")

    assert done.returncode in (-9, 137)


def test_a_tool_without_a_view_says_so(run_tool: RunTool, tmp_path: Path) -> None:
    """Exit code 127 and one line."""
    done = run_tool(node_views.view(), "dmesg", NODEWORTHY_LAB_VIEW=str(tmp_path / "none.json"))

    assert done.returncode == 127
    assert "cannot be read" in done.stderr


def test_captured_outputs_are_replayed(run_tool: RunTool, tmp_path: Path) -> None:
    """A folder of captures answers for the tools that it holds; an index tells calls apart."""
    captures = tmp_path / "captures"
    captures.mkdir()
    (captures / "nvbandwidth.txt").write_text("captured bandwidth\n")
    assert run_tool(node_views.view(replay_tools=str(captures)), "nvbandwidth", "-j").stdout == "captured bandwidth\n"
    assert "GPU 0:" in run_tool(node_views.view(replay_tools=str(captures)), "nvidia-smi", "-L").stdout

    (captures / "r2.json").write_text("{}")
    index = {"dcgmi": [{"match": "-r 2", "file": "r2.json", "exit_code": 226}]}
    (captures / "index.json").write_text(json.dumps(index))
    done = run_tool(node_views.view(replay_tools=str(captures)), "dcgmi", "diag", "-r", "2", "-j")
    assert (done.stdout, done.returncode) == ("{}", 226)


def _keys(document: Any) -> set[str]:
    if isinstance(document, dict):
        return set(document) | {key for value in document.values() for key in _keys(value)}
    return {key for value in document for key in _keys(value)} if isinstance(document, list) else set()


@needs_samples
def test_the_shape_of_dcgm_json(run_tool: RunTool) -> None:
    """Our 4.4 document uses the keys of a real 4.2 one, and no other."""
    gpus = [node_views.gpu(0, persistence_mode=False), *(node_views.gpu(index) for index in range(1, 8))]
    ours = json.loads(run_tool(node_views.view(gpus=gpus), "dcgmi", "diag", "-r", "1", "-j").stdout)
    real = json.loads((SAMPLES / "dcgm-diag-json" / "dcgm4_gb10_r1_persistence_fail.json").read_text())

    assert _keys(real) - _keys(ours) == {"info"}
    assert _keys(ours) <= _keys(real)


@needs_samples
def test_the_shape_of_nvbandwidth_json(run_tool: RunTool) -> None:
    """The same keys; cells are strings in both."""
    ours = json.loads(run_tool(node_views.view(), "nvbandwidth", *CALLS["nvbandwidth"]).stdout)
    real = json.loads((SAMPLES / "nvbandwidth" / "json_v05_1gpu_waived.json").read_text())

    assert _keys(ours) == _keys(real)
    cell = ours["nvbandwidth"]["testcases"][0]["bandwidth_matrix"][0][0]
    assert isinstance(cell, str)


def _masked(line: str) -> str:
    """A table line with every run of digits replaced, so that only the layout is left."""
    return re.sub(r"\d+", "9", re.sub(r" +", " ", line)).strip()


@needs_samples
def test_the_shape_of_nccl_tests(run_tool: RunTool) -> None:
    """Run line, device line, column header, row and footer have the layout of a real 2.19 run."""
    ours = run_tool(node_views.view(), "all_reduce_perf", *CALLS["all_reduce_perf"]).stdout.splitlines()
    real = (SAMPLES / "nccl-tests" / "h200_8gpu_single_size.txt").read_text().splitlines()

    for start in ("# nThread", "#  Rank  0", "#       size", "#        (B)", "  8589934592", "# Out of", "# Avg"):
        one, other = (next(line for line in lines if line.startswith(start)) for lines in (ours, real))
        ignored = r"on +\S+ device|NVIDIA H\d+.*|\[0x[0-9a-f]+\]"
        assert _masked(re.sub(ignored, "", one)) == _masked(re.sub(ignored, "", other))
    column = "#       size"
    assert next(line for line in ours if line.startswith(column)) == next(
        line for line in real if line.startswith(column)
    )


@needs_samples
def test_the_shape_of_nvidia_smi(run_tool: RunTool) -> None:
    """Borders and cell widths of the table, the link lines, the first row of the matrix."""
    ours = run_tool(node_views.view(), "nvidia-smi").stdout.splitlines()
    real = (SAMPLES / "nvidia-smi" / "table_550.90.07.txt").read_text().splitlines()
    places = [[at for at, letter in enumerate(lines[8]) if letter == "|"] for lines in (ours, real)]

    assert places[0] == places[1]
    bus = r"\w+:\w+:\w+\.\w"
    assert [re.sub(bus, "", _masked(line)) for line in ours[9:12]] == [
        re.sub(bus, "", _masked(line)) for line in real[9:12]
    ]
    links = run_tool(node_views.view(), "nvidia-smi", "nvlink", "-s").stdout.splitlines()
    sample = (SAMPLES / "nvidia-smi" / "nvlink_status_a100.txt").read_text().splitlines()
    assert re.sub(r"[\d.]+ GB", "9 GB", links[1].strip()) == re.sub(r"[\d.]+ GB", "9 GB", sample[1].strip())
