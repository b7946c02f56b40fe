"""The trace of a long load: what it says of each GPU, how it stays small, and what is unknown without it."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from nodeworthy_probe.content import gpu_burn
from nodeworthy_probe.counter_watch import Peaks, Trace
from nodeworthy_probe.counters import Look
from nodeworthy_probe.plan import TestSpec, read_plan
from nodeworthy_probe.readings import counters, host
from nodeworthy_probe.readings.context import Context
from nodeworthy_probe.records import Reading, Status

from tests.data import node_views

SAMPLED = {"temperature": 60.0, "thermal_margin": 29.0, "power": 690.0, "clock": 1980.0, "pcie_generation": 5.0}


def context(*arguments: str, tool: str = "counters") -> Context:
    """A test of one GPU."""
    plan = read_plan(json.dumps(node_views.plan(expect={"gpus": 1, "nvlinks_per_gpu": 18})))
    return Context(plan, TestSpec("a.b", tool, arguments, 10.0, {}, {}))


def looks(**trace: list[float | None]) -> list[Look]:
    """A look before, one after gpu.burn with its trace, and one after another test."""
    seconds = list(range(len(trace["clock"])))
    burn = {"trace": {"at_seconds": seconds, "gpus": {"0": trace}}}
    other = {"trace": {"at_seconds": [0.0], "gpus": {"0": {"temperature": [99.0], "thermal_margin": [-9.0]}}}}
    return [Look("", {}), Look("gpu.burn", burn), Look("gpu.diag_deep", other)]


def values(reading: Reading) -> dict[str, float | None]:
    """The rows by metric."""
    return {row.metric: row.value for row in reading.measurements}


def test_the_trace_of_the_named_load_alone_counts() -> None:
    """Ten samples: 2 C of margin at worst, 87 C at most; clocks fall from 1980 to 1683 MHz, which is 85 %."""
    reading = counters.read(
        looks(
            temperature=[40, 70, 80, 85, 87, 87, 87, 87, 87, 86],
            thermal_margin=[49, 19, 9, 4, 2, 2, 2, 2, 2, 3],
            power=[700, 700, 700, 700, 690, 600, 590, 590, 580, 570],
            clock=[1980, 1980, 1980, 1900, 1800, 1700, 1690, 1690, 1683, 1683],
        ),
        None,
        context("sustained", "gpu.burn"),
    )
    assert values(reading) == {
        "thermal_margin_lowest": 2,
        "temperature_highest": 87,
        "power_held": 575,
        "clock_kept": 85.0,
    }
    assert "10 samples during gpu.burn" in reading.lines[0]


def test_what_could_not_be_read_is_no_zero() -> None:
    """A margin that no driver tells, and a clock that was never seen, are missing; the rest stands."""
    trace = {"temperature": [70.0], "thermal_margin": [None], "power": [650.0], "clock": [None]}
    reading = counters.read(looks(**trace), None, context("sustained", "gpu.burn"))
    assert values(reading)["thermal_margin_lowest"] is None
    assert values(reading)["clock_kept"] is None
    assert values(reading)["temperature_highest"] == 70
    assert {row.status for row in reading.measurements if row.value is None} == {Status.MISSING}


def test_a_load_that_did_not_run_leaves_every_row_missing() -> None:
    """The reading says which test is lacking; a broken process says that instead."""
    reading = counters.read([Look("", {}), Look("gpu.diag", {})], None, context("sustained", "gpu.burn"))
    assert set(values(reading).values()) == {None}
    assert "no test 'gpu.burn' ran" in (reading.lacking or "")
    broken = counters.read([], "the counters could not be read", context("sustained", "gpu.burn"))
    assert (broken.problem, broken.lacking) == ("the counters could not be read", None)


def test_a_trace_of_hours_stays_small_and_ends_at_its_end() -> None:
    """5,400 samples become at most 240, evenly spread, with the hottest end among them; the next trace begins anew."""
    trace = Trace()
    for second in range(5400):
        trace.see({"0": {**SAMPLED, "temperature": float(second)}})
    told: dict[str, Any] = trace.told()
    temperatures = told["gpus"]["0"]["temperature"]
    assert 120 <= len(temperatures) == len(told["at_seconds"]) <= 240
    assert temperatures[-1] > 5300
    steps = {later - before for before, later in itertools.pairwise(temperatures)}
    assert len(steps) == 1
    assert trace.told() == {"at_seconds": [], "gpus": {}}


def test_peaks_keep_the_highest_of_what_was_read() -> None:
    """A sample that could not be read changes nothing."""
    peaks = Peaks()
    for power in (690.0, None, 400.0):
        peaks.see({"0": {**SAMPLED, "power": power}})
    assert peaks.of_gpu == {"0": {"temperature": 60.0, "power": 690.0, "pcie_generation": 5.0}}


def test_a_raw_file_holds_the_trace_only_where_it_is_meant() -> None:
    """The other counters' files would hold it six times."""
    all_looks = looks(clock=[1980.0])
    assert all("trace" not in one for one in counters.shown(all_looks, ("gpu",)))
    (own,) = counters.shown(all_looks, ("sustained", "gpu.burn"))
    assert own["after"] == "gpu.burn"
    assert own["trace"]["at_seconds"] == [0]


def burn(*rates: int, gpus: int = 1) -> str:
    """A burn whose rate is told at equal steps."""
    lines = [f"GPU {number}: NVIDIA H200 (UUID: GPU-{number})" for number in range(gpus)]
    for step, rate in enumerate(rates, start=1):
        cell = " - ".join([f"{step} ({rate} Gflop/s)"] * gpus)
        zero, heat = " - ".join(["0"] * gpus), " - ".join(["60 C"] * gpus)
        lines.append(f"{100 * step / len(rates):.1f}%  proc'd: {cell}   errors: {zero}   temps: {heat} ")
    lines += ["", f"Tested {gpus} GPUs:", *(f"\tGPU {number}: OK" for number in range(gpus))]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("rates", "kept"),
    [
        ((0, 1000, 1000, 990, 980, 960, 940, 930, 930, 930), 93.0),
        ((1000,) * 10, 100.0),
        ((0, 0, 0, 1000, 1000, 1000, 1000, 1000, 1000, 1000), None),
    ],
)
def test_what_a_burn_keeps_is_its_last_fifth_against_its_first(rates: tuple[int, ...], kept: float | None) -> None:
    """Zeros are a process that has not begun; one that begins after the first fifth has nothing to compare with."""
    reading = host.read_burn(burn(*rates), context("-tc", "600", tool="gpu_burn"))
    assert values(reading)["rate_kept"] == kept
    assert "rate_kept" not in values(host.read_burn(burn(*rates), context("-tc", "30", tool="gpu_burn")))


def test_every_line_of_progress_is_read() -> None:
    """Two GPUs, three steps."""
    assert [row for _, row in gpu_burn.rates(burn(5, 6, 7, gpus=2))] == [[5, 5], [6, 6], [7, 7]]


def test_a_burn_that_tells_power_and_no_temperature_is_whole() -> None:
    """gpu-burn of 2025 prints the power behind the temperatures, and -- where nvidia-smi told none: the burn counts."""
    text = burn(*(1000,) * 10, gpus=2).replace("temps: 60 C - 60 C ", "temps: 61 C - --   power: 690 W - -- ")
    reading = host.read_burn(text, context("-tc", "600", tool="gpu_burn"))
    assert reading.problem is None
    assert (values(reading)["burn_ok"], values(reading)["rate_kept"]) == (1.0, 100.0)


def test_a_temperature_that_is_no_number_is_still_not_believed() -> None:
    """Something else in its place says that the line was not read as it was meant."""
    text = burn(*(1000,) * 10).replace("temps: 60 C", "temps: hot")
    assert host.read_burn(text, context("-tc", "600", tool="gpu_burn")).problem
