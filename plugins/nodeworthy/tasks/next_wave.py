"""A request that is larger than one wave goes on as a further run of the same DAG, which the first one starts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import DagRunTriggerException

from nodeworthy.tasks.steps import skip

LATER = "later"
"""The key under which `OpenWave` leaves the names that its wave has no room for."""

_NUMBERED = re.compile(r"(?P<first>.+)-wave-(?P<number>\d+)")


class NextWave(BaseOperator):
    """Starts the run of the nodes that are left over, with the answers of this run's form; skipped when none are.

    The run's id follows from this one's, so that a second try starts nothing twice.
    """

    def __init__(self, *, wave: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.wave = wave

    def execute(self, context: Context) -> NoReturn:
        """Ask Airflow for the next run."""
        later = context["ti"].xcom_pull(task_ids=self.wave, key=LATER)
        if not later:
            skip("This wave has room for the whole request.")
        dag, run = context["dag_run"].dag_id, next_run(context["run_id"])
        self.log.info("%d nodes go on in the run %s: %s.", len(later), run, ", ".join(later))
        raise DagRunTriggerException(
            trigger_dag_id=dag,
            dag_run_id=run,
            conf=next_answers(context["params"], later),
            reset_dag_run=False,
            skip_when_already_exists=True,
            wait_for_completion=False,
            allowed_states=["success"],
            failed_states=["failed"],
            poke_interval=60,
            deferrable=False,
        )


def next_run(run: str) -> str:
    """Return the id of the run of the next wave: `X`, `X-wave-2`, `X-wave-3`."""
    numbered = _NUMBERED.fullmatch(run)
    first, number = (numbered["first"], int(numbered["number"])) if numbered else (run, 1)
    return f"{first}-wave-{number + 1}"


def next_answers(answers: Mapping[str, Any], nodes: list[str]) -> dict[str, Any]:
    """Return the form's answers for exactly these nodes."""
    ways = {name: "" for name in ("rack", "batch", "retry_of") if name in answers}
    return {**answers, **ways, "nodes": list(nodes)}
