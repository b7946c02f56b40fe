"""The document of a short training (``nodeworthy.train-step/1``), out of what the launcher and NCCL print around it.

It is refused as a whole unless every rank is there once, with positive times whose median lies between its least and
most, no step shorter than its computing, and finite losses that were reported at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nodeworthy_probe.train_step import SCHEMA, flops_of

from .numbers import finite

KEYS = ("layers", "hidden", "sequence", "batch", "seed")
"""What belongs to the key of every figure, beside the number of ranks."""
_COUNTS = ("steps", "layers", "hidden", "heads", "sequence", "batch")
_HALVES = ("compute_ms", "step_ms")
_MOST_RANKS = 65_536


@dataclass(frozen=True)
class Rank:
    """One rank: where it ran, the medians of its times in ms, and its last loss (None when it was no number)."""

    node: str
    gpu: int
    compute_ms: float
    step_ms: float
    loss: float | None


@dataclass(frozen=True)
class Training:
    """A whole run; with ``problem`` it holds no ranks."""

    ranks: tuple[Rank, ...] = ()
    parameters: Mapping[str, int] | None = None
    flops_per_step: float = 0.0
    versions: Mapping[str, str] | None = None
    problem: str | None = None


def parse(text: str) -> Training:
    """Read the one document in ``text``."""
    start = f'{{"schema": "{SCHEMA}"'
    lines = [line[line.index(start) :] for line in text.splitlines() if start in line]
    if len(lines) != 1:
        return Training(problem=f"{len(lines)} documents of schema {SCHEMA} where one was to come")
    try:
        document = json.loads(lines[0])
    except (ValueError, RecursionError):
        return Training(problem=f"the document of schema {SCHEMA} is no JSON: it was cut")
    try:
        return _read(document)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        return Training(problem=f"the document of schema {SCHEMA} cannot be read ({error})")


def _read(document: Mapping[str, Any]) -> Training:
    counts = {name: _whole(document[name]) for name in _COUNTS}
    rows: Sequence[Mapping[str, Any]] = document["ranks"]
    if not 0 < len(rows) <= _MOST_RANKS or [row["rank"] for row in rows] != list(range(len(rows))):
        raise ValueError("its ranks are not all there, each once and in order")
    ranks = tuple(_rank(row) for row in rows)
    flops = finite(document["flops_per_step"])
    if flops is None or abs(flops - flops_of(counts)) > 1e-6 * flops:
        raise ValueError("its operations of a step do not follow from its layers")
    versions = {str(name): str(value) for name, value in document["versions"].items()}
    parameters = {name: int(document[name]) for name in KEYS}
    return Training(ranks, {**parameters, "ranks": len(ranks)}, flops, versions)


def _rank(row: Mapping[str, Any]) -> Rank:
    medians = []
    for half in _HALVES:
        least, middle, most = (finite(row[half][name]) for name in ("least", "median", "most"))
        if least is None or middle is None or most is None or not 0 < least <= middle <= most:
            raise ValueError(f"rank {row['rank']} has no {half} that is positive and in order")
        medians.append(middle)
    if medians[1] < medians[0]:
        raise ValueError(f"rank {row['rank']} computed longer than its step took")
    node, gpu = row["node"], row["gpu"]
    if not isinstance(node, str) or not node or not isinstance(gpu, int) or isinstance(gpu, bool) or gpu < 0:
        raise ValueError(f"rank {row['rank']} does not say on which node and GPU it ran")
    computed, whole = medians
    return Rank(node, gpu, computed, whole, None if row["loss"] is None else finite(row["loss"]))


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{value!r} is no count")
    return value
