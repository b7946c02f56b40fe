"""The corpus' parameters as frozen values, read from `lab/data/corpus.yaml`.

Nothing about the corpus stands in code: noise, families of metrics, kinds of fault and their shares are the file's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lab.truth import data

Range = tuple[float, float]
GPU, NODE = "gpu", "node"


@dataclass(frozen=True, slots=True)
class Family:
    """The metrics of one subsystem, per GPU or per node; `columns` are their places in the arrays of `per`."""

    name: str
    per: str
    metrics: tuple[str, ...]
    columns: tuple[int, ...]
    load: bool
    """Whether the metrics are taken under sustained load."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """All of `corpus.yaml`; percentages are of the metric's reference value."""

    gpus: int
    repeats: int
    iterations: int
    run_percent: float
    spread_percent: float
    iteration_percent: float
    bad_share: float
    amount_percent: Range
    families: tuple[Family, ...]
    kinds: Mapping[str, float]
    intermittent_runs: tuple[int, int]
    stall_share: Range
    bad_data_share: float
    bad_data: tuple[str, ...]
    poisoned_clock_factor: Range
    repeat_hours: float
    follow_up_hours: float

    def of(self, per: str, *, load: bool = False) -> tuple[Family, ...]:
        """Return the families measured per GPU or per node; with `load` only those under sustained load."""
        return tuple(family for family in self.families if family.per == per and (family.load or not load))

    def width(self, per: str) -> int:
        """Return how many metrics are measured per GPU or per node."""
        return sum(len(family.metrics) for family in self.of(per))

    @property
    def metrics(self) -> int:
        """How many metrics a node has, counting a metric of eight GPUs once."""
        return self.width(GPU) + self.width(NODE)


def parameters(name: str = "corpus.yaml") -> Parameters:
    """Read a parameter file of `lab/data/`. KeyError for what is missing, ValueError for shares that are not one."""
    document = data.load(name)
    if abs(sum(document["kinds"].values()) - 1.0) > 1e-9:
        raise ValueError(f"{name}: the kinds' shares add up to {sum(document['kinds'].values()):g}: make them 1.")
    noise, cost = document["noise"], document["cost"]
    low, high = document["intermittent_runs"]
    return Parameters(
        gpus=int(document["gpus"]),
        repeats=int(document["repeats"]),
        iterations=int(document["iterations"]),
        run_percent=float(noise["run_percent"]),
        spread_percent=float(noise["spread_percent"]),
        iteration_percent=float(noise["iteration_percent"]),
        bad_share=float(document["bad_share"]),
        amount_percent=_range(document["amount_percent"]),
        families=_families(document["families"]),
        kinds=dict(document["kinds"]),
        intermittent_runs=(int(low), int(high)),
        stall_share=_range(document["stall_share"]),
        bad_data_share=float(document["bad_data_share"]),
        bad_data=tuple(document["bad_data"]),
        poisoned_clock_factor=_range(document["poisoned_clock_factor"]),
        repeat_hours=float(cost["repeat_hours"]),
        follow_up_hours=float(cost["follow_up_hours"]),
    )


def _range(pair: Any) -> Range:
    low, high = pair
    return float(low), float(high)


def _families(document: Mapping[str, Any]) -> tuple[Family, ...]:
    found, next_column = [], {GPU: 0, NODE: 0}
    for name, row in document.items():
        first, metrics = next_column[row["per"]], tuple(row["metrics"])
        columns = tuple(range(first, first + len(metrics)))
        next_column[row["per"]] = first + len(metrics)
        found.append(Family(name, row["per"], metrics, columns, bool(row.get("load"))))
    return tuple(found)
