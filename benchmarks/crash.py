"""Kills processes of the product at random points and counts from outside what went wrong: it must be nothing.

`python -m benchmarks crash --kills N --seed S` leads nodes of a lab of their own from the rack into service, over real
Redfish, Kubernetes and a real ledger on SQLite. Every step runs in a process that is killed by SIGKILL before or after
a random port call or at a random moment, and run again; twins wake up too late, leases run out, clocks jump and are
wrong. Kills are spread over fleets of a few nodes, one seed each from S on. `--write` keeps the dated result.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.crash_actor import AFTER, BEFORE, TIMED, Actor
from benchmarks.crash_books import WORDS, Books
from benchmarks.crash_fleet import library, start
from benchmarks.crash_life import Life
from benchmarks.results import store, write

KILLS_PER_FLEET = 500
KILLS_PER_NODE = 50
"""About as many as one way from the rack into service takes, when each step is struck three or four times."""
SHOWN = 20


def one_fleet(kills: int, seed: int) -> dict[str, Any]:
    """Lead one fleet through about this many kills; return what was counted."""
    nodes = max(2, min(8, kills // KILLS_PER_NODE))
    with tempfile.TemporaryDirectory(prefix="nodeworthy-crash-") as folder:
        fleet = start(Path(folder), nodes, seed)
        gc.freeze()
        books = Books(fleet, library().lifecycle())
        life = Life(Actor(fleet), books, random.Random(seed), kills)  # noqa: S311 - a seed chooses, nothing is secret
        try:
            life.lead_all()
            seen = books.close()
        finally:
            fleet.close()
    struck: dict[str, dict[str, int]] = {}
    for (step, how), number in life.kills.items():
        struck.setdefault(step, {})[how] = number
    return {
        "seeds": [seed],
        "nodes": nodes,
        "kills": sum(life.kills.values()),
        "struck": struck,
        "processes": dict(life.tries),
        "wrong": {word: books.found[word] for word in WORDS},
        "sentences": books.sentences,
        "stopped_for_a_person": dict(life.persons),
        "seen_by_the_lab": dict(seen),
    }


def merged(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the sum of several fleets' results."""
    struck: dict[str, Counter[str]] = {}
    for one in results:
        for step, hows in one["struck"].items():
            struck.setdefault(step, Counter()).update(hows)
    sums = {name: Counter[str]() for name in ("processes", "wrong", "stopped_for_a_person", "seen_by_the_lab")}
    for name, total in sums.items():
        for one in results:
            total.update(one[name])
    return {
        "benchmark": "crash",
        "seeds": [seed for one in results for seed in one["seeds"]],
        "fleets": len(results),
        "nodes": sum(one["nodes"] for one in results),
        "kills": sum(one["kills"] for one in results),
        "struck": {step: dict(hows) for step, hows in sorted(struck.items())},
        **{name: dict(sorted(total.items())) for name, total in sums.items()},
        "sentences": [sentence for one in results for sentence in one["sentences"]],
    }


def table(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    seeds = result["seeds"]
    lines = [
        "# crash",
        "",
        f"{result['kills']} processes died by SIGKILL while {result['nodes']} nodes of {result['fleets']} fleets "
        f"(seeds {seeds[0]} to {seeds[-1]}) were led from the rack into service, over the lab's Redfish and Kubernetes "
        "and a ledger on SQLite. Test pods, Great Expectations and the TPM verifier are left out: a healthy result, a "
        "judge that lets it pass and a verifier that trusts stand in their places.",
        "",
        "| must be 0, counted from outside | found |",
        "| --- | --- |",
        *(f"| {word} | {result['wrong'].get(word, 0)} |" for word in WORDS),
        "",
        f"| step | processes | killed {BEFORE} | {AFTER} | {TIMED} |",
        "| --- | --- | --- | --- | --- |",
    ]
    for step in sorted({*result["struck"], *result["processes"]}):
        hows = result["struck"].get(step, {})
        row = " | ".join(str(hows.get(how, 0)) for how in (BEFORE, AFTER, TIMED))
        lines.append(f"| {step} | {result['processes'].get(step, 0)} | {row} |")
    lines += ["", "What the lab saw: " + ", ".join(f"{n} {k}" for k, n in result["seen_by_the_lab"].items()) + "."]
    people = result["stopped_for_a_person"]
    lines += ["", f"Steps that stopped for a person, or refused as they must: {sum(people.values())}."]
    lines += [
        f"- {number} x {sentence}" for sentence, number in sorted(people.items(), key=lambda row: -row[1])[:SHOWN]
    ]
    lines += [f"- WRONG: {sentence}" for sentence in result["sentences"][:SHOWN]]
    return "\n".join(lines) + "\n"


def crash(kills: int, seed: int, *, abreast: int = 1, keep: bool = False) -> dict[str, Any]:
    """Kill at least so many processes, some fleets abreast, until it is enough or anything is wrong; return the sum.

    With `keep` the sum so far is stored after each round: hours of kills are not lost with the last one.
    """
    results: list[dict[str, Any]] = []
    with ProcessPoolExecutor(abreast, mp_context=get_context("spawn")) as hands:
        while (done := sum(one["kills"] for one in results)) < kills:
            began = time.monotonic()
            share = min(KILLS_PER_FLEET, -(-(kills - done) // abreast))
            first = seed + len(results)
            for one in hands.map(partial(one_fleet, share), range(first, first + abreast)):
                results.append(one)
                told = f"seed {one['seeds'][0]}: {one['kills']} kills, {sum(one['wrong'].values())} wrong"
                sys.stderr.write(f"{told}, {time.monotonic() - began:.0f} s\n")
            if keep:
                store(merged(results), table(merged(results)))
            if any(any(one["wrong"].values()) for one in results):
                sys.stderr.write("stopped\n")
                break
    return merged(results)


def main(arguments: Sequence[str]) -> int:
    """Kill, print the table, keep it with --write; 1 when anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks crash", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--abreast", type=int, default=1, help="fleets at the same time")
    parser.add_argument("--write", action="store_true", help="keep the dated result in benchmarks/results/")
    given = parser.parse_args(arguments)
    result = crash(given.kills, given.seed, abreast=given.abreast, keep=given.write)
    write(result, table(result), keep=given.write)
    return 1 if result["sentences"] else 0
