"""The brake: suspects that come too fast, or that share a cause, stop all voluntary work until the cause is gone.

The statistics. Faults of one node are a Poisson process with at most the rate that the policy tolerates (a measured
rate times a factor). A group of n nodes trips when at least k of them became suspect within the window W. Every such
cluster begins with a fault that is followed by k-1 more within W, so the expected number of clusters in a time T, and
with it the probability of a false trip (Markov), is at most

    n * rate * T * P(Poisson(n * rate * W) >= k-1)            (Slivnyak-Mecke, for the Poisson process)

and k is the smallest count that keeps this below the group's share of the false-trip rate in the policy. The share is
Bonferroni's: equal parts for the dimensions, and within a dimension for its groups, so the sum over all groups is a
bound on the false trips of the whole brake, however the groups overlap and however often it is evaluated. The stated
rate is `false_trips`. Of several groups that trip, the cause is the one that separates suspects from the rest best, by
the likelihood ratio of Kulldorff's scan statistic (A spatial scan statistic, 1997) less the logarithm of the number of
groups that were compared; a cause that everybody shares separates nothing, so it is named only when nothing narrower
holds. What a cause explains is taken away and the rest is looked at again: one fault gives one cause.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from nodeworthy.lifecycle.document import duration
from nodeworthy.lifecycle.policy_error import PolicyError

MONTH: Final = timedelta(days=30)
"""The time for which the false-trip rate is stated."""

NEWS: Final = 0.1
"""A group from which chance brings fewer suspects than this until an incident would end: any new one is news."""

SEVERAL: Final = 4
"""More causes than this at once are one that nobody has named: the whole fleet's."""

FLEET: Final = "fleet"
TOGETHER: Final = "together"
DIMENSIONS: Final = ("rack", "switch", "psu", "batch", "rollout", "firmware_set", "image", TOGETHER, FLEET)
"""What failures may share, the most specific first; it decides between causes that explain the same equally well.
`together` is the whole fleet in the short window: first seen at the same moment. `fleet` is the plain rate."""

_WORDS: Final = {
    "rack": "rack {}",
    "switch": "leaf switch {}",
    "psu": "power supply {}",
    "batch": "delivery batch {}",
    "rollout": "driver rollout {}",
    "firmware_set": "firmware set {}",
    "image": "image {}",
    TOGETHER: "the fleet, at the same moment,",
    FLEET: "the whole fleet",
}


@dataclass(frozen=True, slots=True)
class Cause:
    """Something that nodes share."""

    dimension: str
    value: str = ""

    @property
    def words(self) -> str:
        """How a sentence calls it."""
        return _WORDS.get(self.dimension, f"{self.dimension} {{}}").format(self.value)


EVERYBODY: Final = (Cause(TOGETHER), Cause(FLEET))


@dataclass(frozen=True, slots=True)
class Suspect:
    """A node in service or standby that fell into trouble, and what it shares with others."""

    node: str
    at: datetime
    causes: frozenset[Cause] = frozenset()


@dataclass(frozen=True, slots=True)
class BrakeRules:
    """When the brake trips and lets go, by policy. Rates are per node."""

    window: timedelta
    together: timedelta
    node_days_per_fault: float
    """The worst rate that must not trip: (GPU-days per fault / GPUs per node) / tolerated factor."""
    false_trips_per_month: float
    at_least: int
    """Fewer nodes than this never trip, however unlikely they are."""
    clear_after: timedelta
    """An incident ends by itself when its cause brought no new suspect for this long."""

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> BrakeRules:
        """Read the policy's section `brake`. Raises PolicyError with its place."""
        rules = cls(
            window=duration(document["window"], "The brake's window"),
            together=duration(document["together"], "The brake's short window"),
            node_days_per_fault=document["gpu_days_per_fault"]
            / document["gpus_per_node"]
            / document["tolerated_factor"],
            false_trips_per_month=float(document["false_trips_per_month"]),
            at_least=int(document["at_least"]),
            clear_after=duration(document["clear_after"], "The brake's release"),
        )
        if rules.together > rules.window:
            raise PolicyError(
                "`together` is longer than `window`: make it the shorter of the two", ("brake", "together")
            )
        if rules.clear_after < rules.window:
            raise PolicyError("`clear_after` is shorter than `window`: it would trip again", ("brake", "clear_after"))
        return rules

    def window_of(self, cause: Cause) -> timedelta:
        """Return the window in which a cause's suspects are counted."""
        return self.together if cause.dimension == TOGETHER else self.window


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause that tripped: its suspects, out of how many nodes that share it, and the count that would have done."""

    cause: Cause
    nodes: tuple[str, ...]
    population: int
    needed: int
    window: timedelta
    last: datetime
    also: tuple[Cause, ...] = ()
    """Causes that exactly the same suspects share and that separate them as well."""

    @property
    def sentence(self) -> str:
        """What was seen, for an operator."""
        minutes = self.window.total_seconds() / 60
        within = f"{minutes:g} min" if minutes < 120 else f"{minutes / 60:g} h"
        shared = f" (they also share {', '.join(cause.words for cause in self.also)})" if self.also else ""
        many = f"{len(self.nodes)} of {self.population} nodes of {self.cause.words}"
        return f"{many} became suspect within {within}{shared}; {self.needed} are too many to be chance"


@dataclass(frozen=True, slots=True)
class Incident:
    """A cause that tripped the brake and is not over; while one is open, nothing voluntary begins."""

    number: int
    cause: Cause
    nodes: tuple[str, ...]
    sentence: str
    opened: datetime
    last: datetime
    """When its newest suspect was seen."""


def evaluate(
    suspects: Iterable[Suspect], population: Mapping[Cause, int], rules: BrakeRules, now: datetime
) -> tuple[Finding, ...]:
    """Return the causes that trip now, the narrowest first. `population`: nodes by cause; pure.

    `population[Cause("fleet")]` is the number of nodes that could have failed. A node counts once.
    """
    left = _latest(suspects)
    found: list[Finding] = []
    everybody = [one for one in _tripped(left, population, rules, now) if one.cause in EVERYBODY]
    while tripped := _tripped(left, population, rules, now):
        total = len({node for one in tripped for node in one.nodes})
        found.append(_narrowest(tripped, population, total))
        left = [suspect for suspect in left if suspect.node not in found[-1].nodes]
    if len(found) > SEVERAL and everybody:
        return (max(everybody, key=lambda one: len(one.nodes)),)
    return tuple(found)


def needed(cause: Cause, population: Mapping[Cause, int], rules: BrakeRules) -> int:
    """Return how many suspects within the cause's window trip it: the smallest count of the module's bound."""
    share = _share(cause, population, rules)
    count = max(2, rules.at_least)
    while _clusters(population[cause], count, rules.window_of(cause), rules) > share:
        count += 1
    return count


def false_trips(population: Mapping[Cause, int], rules: BrakeRules) -> float:
    """Return the bound on false trips a month of the whole brake at the tolerated rate: the sum over all groups."""
    return sum(
        _clusters(nodes, needed(cause, population, rules), rules.window_of(cause), rules)
        for cause, nodes in population.items()
    )


def extends(cause: Cause, new: Sequence[Suspect], population: Mapping[Cause, int], rules: BrakeRules) -> bool:
    """Whether new suspects keep an open incident open: in a small group one does, in a large one as many as trip it.

    Otherwise chance alone would hold a large fleet's brake for ever.
    """
    nodes = population.get(cause, 0)
    if _mean(nodes, rules.clear_after, rules) <= NEWS:
        return True
    return len(_latest(_densest(new, rules.window_of(cause)))) >= needed(cause, population, rules)


def gone(last: datetime, nodes: Sequence[str], serving: frozenset[str], rules: BrakeRules, now: datetime) -> str:
    """Return why an incident is over, or nothing: no new suspect for long enough, or all of its nodes serve again."""
    if nodes and serving.issuperset(nodes):
        return "all of its nodes are back in service"
    if now - last >= rules.clear_after:
        return f"no new suspect since {last:%Y-%m-%d %H:%M} UTC"
    return ""


def _latest(suspects: Iterable[Suspect]) -> list[Suspect]:
    newest: dict[str, Suspect] = {}
    for suspect in suspects:
        known = newest.get(suspect.node)
        if known is None or suspect.at > known.at:
            newest[suspect.node] = suspect
    return sorted(newest.values(), key=lambda suspect: suspect.node)


def _tripped(
    suspects: Sequence[Suspect], population: Mapping[Cause, int], rules: BrakeRules, now: datetime
) -> list[Finding]:
    members: dict[Cause, list[Suspect]] = {}
    for suspect in suspects:
        for cause in (*suspect.causes, *EVERYBODY):
            if now - rules.window < suspect.at <= now and cause in population:
                members.setdefault(cause, []).append(suspect)
    counted = {cause: _densest(of, rules.window_of(cause)) for cause, of in members.items()}
    return [
        Finding(
            cause=cause,
            nodes=tuple(one.node for one in of),
            population=population[cause],
            needed=count,
            window=rules.window_of(cause),
            last=max(one.at for one in of),
        )
        for cause, of in counted.items()
        if len(of) >= max(2, rules.at_least) and len(of) >= (count := needed(cause, population, rules))
    ]


def _densest(suspects: Sequence[Suspect], window: timedelta) -> Sequence[Suspect]:
    """Return the most suspects that lie in one window: an evaluation may come later than a short one."""
    ends = (
        [one for one in suspects if last.at - window < one.at <= last.at]
        for last in sorted(suspects, key=lambda one: one.at)
    )
    return max(ends, key=len)


def _narrowest(tripped: Sequence[Finding], population: Mapping[Cause, int], total: int) -> Finding:
    """Return the finding that separates its suspects best from all `total` suspects, with those as good as it."""
    everybody = population.get(Cause(FLEET), max(population.values()))
    dimensions = len({cause.dimension for cause in population})

    def separation(finding: Finding) -> float:
        if finding.cause in EVERYBODY:
            return 0.0
        groups = sum(cause.dimension == finding.cause.dimension for cause in population)
        ratio = _likelihood_ratio(len(finding.nodes), finding.population, total, everybody)
        return round(ratio - math.log(groups * dimensions), 6)

    best = min(tripped, key=lambda one: (-separation(one), _order(one.cause), one.cause.value))
    alike = [one for one in tripped if one.cause not in (best.cause, *EVERYBODY) and one.nodes == best.nodes]
    also = [one.cause for one in alike if best.cause in EVERYBODY or separation(one) == separation(best)]
    return replace(best, also=tuple(also))


def _likelihood_ratio(inside: int, nodes: int, total: int, everybody: int) -> float:
    """Give ln of Kulldorff's ratio for `inside` of `total` suspects in `nodes` of `everybody`; 0 below fair."""
    outside, others = total - inside, max(everybody - nodes, 0)
    if inside * everybody <= total * nodes:
        return 0.0
    ratio = inside * math.log(inside * everybody / (nodes * total))
    return ratio + (outside * math.log(outside * everybody / (others * total)) if outside and others else 0.0)


def _share(cause: Cause, population: Mapping[Cause, int], rules: BrakeRules) -> float:
    """Return the part of the false-trip rate that one group may use."""
    dimensions = {one.dimension for one in population}
    groups = sum(one.dimension == cause.dimension for one in population)
    return rules.false_trips_per_month / len(dimensions) / groups


def _clusters(nodes: int, count: int, window: timedelta, rules: BrakeRules) -> float:
    """Return the module's bound: expected clusters of `count` faults a month in a group."""
    begins = _mean(nodes, MONTH, rules)
    return begins * math.exp(_log_tail(_mean(nodes, window, rules), count - 1))


def _mean(nodes: int, time: timedelta, rules: BrakeRules) -> float:
    return nodes * (time / timedelta(days=1)) / rules.node_days_per_fault


def _log_tail(mean: float, count: int) -> float:
    """Return ln P(Poisson(mean) >= count), exact where the probability itself would be zero."""
    if count <= 0:
        return 0.0
    if mean <= 0:
        return -math.inf
    term, total, at = 1.0, 1.0, count
    while term > total * 1e-15 or at < mean:
        at += 1
        term *= mean / at
        total += term
    return min(0.0, count * math.log(mean) - mean - math.lgamma(count + 1) + math.log(total))


def _order(cause: Cause) -> int:
    return DIMENSIONS.index(cause.dimension) if cause.dimension in DIMENSIONS else len(DIMENSIONS)
