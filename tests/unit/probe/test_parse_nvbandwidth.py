"""The nvbandwidth reader trusts a matrix only when the tool's own totals agree with it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from nodeworthy_probe.parsers import nvbandwidth

NAME = "host_to_device_memcpy_ce"


def _document(**changes: Any) -> str:
    case: dict[str, Any] = {
        "name": NAME,
        "status": "Passed",
        "bandwidth_description": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s) ",
        "bandwidth_matrix": [["55.2", "54.8"]],
        "sum": 110.0,
        "min": 54.8,
        "max": 55.2,
        "average": 55.0,
        **changes,
    }
    case = {key: value for key, value in case.items() if value is not None}
    return json.dumps({"nvbandwidth": {"Driver Version": "570.1", "git_version": "v0.8", "testcases": [case]}})


def test_cells_are_numbers_though_the_tool_prints_strings() -> None:
    """The matrix of a passed test, verified by its sum."""
    case = nvbandwidth.parse(_document()).testcase(NAME)

    assert case is not None
    assert case.verified
    assert case.matrix == ((55.2, 54.8),)


def test_log_lines_with_braces_may_precede_the_document() -> None:
    """Noise before the JSON does not hide it."""
    report = nvbandwidth.parse("warning: {odd} thing {\n" + _document() + "\ntrailing words")

    assert report.problem is None
    assert report.driver_version == "570.1"


@pytest.mark.parametrize(
    ("changes", "objection"),
    [
        ({"status": "Waived"}, "status Waived"),
        ({"status": "Error"}, "status Error"),
        ({"status": "Running"}, "status Running"),
        ({"bandwidth_matrix": None}, "the matrix is missing"),
        ({"bandwidth_matrix": [["55.2", "nan"]]}, "a cell is not a number"),
        ({"bandwidth_matrix": [["55.2", ""]]}, "a cell is not a number"),
        ({"bandwidth_matrix": [["55.2", "54.8"], ["1"]]}, "the matrix is ragged"),
        ({"bandwidth_matrix": [["N/A"]]}, "the matrix holds no number"),
        ({"bandwidth_matrix": [["5.2", "54.8"]]}, "the sum contradicts the matrix"),
        ({"sum": None}, "the sum of the matrix is missing"),
        ({"max": 99.0}, "the max contradicts the matrix"),
    ],
)
def test_a_test_that_contradicts_itself_is_not_verified(changes: dict[str, Any], objection: str) -> None:
    """Waived, unfinished, torn and altered tests are all named."""
    case = nvbandwidth.parse(_document(**changes)).testcase(NAME)

    assert case is not None
    assert not case.verified
    assert objection in str(case.problem)


@pytest.mark.parametrize(
    "text",
    ["", "CUDA error", _document()[:-5], _document().replace("110.0", "NaN"), _document() + _document(), "[" * 100_000],
)
def test_what_is_no_single_whole_document_is_refused(text: str) -> None:
    """Empty, cut, not JSON, or two runs at once: no test case, one problem."""
    report = nvbandwidth.parse(text)

    assert report.problem
    assert report.testcases == ()


TEXT = """\
nvbandwidth Version: v0.8
Driver Version: 570.1

Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    396.10
 1    395.90       N/A

SUM device_to_device_memcpy_read_ce 792.00

Waived: host_device_latency_sm
"""


def test_the_text_form_is_verified_by_its_sum() -> None:
    """The same rules hold for text: 396.10 + 395.90 = 792.00."""
    report = nvbandwidth.parse(TEXT)
    case = report.testcase("device_to_device_memcpy_read_ce")

    assert case is not None
    assert case.verified
    assert case.cells == (396.10, 395.90)
    assert report.waived == 1
    assert report.version == "v0.8"


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("SUM", "SOME"),
        TEXT.replace(" 1    395.90       N/A\n", ""),
        TEXT.replace("395.90", "39.590"),
        TEXT.replace("(GB/s)", "(furlongs)"),
    ],
)
def test_torn_text_is_not_verified(text: str) -> None:
    """A missing sum, row, digit or unit leaves the matrix unverified."""
    case = nvbandwidth.parse(text).testcase("device_to_device_memcpy_read_ce")

    assert case is not None
    assert not case.verified
