"""What a validation leaves as evidence: per node, every judged row with its limits and the checks that it failed.

A node's part depends on nothing but its own result, the suite and the baselines, so that judging it again, alone or in
another batch, gives the same bytes. Infinite limits are written as null.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nodeworthy.qualification.frame import Row
from nodeworthy.qualification.suites import Suite

VALIDATION_SCHEMA = "nodeworthy.validation/1"
_SAME_IN_ALL = ("row", "node", "identity", "expected_identity", "driver")


def validation_document(
    suite: Suite, rows: Sequence[Row], failed: Mapping[int, tuple[str, ...]], engine: str
) -> dict[str, Any]:
    """Return the validation of a whole batch: the suite's expectations once, the rows by node."""
    nodes: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        nodes.setdefault(row.node, []).append(_row(row, failed.get(row.row, ())))
    return {
        "schema": VALIDATION_SCHEMA,
        "engine": engine,
        "suite": suite.name,
        "suite_version": suite.version,
        "expectations": [dict(expectation) for expectation in suite.expectations["expectations"]],
        "nodes": nodes,
    }


def part_of(document: Mapping[str, Any], node: str) -> dict[str, Any]:
    """Return one node's part of a batch's validation."""
    shared = {key: value for key, value in document.items() if key != "nodes"}
    return {**shared, "node": node, "rows": document["nodes"][node]}


def _row(row: Row, failed: tuple[str, ...]) -> dict[str, Any]:
    cells = {key: _finite(value) for key, value in row.cells().items() if key not in _SAME_IN_ALL}
    return {**cells, "failed": list(failed)}


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
