"""Which nodes get which suite within a budget of GPU-hours, and why: one sentence per node.

A node's chance of hiding a fault follows from the days since its last qualification, its age, its past faults and
recent findings. A suite leaves part of that chance over. Chance times GPUs at risk is what a node may cost; hours go
where the next hour takes most of it away. Nothing is hidden: the factors stand in a file, each choice says its own.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nodeworthy.errors import Permanent
from nodeworthy.qualification.documents import figure, refuse_unknown_keys, text

_RISK_KEYS = (
    "daily",
    "infant_days",
    "infant_factor",
    "worn_days",
    "worn_factor",
    "per_past_fault",
    "most_past_faults",
    "most_daily",
    "finding_odds",
    "no_finding_odds",
    "recent_days",
    "past_days",
)


@dataclass(frozen=True, slots=True)
class RiskModel:
    """How likely a node hides a fault; factors multiply the daily chance, odds factors its odds."""

    daily: float
    infant_days: float
    infant_factor: float
    worn_days: float
    worn_factor: float
    per_past_fault: float
    most_past_faults: float
    """How many confirmed faults count at most."""
    most_daily: float
    """The daily chance that no factors exceed."""
    finding_odds: float
    no_finding_odds: float
    recent_days: float
    """How long a finding or remark is recent."""
    past_days: float
    """How long a confirmed fault counts."""


@dataclass(frozen=True, slots=True)
class SuiteOption:
    """One thing that can be done to a node: its cost, and the chance that it finds a fault of each kind."""

    name: str
    gpu_hours: float
    finds: Mapping[str, float]
    level: str
    """The level that a request names."""
    times: int = 1
    """How often it is run."""


@dataclass(frozen=True, slots=True)
class SelectionModel:
    """Risk, suites from cheap to dear, and how faults are shared among kinds."""

    risk: RiskModel
    suites: tuple[SuiteOption, ...]
    kinds: Mapping[str, float]

    def left_over(self, option: SuiteOption) -> float:
        """Return the share of faults that a suite leaves unfound."""
        return sum(share * (1.0 - option.finds.get(kind, 0.0)) for kind, share in self.kinds.items())


@dataclass(frozen=True, slots=True)
class NodeRisk:
    """What is known of a node. `gpus_at_risk` is the capacity that a fault would take from customers."""

    node: str
    age_days: float
    days_since_qualification: float
    past_faults: int
    findings: tuple[str, ...]
    gpus_at_risk: int


@dataclass(frozen=True, slots=True)
class RiskFacts:
    """What the memory knows of a node that its risk follows from; `findings` are recent, faults of the last year."""

    node: str
    sku: str
    milestone: str
    age_days: float
    days_since_qualification: float
    past_faults: int
    findings: tuple[str, ...]

    def risk(self, gpus: int) -> NodeRisk:
        """Return the node's risk, with the capacity that a fault would take."""
        known = (self.age_days, self.days_since_qualification, self.past_faults, self.findings)
        return NodeRisk(self.node, *known, gpus)


@dataclass(frozen=True, slots=True)
class Choice:
    """What a node gets (`suite` is empty for nothing), its chance of hiding a fault before and after, and why."""

    node: str
    suite: str
    gpu_hours: float
    probability: float
    left_over: float
    sentence: str


def selection_model(document: Mapping[str, Any], where: str = "the selection model") -> SelectionModel:
    """Read a selection model. Raises Permanent for what is missing or unknown, and for shares that are not 1."""
    risk = document["risk"]
    refuse_unknown_keys(risk, _RISK_KEYS, f"{where}, risk")
    suites = tuple(
        SuiteOption(
            name,
            figure(row, "gpu_hours", f"{where}, {name}"),
            dict(row["finds"]),
            text(row, "level", f"{where}, {name}"),
            int(row.get("times", 1)),
        )
        for name, row in document["suites"].items()
    )
    model = SelectionModel(
        RiskModel(**{key: figure(risk, key, f"{where}, risk") for key in _RISK_KEYS}),
        tuple(sorted(suites, key=lambda suite: suite.gpu_hours)),
        dict(document["kinds"]),
    )
    if abs(sum(model.kinds.values()) - 1.0) > 1e-6:
        raise Permanent(f"{where}: the kinds' shares add up to {sum(model.kinds.values()):g}: make them 1.")
    return model


def probability(node: NodeRisk, model: RiskModel) -> float:
    """Return the chance that a node hides a fault."""
    factor: float = model.per_past_fault ** min(node.past_faults, model.most_past_faults)
    factor *= model.infant_factor if node.age_days < model.infant_days else 1.0
    factor *= model.worn_factor if node.age_days > model.worn_days else 1.0
    daily: float = min(model.most_daily, model.daily * factor)
    before = 1.0 - (1.0 - daily) ** max(0.0, node.days_since_qualification)
    odds = before / max(1e-12, 1.0 - before) * (model.finding_odds if node.findings else model.no_finding_odds)
    return float(odds / (1.0 + odds))


def select(nodes: Iterable[NodeRisk], model: SelectionModel, budget_gpu_hours: float) -> tuple[Choice, ...]:
    """Return one choice per node, in the order given; together they cost no more than the budget.

    Hours are spent one step at a time, each on the node where the step to a dearer suite takes away most expected loss
    per hour. Steps that a still dearer suite would beat are skipped, so the result is the best to within one step.
    """
    known = list(nodes)
    chances = [probability(node, model.risk) for node in known]
    steps = _steps(model)
    taken = [0] * len(known)
    queue = [(-_worth(known[place], chances[place], steps[0]), place) for place in range(len(known))] if steps else []
    heapq.heapify(queue)
    left = budget_gpu_hours
    while queue:
        _, place = heapq.heappop(queue)
        step = steps[taken[place]]
        if step.gpu_hours > left + 1e-9:
            continue
        left -= step.gpu_hours
        taken[place] += 1
        if taken[place] < len(steps):
            heapq.heappush(queue, (-_worth(known[place], chances[place], steps[taken[place]]), place))
    return tuple(
        _choice(node, chance, steps[:many] if many else (), model)
        for node, chance, many in zip(known, chances, taken, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _Step:
    """From one suite to a dearer one: what it costs more and leaves less."""

    option: SuiteOption
    gpu_hours: float
    gain: float


def _steps(model: SelectionModel) -> list[_Step]:
    """Return the steps of the concave hull: each gains less per hour than the one before."""
    steps: list[_Step] = []
    hours, left = 0.0, 1.0
    options = [(option, model.left_over(option)) for option in model.suites]
    while True:
        better = [
            _Step(option, option.gpu_hours - hours, left - over)
            for option, over in options
            if option.gpu_hours > hours and over < left
        ]
        if not better:
            return steps
        best = max(better, key=lambda step: step.gain / step.gpu_hours)
        steps.append(best)
        hours, left = best.option.gpu_hours, left - best.gain


def _worth(node: NodeRisk, chance: float, step: _Step) -> float:
    return chance * node.gpus_at_risk * step.gain / step.gpu_hours


@dataclass(frozen=True, slots=True)
class Weighed:
    """A selection beside the extremes, in GPU-hours and in GPUs that hide a fault, expected."""

    gpu_hours: float
    hidden_before: float
    hidden_after: float
    everyone: str
    """The dearest suite: everything on everyone."""
    everyone_gpu_hours: float
    everyone_hidden: float

    @property
    def sentence(self) -> str:
        """What the hours buy, in words."""
        return (
            f"{self.gpu_hours:.4g} GPU-hours take the GPUs expected to hide a fault from {self.hidden_before:.3g} to "
            f"{self.hidden_after:.3g}; {self.everyone} on every node would take {self.everyone_gpu_hours:.4g} "
            f"GPU-hours and leave {self.everyone_hidden:.3g}."
        )


def weighed(nodes: Sequence[NodeRisk], choices: Sequence[Choice], model: SelectionModel) -> Weighed:
    """Compare choices, in the order of their nodes, with nothing on anybody and with everything on everyone."""
    dearest = model.suites[-1]
    pairs = list(zip(nodes, choices, strict=True))
    before = sum(choice.probability * node.gpus_at_risk for node, choice in pairs)
    return Weighed(
        gpu_hours=sum(choice.gpu_hours for choice in choices),
        hidden_before=before,
        hidden_after=sum(choice.left_over * node.gpus_at_risk for node, choice in pairs),
        everyone=dearest.name,
        everyone_gpu_hours=dearest.gpu_hours * len(nodes),
        everyone_hidden=before * model.left_over(dearest),
    )


def _choice(node: NodeRisk, chance: float, steps: Sequence[_Step], model: SelectionModel) -> Choice:
    option = steps[-1].option if steps else None
    over = chance * (model.left_over(option) if option else 1.0)
    hours = option.gpu_hours if option else 0.0
    name = option.name if option else ""
    return Choice(node.node, name, hours, chance, over, _sentence(node, chance, over, name, hours))


def _sentence(node: NodeRisk, chance: float, over: float, name: str, hours: float) -> str:
    known = [f"{node.days_since_qualification:.0f} days since its last qualification", f"{node.age_days:.0f} days old"]
    if node.past_faults:
        known.append(f"{node.past_faults} {'fault' if node.past_faults == 1 else 'faults'} in the last year")
    known.append(f"findings: {', '.join(node.findings)}" if node.findings else "no recent finding")
    does = f"gets {name} ({hours:g} GPU-hours), which leaves {over:.2%}" if name else "is not tested"
    return (
        f"{node.node} {does}: {chance:.2%} chance of a hidden fault on {node.gpus_at_risk} GPUs ({'; '.join(known)})."
    )
