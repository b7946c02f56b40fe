"""Fleets with hidden faults and with what an operator knows of each node, seeded; parameters in `fleet_risk.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.truth import data


@dataclass(frozen=True, slots=True)
class FleetNode:
    """One node: what is known of it, and the kind of its hidden fault, empty for a healthy one."""

    name: str
    gpus: int
    age_days: float
    days_since_qualification: float
    past_faults: int
    has_trace: bool
    fault: str


def fleet(seed: int, nodes: int, changes: Mapping[str, Any] | None = None) -> list[FleetNode]:
    """Return a fleet. `changes` override the file's parameters."""
    parameters = {**data.load("fleet_risk.yaml"), **(changes or {})}
    random = np.random.default_rng([seed, 77])
    return [_node(parameters, random, f"gpu-{number:05}") for number in range(nodes)]


def found(fault: str, suite: str, random: np.random.Generator) -> bool:
    """Tell whether one run of a suite finds a fault; "L3 twice" is two runs."""
    finds = data.load("fleet_risk.yaml")["finds"]
    name, _, twice = suite.partition(" ")
    return any(random.random() < finds[name][fault] for _ in range(2 if twice else 1))


def _node(parameters: Mapping[str, Any], random: np.random.Generator, name: str) -> FleetNode:
    age = float(random.uniform(*parameters["age_days"]))
    days = float(random.uniform(*parameters["days_since_qualification"]))
    past = int(random.poisson(parameters["past_faults_mean"]))
    daily = parameters["daily"] * parameters["per_past_fault"] ** min(past, 3)
    daily *= parameters["infant"]["factor"] if age < parameters["infant"]["days"] else 1.0
    daily *= parameters["worn"]["factor"] if age > parameters["worn"]["days"] else 1.0
    is_bad = random.random() < 1.0 - (1.0 - daily) ** days
    kinds = parameters["kinds"]
    fault = str(random.choice(list(kinds), p=list(kinds.values()))) if is_bad else ""
    trace = random.random() < (parameters["trace_of_fault"] if is_bad else parameters["trace_of_healthy"])
    return FleetNode(name, int(random.choice(parameters["gpus"])), age, days, past, bool(trace), fault)
