"""Error rates of the statistics beside the combined rule: drift, similarity, lemons, and group tests against pairs.

Each is simulated with a seed; `docs/statistics.md` shows the dated result.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from nodeworthy.qualification.drift import DriftRule, drift
from nodeworthy.qualification.lemons import LemonRule, PartFault, lemons
from nodeworthy.qualification.screening import Screening, domains
from nodeworthy.qualification.similarity import ShapeRule, freeze_shape, shape
from nodeworthy.qualification.statistical_rules import rules_from_document

from benchmarks.results import write
from benchmarks.statistics_drift import of_own_history
from lab.truth import data

RULES = Path(__file__).resolve().parents[1] / "include" / "statistics" / "combined.yaml"
Random = np.random.Generator
RUNS = 30


def of_drift(random: Random, rule: DriftRule, histories: int) -> list[dict[str, Any]]:
    """Return how often histories of 30 runs alarm, and after how many runs, for none and for several drifts."""
    drifts: dict[str, Callable[[Any], Any]] = {
        "none": lambda runs: runs * 0.0,
        "sudden, 1 sigma": lambda runs: runs * 0.0 - 1.0,
        "sudden, 2 sigma": lambda runs: runs * 0.0 - 2.0,
        "0.1 sigma a run": lambda runs: -0.1 * (runs + 1),
        "0.3 sigma a run": lambda runs: -0.3 * (runs + 1),
    }
    rows = []
    for name, fall in drifts.items():
        noise = random.standard_normal((histories, RUNS)) + fall(np.arange(RUNS))
        alarms = [drift(history.tolist(), 0.0, 1.0, rule).alarmed for history in noise]
        seen = [alarm + 1 for alarm in alarms if alarm is not None]
        median_delay = float(np.median(seen)) if seen else None
        rows.append(
            {"drift": name, "alarm_percent": round(100 * len(seen) / histories, 1), "median_runs": median_delay}
        )
    return rows


def of_shapes(random: Random, rule: ShapeRule, cases: int) -> list[dict[str, Any]]:
    """Return how often samples of 100 iterations count as unlike the reference, by what is wrong with them."""
    reference = freeze_shape((1 + 0.01 * random.standard_normal(20_000)).tolist(), rule)
    changes: dict[str, Callable[[Any], Any]] = {
        "healthy": lambda times: times,
        "10 % of iterations 10 % longer": lambda times: times + 0.1 * (random.random(times.shape) < 0.1),
        "10 % of iterations 50 % longer": lambda times: times + 0.5 * (random.random(times.shape) < 0.1),
        "five-fold jitter": lambda times: 1 + 5 * (times - 1),
    }
    rows = []
    for name, change in changes.items():
        samples = change(1 + 0.01 * random.standard_normal((cases, 100)))
        found = [shape(one.tolist(), reference) for one in samples]
        flagged = sum(not one.healthy(rule) for one in found)
        similar = float(np.median([one.similarity for one in found]))
        rows.append({"case": name, "flagged_percent": round(100 * flagged / cases, 2), "similarity": round(similar, 4)})
    return rows


def of_lemons(random: Random, rule: LemonRule, looks: int) -> dict[str, Any]:
    """Return false lemons per look, and how many true ones are found, among 8,000 GPUs in a year of service.

    A sound GPU has 0.05 faults a year, one in a thousand has 3.
    """
    gpus, rates = 8000, {False: 0.05, True: 3.0}
    false, found, there = 0, 0, 0
    for _ in range(looks):
        is_bad = random.random(gpus) < 0.001
        counts = random.poisson(np.where(is_bad, rates[True], rates[False]))
        faults = [
            PartFault(f"S{gpu}", "gpu", f"node-{gpu // 8}/slot-{gpu % 8}")
            for gpu in np.nonzero(counts)[0]
            for _ in range(counts[gpu])
        ]
        named = {one.name for one in lemons(faults, {(f"S{gpu}", "gpu"): 365.0 for gpu in range(gpus)}, rule)}
        truth = {f"S{gpu}" for gpu in np.nonzero(is_bad)[0]}
        false, found, there = false + len(named - truth), found + len(named & truth), there + len(truth)
    return {
        "looks": looks,
        "false_per_look": round(false / looks, 3),
        "found_percent": round(100 * found / max(1, there), 1),
    }


def of_groups(random: Random, cases: int) -> list[dict[str, Any]]:
    """Return tests and rounds of group screening, and whether the right nodes are named, against testing all pairs."""
    rows = []
    for nodes, rack, bad in (
        (64, 8, 0),
        (64, 8, 1),
        (64, 8, 3),
        (256, 18, 1),
        (256, 18, 5),
        (1024, 18, 0),
        (1024, 18, 10),
    ):
        names = [f"gpu-{number:04}" for number in range(nodes)]
        labels = {name: f"rack-{number // rack}" for number, name in enumerate(names)}
        tests, rounds, right = 0, 0, 0
        for _ in range(cases):
            culprits = {names[int(place)] for place in random.choice(nodes, bad, replace=False)}
            outcome = screened(names, labels, lambda group, culprits=culprits: not culprits & set(group))
            tests, rounds = tests + outcome.tests, max(rounds, outcome.rounds)
            right += set(outcome.culprits) == culprits
        rows.append(
            {
                "nodes": nodes,
                "bad": bad,
                "tests": round(tests / cases, 1),
                "rounds_most": rounds,
                "right_percent": round(100 * right / cases, 1),
                "pairs": len(list(combinations(range(nodes), 2))),
            }
        )
    return rows


def screened(names: Sequence[str], labels: dict[str, str], passes: Callable[[Sequence[str]], bool]) -> Any:
    """Return the outcome of a whole screening, with the world answering by `passes`."""
    search = Screening(domains(names, labels))
    while trials := search.next_round():
        search.take([passes(trial.nodes) for trial in trials])
    return search.outcome()


def measure(seed: int) -> dict[str, Any]:
    """Return all error rates."""
    rules = rules_from_document(yaml.safe_load(RULES.read_text(encoding="utf-8")), RULES.name)
    random, histories = np.random.default_rng(seed), data.load("histories.yaml")
    return {
        "benchmark": "statistics",
        "seed": seed,
        "drift": of_drift(random, rules.own_history.drift, 4000),
        "nodes": histories["nodes"],
        "sound_percent_most": histories["sound_percent_most"],
        "own_history": of_own_history(np.random.default_rng((seed, 1)), rules.own_history, histories),
        "shapes": of_shapes(random, rules.shape, 4000),
        "lemons": of_lemons(random, rules.lemons, 40),
        "groups": of_groups(random, 20),
    }


def _table(rows: Sequence[dict[str, Any]]) -> list[str]:
    heads = list(rows[0])
    lines = [f"| {' | '.join(head.replace('_', ' ') for head in heads)} |", "|" + "---|" * len(heads)]
    return lines + [f"| {' | '.join(str(row[head]) for head in heads)} |" for row in rows]


def markdown(result: dict[str, Any]) -> str:
    """Return the result as tables."""
    parts = [
        f"# Error rates of the statistics, seed {result['seed']}",
        "",
        f"## Drift: CUSUM over {RUNS} runs",
        "",
        *_table(result["drift"]),
        "",
        f"## Own history: {result['nodes']} sound nodes, and as many with a drop in one figure",
        "",
        "Runs are those beyond the first ones, which are the node's own reference. Our bound: at most "
        f"{result['sound_percent_most']:g} % of sound nodes are ever remarked on within 30 runs.",
        "",
        *_table(result["own_history"]),
        "",
        "## Similarity: 100 iterations, 1 % jitter",
        "",
        *_table(result["shapes"]),
        "",
        "## Lemons: 8,000 GPUs in a year, 0.05 faults each, one in a thousand 3",
        "",
        *_table([result["lemons"]]),
        "",
        "## Group tests of a collective, against pairs",
        "",
        *_table(result["groups"]),
    ]
    return "\n".join(parts) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Measure and print; returns 0."""
    parser = argparse.ArgumentParser(prog="benchmarks statistics", description=__doc__)
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--write", action="store_true", help="keep the result in benchmarks/results/")
    given = parser.parse_args(arguments)
    result = measure(given.seed)
    write(result, markdown(result), keep=given.write)
    return 0
