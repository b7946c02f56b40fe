"""The nccl-tests reader believes a whole and consistent run and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from nodeworthy_probe.parsers import nccl_log, nccl_tests

LINES = (
    (Path(__file__).parents[2] / "data" / "probe" / "all_reduce_two_ranks.txt").read_text().splitlines(keepends=True)
)
# Two ranks: bus bandwidth = algorithm bandwidth x 2 x (2 - 1) / 2 = algorithm bandwidth.
WHOLE = "".join(LINES)
HEADER, FIRST, LAST, FOOTER = "".join(LINES[:9]), LINES[9], LINES[10], "".join(LINES[11:])


def test_a_whole_run_is_complete() -> None:
    """Header, every step, agreeing footer: nothing to object to, and the largest row counts."""
    report = nccl_tests.parse(WHOLE)

    assert report.problems == ()
    assert report.ranks == 2
    assert report.largest is not None
    assert report.largest.size_bytes == 2048
    assert [timing.bus_bandwidth_gbps for timing in report.largest.timings] == [0.20, 0.25]
    assert report.wrong_values == 0
    assert report.nccl_version == "2.27.3"


@pytest.mark.parametrize(
    ("text", "objection"),
    [
        ("", "no result row"),
        (HEADER + FIRST + LAST, "the out-of-bounds line is missing"),
        (HEADER + FIRST + FOOTER, "1 of 2 rows of the sweep are there"),
        (HEADER + FIRST + LAST[:-9] + "\n" + FOOTER, "a row cannot be read"),
        (WHOLE[:-20], "the output stops in the middle of a line"),
        (WHOLE.replace("     512 ", "     513 "), "a row cannot be read"),
        (WHOLE.replace("    0.25    0.25", "    0.52    0.52"), "a row cannot be read"),
        (WHOLE.replace("    0.25    0.25", "    0.25    0.95"), "bus bandwidth contradicts the rank count"),
        (WHOLE.replace("    0.25    0.25", "    0.25     nan"), "a row cannot be read"),
        (WHOLE.replace("0.1625", "0.9"), "the average contradicts the rows"),
        (WHOLE + "x: Test failure common.cu:1\n", "reports a failure"),
        (WHOLE.replace("0.25      0", "0.25      7"), "the out-of-bounds line contradicts the rows"),
        (WHOLE.replace(LAST, "...\n" + LAST), "rows were left out of the table"),
        (WHOLE.replace("validation: 1", "validation: 0"), "disagree with the announced validation"),
        (HEADER.replace("#  Rank", "#  Rang") + FIRST + LAST + FOOTER, "the device list is missing"),
    ],
)  # fmt: skip
def test_a_cut_or_contradictory_run_is_refused(text: str, objection: str) -> None:
    """Each way of being incomplete is named."""
    problems = nccl_tests.parse(text).problems

    assert any(objection in problem for problem in problems), problems


def test_wrong_values_are_counted_and_the_run_stays_complete() -> None:
    """Data corruption is a measurement, not a defect of the output."""
    text = WHOLE.replace("0.25      0", "0.25      7").replace("0 OK", "1 FAILED")
    text += "\n .. node-a pid 10: Test failure common.cu:401\n"

    report = nccl_tests.parse(text)

    assert report.complete
    assert report.wrong_values == 7


def test_a_run_without_validation_is_complete_and_not_checked() -> None:
    """`-c 0` prints N/A: the bandwidth counts, correctness does not."""
    text = (
        WHOLE.replace("validation: 1", "validation: 0")
        .replace("      0 ", "    N/A ")
        .replace("      0\n", "    N/A\n")
    )

    report = nccl_tests.parse(text)

    assert report.complete
    assert not report.correctness_checked
    assert report.wrong_values is None


def test_prefixes_of_launchers_are_ignored() -> None:
    """srun and mpirun label every line with the rank."""
    for prefix in ("0: ", "[1,0]<stdout>:"):
        labelled = "".join(prefix + line for line in WHOLE.splitlines(keepends=True))
        assert nccl_tests.parse(labelled).complete


def test_messages_beyond_32_bits_are_read() -> None:
    """17179869184 bytes is an ordinary size."""
    row = " 17179869184    4294967296     float     sum      -1"
    row += "    66132  259.78  259.78      0    66109  259.87  259.87      0\n"
    text = (
        HEADER.replace("1024", "17179869184").replace("2048", "17179869184") + row + FOOTER.replace("0.1625", "259.825")
    )

    report = nccl_tests.parse(text)

    assert report.problems == ()
    assert report.largest is not None
    assert report.largest.size_bytes == 17179869184


P2P = "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"
CHANNELS = "16 coll channels, 0 collnet channels, {} nvls channels"


@pytest.mark.parametrize(
    ("lines", "transport"),
    [
        ([P2P, CHANNELS.format(16)], "NVLS"),
        ([P2P, CHANNELS.format(0)], "P2P"),
        (["NVLS multicast support is available on dev 0"], None),
        (["Connected NVLS tree"], "NVLS"),
        ([P2P, "Channel 01/0 : 0[0] -> 1[1] via SHM/direct/direct"], "SHM"),
        (["Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/3/GDRDMA"], "NET/IB"),
        (["Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0"], "NET/Socket"),
        ([CHANNELS.format(16), "AllReduce: 8589934592 Bytes -> Algo RING proto SIMPLE", P2P], "P2P"),
        ([], None),
    ],
)
def test_the_transport_is_what_nccl_states(lines: list[str], transport: str | None) -> None:
    """An ability proves nothing, a weaker path decides, and silence is None."""
    assert nccl_log.transport("\n".join(f"host:1:2 [0] NCCL INFO {line}" for line in lines)) == transport
