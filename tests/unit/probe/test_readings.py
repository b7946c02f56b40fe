"""A reading has a row for everything that was expected, measured or missing."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from nodeworthy_probe.kernel_source import Split
from nodeworthy_probe.plan import read_plan
from nodeworthy_probe.readings import bandwidth, collective, gpu_diag, gpu_identity, kernel
from nodeworthy_probe.readings.context import Context, Interpreter
from nodeworthy_probe.records import Reading, Status

from tests.data import node_views


def _context(test: str, gpus: int = 2, **found: int) -> Context:
    plan = read_plan(json.dumps(node_views.plan(expect={"gpus": gpus, "nvlinks_per_gpu": 18})))
    spec = next(spec for spec in plan.tests if spec.test == test)
    return Context(plan, spec, found)


def _row(reading: Reading, component: str, metric: str) -> tuple[float | None, str]:
    (row,) = [row for row in reading.measurements if (row.component, row.metric) == (component, metric)]
    return row.value, str(row.status)


@pytest.mark.parametrize(
    ("test", "read", "rows"),
    [
        ("gpu.identity", gpu_identity.read, 1 + 2 * 20),
        ("gpu.diag", gpu_diag.read, 2 * 2 + 2),
        ("pcie.bandwidth", bandwidth.read, 2 * 2),
        ("nvlink.bandwidth", bandwidth.read, 2 + 2),
        ("collective.all_reduce", collective.read, 4),
    ],
)
@pytest.mark.parametrize("text", ["", "Segmentation fault\n", "{}", "\x00\x07{{{"])
def test_without_output_every_expected_row_is_missing(test: str, read: Interpreter, rows: int, text: str) -> None:
    """As many rows as for a good run, none with a number, and a reason."""
    reading = read(text, _context(test))

    assert len(reading.measurements) == rows
    assert all(row.value is None and row.status is not Status.OK for row in reading.measurements)
    assert reading.problem


def _snapshot(*values: dict[str, Any]) -> str:
    gpus = [{"index": index, "values": value} for index, value in enumerate(values)]
    return json.dumps({"gpu_count": len(gpus), "gpus": gpus, "driver_version": {"value": "570.1"},
                       "cuda_driver_version": {"value": 12080}})  # fmt: skip


def test_an_unsupported_value_is_missing_and_not_zero() -> None:
    """NVML's refusal of one value leaves the others standing."""
    reading = gpu_identity.read(
        _snapshot({"temperature": {"value": 31}, "ecc_uncorrected": {"error": "Not Supported"}}),
        _context("gpu.identity"),
    )

    assert _row(reading, "gpu/0", "temperature") == (31.0, "ok")
    assert _row(reading, "gpu/0", "ecc_uncorrected") == (None, "missing")
    assert _row(reading, "node", "gpu_count") == (1.0, "ok")
    assert _row(reading, "gpu/1", "temperature") == (None, "missing")
    assert reading.versions == {"driver": "570.1", "cuda": "12.8"}


@pytest.mark.parametrize(
    ("reasons", "throttled"), [(0x0, 0.0), (0x1, 0.0), (0x4, 0.0), (0x8, 1.0), (0x40, 1.0), (0x80, 1.0)]
)
def test_only_hardware_reasons_are_hardware_throttling(reasons: int, throttled: float) -> None:
    """Idle (0x1) and software power cap (0x4) are normal."""
    reading = gpu_identity.read(_snapshot({"clocks_event_reasons": {"value": reasons}}), _context("gpu.identity"))

    assert _row(reading, "gpu/0", "throttle_hardware") == (throttled, "ok")


def test_a_gpu_beyond_the_plan_is_shown_too() -> None:
    """Three GPUs where two were expected: the third has its rows."""
    reading = gpu_identity.read(_snapshot({}, {}, {"temperature": {"value": 30}}), _context("gpu.identity"))

    assert _row(reading, "gpu/2", "temperature") == (30.0, "ok")


def _bandwidth(name: str, matrix: list[list[str]], status: str = "Passed") -> str:
    cells = [float(cell) for row in matrix for cell in row if cell != "N/A"]
    case = {
        "name": name,
        "status": status,
        "bandwidth_description": "(GB/s)",
        "bandwidth_matrix": matrix,
        "sum": sum(cells),
    }
    return json.dumps({"nvbandwidth": {"testcases": [case]}})


def test_peer_bandwidth_gives_every_pair_and_the_lowest_of_each_gpu() -> None:
    """Row is the first GPU of the pair; the diagonal is nobody's figure."""
    text = _bandwidth("device_to_device_memcpy_read_ce", [["N/A", "396.5"], ["380.25", "N/A"]])

    reading = bandwidth.read(text, _context("nvlink.bandwidth"))

    assert reading.problem is None
    assert _row(reading, "gpu/0-gpu/1", "peer_bandwidth") == (396.5, "ok")
    assert _row(reading, "gpu/1-gpu/0", "peer_bandwidth") == (380.25, "ok")
    assert _row(reading, "gpu/1", "peer_bandwidth_min") == (380.25, "ok")


def test_a_requested_test_that_is_absent_is_missing() -> None:
    """One direction was printed, the other was asked for as well."""
    reading = bandwidth.read(_bandwidth("host_to_device_memcpy_ce", [["55", "54"]]), _context("pcie.bandwidth"))

    assert _row(reading, "gpu/1", "host_to_device_bandwidth") == (54.0, "ok")
    assert _row(reading, "gpu/1", "device_to_host_bandwidth") == (None, "missing")
    assert reading.problem == "device_to_host_memcpy_ce: no result"


def test_a_waived_test_is_waived() -> None:
    """The tool declined: that is a status of its own."""
    text = _bandwidth("device_to_device_memcpy_read_ce", [], status="Waived")

    reading = bandwidth.read(text, _context("nvlink.bandwidth"))

    assert _row(reading, "gpu/0", "peer_bandwidth_min") == (None, "waived")


def test_a_gpu_that_the_diagnostic_left_out_is_missing() -> None:
    """GPU 1 was expected and not tested; GPU 0 failed by a setting."""
    warning = {"error_id": 29, "error_severity": 5, "warning": "Persistence mode is disabled."}
    result = {"entity_group": "GPU", "entity_id": 0, "status": "Fail", "warnings": [warning]}
    test = {"name": "software", "results": [result], "test_summary": {"status": "Fail"}}
    text = json.dumps({"DCGM Diagnostic": {"test_categories": [{"tests": [test]}]}})

    reading = gpu_diag.read(text, _context("gpu.diag"))

    assert _row(reading, "gpu/0", "diag_failures") == (0.0, "ok")
    assert _row(reading, "gpu/0", "diag_config_failures") == (1.0, "ok")
    assert _row(reading, "gpu/1", "diag_failures") == (None, "missing")
    assert [(finding.code, finding.category, finding.severity) for finding in reading.findings] == [
        ("dcgm/29", "config", "CONFIG")
    ]


def test_kernel_events_are_told_apart_by_time_and_by_gpu() -> None:
    """One Xid from before and one during the tests; the second sits on a GPU that NVML knows."""
    old = "[ 1.0] NVRM: Xid (PCI:0000:1b:00): 31, pid=1, name=x, MMU Fault"
    new = "[ 9.0] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus."
    context = Context(_context("kernel.log").plan, _context("kernel.log").test, {"0000:3b:00": 1})

    reading = kernel.read(Split((old,), (new,)), context)

    assert _row(reading, "node", "xid_new") == (1.0, "ok")
    assert _row(reading, "node", "xid_since_boot") == (2.0, "ok")
    assert _row(reading, "node", "xid_awaiting_boot") == (1.0, "ok")
    assert {(finding.code, finding.component, finding.during) for finding in reading.findings} == {
        ("xid/79", "gpu/1", "test"),
        ("xid/31", "pci/0000:1b:00", "before"),
    }


def test_a_lost_kernel_log_counts_nothing() -> None:
    """No zero is invented when the boundary is unknown."""
    reading = kernel.read(Split((), (), "the log wrapped"), _context("kernel.log"))

    assert [row.value for row in reading.measurements] == [None] * 7
    assert reading.problem == "the log wrapped"


def xid(pci: str, code: int, text: str = "pid=1, name=x") -> str:
    """A line of the driver's."""
    return f"[ 1.0] NVRM: Xid (PCI:{pci}): {code}, {text}"


GPU, OTHER = "0000:1b:00", "0000:3b:00"
ASKED = xid(GPU, 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")
BACK = xid(GPU, 154, "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)")


@pytest.mark.parametrize(
    ("lines", "waiting"),
    [
        ((xid(GPU, 119), ASKED, BACK), 0),
        ((xid(GPU, 119), ASKED), 1),
        ((xid(GPU, 119),), 1),
        ((xid(GPU, 119), ASKED, BACK, xid(GPU, 119)), 1),
        ((xid(GPU, 119), xid(OTHER, 119), ASKED, BACK), 1),
        ((xid(GPU, 79), ASKED, BACK), 1),
        ((xid(GPU, 119), BACK.replace("0x1 (GPU Reset Required)", "0x3 (Drain P2P)")), 1),
        ((xid(GPU, 119), BACK.replace("0x0 (None)", "0x2 (Node Reboot Required)")), 1),
        ((xid(GPU, 119), BACK.replace("0x1 (GPU Reset Required)", "0x1 (PF FLR)")), 0),
        ((xid(GPU, 119), BACK.replace("0x1 (GPU Reset Required)", "0x4 (Drain and Reset)")), 0),
    ],
    ids=[
        *("reset", "still-asked", "never-said", "came-back", "another-gpu", "only-a-boot"),
        *("not-a-reset", "now-a-reboot", "label-of-r610", "drain-and-reset"),
    ],
)
def test_a_reset_that_the_driver_takes_back_ends_what_only_a_reset_ends(lines: tuple[str, ...], waiting: int) -> None:
    """The plan says that 119 ends with a reset of its GPU and 79 does not; nothing but the driver's own line counts."""
    context = _context("kernel.log")
    test = replace(context.test, arguments=("1-45,154", "48,119-120"))

    reading = kernel.read(Split(lines, ()), replace(context, test=test))

    assert _row(reading, "node", "xid_awaiting_boot") == (float(waiting), "ok")


@pytest.mark.parametrize(
    ("arguments", "waiting"),
    [(("1-45,47,49-118",), 2.0), (("1-200",), 1.0), ((), 3.0), (("{tolerated_xids}",), 3.0), (("31",), 2.0)],
)
def test_an_old_xid_waits_for_a_boot_unless_the_plan_tolerates_its_code(
    arguments: tuple[str, ...], waiting: float
) -> None:
    """31 is an application's, 119 is not, and a line that cannot be read is tolerated by nobody."""
    old = (
        "[ 1.0] NVRM: Xid (PCI:0000:1b:00): 31, pid=1, name=x, MMU Fault",
        "[ 2.0] NVRM: Xid (PCI:0000:1b:00): 119, pid=1, name=x, Timeout waiting for RPC from GSP",
        "[ 3.0] NVRM: Xid (PCI:0000:1b",
    )
    context = _context("kernel.log")

    reading = kernel.read(Split(old, ()), replace(context, test=replace(context.test, arguments=arguments)))

    assert _row(reading, "node", "xid_awaiting_boot") == (waiting, "ok")
