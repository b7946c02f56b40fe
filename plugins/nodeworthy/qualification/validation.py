"""What a validation leaves as evidence: per node, every judged row with its limits and the checks that it failed.

A node's part depends on nothing but its own result, the suite and the baselines, so that judging it again, alone or in
another batch, gives the same bytes. Infinite limits are written as null.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nodeworthy.qualification.frame import Row
from nodeworthy.qualification.suites import Suite

VALIDATION_SCHEMA = "nodeworthy.validation/1"
_SAME_IN_ALL = ("row", "node", "identity", "expected_identity", "driver")


def validation_document(
    suite: Suite, parts: Mapping[str, Sequence[Row]], failed: Mapping[int, tuple[str, ...]], engine: str
) -> dict[str, Any]:
    """Return the validation of a whole batch: the suite's expectations once, the rows by part (see `part_name`)."""
    return {
        "schema": VALIDATION_SCHEMA,
        "engine": engine,
        "suite": suite.name,
        "suite_version": suite.version,
        "expectations": [dict(expectation) for expectation in suite.expectations["expectations"]],
        "nodes": _Parts(parts, failed),
    }


def part_name(node: str, segment: int = 1) -> str:
    """Return the key of one result's rows: the node, and which segment of its soak when it is not the first."""
    return node if segment == 1 else f"{node} segment {segment}"


class _Parts(Mapping[str, list[dict[str, Any]]]):
    """The rows by part, written out when they are asked for: of half a million rows a dossier needs a few hundred."""

    def __init__(self, parts: Mapping[str, Sequence[Row]], failed: Mapping[int, tuple[str, ...]]) -> None:
        self._rows = parts
        self._failed = failed

    def __getitem__(self, part: str) -> list[dict[str, Any]]:
        return [_row(row, self._failed.get(row.row, ())) for row in self._rows[part]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def part_of(document: Mapping[str, Any], node: str, segment: int = 1) -> dict[str, Any]:
    """Return the part of a batch's validation that is about one result of a node."""
    shared = {key: value for key, value in document.items() if key != "nodes"}
    return {**shared, "node": node, "rows": document["nodes"][part_name(node, segment)]}


def _row(row: Row, failed: tuple[str, ...]) -> dict[str, Any]:
    cells = {key: _finite(value) for key, value in row.cells().items() if key not in _SAME_IN_ALL}
    return {**cells, "failed": list(failed)}


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
