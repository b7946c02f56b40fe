"""The main job as a newcomer sees it: eight racked nodes become spare capacity, or say why not.

Starts the stack, triggers `bring_up` on the first batch of the manifest, shows each node's milestone while it runs,
prints the outcome, admits one spare into service, and leaves the UI running.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stack.airflow import USER
from stack.rest import FINISHED, AirflowApi
from stack.services import Stack
from stack.table import LiveTable, Row, render

if TYPE_CHECKING:
    from nodeworthy.ports import Ledger

BATCH = "demo"
PATIENCE_SECONDS = 900.0


def demo(root: Path, *, detach: bool) -> int:
    """Run the demonstration; return 0 when the job ended and one spare was admitted.

    What an earlier one left is ended and forgotten: the racked batch is brought up from the beginning.
    """
    if root.exists():
        Stack(root).down()
        shutil.rmtree(root)
    stack = Stack(root)
    began = time.monotonic()
    print("Starting the virtual fleet, the ledger and Airflow ...", flush=True)
    try:
        api = stack.up()
        _say_where(stack)
        ledger = open_ledger(stack)
        run = _bring_up(api, ledger, began)
        admitted = _admit_one(api, ledger)
    except BaseException:
        stack.down()
        raise
    _say_outcome(ledger, api.run_url("bring_up", run), time.monotonic() - began)
    if detach:
        print(
            f"The UI stays up (user {USER}, password {stack.layout.password}); `make down` ends everything.", flush=True
        )
    else:
        _stay(stack)
    return 0 if admitted else 1


def open_ledger(stack: Stack) -> Ledger:
    """Return the stack's ledger, brought to the installed version."""
    os.environ.update({name: value for name, value in stack.environment().items() if name.startswith("NODEWORTHY_")})
    from nodeworthy.wiring import wiring

    return wiring().ledger


def rows_of(ledger: Ledger, now: dict[str, str] | None = None) -> list[Row]:
    """Return one row per node of the ledger."""
    rows = []
    for record in ledger.nodes():
        judged = ledger.judgements(record.node.name)
        verdict = judged[0].verdict.value if judged else ""
        rows.append(
            Row(record.node.name, record.milestone, (now or {}).get(record.node.name, ""), verdict, record.reason)
        )
    return rows


def wait_for_dag(api: AirflowApi, dag: str) -> None:
    """Wait until the DAG has been parsed."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not api.dag_is_known(dag):
        if time.monotonic() > deadline:
            raise SystemExit(f"Airflow has not parsed {dag}: {api.get('/importErrors')}")
        time.sleep(0.5)


def _bring_up(api: AirflowApi, ledger: Ledger, began: float) -> str:
    wait_for_dag(api, "bring_up")
    run = api.trigger("bring_up", {"batch": BATCH})
    table = LiveTable()
    state = "queued"
    deadline = time.monotonic() + PATIENCE_SECONDS
    while state not in FINISHED and time.monotonic() < deadline:
        time.sleep(1.0)
        state = api.run_state("bring_up", run)
        table.show(
            rows_of(ledger, _now(api.tasks("bring_up", run))), f"bring_up {state}, {time.monotonic() - began:.0f} s"
        )
    if state not in FINISHED:
        raise SystemExit(
            f"bring_up is still {state} after {PATIENCE_SECONDS:.0f} s: see {api.run_url('bring_up', run)}"
        )
    return run


def _now(tasks: list[dict[str, Any]]) -> dict[str, str]:
    """Return what runs or waits for each node now, by the label of its mapped task."""
    active = {
        "running": "",
        "deferred": " (waiting)",
        "awaiting_input": " (needs approval)",
        "up_for_retry": " (retry)",
    }
    return {
        str(task["rendered_map_index"]): task["task_id"].rsplit(".", 1)[-1] + active[task["state"]]
        for task in tasks
        if task["state"] in active and task.get("rendered_map_index")
    }


def _admit_one(api: AirflowApi, ledger: Ledger) -> str:
    """Admit the first spare into service and return its name."""
    spares = [record.node.name for record in ledger.nodes() if record.milestone == "standby"]
    if not spares:
        return ""
    wait_for_dag(api, "admit")
    run = api.trigger("admit", {"nodes": spares[:1], "why": "the demonstration's first spare"})
    api.approve_all("admit", run, 1, "the demonstration's operator agrees")
    state = api.wait("admit", run, patience_seconds=180)
    return spares[0] if state == "success" else ""


def _say_where(stack: Stack) -> None:
    print(f"Airflow is up at {stack.layout.url} (user {USER}, password {stack.layout.password}).", flush=True)


def _say_outcome(ledger: Ledger, url: str, seconds: float) -> None:
    print(f"\n{render(rows_of(ledger), final=True)}\n\nThe run: {url}\nTime: {seconds:.0f} s", flush=True)


def _stay(stack: Stack) -> None:
    """Keep the UI up until Ctrl-C."""
    print("The UI stays up; Ctrl-C ends everything.", flush=True)
    try:
        signal.pause()
    except KeyboardInterrupt:
        print("Ending.", flush=True)
    finally:
        stack.down()
