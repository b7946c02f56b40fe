"""Reading a probe's result with distrust: nothing becomes a number, or a pass, by accident."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nodeworthy.evidence.measurements import MeasurementStatus
from nodeworthy.evidence.results import number, read_result

MINIMAL: dict[str, Any] = {
    "schema": "nodeworthy.result/1",
    "simulated": True,
    "node": "gpu-a01",
    "episode": 1,
    "suite": "l1",
    "sku": "h100-sxm-8",
    "tests": [],
    "measurements": [],
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("value", "read"),
    [(1, 1.0), (-2.5, -2.5), (True, None), ("1", None), (None, None), (float("nan"), None), (10**400, None)],
)
def test_only_finite_numbers_are_numbers(value: object, read: float | None) -> None:
    """Truth values, texts, NaN and numbers beyond a float are none."""
    assert number(value) == read


def test_a_row_that_claims_ok_without_a_number_is_not_ok() -> None:
    """The status is corrected by what stands there."""
    row = {"test": "t", "component": "node", "metric": "m", "unit": "count", "statistic": "single", "status": "ok"}
    rows = [{**row, "value": None}, {**row, "value": "N/A"}, {**row, "value": 3}, {**row, "value": 3, "status": "odd"}]
    read = read_result({**MINIMAL, "measurements": rows})
    assert [one.status for one in read.measurements] == [
        MeasurementStatus.MISSING,
        MeasurementStatus.NOT_A_NUMBER,
        MeasurementStatus.OK,
        MeasurementStatus.NOT_A_NUMBER,
    ]


@pytest.mark.parametrize("key", sorted(MINIMAL))
def test_a_document_without_one_of_its_fields_says_so(key: str) -> None:
    """The problem names what is wrong, and nothing is read."""
    read = read_result({name: value for name, value in MINIMAL.items() if name != key})
    assert read.problem
    assert read.measurements == ()


@given(key=st.sampled_from(sorted([*MINIMAL, "versions", "findings", "serial"])), value=JSON)
def test_no_content_makes_reading_raise(key: str, value: object) -> None:
    """Any JSON in any field is read, or reported as a problem."""
    read_result({**MINIMAL, key: value})
