"""Baselines: what a metric must be for a key.

A figure has a floor *and* a ceiling: below the floor the node is bad, above the ceiling the test is. A baseline that
cannot fail, or that nothing ever reached, is refused when it is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Baseline:
    """Floor, ceiling and spread of one metric for one key (SKU, firmware set, test, parameters, statistic, unit)."""

    sku: str
    test: str
    metric: str
    statistic: str
    unit: str
    floor: float | None
    ceiling: float | None
    source: str
    date: str
    version: int
    sample_size: int
    parameters: Mapping[str, str | int | float] = field(default_factory=dict)
    firmware_set: str = "*"
    spread_percent: float | None = None
    """Largest allowed spread between the components of one node: (max - min) / median in per cent."""
    reached: float | None = None
    """The best figure anybody published or measured: proof that the floor can be met."""
