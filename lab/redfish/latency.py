"""How slow the BMCs are: named profiles from lab/data/latency.yaml, with repeatable jitter."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from lab.truth import data


@dataclass(frozen=True, slots=True)
class Latency:
    """Real seconds an answer takes; `paths` are prefixes below the service root with figures of their own."""

    default_seconds: float
    jitter: float
    paths: Mapping[str, float]

    def seconds(self, path: str) -> float:
        """The delay of one answer for `path` (below the service root)."""
        base = next((value for prefix, value in self.paths.items() if path.startswith(prefix)), self.default_seconds)
        return base * (1.0 + self.jitter * random.uniform(-1.0, 1.0)) if base else 0.0


def load_latency(name: str) -> Latency:
    """The profile `name`; ValueError with the known ones otherwise."""
    profiles = data.load("latency.yaml")["profiles"]
    if name not in profiles:
        raise ValueError(f"There is no latency profile {name}; known are {', '.join(profiles)}.")
    return Latency(**profiles[name])
