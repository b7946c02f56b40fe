"""One row of the long frame: a figure with everything it is judged by."""

from __future__ import annotations

from typing import Any, NamedTuple

from nodeworthy.qualification.baselines import Baseline


class Row(NamedTuple):
    """One figure with everything it is judged by. Numbers are in `expected_unit`.

    A tuple, because a large batch has half a million of them.
    """

    row: int
    node: str
    test: str
    component: str
    metric: str
    statistic: str
    value: float | None
    unit: str
    expected_unit: str
    status: str
    execution: str
    identity: str
    expected_identity: str
    driver: str | None
    transport: str
    expected_transport: str
    parameters: str
    expected_parameters: str
    demanded: str
    baseline: str | None
    floor: float
    most: float
    ceiling: float
    least: float
    reference_low: float
    slot_low: float
    slot_median: float | None
    evidence: float
    """Likelihood ratio, as a natural logarithm, of a fault over all figures of the node; on the row it points at."""
    evidence_most: float
    note: str
    limits: Baseline | None

    def cells(self) -> dict[str, Any]:
        """Return the columns of the frame: everything but the baseline itself."""
        return dict(zip(COLUMNS, self, strict=False))


COLUMNS = Row._fields[:-1]
