"""Faults that escape and GPU-hours spent: nodes chosen by risk against everything on everyone, on unseen fleets.

Everything on everyone is suite L3 on each node. The selection gets a fifth of those hours. How predictable risk is
decides the outcome, so the share of faults that leave a trace is varied too; where few do, the selection loses.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from nodeworthy.qualification.selection import Choice, NodeRisk, SelectionModel, select, selection_model

from benchmarks.results import write
from lab.corpus.fleet import FleetNode, fleet, found

MODEL = Path(__file__).resolve().parents[1] / "include" / "statistics" / "selection.yaml"
EVERYTHING = "L3"
SHARES = (1.0, 0.2, 0.15, 0.1)
TRACES = (0.98, 0.95, 0.9, 0.8, 0.6, 0.3)


def model() -> SelectionModel:
    """Return the shipped selection model."""
    return selection_model(yaml.safe_load(MODEL.read_text(encoding="utf-8")))


def known(node: FleetNode) -> NodeRisk:
    """Return what an operator knows of a node."""
    findings = ("unexplained finding",) if node.has_trace else ()
    return NodeRisk(node.name, node.age_days, node.days_since_qualification, node.past_faults, findings, node.gpus)


def escaped(nodes: Sequence[FleetNode], suites: Sequence[str], seed: int) -> tuple[int, int]:
    """Return (faults that no test found, all faults) when each node gets its suite, empty for none."""
    random = np.random.default_rng([seed, 99])
    bad = [(node.fault, suite) for node, suite in zip(nodes, suites, strict=True) if node.fault]
    return sum(not suite or not found(fault, suite, random) for fault, suite in bad), len(bad)


def everyone(nodes: Sequence[FleetNode], of: SelectionModel) -> tuple[list[str], float]:
    """Return everything on everyone, and its GPU-hours."""
    hours = next(suite.gpu_hours for suite in of.suites if suite.name == EVERYTHING)
    return [EVERYTHING] * len(nodes), hours * len(nodes)


def by_risk(nodes: Sequence[FleetNode], of: SelectionModel, budget: float) -> list[Choice]:
    """Return the product's choices."""
    return list(select([known(node) for node in nodes], of, budget))


def _chosen(share: float) -> Callable[[Sequence[FleetNode], SelectionModel], tuple[list[str], float]]:
    def choose(nodes: Sequence[FleetNode], of: SelectionModel) -> tuple[list[str], float]:
        choices = by_risk(nodes, of, share * everyone(nodes, of)[1])
        return [choice.suite for choice in choices], sum(choice.gpu_hours for choice in choices)

    return choose


def measure(seeds: Sequence[int], nodes: int) -> dict[str, Any]:
    """Return escaped faults and hours, summed over the seeds, by budget and by how many faults leave a trace."""
    of = model()
    rows = []
    for trace in TRACES:
        strategies = {"everything on everyone": everyone, "L1 on everyone": _all_l1}
        strategies |= {f"by risk, {share:.0%} of the hours": _chosen(share) for share in SHARES if share < 1}
        totals = {name: [0, 0, 0.0] for name in strategies}
        for seed in seeds:
            made = fleet(seed, nodes, {"trace_of_fault": trace})
            for name, choose in strategies.items():
                suites, hours = choose(made, of)
                missed, bad = escaped(made, suites, seed)
                totals[name] = [total + more for total, more in zip(totals[name], (missed, bad, hours), strict=True)]
        rows += [{"trace": trace, "strategy": name, **_row(*total)} for name, total in totals.items()]
    example = by_risk(fleet(seeds[0], nodes), of, 0.2 * everyone(fleet(seeds[0], nodes), of)[1])
    return {
        "benchmark": "selection",
        "seeds": [seeds[0], seeds[-1]],
        "nodes": nodes * len(seeds),
        "rows": rows,
        "examples": [
            max((one for one in example if one.suite == suite), key=lambda one: one.probability).sentence
            for suite in sorted({one.suite for one in example})
        ],
    }


def _all_l1(nodes: Sequence[FleetNode], of: SelectionModel) -> tuple[list[str], float]:
    return ["L1"] * len(nodes), of.suites[0].gpu_hours * len(nodes)


def _row(missed: float, bad: float, hours: float) -> dict[str, Any]:
    rate = missed / bad
    error = (rate * (1 - rate) / bad) ** 0.5
    return {
        "faults": int(bad),
        "escaped": int(missed),
        "escaped_percent": round(100 * rate, 2),
        "error_percent": round(100 * error, 2),
        "gpu_hours": round(hours),
    }


def markdown(result: dict[str, Any]) -> str:
    """Return the result as a table."""
    lines = [
        "# Selection of nodes within a budget",
        "",
        f"{result['nodes']} nodes of fleets made by `lab/corpus/fleet.py` with seeds {result['seeds'][0]} to "
        f"{result['seeds'][-1]}; the product's factors (`include/statistics/selection.yaml`) are not "
        "those of the fleets.",
        "",
        "| faults with a trace | strategy | faults | escaped | escaped % | GPU-hours |",
        "|" + "---|" * 6,
    ]
    lines += [
        f"| {row['trace']:.0%} | {row['strategy']} | {row['faults']} | {row['escaped']} "
        f"| {row['escaped_percent']:.2f} +- {row['error_percent']:.2f} | {row['gpu_hours']} |"
        for row in result["rows"]
    ]
    return "\n".join([*lines, "", "How a choice reads:", "", *(f"- {one}" for one in result["examples"])]) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Measure and print; returns 0."""
    parser = argparse.ArgumentParser(prog="benchmarks selection", description=__doc__)
    parser.add_argument("--seed", type=int, default=20261130, help="the first of the seeds")
    parser.add_argument("--fleets", type=int, default=10)
    parser.add_argument("--nodes", type=int, default=4000, help="nodes of each fleet")
    parser.add_argument("--write", action="store_true", help="keep the result in benchmarks/results/")
    given = parser.parse_args(arguments)
    result = measure(range(given.seed, given.seed + given.fleets), given.nodes)
    write(result, markdown(result), keep=given.write)
    return 0
