"""Sixteen processes fight for a budget of three over 200 nodes: how many were out at once, and did anybody get stuck.

Run as `python -m benchmarks budget_fight URL [SECONDS]` on an empty database; it prints one JSON document. Each process
takes a random node's lease, intends a drain with its absence, proves the node back and lets go. How many were out at
once is computed from the ledger's own rows, not sampled: an absence's begin is written after its budget was counted and
its end before that is committed, all by one clock.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path

import sqlalchemy as sa
from nodeworthy.adapters.clock_system import SystemClock
from nodeworthy.adapters.ledger_sql import SqlLedger, upgrade
from nodeworthy.adapters.ledger_sql.schema import absences
from nodeworthy.adapters.ledger_sql.store import engine_of
from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.errors import Refused, Transient
from nodeworthy.lifecycle.fleet import BmcAddress, FleetNode
from nodeworthy.lifecycle.policy import Action, Policy
from nodeworthy.lifecycle.table import Lifecycle

INCLUDE = Path(__file__).parents[1] / "include"
MINUTE = timedelta(minutes=1)
OUT_SECONDS = 0.2
"""How long a node is out: long enough for sixteen to want a fourth."""


@dataclass(frozen=True, slots=True)
class Fight:
    """What came of it. `most_out` is the largest number of nodes that were out voluntarily at one time."""

    nodes: int
    budget: int
    processes: int
    seconds: float
    taken: int
    refused: int
    held: int
    """Attempts that found the node in another process's hands."""
    busy: int
    """Attempts that the database gave up, a deadlock among them; each process went on."""
    most_out: int


@cache
def lifecycle() -> Lifecycle:
    """Return the shipped lifecycle, read once, before the processes part."""
    return YamlLibrary(INCLUDE).lifecycle()


def ledger(url: str, budget: int) -> SqlLedger:
    """Open the ledger as one of the fighters does."""
    policy = Policy.from_document({"pool": "arena", "actions": {"drain": "auto"}, "budgets": {"pool": budget}})
    return SqlLedger(url, SystemClock(), lifecycle(), lambda _: policy)


def arena(url: str, nodes: int, budget: int) -> None:
    """Declare nodes and put them into service, past the ledger: their way there is not what is measured."""
    opened = ledger(url, budget)
    names = [f"n{number:03}" for number in range(nodes)]
    opened.import_fleet(
        [
            FleetNode(name, name.upper(), "h200", "arena", f"r{at // 16}", at, BmcAddress(f"https://{name}"))
            for at, name in enumerate(names)
        ]
    )
    opened.close()
    engine = engine_of(url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE nodes SET milestone = 'in_service'"))
    engine.dispose()


def fight(url: str, *, nodes: int = 200, budget: int = 3, processes: int = 16, seconds: float = 60.0) -> Fight:
    """Let the processes fight on an arena that stands, and count."""
    context = multiprocessing.get_context("fork")
    counted: multiprocessing.SimpleQueue[Counter[str]] = context.SimpleQueue()
    ends = time.monotonic() + seconds
    fighters = [
        context.Process(target=_fighter, args=(url, budget, (nodes, number), ends, counted))
        for number in range(processes)
    ]
    for fighter in fighters:
        fighter.start()
    total = sum((counted.get() for _ in fighters), Counter[str]())
    for fighter in fighters:
        fighter.join(timeout=60)
    told = {word: total[word] for word in ("taken", "refused", "held", "busy")}
    return Fight(nodes, budget, processes, seconds, most_out=most_out(url), **told)


def most_out(url: str) -> int:
    """Return how many voluntary absences overlapped, from the ledger's rows."""
    engine = engine_of(url)
    with engine.connect() as connection:
        rows = connection.execute(sa.select(absences.c.since, absences.c.ended_at).where(absences.c.voluntary)).all()
    engine.dispose()
    steps = [(row.since, 1) for row in rows] + [(row.ended_at, -1) for row in rows if row.ended_at is not None]
    out = most = 0
    # An end at the very microsecond of a begin came first: the begin saw it.
    for _, step in sorted(steps):
        out += step
        most = max(most, out)
    return most


def _fighter(
    url: str,
    budget: int,
    who: tuple[int, int],
    ends: float,
    counted: multiprocessing.SimpleQueue[Counter[str]],
) -> None:
    nodes, number = who
    opened, chance, count = ledger(url, budget), random.Random(number), Counter[str]()  # noqa: S311
    turn = 0
    while time.monotonic() < ends:
        turn += 1
        try:
            count[_attempt(opened, f"n{chance.randrange(nodes):03}", f"run-{number}", turn)] += 1
            time.sleep(chance.uniform(0, OUT_SECONDS / 4))
        except Transient:
            count["busy"] += 1
    opened.close()
    counted.put(count)


def _attempt(opened: SqlLedger, name: str, run: str, turn: int) -> str:
    """Try once to drain a node; say what came of it."""
    try:
        lease = opened.open_episode(name, kind="maintenance", run=run, lifetime=MINUTE)
    except Refused:
        return "held"
    try:
        opened.intend(lease, "drain", f"drain/{turn}", {}, absence=(Action.DRAIN, "the fight"))
    except Refused:
        return "refused"
    else:
        time.sleep(OUT_SECONDS)
        opened.return_absence(lease, {"ready": True})
        return "taken"
    finally:
        opened.release(lease, close=True, reason="")


def main(arguments: Sequence[str]) -> int:
    """Fight on the database that is named, and print the figures."""
    url, seconds = arguments[0], float(arguments[1]) if len(arguments) > 1 else 60.0
    upgrade(url)
    arena(url, 200, 3)
    result = fight(url, seconds=seconds)
    print(json.dumps({"database": sa.make_url(url).get_backend_name(), **asdict(result)}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
