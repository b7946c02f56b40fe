"""The statistical rules in force (`include/statistics/combined.yaml`), as the values that floor 0 works with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nodeworthy.errors import Permanent
from nodeworthy.qualification.drift import DriftRule
from nodeworthy.qualification.fault_model import FaultModel, fault_model
from nodeworthy.qualification.lemons import LemonRule
from nodeworthy.qualification.own_history import OwnRule
from nodeworthy.qualification.similarity import ShapeRule


@dataclass(frozen=True, slots=True)
class StatisticalRules:
    """What is looked for in figures seen together, in a node's own history, in stalls and in parts."""

    fault_model: FaultModel
    shape: ShapeRule
    minimum_population: int
    own_history: OwnRule
    lemons: LemonRule
    lemon_window_days: float


def rules_from_document(document: Mapping[str, Any], where: str) -> StatisticalRules:
    """Read the rules; their form was checked by their schema. Permanent for a rule that could never speak."""
    own, lemons = document["own_history"], document["lemons"]
    drift = DriftRule(**document["drift"])
    if own["percent"] >= 0:
        raise Permanent(f"{where}: own_history.percent is {own['percent']:g}: a decline is written below zero.")
    return StatisticalRules(
        fault_model=fault_model(document["fault_model"], f"{where}, fault_model"),
        shape=ShapeRule(**document["shape"]),
        minimum_population=document["minimum_population"],
        own_history=OwnRule(drift, **own),
        lemons=LemonRule(lemons["false_lemons"], lemons["minimum"]),
        lemon_window_days=float(lemons["window_days"]),
    )
