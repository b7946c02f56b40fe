"""Figures that the judge works out from what the probe brought: a median over peers, or the shape of iteration times.

A shape is compared with the one that was frozen in the baseline. Before a shape was learnt there is nothing to compare
with: the row then has no value though everything came, which is said as a key without a baseline.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from nodeworthy.evidence.measurements import Measurement, MeasurementStatus
from nodeworthy.qualification.baselines import Baseline
from nodeworthy.qualification.columns import Column
from nodeworthy.qualification.similarity import SIMILARITY, STALLED_SHARE, similarity, stalled_share

SHAPES = frozenset({SIMILARITY, STALLED_SHARE})
RATIO = "ratio"


def derived(column: Column, component: str, found: Sequence[Measurement]) -> Measurement:
    """Return the derived figure of a component; `found` are its measurements, one at least."""
    spec = column.spec
    status = next((one.status for one in found if one.value is None), MeasurementStatus.OK)
    if spec.statistic in SHAPES:
        samples = [sample for one in found for sample in one.samples]
        if status is MeasurementStatus.OK and not samples:
            status = MeasurementStatus.MISSING
        value = _of_shape(samples, column.baseline) if status is MeasurementStatus.OK else None
        unit = RATIO
    else:
        values = [one.value for one in found if one.value is not None]
        value = median(values) if len(values) == len(found) else None
        unit = found[0].unit if len({one.unit for one in found}) == 1 else "mixed"
    return found[0]._replace(
        component=component,
        metric=spec.metric,
        statistic=spec.statistic,
        value=value,
        unit=unit,
        status=status,
        runs=(),
        samples=(),
    )


def _of_shape(samples: Sequence[float], baseline: Baseline | None) -> float | None:
    if baseline is None:
        return None
    if baseline.quantiles is not None:
        return similarity(samples, baseline.quantiles)
    return None if baseline.stalled_above is None else stalled_share(samples, baseline.stalled_above)
