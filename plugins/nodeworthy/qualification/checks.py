"""The reference implementation of the checks: what each reason code means, as a predicate over one row.

The judge in production is Great Expectations, from the suite file. These predicates say the same in a few lines, so
that a test can compare the two on any frame, and so that a decision can be made again without the library.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from nodeworthy.qualification.frame import Row
from nodeworthy.qualification.suites import Check

COMPLETED = "completed"
NOT_STARTED: Final = frozenset({"skipped", "tool-missing"})
BROKEN: Final = frozenset({"crashed", "timed-out", "unparsable"})
NOT_CHECKED: Final = frozenset({"waived", "not-checked"})


def _value(row: Row) -> float:
    return math.nan if row.value is None else row.value


PREDICATES: Final[Mapping[str, Callable[[Row], bool]]] = {
    "wrong_document": lambda row: row.identity == row.expected_identity,
    "not_run": lambda row: row.execution not in NOT_STARTED,
    "tool_error": lambda row: row.execution not in BROKEN,
    "test_absent": lambda row: row.execution in {COMPLETED, *NOT_STARTED, *BROKEN},
    "not_checked": lambda row: row.status not in NOT_CHECKED,
    "missing": lambda row: row.value is not None,
    "status": lambda row: row.status in {"ok", *NOT_CHECKED},
    "not_finite": lambda row: row.value is None or math.isfinite(row.value),
    "not_demanded": lambda row: row.demanded == "yes",
    "wrong_unit": lambda row: row.unit == row.expected_unit,
    "version_unknown": lambda row: row.driver is not None,
    "no_baseline": lambda row: row.baseline is not None,
    "wrong_transport": lambda row: row.transport == row.expected_transport,
    "wrong_parameters": lambda row: row.parameters == row.expected_parameters,
    "below_least": lambda row: _value(row) >= row.least,
    "above_ceiling": lambda row: row.ceiling >= _value(row),
    "below_floor": lambda row: _value(row) >= row.floor,
    "above_most": lambda row: row.most >= _value(row),
    "below_reference": lambda row: _value(row) >= row.reference_low,
    "below_own_node": lambda row: _value(row) >= row.slot_low,
    "below_together": lambda row: row.evidence_most >= row.evidence,
}
DUPLICATE = "duplicate"


def failed_checks(rows: Sequence[Row], checks: Sequence[Check]) -> dict[int, tuple[str, ...]]:
    """Return, per row number, the codes of the row checks that it fails, in the order of the suite."""
    seen = Counter(_key(row) for row in rows)
    failed: dict[int, tuple[str, ...]] = {}
    for row in rows:
        codes = tuple(check.code for check in checks if _fails(check.code, row, seen))
        if codes:
            failed[row.row] = codes
    return failed


def _key(row: Row) -> tuple[str, ...]:
    return (row.expected_identity, row.test, row.component, row.metric, row.statistic)


def _fails(code: str, row: Row, seen: Mapping[tuple[str, ...], int]) -> bool:
    if code == DUPLICATE:
        return seen[_key(row)] > 1
    predicate = PREDICATES.get(code)
    return predicate is not None and not predicate(row)
