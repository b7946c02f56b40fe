"""Nodes of the corpus, in blocks of arrays: what was measured, and what is true.

Figures are deviations from the metric's reference value in per cent, so that a healthy part's are near 0 and a
degradation of 3 % is -3. The same seed gives the same nodes, whatever the size of the blocks before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lab.corpus.parameters import GPU, NODE, Family, Parameters

Figures = NDArray[np.float64]
WHOLE_NODE = -1
"""The component of a fault that all GPUs, or the node's own metrics, show."""
BLOCK = 512


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one node: what a job loses in per cent, where, and which metrics show it."""

    kind: str
    amount_percent: float
    component: int
    """A GPU's index, or `WHOLE_NODE`."""
    per: str
    family: str
    columns: tuple[int, ...]
    runs: tuple[int, ...]
    """The repeats that show it."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some nodes: figures by node, GPU, metric, repeat; by node, metric, repeat; iterations by node, GPU, repeat, time.

    `gpu` and `node` are deviations in per cent; `iterations` are times relative to the run's reference (1.0).
    """

    first: int
    gpu: Figures
    node: Figures
    iterations: NDArray[np.float32]
    faults: tuple[Fault | None, ...]
    bad_data: tuple[str, ...]
    """Per node what is wrong with its data, though nothing is wrong with the node; empty for most."""

    def __len__(self) -> int:
        return len(self.faults)


def blocks(parameters: Parameters, seed: int, nodes: int, bad_share: float | None = None) -> Iterator[Block]:
    """Yield `nodes` nodes in blocks. `bad_share` overrides the file's: 0 for a reference population, 1 for recall."""
    share = parameters.bad_share if bad_share is None else bad_share
    for first in range(0, nodes, BLOCK):
        random = np.random.default_rng([seed, first])
        yield _block(parameters, random, first, min(BLOCK, nodes - first), share)


def _block(parameters: Parameters, random: np.random.Generator, first: int, count: int, share: float) -> Block:
    gpus, repeats = parameters.gpus, parameters.repeats
    gpu = _noise(parameters, random, (count, gpus, parameters.width(GPU)))
    node = _noise(parameters, random, (count, parameters.width(NODE)))
    shape = (count, gpus, repeats, parameters.iterations)
    iterations = random.standard_normal(shape, dtype=np.float32)
    iterations *= np.float32(parameters.iteration_percent / 100)
    iterations += 1.0
    bad = random.random(count) < share
    faults = tuple(_fault(parameters, random) if is_bad else None for is_bad in bad)
    spoilt = (random.random(count) < parameters.bad_data_share) & ~bad
    which = random.integers(len(parameters.bad_data), size=count)
    bad_data = tuple(
        parameters.bad_data[kind] if is_spoilt else "" for kind, is_spoilt in zip(which, spoilt, strict=True)
    )
    block = Block(first, gpu, node, iterations, faults, bad_data)
    for number, fault in enumerate(faults):
        if fault is not None:
            _apply(parameters, random, block, number, fault)
    return block


def _noise(parameters: Parameters, random: np.random.Generator, shape: tuple[int, ...]) -> Figures:
    part = random.normal(0.0, parameters.spread_percent, shape)
    runs = random.normal(0.0, parameters.run_percent, (*shape, parameters.repeats))
    return part[..., None] + runs


def _fault(parameters: Parameters, random: np.random.Generator) -> Fault:
    names = list(parameters.kinds)
    kind = names[int(random.choice(len(names), p=list(parameters.kinds.values())))]
    amount = float(random.uniform(*parameters.amount_percent))
    family = _family(parameters, random, kind)
    component = WHOLE_NODE if kind == "whole-node" else int(random.integers(parameters.gpus))
    hit = int(random.integers(1, len(family.metrics) + 1))
    columns = tuple(sorted(int(column) for column in random.choice(family.columns, hit, replace=False)))
    runs = tuple(range(parameters.repeats))
    if kind == "intermittent":
        low, high = parameters.intermittent_runs
        many = int(random.integers(low, high + 1))
        runs = tuple(sorted(int(run) for run in random.choice(parameters.repeats, many, replace=False)))
    if kind == "stall":
        columns = ()
    return Fault(kind, amount, component, family.per, family.name, columns, runs)


def _family(parameters: Parameters, random: np.random.Generator, kind: str) -> Family:
    fitting = parameters.of(GPU, load=kind == "under-load")
    if kind == "whole-node":
        fitting = parameters.families
    return fitting[int(random.integers(len(fitting)))]


def _apply(parameters: Parameters, random: np.random.Generator, block: Block, number: int, fault: Fault) -> None:
    if fault.kind == "stall":
        _stall(parameters, random, block.iterations[number, fault.component], fault.amount_percent)
        return
    in_hit_run = fault.amount_percent * parameters.repeats / len(fault.runs)
    for column in fault.columns:
        if fault.per == NODE:
            block.node[number, column, list(fault.runs)] -= in_hit_run
        elif fault.component == WHOLE_NODE:
            block.gpu[number, :, column, :][:, list(fault.runs)] -= in_hit_run
        else:
            block.gpu[number, fault.component, column, list(fault.runs)] -= in_hit_run


def _stall(
    parameters: Parameters, random: np.random.Generator, iterations: NDArray[np.float32], amount_percent: float
) -> None:
    """Lengthen a random share of the iterations so that the mean time grows by the amount."""
    share = random.uniform(*parameters.stall_share)
    stalled = random.random(iterations.shape) < share
    iterations[stalled] += np.float32(amount_percent / 100 / share)
