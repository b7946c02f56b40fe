"""A started stack, with what the tests ask of it: of the ledger, of Airflow's REST API, and of the lab's own record."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from lab.control import call
from stack.demo import open_ledger, wait_for_dag
from stack.rest import AirflowApi
from stack.services import Stack

Task = dict[str, Any]


class Running:
    """One stack under test."""

    def __init__(self, stack: Stack, api: AirflowApi) -> None:
        self.stack = stack
        self.api = api
        self.ledger = open_ledger(stack)

    def milestones(self, *names: str) -> dict[str, str]:
        """Return the milestone of these nodes, of all when none is named."""
        return {record.node.name: record.milestone for record in self.ledger.nodes(names)}

    def reason(self, node: str) -> str:
        """Return why the node stopped."""
        return self.ledger.nodes([node])[0].reason

    def effects(self, *, kind: str = "", node: str = "") -> list[dict[str, Any]]:
        """Return what the lab counted, from outside."""
        rows = call(self.stack.layout.lab, "status", effects=True)["effects"]
        return [row for row in rows if kind in ("", row["kind"]) and node in ("", row["node"])]

    def trigger(self, **conf: object) -> str:
        """Start bring_up and return the run's id."""
        wait_for_dag(self.api, "bring_up")
        return self.api.trigger("bring_up", conf)

    def bring_up(self, *, patience_seconds: float = 540, **conf: object) -> tuple[str, str]:
        """Run bring_up to its end and return (run id, state)."""
        run = self.trigger(**conf)
        return run, self.wait(run, patience_seconds=patience_seconds)

    def wait(self, run: str, *, patience_seconds: float = 540) -> str:
        """Return the state in which a bring_up ended."""
        return self.api.wait("bring_up", run, patience_seconds=patience_seconds)

    def tasks(self, run: str, name: str = "") -> list[Task]:
        """Return a run's task instances, those of one step when it is named."""
        return [task for task in self.api.tasks("bring_up", run) if name in ("", task["task_id"].rsplit(".", 1)[-1])]

    def task(self, run: str, name: str, node: str) -> Task:
        """Return a step's task instance of one node."""
        return next(task for task in self.tasks(run, name) if task.get("rendered_map_index") == node)

    def said(self, run: str, task: Task) -> list[str]:
        """Return the lines of a task instance's last try, without Airflow's own folding marks."""
        lines = self.api.log(
            "bring_up", run, task["task_id"], map_index=task["map_index"], attempt=max(1, task["try_number"])
        )
        return [line for line in lines if line and not line.startswith("::")]

    def clear_failed(self, run: str) -> None:
        """Do what the UI's "Clear failed" does."""
        body = {"dag_run_id": run, "only_failed": True, "dry_run": False, "reset_dag_runs": True}
        self.api.post("/dags/bring_up/clearTaskInstances", body)

    def until(self, what: str, look: Callable[[], Any], *, patience_seconds: float = 240) -> Any:
        """Return the first true answer of `look`; TimeoutError that names what never came."""
        deadline = time.monotonic() + patience_seconds
        while not (found := look()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what} did not come within {patience_seconds:.0f} s")
            time.sleep(0.3)
        return found


def counted_once(rows: list[dict[str, Any]]) -> bool:
    """Tell whether no effect id was done twice."""
    ids = [(row["kind"], row["effect_id"]) for row in rows if row["effect_id"]]
    return len(ids) == len(set(ids))
