"""What is counted: recall, precision, wrong reasons and GPU-hours, and the oracle at the same false alarms.

The oracle's own false-alarm rate is computed, not counted: under a likelihood ratio, the chance of an event among
healthy nodes is the mean of 1 / ratio over the bad nodes on which it happens. A rule's rate is found the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy_strategies import Finding
from lab.corpus.nodes import Fault
from lab.corpus.parameters import Parameters

Array = NDArray[np.float64]
MATERIAL_PERCENT = 3.0
"""From this amount on the bars hold."""


@dataclass
class Tally:
    """What one strategy said of a corpus, node by node."""

    faults: list[Fault | None] = field(default_factory=list)
    findings: list[Finding | None] = field(default_factory=list)

    def add(self, faults: Sequence[Fault | None], findings: Sequence[Finding | None]) -> None:
        """Take in a block."""
        self.faults += faults
        self.findings += findings

    def figures(self, parameters: Parameters, repeats: int) -> dict[str, Any]:
        """Return the strategy's figures, in per cent and hours. Precision counts material faults as right, alone."""
        pairs = list(zip(self.faults, self.findings, strict=True))
        material = [finding for fault, finding in pairs if fault and fault.amount_percent >= MATERIAL_PERCENT]
        small = [finding for fault, finding in pairs if fault and fault.amount_percent < MATERIAL_PERCENT]
        healthy = [finding for fault, finding in pairs if fault is None]
        found, alarms = _flagged(material), _flagged(healthy)
        wrong = sum(not finding.right(fault) for fault, finding in pairs if fault and finding)
        right = found + _flagged(small)
        hours = len(pairs) * repeats * parameters.repeat_hours * parameters.gpus
        return {
            "nodes": len(pairs),
            "bad": len(material) + len(small),
            "recall_material": _percent(found, len(material)),
            "recall_small": _percent(right - found, len(small)),
            "false_alarms": alarms,
            "false_alarms_percent": _percent(alarms, len(healthy)),
            "precision_material": _percent(found, found + alarms),
            "precision_all": _percent(right, right + alarms),
            "wrong_reason": _percent(wrong, right),
            "test_gpu_hours": round(hours, 1),
            "follow_up_gpu_hours": round((right + alarms) * parameters.follow_up_hours * parameters.gpus, 1),
            "wasted_gpu_hours": round(alarms * parameters.follow_up_hours * parameters.gpus, 1),
        }


def _flagged(findings: Sequence[Finding | None]) -> int:
    return sum(finding is not None for finding in findings)


def _percent(part: int, whole: int) -> float:
    return round(100.0 * part / whole, 3) if whole else 0.0


def rate_among_healthy(log_ratios: Array, flagged: NDArray[np.bool_]) -> float:
    """Return how often healthy nodes are flagged, from bad nodes and their exact likelihood ratios."""
    return float(np.where(flagged, np.exp(-log_ratios), 0.0).mean())


def oracle_at(log_ratios: Array, rate: float) -> NDArray[np.bool_]:
    """Return which bad nodes the oracle flags when it flags healthy ones at this rate."""
    order = np.argsort(-log_ratios)
    spent = np.cumsum(np.exp(-log_ratios[order])) / len(order)
    chosen = np.zeros(len(order), dtype=bool)
    chosen[order[: int(np.searchsorted(spent, rate, side="right"))]] = True
    return chosen


def beside_oracle(
    faults: Sequence[Fault], log_ratios: Array, flagged: NDArray[np.bool_], low: float, high: float
) -> list[dict[str, Any]]:
    """Return per kind and per cent of amount the recall of a rule, and of the oracle at the rule's false alarms."""
    best = oracle_at(log_ratios, rate_among_healthy(log_ratios, flagged))
    amounts = np.array([fault.amount_percent for fault in faults])
    kinds = np.array([fault.kind for fault in faults])
    rows = []
    for kind in [*dict.fromkeys(kinds.tolist()), "all"]:
        for start in np.arange(low, high):
            chosen = (amounts >= start) & (amounts < start + 1) & ((kinds == kind) | (kind == "all"))
            if not chosen.any():
                continue
            both, one = 100.0 * flagged[chosen].mean(), 100.0 * best[chosen].mean()
            apart = (flagged[chosen].astype(float) - best[chosen]) * 100.0
            rows.append(
                {
                    "kind": str(kind),
                    "amount_from_percent": float(start),
                    "nodes": int(chosen.sum()),
                    "recall": round(float(both), 2),
                    "oracle": round(float(one), 2),
                    "gap": round(float(one - both), 2),
                    "gap_error": round(float(apart.std() / np.sqrt(chosen.sum())), 2),
                }
            )
    return rows
