"""How often a node's own history is remarked on: sound nodes that should not be, and declines that should.

The rule is that of `own_history` and `drift`, for many histories at once in numpy; a test compares both, run by run. A
sound node has many figures, and each of them may be remarked on after each run: what an operator meets is the share of
nodes that ever are. No frozen reference knows the noise here, so the rule has the node's own runs alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from nodeworthy.qualification.own_history import RECENT, OwnRule
from nodeworthy.qualification.statistics import MAD_TO_SIGMA

Random = np.random.Generator
NEVER = -1
CENTRE = 100.0


def of_own_history(random: Random, rule: OwnRule, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row per noise and count of figures: sound nodes remarked on, drops seen, and after how many runs."""
    kinds = [(noise, figures) for noise in parameters["noises"] for figures in parameters["figures"]]
    return [_row(random, rule, {**parameters, "figures": figures}, noise) for noise, figures in kinds]


def _row(random: Random, rule: OwnRule, parameters: Mapping[str, Any], noise: Mapping[str, Any]) -> dict[str, Any]:
    figures, (short, long) = int(parameters["figures"]), parameters["runs"]
    row: dict[str, Any] = {"noise": noise["name"], "figures": figures}
    sound = _noise(random, noise, (parameters["nodes"] * figures, rule.drift.settle + long))
    first = remarked(sound, rule, figures).reshape(parameters["nodes"], figures)
    for runs in (short, long):
        ever = ((first != NEVER) & (first <= runs)).any(axis=1)
        row[f"sound_percent_in_{runs}_runs"] = round(100 * float(ever.mean()), 2)
    for percent in parameters["drops_percent"]:
        fallen = _noise(random, noise, (parameters["nodes"], rule.drift.settle + short))
        fallen[:, rule.drift.settle :] -= percent
        row.update(_seen(f"minus_{percent:g}_percent", remarked(fallen, rule, figures)))
    return row


def _seen(name: str, first: Any) -> dict[str, Any]:
    seen = first[first != NEVER]
    median_runs = float(np.median(seen)) if len(seen) else None
    return {f"{name}_seen": round(100 * len(seen) / len(first), 1), f"{name}_median_runs": median_runs}


def _noise(random: Random, noise: Mapping[str, Any], shape: tuple[int, int]) -> Any:
    """Return histories around 100 whose runs have the noise's standard deviation in per cent."""
    tails = noise.get("degrees_of_freedom")
    if tails is None:
        return CENTRE + noise["percent"] * random.standard_normal(shape)
    return CENTRE + noise["percent"] * random.standard_t(tails, shape) / math.sqrt(tails / (tails - 2.0))


def remarked(values: Any, rule: OwnRule, figures: int) -> Any:
    """Return after how many runs beyond its first ones each history is remarked on at first; -1 for never.

    `values` holds a history a row, oldest first, of a figure for which more is better; `figures` are looked at in its
    node.
    """
    settle = rule.drift.settle
    limit = rule.drift.h + math.log(figures) / (2.0 * rule.drift.k)
    allowance = rule.drift.k + rule.drift.margin * math.sqrt(math.pi / 2.0 / settle)
    centre = np.median(values[:, :settle], axis=1)
    first = np.full(len(values), NEVER)
    for end in range(settle + 1, values.shape[1] + 1):
        now = np.median(values[:, end - RECENT : end], axis=1)
        places = np.flatnonzero((first == NEVER) & (100.0 * (now - centre) / centre <= rule.percent))
        sigma = _sigma(values[places, :end], centre[places], rule)
        total = np.zeros(len(places))
        for run in range(settle, end):
            total = np.maximum(0.0, total + (centre[places] - values[places, run]) / sigma - allowance)
        first[places[total > limit]] = end - settle
    return first


def _sigma(values: Any, centre: Any, rule: OwnRule) -> Any:
    steps = np.median(np.abs(np.diff(values, axis=1)), axis=1)
    return np.maximum(MAD_TO_SIGMA * steps / math.sqrt(2.0), centre * rule.sigma_floor_percent / 100.0)
