"""Counters as differences: what rose, during which test, and what is unknown because a look is missing."""

from __future__ import annotations

import json
from ctypes.util import find_library
from typing import Any

import pytest
from nodeworthy_probe.counters import Look, devices_of
from nodeworthy_probe.plan import TestSpec, read_plan
from nodeworthy_probe.readings import counters
from nodeworthy_probe.readings.context import Context
from nodeworthy_probe.records import Reading
from nodeworthy_probe.suite import Suite

from tests.data import node_views

GPU = {"ecc_corrected": 5, "ecc_uncorrected": 0, "rows_remapped": 2, "pcie_replay": 10, "slowed_by_heat": 0.0}
NIC = {"link_downed": 3, "port_errors": 0, "symbol_errors": 9, "discards": 0, "retransmits": 0, "xmit_wait": 7,
       "congestion_notices": 0}  # fmt: skip
HOST = {"memory_corrected": 1, "memory_uncorrected": 0, "pcie_corrected": 0, "pcie_uncorrected": 0}
PEAKS = {"temperature": 61.0, "power": 655.0, "pcie_generation": 5.0}


def look(after: str = "", seconds: float = 0.0, **changes: Any) -> Look:
    """Return what one look at a node of one GPU and one adapter shows; `changes` go into the named part."""
    document: dict[str, Any] = {
        "at_seconds": seconds,
        "gpus": {"0": {**GPU, "nvlink_errors": 0, **changes.get("gpu", {})}},
        "peaks": {"0": {**PEAKS, **changes.get("peaks", {})}},
        "host": {**HOST, **changes.get("host", {})},
        "aer": changes.get("aer", {}),
        "nics": {"mlx5_0": {**NIC, **changes.get("nic", {})}},
    }
    return Look(after, document)


def read(part: str, *looks: Look, problem: str | None = None, nvlinks: int = 18) -> Reading:
    """Read one part of the counters on a plan for one GPU."""
    plan = read_plan(json.dumps(node_views.plan(expect={"gpus": 1, "nvlinks_per_gpu": nvlinks})))
    arguments = (part, "mlx5_0") if part == "network" else (part,)
    return counters.read(looks, problem, Context(plan, TestSpec("a.b", "counters", arguments, 10.0, {}, {})))


def values(reading: Reading) -> dict[str, float | None]:
    """Return the rows by metric."""
    return {row.metric: row.value for row in reading.measurements}


def test_what_stood_before_the_tests_counts_for_nothing() -> None:
    """Five corrected errors and three fallen links of the past are no new ones."""
    before, after = look(), look("gpu.diag", 30.0)
    assert set(values(read("gpu", before, after)).values()) == {0.0}
    assert set(values(read("network", before, after)).values()) == {0.0}
    assert set(values(read("host", before, after)).values()) == {0.0}


def test_a_rise_is_counted_and_its_test_is_named() -> None:
    """Two rows remapped during the second test: the row says two, the log says when."""
    looks = (look(), look("gpu.diag", 30.0), look("gpu.burn", 90.0, gpu={"rows_remapped": 4}))
    reading = read("gpu", *looks)
    assert values(reading)["rows_remapped_new"] == 2
    assert reading.lines == ("gpu/0 rows_remapped: 2 count more during gpu.burn",)


def test_replays_are_a_rate_and_a_short_test_is_a_minute() -> None:
    """12 replays in 30 s are 12 a minute, 30 more in the next five minutes are 6 a minute: 12 counts."""
    looks = (
        look(),
        look("pcie.bandwidth", 30.0, gpu={"pcie_replay": 22}),
        look("gpu.burn", 330.0, gpu={"pcie_replay": 52}),
    )
    assert values(read("gpu", *looks))["pcie_replay_rate"] == 12


@pytest.mark.parametrize("gone", [{"ecc_uncorrected": None}, {"ecc_uncorrected": "N/A"}])
def test_a_counter_that_could_not_be_read_once_is_unknown(gone: dict[str, Any]) -> None:
    """A look without it between two with it: no difference is invented."""
    reading = read("gpu", look(), look("a.a", 10.0, gpu=gone), look("a.b", 20.0))
    assert values(reading)["ecc_uncorrected_new"] is None
    assert values(reading)["rows_remapped_new"] == 0


def test_a_counter_that_went_back_is_unknown() -> None:
    """Somebody reset it: what was counted until then is lost."""
    assert values(read("network", look(), look("a.a", 10.0, nic={"link_downed": 0})))["link_downed_new"] is None


@pytest.mark.parametrize("part", ["gpu", "nvlink", "host", "network", "load"])
def test_without_two_looks_every_row_is_missing(part: str) -> None:
    """The process died, or was never asked twice: rows without a number, and a reason."""
    for reading in (read(part, look()), read(part, look(), look("a.a"), problem="no answer")):
        assert reading.problem
        assert reading.measurements
        assert {row.value for row in reading.measurements} == {None}


def test_an_uncorrected_pcie_error_names_its_device() -> None:
    """The sum rose by one, and so did one device's own count."""
    quiet = {"0000:1b:00.0": {"corrected": 0, "uncorrected": 0}, "0000:43:00.0": {"corrected": 0, "uncorrected": 0}}
    loud = {**quiet, "0000:43:00.0": {"corrected": 0, "uncorrected": 1}}
    reading = read("host", look(aer=quiet), look("a.a", 5.0, aer=loud, host={"pcie_uncorrected": 1}))
    assert values(reading)["pcie_uncorrected_new"] == 1
    assert "(0000:43:00.0)" in reading.lines[0]


def test_a_sku_without_nvlink_has_no_errors_there_and_one_with_it_may_not_be_silent() -> None:
    """Where no link is expected the driver's silence is zero errors; where some are, it is unknown."""
    silent = [look("", gpu={"nvlink_errors": None}), look("a.a", 5.0, gpu={"nvlink_errors": None})]
    assert values(read("nvlink", *silent, nvlinks=0)) == {"nvlink_errors_new": 0}
    assert values(read("nvlink", *silent, nvlinks=18)) == {"nvlink_errors_new": None}


def test_the_load_shows_what_was_reached() -> None:
    """The last look holds the highest of all samples."""
    reading = read("load", look(peaks={"pcie_generation": 1.0}), look("a.a", 5.0))
    assert values(reading) == {"pcie_generation_reached": 5, "temperature_reached": 61, "power_reached": 655}


def test_an_unknown_part_is_a_problem() -> None:
    """A misspelt argument reads nothing."""
    assert "no counters are called" in (read("gpus", look(), look("a.a")).problem or "")


def test_devices_are_those_of_the_network_part() -> None:
    """Other parts name none."""
    assert devices_of(("network", "mlx5_0,mlx5_1")) == ["mlx5_0", "mlx5_1"]
    assert devices_of(("gpu",)) == []


@pytest.mark.skipif(find_library("nvidia-ml") is not None, reason="this machine has NVML")
def test_on_a_node_without_nvml_the_gpus_tests_did_not_run() -> None:
    """An AMD node: the tool is not there, which is not the same as broken; counters bring no number either."""
    tests = [
        {"test": "gpu.identity", "tool": "nvml"},
        {"test": "gpu.counters", "tool": "counters", "arguments": ["gpu"]},
    ]
    identity, counted = Suite(read_plan(json.dumps(node_views.plan(tests=tests)))).run()
    assert str(identity.execution) == "tool-missing"
    assert "has no NVML" in (identity.reason or "")
    assert {row.value for row in (*identity.reading.measurements, *counted.reading.measurements)} == {None}
