"""Nodes of the corpus as the result documents that a probe would write, with what is wrong with their data.

Every metric's reference value is 100; a figure is the median of its runs and brings the runs along. Each GPU also
brings the times of its iterations, relative to the median of their own run. Bad data spoils the document of a healthy
node the way it happens in the field: a GPU without rows, a collective over the wrong transport, a tool's output cut
off, a clock that makes figures too good.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lab.corpus.nodes import Block
from lab.corpus.parameters import GPU, NODE, Family, Parameters

REFERENCE = 100.0
UNIT = "GB/s"
SUITE, SKU = "corpus", "corpus-8"
TRANSPORT_FAMILY, TRANSPORT, WRONG_TRANSPORT = "collectives", "NVLS", "SHM"
ITERATIONS, ITERATION_TIME = "corpus.iterations", "iteration_time"


def node_name(block: Block, number: int) -> str:
    """Return the name of a node of a block."""
    return f"gpu-{block.first + number:05}"


def test_name(family: Family) -> str:
    """Return the name of the test that measures a family."""
    return f"corpus.{family.name}"


def document(parameters: Parameters, block: Block, number: int, repeats: int, seed: int) -> dict[str, Any]:
    """Return the result document of one node from its first `repeats` runs, with its bad data if it has any."""
    node = node_name(block, number)
    tests = [
        _completed(test_name(family), TRANSPORT if family.name == TRANSPORT_FAMILY else None)
        for family in parameters.families
    ] + [_completed(ITERATIONS, None)]
    rows = [row for family in parameters.families for row in _rows(block, number, family, repeats)]
    rows += _iterations(block, number, repeats)
    whole = {
        "schema": "nodeworthy.result/1",
        "simulated": True,
        "node": node,
        "serial": f"SN-{node}",
        "episode": 1,
        "suite": SUITE,
        "sku": SKU,
        "versions": {"driver": "570.86.15"},
        "tests": tests,
        "measurements": rows,
        "findings": [],
    }
    if block.bad_data[number]:
        random = np.random.default_rng([seed, block.first + number])
        _spoil(whole, block.bad_data[number], parameters, random)
    return whole


def _completed(test: str, transport: str | None) -> dict[str, Any]:
    return {"test": test, "execution": "completed", "exit_code": 0, "transport": transport, "reason": None}


def _iterations(block: Block, number: int, repeats: int) -> Iterator[dict[str, Any]]:
    for gpu, times in enumerate(block.iterations[number, :, :repeats]):
        yield {
            "test": ITERATIONS,
            "component": f"gpu/{gpu}",
            "metric": ITERATION_TIME,
            "value": REFERENCE * float(np.median(times)),
            "unit": "us",
            "statistic": "median",
            "status": "ok",
            "parameters": {},
            "transport": None,
            "samples": (times / np.median(times, axis=1, keepdims=True)).reshape(-1).tolist(),
        }


def _rows(block: Block, number: int, family: Family, repeats: int) -> Iterator[dict[str, Any]]:
    figures = block.node[number][None] if family.per == NODE else block.gpu[number]
    for component in range(len(figures)):
        name = f"gpu/{component}" if family.per == GPU else "node"
        for metric, column in zip(family.metrics, family.columns, strict=True):
            runs = [REFERENCE * (1.0 + float(value) / 100.0) for value in figures[component, column, :repeats]]
            row = {
                "test": test_name(family),
                "component": name,
                "metric": metric,
                "value": float(np.median(runs)),
                "unit": UNIT,
                "statistic": "median",
                "status": "ok",
                "parameters": {},
                "transport": None,
            }
            yield {**row, "runs": runs} if repeats > 1 else row


def _spoil(whole: dict[str, Any], kind: str, parameters: Parameters, random: np.random.Generator) -> None:
    """Change a document as this kind of bad data does. KeyError for a kind that nobody knows."""
    change = {
        "missing-device": _without_a_gpu,
        "wrong-transport": _over_another_transport,
        "truncated": _cut_off,
        "poisoned-clock": _by_a_slow_clock,
    }[kind]
    change(whole, parameters, random)


def _without_a_gpu(whole: dict[str, Any], parameters: Parameters, random: np.random.Generator) -> None:
    gone = f"gpu/{int(random.integers(parameters.gpus))}"
    whole["measurements"] = [row for row in whole["measurements"] if row["component"] != gone]


def _over_another_transport(whole: dict[str, Any], parameters: Parameters, random: np.random.Generator) -> None:
    for test in whole["tests"]:
        if test["transport"] == TRANSPORT:
            test["transport"] = WRONG_TRANSPORT
    for row in whole["measurements"]:
        if row["test"] == f"corpus.{TRANSPORT_FAMILY}":
            _scale(row, float(random.uniform(0.1, 0.6)))


def _cut_off(whole: dict[str, Any], parameters: Parameters, random: np.random.Generator) -> None:
    test = whole["tests"][int(random.integers(len(whole["tests"])))]
    of_test = [row for row in whole["measurements"] if row["test"] == test["test"]]
    kept = of_test[: int(random.integers(len(of_test)))]
    whole["measurements"] = [row for row in whole["measurements"] if row["test"] != test["test"]] + kept


def _by_a_slow_clock(whole: dict[str, Any], parameters: Parameters, random: np.random.Generator) -> None:
    # Iterations are told relative to their own median, which no clock changes.
    figures = [test for test in whole["tests"] if test["test"] != ITERATIONS]
    test = figures[int(random.integers(len(figures)))]
    factor = float(random.uniform(*parameters.poisoned_clock_factor))
    for row in whole["measurements"]:
        if row["test"] == test["test"]:
            _scale(row, factor)


def _scale(row: dict[str, Any], factor: float) -> None:
    row["value"] *= factor
    if "runs" in row:
        row["runs"] = [value * factor for value in row["runs"]]
