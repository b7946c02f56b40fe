"""How often the brake trips by chance, and how fast it finds a rack: simulated months of a fleet of 256 nodes.

Run as `python -m benchmarks brake [MONTHS]`; it prints one JSON document. Each month is seeded, faults are independent
and exponential at the rate that the shipped policy tolerates (four times one per 2,111 GPU-days), each fault's node
comes back and can fail again. The brake is evaluated at every fault, which is the most often that can matter.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.lifecycle.brake import (
    EVERYBODY,
    MONTH,
    BrakeRules,
    Cause,
    Suspect,
    evaluate,
    false_trips,
    needed,
)
from nodeworthy.lifecycle.policy import Policy

INCLUDE = Path(__file__).parents[1] / "include"
NODES = tuple(f"node-{rack}-{place:02}" for rack in range(16) for place in range(16))
START = datetime(2026, 12, 1, tzinfo=UTC)

Causes = Mapping[str, frozenset[Cause]]


def rules() -> BrakeRules:
    """Return the shipped rules."""
    found = Policy.from_document(YamlLibrary(INCLUDE).policy("default")).brake
    assert found is not None
    return found


def fleet() -> tuple[Causes, Mapping[Cause, int]]:
    """Return 16 racks of 16 nodes, two racks to a leaf switch, one firmware set: causes by node, nodes by cause."""
    causes = {}
    for at, node in enumerate(NODES):
        rack = at // 16
        shared = (Cause("rack", f"rack-{rack}"), Cause("switch", f"leaf-{rack // 2}"), Cause("firmware_set", "2026.11"))
        causes[node] = frozenset(shared)
    population = dict.fromkeys(EVERYBODY, len(NODES))
    for shared_by in causes.values():
        for cause in shared_by:
            population[cause] = population.get(cause, 0) + 1
    return causes, population


def faults(seed: int) -> list[Suspect]:
    """Return a month of independent faults, in order of time."""
    chance, causes = random.Random(seed), fleet()[0]  # noqa: S311
    found, at, rate = [], START, len(NODES) / rules().node_days_per_fault
    while (at := at + timedelta(days=chance.expovariate(rate))) < START + MONTH:
        node = chance.choice(NODES)
        found.append(Suspect(node, at, causes[node]))
    return found


def trips(month: list[Suspect], with_rules: BrakeRules) -> bool:
    """Tell whether a month trips the brake, evaluated at each of its faults."""
    population = fleet()[1]
    for last in month:
        recent = [one for one in month if last.at - with_rules.window < one.at <= last.at]
        if len(recent) > 1 and evaluate(recent, population, with_rules, last.at):
            return True
    return False


def months_that_trip(seeds: Iterable[int]) -> int:
    """Return how many seeded months trip."""
    shipped = rules()
    return sum(trips(faults(seed), shipped) for seed in seeds)


def first_trip_of_a_rack(seed: int) -> tuple[int, str]:
    """Let one rack's nodes fail within ten minutes amid a month of chance; return (nodes down when it trips, cause)."""
    causes, population = fleet()
    shipped, chance = rules(), random.Random(seed)  # noqa: S311
    rack, at = chance.randrange(16), START + timedelta(days=chance.uniform(1, 29))
    down = [node for node in NODES if Cause("rack", f"rack-{rack}") in causes[node]]
    chance.shuffle(down)
    hit = [Suspect(node, at + timedelta(minutes=10 * order / 16), causes[node]) for order, node in enumerate(down)]
    noise = [one for one in faults(seed) if one.at <= hit[-1].at]
    for count in range(1, len(hit) + 1):
        now = hit[count - 1].at
        found = evaluate([*(one for one in noise if one.at <= now), *hit[:count]], population, shipped, now)
        named = [one.cause.words for one in found if one.cause == Cause("rack", f"rack-{rack}")]
        if named:
            return count, named[0]
    return 0, "not found"


def main(arguments: Sequence[str]) -> int:
    """Print the figures."""
    months = int(arguments[0]) if arguments else 100
    population, shipped = fleet()[1], rules()
    counts = {cause.dimension: needed(cause, population, shipped) for cause in population}
    found = [first_trip_of_a_rack(seed) for seed in range(100)]
    figures = {
        "fleet_nodes": len(NODES),
        "fault_rate": "4 times one per 2,111 GPU-days, 8 GPUs a node",
        "needed_by_dimension": counts,
        "bound_on_false_trips_per_month": round(false_trips(population, shipped), 6),
        "months": months,
        "months_that_tripped": months_that_trip(range(months)),
        "racks_failed": len(found),
        "racks_named": sum(count > 0 for count, _ in found),
        "nodes_down_when_named": {"median": sorted(count for count, _ in found)[50], "most": max(found)[0]},
    }
    print(json.dumps(figures, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
