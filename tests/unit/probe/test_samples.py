"""Real outputs give the key values of their index, or the reason why they are refused.

The samples are not part of this repository. They are looked for in ``NODEWORTHY_SAMPLES``, or in
``shared/samples`` beside the checkout; where they are absent these tests are skipped. All
expected values were written by hand from the samples' index.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest
from nodeworthy_probe.parsers import dcgm, dcgm_text, kernel_log, nccl_tests, nvbandwidth, tpm_quote
from nodeworthy_probe.parsers.dcgm_catalogue import Outcome

SAMPLES = Path(os.environ.get("NODEWORTHY_SAMPLES") or Path(__file__).resolve().parents[4] / "shared" / "samples")

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples of real tool outputs are not here")


def _read(name: str) -> str:
    return (SAMPLES / name).read_text("utf-8", "replace")


class Nccl(NamedTuple):
    """What the index says of one nccl-tests output."""

    name: str
    collective: str
    rows: int
    ranks: int | None
    largest: int
    out_of_place: float
    in_place: float
    wrong: int | None
    refusal: str | None = None


NCCL = (
    Nccl("a100_8gpu_allreduce_oldlayout_novalidation", "all_reduce", 34, 8, 8589934592, 235.26, 235.03, None),
    Nccl("a100_8gpu_alltoall", "alltoall", 34, 8, 8589934592, 224.31, 226.16, None),
    Nccl("a100_8gpu_reducescatter", "reduce_scatter", 34, 8, 8589934592, 231.52, 231.25, None),
    Nccl("gh200_2node_wrong_values", "all_reduce", 25, 2, 134217728, 22.87, 22.80, 128),
    Nccl("h200_8gpu_single_size", "all_reduce", 1, 8, 8589934592, 476.96, 476.98, 0),
    Nccl("gb200_nvl72_72gpu_excerpt", "all_reduce", 5, 72, 8589934592, 834.57, 846.82, 0, "announces the sweep"),
    Nccl("p4de_2node_16gpu_mpi_prefix", "all_reduce", 29, None, 2147483648, 78.33, 78.33, 0, "out-of-bounds line"),
    Nccl("p5_2node_16gpu_mpi_prefix", "all_reduce", 32, None, 17179869184, 487.09, 487.26, 0, "average line"),
    Nccl("rccl_mi300x_2node_16gpu", "all_reduce", 8, 16, 17179869184, 357.46, 357.41, 0, "8 of 32 rows"),
)  # fmt: skip


@pytest.mark.parametrize("expected", NCCL, ids=lambda expected: expected.name)
def test_nccl_tests(expected: Nccl) -> None:
    """Rows, ranks, the largest message and wrong values; excerpts name what they lack."""
    report = nccl_tests.parse(_read(f"nccl-tests/{expected.name}.txt"), expected.collective)

    assert report.largest is not None
    first, second = report.largest.timings
    assert (
        Nccl(
            expected.name,
            expected.collective,
            len(report.rows),
            report.ranks,
            report.largest.size_bytes,
            first.bus_bandwidth_gbps,
            second.bus_bandwidth_gbps,
            report.wrong_values,
            expected.refusal,
        )
        == expected
    )
    if expected.refusal is None:
        assert report.problems == ()
    else:
        assert any(expected.refusal in problem for problem in report.problems)


def test_wrong_values_are_at_one_size_only() -> None:
    """96 out of place and 32 in place at 1 MiB; the footer's 4 is another count."""
    report = nccl_tests.parse(_read("nccl-tests/gh200_2node_wrong_values.txt"))

    assert [(row.size_bytes, row.wrong_out_of_place, row.wrong_in_place) for row in report.rows if row.wrong] == [
        (1048576, 96, 32)
    ]
    assert (report.out_of_bounds, report.within_bounds) == (4, False)


def test_the_peak_of_the_rack_is_not_at_its_largest_size() -> None:
    """Out of place the 4 GB row is faster: 839.16 GB/s."""
    report = nccl_tests.parse(_read("nccl-tests/gb200_nvl72_72gpu_excerpt.txt"))

    fastest = max(report.rows, key=lambda row: row.out_of_place.bus_bandwidth_gbps if row.out_of_place else 0.0)
    assert (fastest.size_bytes, fastest.timings[0].bus_bandwidth_gbps) == (4294967296, 839.16)


def test_nvbandwidth_json() -> None:
    """String cells, a latency test in nanoseconds, waived tests without a matrix.

    The index speaks of 16 waived tests; the file holds 17 of 32.
    """
    report = nvbandwidth.parse(_read("nvbandwidth/json_v05_1gpu_waived.json"))
    found = {case.name: case for case in report.testcases}

    assert report.problem is None
    assert (report.driver_version, len(report.testcases), report.waived) == ("565.02", 32, 17)
    assert found["host_to_device_memcpy_ce"].total == pytest.approx(12.396, abs=5e-4)
    assert found["device_to_host_memcpy_ce"].total == pytest.approx(13.200, abs=5e-4)
    latency = found["host_device_latency_sm"]
    assert (latency.unit, latency.verified) == ("ns", True)
    assert latency.total == pytest.approx(649.88, abs=5e-3)


def test_nvbandwidth_text() -> None:
    """Matrices of differing shape, each agreeing with its sum."""
    report = nvbandwidth.parse(_read("nvbandwidth/gh200_v06_text.txt"))
    found = {case.name: case for case in report.testcases}

    assert (report.version, report.driver_version) == ("v0.6", "550.54.15")
    assert found["host_to_device_memcpy_ce"].total == 1985.60
    assert [len(row) for row in found["host_to_device_memcpy_ce"].matrix] == [3, 3]
    assert found["device_to_host_memcpy_ce"].total == 607.26
    assert found["host_to_device_bidirectional_memcpy_ce"].total == 176.92
    assert all(case.verified for case in report.testcases)


def test_nvbandwidth_text_without_a_sum_is_read_and_not_verified() -> None:
    """An 8 x 8 matrix whose diagonal is nobody's figure; nothing to check it against."""
    (case,) = nvbandwidth.parse(_read("nvbandwidth/a100_d2d_readme.txt")).testcases

    assert (len(case.matrix), len(case.cells)) == (8, 56)
    assert (min(case.cells), case.matrix[6][0]) == (274.89, 274.89)
    assert (max(case.cells), case.matrix[4][3]) == (276.76, 276.76)
    assert case.problem == "there is no sum to check the matrix against"


@pytest.mark.parametrize(
    ("name", "version", "tests", "bad"),
    [
        ("dcgm4_gb10_r1_persistence_fail", "4.2.3", 1, [("software", "gpu/0", "fail", True, "dcgm/29")]),
        ("dcgm4_gb10_r2_plugins_allowed", "4.5.2", 3, [("software", "gpu/0", "fail", True, "dcgm/29")]),
        ("dcgm2_min_pass", None, 9, []),
        ("dcgm2_min_fail_and_warn", None, 9, [("Persistence Mode", "node", "fail", True, ""),
                                              ("Environment Variables", "node", "warn", True, "")]),
    ],
)  # fmt: skip
def test_dcgm_json(name: str, version: str | None, tests: int, bad: list[tuple[str, str, str, bool, str]]) -> None:
    """Every shape; failures by device, class and error id, each counted once."""
    report = dcgm.parse(_read(f"dcgm-diag-json/{name}.json"))

    assert report.problems == ()
    assert (report.version, len(report.tests)) == (version, tests)
    assert [
        (
            result.test,
            result.component,
            str(result.outcome),
            result.is_config,
            ",".join(error.code for error in result.errors),
        )
        for result in report.results
        if result.outcome is not Outcome.PASSED
    ] == bad


@pytest.mark.parametrize(
    ("name", "version", "tests", "failed", "refusal"),
    [
        ("dcgm333_a100_r2_pass", "3.3.3", 11, [], None),
        ("dcgm442_a10g_r2_pass_single", "4.4.2", 3, [], None),
        ("dcgm318_h200_persistence_fail_wrapped", "3.1.8", 9, [("Persistence Mode", None)], None),
        ("dcgm339_a10g_targeted_power_fail", "3.3.9", 15, [("Targeted Power", 1)], None),
        ("fragment_remap_pending", None, 1, [("unnamed test", 3)], "the table is cut"),
    ],
)
def test_dcgm_table(
    name: str, version: str | None, tests: int, failed: list[tuple[str, int | None]], refusal: str | None
) -> None:
    """Tables of 3.1 to 4.4; the fragment says that it is cut."""
    report = dcgm_text.parse_table(_read(f"dcgm-diag-text/{name}.txt"))

    assert (report.version, len(report.tests)) == (version, tests)
    assert [(r.test, r.gpu) for r in report.results if r.outcome is Outcome.FAILED] == failed
    assert report.problems == (() if refusal is None else (refusal,))


def test_dcgm_table_joins_wrapped_text() -> None:
    """Words broken at the cell's edge are whole again, and a truncated list names GPUs 0 to 5."""
    report = dcgm_text.parse_table(_read("dcgm-diag-text/dcgm318_h200_persistence_fail_wrapped.txt"))

    ((error,),) = [result.errors for result in report.results if result.outcome is Outcome.FAILED]
    assert "Persistence mode for GPU 0 is currently disabled." in error.text
    assert [number for number in range(8) if f"for GPU {number} is" in error.text] == [0, 1, 2, 3, 4, 5]
    assert [result.is_config for result in report.failures(7)] == [True]


def test_dcgm_near_miss_keeps_its_figures() -> None:
    """224.1 W against 224.2 W: one GPU of four, by name and text."""
    report = dcgm_text.parse_table(_read("dcgm-diag-text/dcgm339_a10g_targeted_power_fail.txt"))

    assert [r.gpu for r in report.results if r.test == "Targeted Power" and r.outcome is Outcome.PASSED] == [0, 2, 3]
    (failure,) = report.failures(1)
    assert "224.1" in failure.errors[0].text
    assert "224.2" in failure.errors[0].text
    assert not failure.is_config


def test_dcgm_nvlink_letters() -> None:
    """Twelve links up on both GPUs."""
    assert dcgm_text.parse_links(_read("dcgm-diag-text/nvlink_status_up.txt")) == {0: "U" * 12, 1: "U" * 12}


@pytest.mark.parametrize(
    ("name", "events"),
    [
        ("kmsg_raw_format", {}),
        ("pcie_limited_bandwidth", {}),
        ("xid119_gsp_timeout", {("xid/119", "0000:9b:00"): 5}),
        ("xid13_storm_iso_unknown_pid", {("xid/13", "0000:38:00"): 58, ("xid/43", "0000:38:00"): 2}),
        (
            "xid149_144_145_nvlink5_lines",
            {
                ("xid/149", "0000:00:00"): 2,
                ("xid/145", "0000:00:08"): 1,
                ("xid/148", "0000:04:00"): 1,
                ("xid/150", "0000:04:00"): 1,
                ("xid/154", "0008:01:00"): 2,
            },
        ),
        (
            "sxid_hopper",
            {
                ("sxid/24007", "0000:c3:00"): 2,
                ("sxid/20009", "0000:c3:00"): 1,
                ("sxid/20034", "0000:05:00"): 1,
                ("sxid/12033", "0000:c3:00"): 1,
            },
        ),
    ],
)
def test_kernel_logs(name: str, events: dict[tuple[str, str], int]) -> None:
    """How many events of which code at which address."""
    report = kernel_log.parse(_read(f"dmesg/{name}.txt"))

    seen: dict[tuple[str, str | None], int] = {}
    for event in report.events:
        seen[event.name, event.pci] = seen.get((event.name, event.pci), 0) + 1
    assert seen == events


def test_nvswitch_severity_and_continuations() -> None:
    """Three fatal events, one non-fatal; three lines only continue."""
    report = kernel_log.parse(_read("dmesg/sxid_hopper.txt"))

    severities = [event.severity for event in report.events]
    assert (severities.count("Fatal"), severities.count("Non-fatal"), len(report.continuations)) == (3, 1, 3)


def test_limited_pcie_links() -> None:
    """Available and capable bandwidth of three devices, in Gb/s."""
    report = kernel_log.parse(_read("dmesg/pcie_limited_bandwidth.txt"))

    assert [(link.pci, link.available_gbit, link.capable_gbit) for link in report.limited_links] == [
        ("0000:04:00.0", 252.048, 504.112),
        ("0000:9c:00.0", 252.056, 504.112),
        ("0000:02:00.0", 4.0, 8.0),
    ]


def test_a_real_quote() -> None:
    """The digest of the selection stands in the quoted structure."""
    quote = tpm_quote.parse(_read("tpm/quote_ok.yaml"))

    assert isinstance(quote, tpm_quote.Quote)
    assert quote.digest == "e37ce942eba42d77c0b6f40a42b7f383369bd3a6baca52ea167051c3e1c9ef71"
    assert sorted(quote.pcrs["sha256"], key=int) == ["0", "1", "2", "3", "4", "5", "6", "7"]
    assert quote.signature_algorithm == "rsassa"


def test_the_output_of_a_failed_check_is_no_quote() -> None:
    """PCR values first, errors last: refused."""
    assert isinstance(tpm_quote.parse(_read("tpm/checkquote_wrong_nonce.txt")), str)
