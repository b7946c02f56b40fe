"""Kills processes of a real Airflow in every step of a bring-up and counts at the lab what happened twice: nothing may.

`python -m benchmarks airflow_kills --kills 200` brings waves of eight nodes up, one after the other, on a stack of its
own whose time-outs are short. Workers of every step die by SIGKILL, some with the executor's worker above them, at
moments that the seed chooses. `--write` keeps the dated result.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from benchmarks.results import store, write
from stack.services import Stack
from tests.end_to_end.blows import ONCE, blows, done
from tests.end_to_end.conftest import QUICK_LOSS, SPEED
from tests.end_to_end.fleet import OLD_FIRMWARE, short_include
from tests.end_to_end.killer import Blow, Killer
from tests.end_to_end.running import Running, counted_once

WAVE = 8
HITS_PER_WAVE = 14
"""At least so many of a wave's 22 blows hit a living process; the others come too late for steps that are quick."""
PATIENCE_SECONDS = 900.0
WRONG = (
    "runs that failed",
    "nodes that did not arrive",
    "nodes with an effect missing, repeated or out of order",
    "effect ids done twice",
    "pods of customers let in",
    "audits that do not hold",
)


def strike(*, kills: int, seed: int, abreast: int = 1, keep: bool = False) -> dict[str, Any]:
    """Strike wave after wave, some abreast, until so many processes were killed; return what was counted.

    With `keep` the sum so far is stored after each round.
    """
    waves = -(-kills // HITS_PER_WAVE)
    wrong: Counter[str] = Counter()
    hits: list[Blow] = []
    with tempfile.TemporaryDirectory(prefix="nodeworthy-kills-") as folder:
        stack = Stack(Path(folder), NODEWORTHY_INCLUDE=str(short_include(Path(folder) / "include")), **QUICK_LOSS)
        try:
            stack.up(fleet=str(_fleet(Path(folder), waves)), speed=SPEED)
            for first in range(0, waves, abreast):
                with ThreadPoolExecutor(abreast) as hands:
                    for found in hands.map(partial(_one_wave, stack, seed), range(first, min(first + abreast, waves))):
                        hits += found[0]
                        wrong.update(found[1])
                wrong[WRONG[5]] += not _audit_holds(stack)
                sys.stderr.write(f"{first + abreast} waves: {len(hits)} killed so far, {sum(wrong.values())} wrong\n")
                if keep:
                    store(_result(seed, hits, wrong), table(_result(seed, hits, wrong)))
                if len(hits) >= kills or any(wrong.values()):
                    break
        finally:
            stack.down()
    return _result(seed, hits, wrong)


def _result(seed: int, hits: Sequence[Blow], wrong: Counter[str]) -> dict[str, Any]:
    return {
        "benchmark": "airflow_kills",
        "seed": seed,
        "kills": len(hits),
        "with_the_executors_worker": sum(blow.with_worker for blow in hits),
        "struck": dict(sorted(Counter(blow.step for blow in hits).items())),
        "wrong": {word: wrong[word] for word in WRONG},
    }


def _one_wave(stack: Stack, seed: int, wave: int) -> tuple[list[Blow], Counter[str]]:
    running = Running(stack, stack.api())
    nodes = [_name(wave, number) for number in range(WAVE)]
    run = running.trigger(nodes=nodes)
    killer = Killer(running, "bring_up", run, nodes, seed=seed * 1000 + wave)
    state, hits = killer.follow(blows(nodes), patience_seconds=PATIENCE_SECONDS)
    wrong: Counter[str] = Counter({WRONG[0]: state != "success"})
    for node, milestone in running.milestones(*nodes).items():
        rows = running.effects(node=node)
        if milestone != "standby":
            wrong[WRONG[1]] += 1
            _tell_of(running, run, node, milestone)
        wrong[WRONG[2]] += done(rows) != ONCE
        wrong[WRONG[3]] += not counted_once(rows)
        wrong[WRONG[4]] += any(row["kind"] == "customer-pod-scheduled" for row in rows)
    return hits, wrong


def _tell_of(running: Running, run: str, node: str, milestone: str) -> None:
    """Say why a node did not arrive, and how its tasks ended: the stack goes away with the result."""
    place = running.task(run, "inspect", node)["map_index"]
    ends = [
        f"{task['task_id']} {task['state']} (try {task['try_number']})"
        for task in running.tasks(run)
        if task["map_index"] == place and (task["state"] != "success" or task["try_number"] > 1)
    ]
    sys.stderr.write(f"{node} is {milestone}: {running.reason(node)} {', '.join(ends)}\n")


def _audit_holds(stack: Stack) -> bool:
    try:
        stack.nodeworthy("audit", "verify")
    except SystemExit as problem:
        sys.stderr.write(f"{problem}\n")
        return False
    return True


def _name(wave: int, number: int) -> str:
    return f"kill-{wave + 1:02d}-{number + 1}"


def _fleet(folder: Path, waves: int) -> Path:
    """Write a fleet of so many waves of nodes with outdated firmware."""
    nodes = [
        {"name": _name(wave, number), "sku": "h100-sxm-8", "rack": f"K{wave + 1}", "position": number + 1,
         "firmware": OLD_FIRMWARE["h100-sxm-8"]}
        for wave in range(waves) for number in range(WAVE)
    ]  # fmt: skip
    path = folder / "fleet.yaml"
    path.write_text(yaml.safe_dump({"schema": "lab.fleet/1", "site": "lab", "nodes": nodes}, sort_keys=False))
    return path


def table(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    lines = [
        "# airflow_kills",
        "",
        f"{result['kills']} processes of Airflow died by SIGKILL in bring-ups (seed {result['seed']}), "
        f"{result['with_the_executors_worker']} of them with the executor's worker above.",
        "",
        "| must be 0, counted at the lab and in the ledger | found |",
        "| --- | --- |",
        *(f"| {word} | {number} |" for word, number in result["wrong"].items()),
        "",
        "| step | killed |",
        "| --- | --- |",
        *(f"| {step} | {number} |" for step, number in result["struck"].items()),
    ]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Strike, print the table, keep it with --write; 1 when anything was wrong or too little was struck."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks airflow_kills", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--abreast", type=int, default=1, help="how many waves are struck at a time")
    parser.add_argument("--write", action="store_true", help="keep the dated result in benchmarks/results/")
    given = parser.parse_args(arguments)
    result = strike(kills=given.kills, seed=given.seed, abreast=given.abreast, keep=given.write)
    write(result, table(result), keep=given.write)
    return int(any(result["wrong"].values()) or result["kills"] < given.kills)
