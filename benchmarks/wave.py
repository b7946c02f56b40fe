"""What a wave costs: bring-up in the lab beside empty DAGs of the same shape, in the same Airflow.

CPU is counted per process tree from /proc (own and reaped children), so that another load on the machine does not
change it much: Airflow's components, and the lab, apart. Two empty DAGs stand beside it: `empty` does nothing in as
many task instances, and `empty_waiting` is also deferred as often as a bring-up. So what Airflow costs, what waiting
without a worker costs, and what our code costs can be told apart. The idle components' share of a run's time is told.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from stack.demo import open_ledger, wait_for_dag
from stack.layout import REPOSITORY
from stack.services import Stack

SIZES = (8, 64)
SPEED = 600.0
PATIENCE_SECONDS = 3000.0
IDLE_SECONDS = 20.0
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """CPU seconds and wall seconds of one run."""

    what: str
    nodes: int
    wall_seconds: float
    airflow_cpu_seconds: float
    idle_cpu_seconds: float
    """What Airflow would have used in the same time without the run; it is part of `airflow_cpu_seconds`."""
    lab_cpu_seconds: float
    task_instances: int
    state: str
    component_cpu_seconds: dict[str, float]
    """By component of Airflow."""


def _tree(root: int) -> list[int]:
    """Return a process and all its living descendants."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += parents.get(pid, [])
    return found


def cpu_seconds(root: int) -> float:
    """Return the CPU that a process tree has used: its living members and the children they reaped (proc(5))."""
    total = 0
    for pid in _tree(root):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += sum(int(field) for field in fields[11:15])
    return total / TICKS_PER_SECOND


def measure(nodes: int) -> list[Cost]:
    """Bring a wave of this size up, and run the empty DAG beside it, on a fresh stack."""
    with tempfile.TemporaryDirectory(prefix="nodeworthy-wave-") as folder:
        dags = Path(folder) / "dags"
        shutil.copytree(REPOSITORY / "dags", dags)
        shutil.copy(REPOSITORY / "benchmarks" / "dags" / "empty_wave.py", dags)
        stack = Stack(Path(folder) / "stack", AIRFLOW__CORE__DAGS_FOLDER=str(dags))
        try:
            stack.up(nodes=nodes, speed=SPEED)
            open_ledger(stack)
            batch = json.loads(stack.lab("status", "--json"))["nodes"]
            names = sorted(node["node"] for node in batch)
            _run(stack, "empty_wave", {"nodes": 2, "waits": True}, 2, "warm-up", 0.0)
            idle = _idle(stack)
            return [
                _run(stack, "empty_wave", {"nodes": nodes}, nodes, "empty", idle),
                _run(stack, "empty_wave", {"nodes": nodes, "waits": True}, nodes, "empty_waiting", idle),
                _run(stack, "bring_up", {"nodes": names}, nodes, "bring_up", idle),
            ]
        finally:
            stack.down()


def _idle(stack: Stack) -> float:
    """Return the CPU seconds a second that all components use when there is nothing to do."""
    before = sum(_airflow_cpu(stack).values())
    time.sleep(IDLE_SECONDS)
    return (sum(_airflow_cpu(stack).values()) - before) / IDLE_SECONDS


def _run(stack: Stack, dag: str, conf: dict[str, object], nodes: int, what: str, idle: float) -> Cost:
    api = stack.api()
    wait_for_dag(api, dag)
    lab = int((stack.layout.lab / "lab.pid").read_text().split()[0])
    airflow, fleet, began = _airflow_cpu(stack), cpu_seconds(lab), time.monotonic()
    run = api.trigger(dag, conf)
    state = api.wait(dag, run, patience_seconds=PATIENCE_SECONDS)
    wall = time.monotonic() - began
    used = {name: seconds - airflow[name] for name, seconds in _airflow_cpu(stack).items()}
    return Cost(
        what=what,
        nodes=nodes,
        wall_seconds=round(wall, 1),
        airflow_cpu_seconds=round(sum(used.values()), 1),
        idle_cpu_seconds=round(wall * idle, 1),
        lab_cpu_seconds=round(cpu_seconds(lab) - fleet, 1),
        task_instances=len(api.tasks(dag, run)),
        state=state,
        component_cpu_seconds={name: round(seconds, 1) for name, seconds in used.items()},
    )


def _airflow_cpu(stack: Stack) -> dict[str, float]:
    return {group.name: cpu_seconds(group.pid) for group in stack.groups.all()}


def main(arguments: list[str] | None = None) -> int:
    """Measure the sizes and write the dated result."""
    parser = argparse.ArgumentParser(prog="benchmarks wave", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    costs = [cost for nodes in parser.parse_args(arguments).sizes for cost in measure(nodes)]
    date = datetime.now(tz=UTC).date().isoformat()
    target = REPOSITORY / "benchmarks" / "results" / f"wave-{date}.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps({"date": date, "speed": SPEED, "costs": [asdict(cost) for cost in costs]}, indent=2))
    for cost in costs:
        per_node = cost.airflow_cpu_seconds / cost.nodes
        lab = cost.lab_cpu_seconds / cost.nodes
        print(f"{cost.what:13} {cost.nodes:3} nodes, {cost.task_instances} task instances, {cost.state}:", end=" ")
        idle = cost.idle_cpu_seconds / cost.nodes
        print(f"{cost.wall_seconds:.1f} s wall, {per_node:.2f} CPU s a node in Airflow ({idle:.2f} of it idle)", end="")
        print(f", {lab:.2f} in the lab")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
