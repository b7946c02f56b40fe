"""How often the judgement is right: recall, precision, wrong reasons and GPU-hours, against three rules and the oracle.

Two corpora: one with bad nodes as rare as in a fleet, for precision, and one of bad nodes only, for recall by kind and
amount. `python -m benchmarks accuracy` prints a table; with `--write` it becomes a dated file in benchmarks/results/.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from nodeworthy.qualification.fault_model import fault_model
from nodeworthy.qualification.similarity import ShapeRule

from benchmarks.accuracy_figures import Tally, beside_oracle, rate_among_healthy
from benchmarks.accuracy_judged import judged
from benchmarks.accuracy_oracle import log_ratios
from benchmarks.accuracy_strategies import FixedPercent, InWave, Nodeworthy, Strategy, freeze
from benchmarks.accuracy_tables import markdown
from benchmarks.results import write
from lab.corpus.nodes import Fault, blocks
from lab.corpus.parameters import Parameters, parameters

RULES = Path(__file__).resolve().parents[1] / "include" / "statistics" / "combined.yaml"
REPEATS = (1, 3, 5)
MOST_REPEATS = max(REPEATS)
FEWER = 5
"""Fewer repeats than the most are measured on one node in so many: what they show needs no rare events."""


def strategies(corpus: Parameters, seed: int) -> list[Strategy]:
    """Return the product's rules with a frozen reference, and what they are compared with."""
    document = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    rule, model = ShapeRule(**document["shape"]), fault_model(document["fault_model"])
    return [
        Nodeworthy(corpus, freeze(corpus, seed, rule), model, rule),
        FixedPercent(corpus),
        InWave("MAD 3.5 in the wave", corpus, -3.5, robust=True),
        InWave("z 3 in the wave", corpus, -3.0, robust=False),
    ]


def in_a_fleet(corpus: Parameters, seed: int, nodes: int) -> list[dict[str, Any]]:
    """Return each strategy's figures where few nodes are bad. Nodes with bad data are judged elsewhere and left out."""
    compared = strategies(corpus, seed)
    tallies = {(strategy.name, repeats): Tally() for strategy in compared for repeats in REPEATS}
    for block in blocks(corpus, seed + 1, nodes):
        fit = [number for number, spoilt in enumerate(block.bad_data) if not spoilt]
        measured = REPEATS if block.first < nodes // FEWER else (MOST_REPEATS,)
        for strategy in compared:
            for repeats in measured:
                findings = strategy.flag(block, repeats)
                tallies[strategy.name, repeats].add(
                    [block.faults[number] for number in fit], [findings[number] for number in fit]
                )
    return [
        {"strategy": name, "repeats": repeats, **tally.figures(corpus, repeats)}
        for (name, repeats), tally in tallies.items()
    ]


def against_the_oracle(corpus: Parameters, seed: int, nodes: int) -> list[dict[str, Any]]:
    """Return, for each number of repeats, the recall by kind and amount beside the oracle's at equal false alarms."""
    ours = strategies(corpus, seed)[0]
    flags: dict[int, list[bool]] = {repeats: [] for repeats in REPEATS}
    ratios: dict[int, list[float]] = {repeats: [] for repeats in REPEATS}
    faults: list[Fault] = []
    for block in blocks(corpus, seed + 2, nodes, bad_share=1.0):
        faults += [fault for fault in block.faults if fault is not None]
        for repeats in REPEATS:
            flags[repeats] += [finding is not None for finding in ours.flag(block, repeats)]
            ratios[repeats] += log_ratios(corpus, block, repeats).tolist()
    rows = []
    for repeats in REPEATS:
        flagged, exact = np.array(flags[repeats]), np.array(ratios[repeats])
        rows.append(
            {
                "repeats": repeats,
                "false_alarms_percent": round(100.0 * rate_among_healthy(exact, flagged), 4),
                "by_kind": beside_oracle(faults, exact, flagged, *corpus.amount_percent),
            }
        )
    return rows


def by_the_judge(corpus: Parameters, seed: int, nodes: int) -> dict[str, Any]:
    """Return how the judge decides on documents of a corpus, bad data among them."""
    document = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    allowed = ShapeRule(**document["shape"])
    return judged(corpus, freeze(corpus, seed, allowed), fault_model(document["fault_model"]), allowed, seed, nodes)


def measure(seed: int, nodes: int, bad: int) -> dict[str, Any]:
    """Return the whole result as a JSON value."""
    corpus, began = parameters(), time.perf_counter()
    with ProcessPoolExecutor(2) as pool:
        fleet = pool.submit(in_a_fleet, corpus, seed, nodes)
        oracle = pool.submit(against_the_oracle, corpus, seed, bad)
        through_the_judge = pool.submit(by_the_judge, corpus, seed, nodes)
    return {
        "benchmark": "accuracy",
        "seed": seed,
        "nodes": nodes,
        "bad_nodes": bad,
        "metrics": corpus.metrics,
        "fleet": fleet.result(),
        "oracle": oracle.result(),
        "judged": through_the_judge.result(),
        "seconds": round(time.perf_counter() - began, 1),
    }


def main(arguments: Sequence[str]) -> int:
    """Measure and print; returns 0."""
    parser = argparse.ArgumentParser(prog="benchmarks accuracy", description=__doc__)
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--nodes", type=int, default=20480, help="nodes of the fleet's corpus")
    parser.add_argument("--bad", type=int, default=12288, help="nodes of the corpus of bad nodes")
    parser.add_argument("--write", action="store_true", help="keep the result in benchmarks/results/")
    given = parser.parse_args(arguments)
    result = measure(given.seed, given.nodes, given.bad)
    write(result, markdown(result), keep=given.write)
    return 0
