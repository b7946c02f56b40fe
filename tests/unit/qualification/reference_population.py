"""The population behind `include/baselines/*-reference.json`, made again at will.

Two hundred healthy nodes of the virtual fleet: every component differs from its platform's figure by at most 0.3 %
(uniform), every measurement from its component's by 0.15 % (normal, cut at 0.4 %). The same seed gives the same files:

    PYTHONPATH=plugins python tests/unit/qualification/reference_population.py include/baselines
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random
from statistics import median

from nodeworthy.qualification.references import REFERENCE_SCHEMA, freeze
from nodeworthy.qualification.similarity import ShapeReference, ShapeRule, freeze_shape

SEED = 20261130
NODES = 200
GPUS = 8
ITERATIONS, JITTER, JITTER_LIMIT = 250, 0.01, 0.035
SHAPE_RULE = ShapeRule(similarity=0.99, stalled_share=0.008, sigmas=6.0)
SHAPE_SOURCE = (
    "iterations of 200 healthy nodes of the virtual fleet, 1 % jitter, seed 20261130; the limit is that of "
    "include/statistics/combined.yaml"
)
SPREAD, NOISE, NOISE_LIMIT = 0.003, 0.0015, 0.004
FIGURES = {
    "h100-sxm-8": {"host_to_device": 52.0, "device_to_host": 52.0, "peer": 396.0, "all_reduce": 478.9},
    "h200-sxm-8": {"host_to_device": 55.4, "device_to_host": 55.1, "peer": 396.0, "all_reduce": 478.0},
}
RULE = {
    "z": -4.0,
    "percent": -3.0,
    "sigma_floor_percent": 0.5,
    "minimum_population": 30,
    "source": "Nodeworthy's simulation of 2026-11-30, 30 metrics, 1 % noise, 200-node reference: of 64 healthy "
    "nodes 0.10 flagged per sweep, of nodes 6 % slow in one metric 3 % missed",
}
SOURCE = (
    "the virtual fleet's platform figures with 0.3 % spread between components and 0.15 % run noise, seed 20261130; "
    "made again by tests/unit/qualification/reference_population.py"
)


def reading(random: Random, figure: float, runs: int = 1) -> float:
    """Return what one component's best of `runs` measurements reads, in GB/s."""
    component = figure * random.uniform(1 - SPREAD, 1 + SPREAD)
    noise = [max(-NOISE_LIMIT, min(NOISE_LIMIT, random.gauss(0.0, NOISE))) for _ in range(runs)]
    return max(component * (1 + deviation) for deviation in noise)


def node(random: Random, figures: dict[str, float]) -> dict[tuple[str, str, str], list[float]]:
    """Return one node's figures by test, metric and statistic."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for direction in ("host_to_device", "device_to_host"):
        values = [reading(random, figures[direction]) for _ in range(GPUS)]
        found["pcie.bandwidth", f"{direction}_bandwidth", "single"] = values
        found["pcie.bandwidth", f"node_{direction}_bandwidth", "median"] = [median(values)]
    pairs = {(a, b): reading(random, figures["peer"]) for a in range(GPUS) for b in range(GPUS) if a != b}
    test = "nvlink.bandwidth"
    found[test, "peer_bandwidth", "median"] = [
        median(value for pair, value in pairs.items() if gpu in pair) for gpu in range(GPUS)
    ]
    found[test, "node_peer_bandwidth", "median"] = [median(pairs.values())]
    found[test, "peer_bandwidth_min", "min"] = [
        min(value for (first, _), value in pairs.items() if first == gpu) for gpu in range(GPUS)
    ]
    found["collective.all_reduce", "bus_bandwidth", "max"] = [reading(random, figures["all_reduce"], runs=2)]
    return found


def reference(sku: str) -> dict[str, object]:
    """Return the reference document of one SKU."""
    random = Random(f"{SEED}/{sku}")
    population = [node(random, FIGURES[sku]) for _ in range(NODES)]
    metrics = []
    for test, metric, statistic in population[0]:
        centre, sigma = freeze([value for one in population for value in one[test, metric, statistic]])
        row = {"test": test, "metric": metric, "statistic": statistic, "unit": "GB/s"}
        row |= {"median": centre, "sigma": sigma, "n": NODES}
        metrics.append(
            row
            | ({"parameters": {"size_bytes": 8589934592, "warmup_iterations": 5}} if metric == "bus_bandwidth" else {})
        )
    head = {"schema": REFERENCE_SCHEMA, "sku": sku, "version": 1, "simulated": True, "date": "2026-11-30"}
    return head | {"source": SOURCE, "population": f"{NODES} nodes, all healthy", "rule": RULE, "metrics": metrics}


def shape() -> ShapeReference:
    """Return the shape of healthy iterations: of 200 nodes two halves of 250, jitter 1 % (normal, cut at 3.5 %)."""
    random = Random(f"{SEED}/shape")
    samples: list[float] = []
    for _ in range(NODES * 2):
        half = [1.0 + max(-JITTER_LIMIT, min(JITTER_LIMIT, random.gauss(0.0, JITTER))) for _ in range(ITERATIONS)]
        samples += [time / median(half) for time in half]
    frozen = freeze_shape(samples, SHAPE_RULE)
    return ShapeReference(tuple(float(f"{one:.6g}") for one in frozen.quantiles), float(f"{frozen.stalled:.6g}"))


def shape_rows() -> list[dict[str, object]]:
    """Return the two rows of a shape as they stand in `include/baselines/*-simulated.json`."""
    frozen, parameters = shape(), {"size_bytes": 268435456, "iterations": ITERATIONS}
    head = {"test": "collective.stalls", "unit": "ratio", "parameters": parameters}
    foot = {
        "sample_size": NODES,
        "simulated": True,
        "source": f"{SHAPE_SOURCE}; made again by tests/unit/qualification/reference_population.py",
        "date": "2026-11-30",
    }
    alike = {"floor": SHAPE_RULE.similarity, "ceiling": 1.0, "reached": 0.999, "quantiles": list(frozen.quantiles)}
    stalled = {"most": SHAPE_RULE.stalled_share, "least": 0, "reached": 0, "stalled_above": frozen.stalled}
    return [
        {**head, "metric": "iteration_similarity", "statistic": "similarity", **alike, **foot},
        {**head, "metric": "stalled_iterations", "statistic": "stalled_share", **stalled, **foot},
    ]


def written(document: dict[str, object]) -> str:
    """Return a document as it stands in its file: one metric per line."""
    rows = document["metrics"]
    assert isinstance(rows, list)
    head = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in document.items() if key != "metrics"]
    body = ",\n".join(f"    {json.dumps(row)}" for row in rows)
    return "{\n" + ",\n".join(head) + ',\n  "metrics": [\n' + body + "\n  ]\n}\n"


if __name__ == "__main__":
    for name in FIGURES:
        Path(sys.argv[1], f"{name}-reference.json").write_text(written(reference(name)))
