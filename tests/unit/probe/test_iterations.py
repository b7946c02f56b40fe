"""The time of each iteration: taken from the file of a whole run, and missing with a reason from anything else."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from nodeworthy_probe.plan import read_plan
from nodeworthy_probe.readings import iterations
from nodeworthy_probe.readings.context import Context
from nodeworthy_probe.records import Reading

from lab.tools import all_reduce_perf
from lab.tools.view import NodeView
from tests.data import node_views

ARGUMENTS = ("-b", "256M", "-e", "256M", "-f", "2", "-g", "8", "-c", "1", "-n", "100", "-I", "1")
ROWS = {"iteration_time", "wrong_values", "correctness_checked", "ranks"}


def context() -> Context:
    """The test of stalls on a node by itself."""
    plan = read_plan(json.dumps(node_views.plan()))
    spec = next(spec for spec in plan.tests if spec.tool == "all_reduce_perf")
    return Context(plan, replace(spec, test="collective.stalls", arguments=ARGUMENTS))


def run(folder: Path, **image: str) -> str:
    """Run the fake tool as the probe calls it and return what it printed."""
    view = node_views.view()
    view["image"] = {**view["image"], **image}
    tool, *arguments = iterations.command(context(), folder)
    return all_reduce_perf.run(tool, arguments, NodeView(view, folder)).text


def numberless(reading: Reading) -> bool:
    """Whether every row is there and none holds a number."""
    return {row.metric for row in reading.measurements} == ROWS and not any(
        row.value is not None or row.samples for row in reading.measurements if row.metric == "iteration_time"
    )


def test_each_iteration_of_both_halves_is_told(tmp_path: Path) -> None:
    """100 iterations in each half, relative to the half's own median; the figure is the median in microseconds."""
    reading = iterations.read(run(tmp_path), context(), tmp_path)
    row = reading.measurements[0]
    written = json.loads((tmp_path / "run.json").read_text())["results"][0]["out_of_place_per_iter"]
    assert (len(row.samples), row.unit, row.statistic) == (200, "us", "median")
    assert row.value == pytest.approx(written["p50_us"], abs=1e-3)
    assert row.samples[0] == pytest.approx(written["times_us"][0] / written["p50_us"], abs=1e-4)
    assert {row.metric for row in reading.measurements} == ROWS
    assert (reading.problem, reading.lacking) == (None, None)


def test_an_older_tool_did_not_run(tmp_path: Path) -> None:
    """nccl-tests before 2.19 refuses the option: nothing was measured, and what to install is said."""
    reading = iterations.read(run(tmp_path, nccl_tests="2.13.6"), context(), tmp_path)
    assert numberless(reading)
    assert reading.problem is None
    assert reading.lacking == "all_reduce_perf knows no -I: install nccl-tests 2.19 or newer in the probe's image"


def spoil_times(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Return what changes the only row of a run's file."""

    def spoil(path: Path) -> None:
        document = json.loads(path.read_text())
        change(document["results"][0])
        path.write_text(json.dumps(document))

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.unlink(),
        lambda path: path.write_text(path.read_text()[:-400]),
        lambda path: path.write_text("[]"),
        lambda path: path.write_bytes(b"\xff\xfe{"),
        spoil_times(lambda row: row.update(size=1024)),
        spoil_times(lambda row: row.pop("in_place_per_iter")),
        spoil_times(lambda row: row["out_of_place_per_iter"]["times_us"].pop()),
        spoil_times(lambda row: row["out_of_place_per_iter"]["times_us"].__setitem__(3, "nan")),
        spoil_times(lambda row: row["out_of_place_per_iter"]["times_us"].__setitem__(3, 0)),
        spoil_times(lambda row: row["in_place_per_iter"].update(times_us={"0": 1.0})),
    ],
)
def test_a_file_that_is_not_whole_gives_no_series(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    """Gone, cut, of another size, with a half or an iteration less, or with what is no time."""
    text = run(tmp_path)
    spoil(tmp_path / "run.json")
    reading = iterations.read(text, context(), tmp_path)
    assert numberless(reading)
    assert reading.problem


@pytest.mark.parametrize("text", ["", "Segmentation fault\n", "USAGE", "{}"])
def test_without_a_whole_table_the_file_counts_for_nothing(tmp_path: Path, text: str) -> None:
    """What a tool left behind that did not end by itself is no measurement."""
    run(tmp_path)
    reading = iterations.read(text, context(), tmp_path)
    assert numberless(reading)
    assert reading.problem
