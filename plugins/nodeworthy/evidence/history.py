"""A node's own history: what its earlier results read, figure by figure, with the serial of the part that was measured.

Only figures that were fit to be judged are kept, so that one run over the wrong transport does not bend the history.
A figure is compared with earlier ones of the same key alone: same part, same conditions, same driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Figure(NamedTuple):
    """One fit figure of one run. `part` is the serial of the component, empty for the node itself and unknown parts."""

    test: str
    component: str
    part: str
    metric: str
    statistic: str
    unit: str
    conditions: str
    """Parameters and transport, as one text."""
    value: float

    @property
    def key(self) -> tuple[str, ...]:
        """Everything but the value: figures of one key are one series."""
        return self[:-1]


@dataclass(frozen=True, slots=True)
class Figures:
    """What one result adds to its node's history."""

    result_sha256: str
    """Of the result's bundle."""
    driver: str
    simulated: bool
    figures: tuple[Figure, ...] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    """Serials of the node's components as the result names them (`gpu/3`)."""
