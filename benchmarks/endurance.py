"""Two hundred bring-ups of one node each, one after the other: none may fail, and none may need a second try.

What would make them fail without a fault is Airflow's own race between a task that ends and one that resumes, a token
that expires, a port or a file that leaks. A few runs abreast keep the machine busy; each run has one node.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from stack.demo import wait_for_dag
from stack.layout import REPOSITORY
from stack.rest import FINISHED, AirflowApi
from stack.services import Stack

RUNS = 200
ABREAST = 3
SPEED = 600.0
PATIENCE = 600.0


@dataclass(frozen=True)
class Ended:
    """One run: its state, and the tasks that needed more than one try."""

    run: str
    state: str
    seconds: float
    tried_again: tuple[str, ...]


def endure(runs: int, abreast: int) -> list[Ended]:
    """Bring `runs` nodes up, one a run, and return how each run ended."""
    with tempfile.TemporaryDirectory(prefix="nodeworthy-endurance-") as folder:
        stack = Stack(Path(folder))
        try:
            api = stack.up(nodes=runs, speed=SPEED)
            wait_for_dag(api, "bring_up")
            names = sorted(node["node"] for node in json.loads(stack.lab("status", "--json"))["nodes"])
            return _in_turn(api, names, abreast)
        finally:
            stack.down()


def _in_turn(api: AirflowApi, names: list[str], abreast: int) -> list[Ended]:
    waiting, running, ended = list(names), {}, []
    while waiting or running:
        while waiting and len(running) < abreast:
            name = waiting.pop(0)
            running[api.trigger("bring_up", {"nodes": [name]}, run=f"endurance-{name}")] = time.monotonic()
        time.sleep(1.0)
        for run, began in list(running.items()):
            state, seconds = api.run_state("bring_up", run), time.monotonic() - began
            if state in FINISHED or seconds > PATIENCE:
                del running[run]
                ended.append(Ended(run, state, round(seconds, 1), _tried_again(api, run)))
                print(f"{len(ended):3} {run}: {state} after {seconds:.0f} s {ended[-1].tried_again or ''}", flush=True)
    return ended


def _tried_again(api: AirflowApi, run: str) -> tuple[str, ...]:
    return tuple(task["task_id"] for task in api.tasks("bring_up", run) if task["try_number"] > 1)


def main(arguments: list[str] | None = None) -> int:
    """Run and write the dated result."""
    parser = argparse.ArgumentParser(prog="benchmarks endurance", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--abreast", type=int, default=ABREAST)
    given = parser.parse_args(arguments)
    ended = endure(given.runs, given.abreast)
    failed = [one for one in ended if one.state != "success"]
    again = [one for one in ended if one.tried_again]
    date = datetime.now(tz=UTC).date().isoformat()
    target = REPOSITORY / "benchmarks" / "results" / f"endurance-{date}.json"
    target.parent.mkdir(exist_ok=True)
    summary = {
        "date": date,
        "runs": len(ended),
        "abreast": given.abreast,
        "failed": len(failed),
        "tried_again": len(again),
    }
    target.write_text(json.dumps({**summary, "exceptions": [asdict(one) for one in [*failed, *again]]}, indent=2))
    print(summary)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
