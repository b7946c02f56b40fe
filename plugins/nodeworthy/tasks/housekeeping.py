"""Builds the housekeeping DAG: what must go right although the run that began it is gone.

A handful of tasks whatever the fleet's size, one behind the other, because each looks at what the one before it left:
an effect that is settled explains a boot, a node that was led on at its deadline is shown to Kubernetes right after.
One that fails stops none behind it; the last one turns red for all, so that the grid shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, BaseOperator, Context, TriggerRule, chain
from airflow.sdk.exceptions import AirflowFailException

from nodeworthy.tasks.steps import RETRIES, run_of, say_reason, sentences

if TYPE_CHECKING:
    from nodeworthy.procedures.upkeep import House
    from nodeworthy.procedures.verify import Proofs

EVERY = timedelta(minutes=5)
LONGEST = timedelta(minutes=20)
DUTIES = ("settle", "deadlines", "reconcile", "watch", "verify", "retention")


class Duty(BaseOperator):
    """One duty of housekeeping, for the whole fleet."""

    def __init__(self, *, duty: str, **kwargs: Any) -> None:
        super().__init__(on_failure_callback=say_reason, **kwargs)
        self.duty = duty

    def execute(self, context: Context) -> Mapping[str, Any]:
        """Do it; return its summary line."""
        from nodeworthy.wiring import wiring

        with sentences():
            summary = _duties()[self.duty](wiring().house(self.log.info, run_of(context)))
        self.log.info("%s", summary)
        return {"schema": 1, "duty": self.duty, "summary": summary}


class Report(BaseOperator):
    """Repeats every duty's line, and fails when one has none."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(on_failure_callback=say_reason, **kwargs)

    def execute(self, context: Context) -> Mapping[str, Any]:
        """Return how many duties were done."""
        done = {duty: context["ti"].xcom_pull(task_ids=duty) for duty in DUTIES}
        for duty, receipt in done.items():
            self.log.info("%s: %s", duty, receipt["summary"] if receipt else "failed, see its log")
        failed = [duty for duty, receipt in done.items() if not receipt]
        if failed:
            raise AirflowFailException(f"{', '.join(failed)} failed: the reason is the last line of each log.")
        return {"schema": 1, "done": len(done)}


def housekeeping_dag() -> DAG:
    """Return the DAG that keeps house."""
    with DAG(
        dag_id="housekeeping",
        description="Deadlines, dead runs, drift, audit and evidence, every few minutes",
        doc_md=__doc__,
        schedule=EVERY,
        start_date=datetime(2026, 1, 1),  # noqa: DTZ001 - Airflow reads it as UTC
        catchup=False,
        max_active_runs=1,
        dagrun_timeout=LONGEST,
        tags=["safety"],
        default_args={
            **RETRIES,
            "execution_timeout": LONGEST,
            "trigger_rule": TriggerRule.ALL_DONE,
        },
    ) as dag:
        chain(*(Duty(task_id=duty, duty=duty) for duty in DUTIES), Report(task_id="report"))
    return dag


def _duties() -> Mapping[str, Callable[[House], str]]:
    from nodeworthy.procedures.deadlines import deadlines
    from nodeworthy.procedures.leaks import leaks
    from nodeworthy.procedures.lemons import lemons
    from nodeworthy.procedures.reconcile import reconcile
    from nodeworthy.procedures.retention import retention
    from nodeworthy.procedures.settle import settle
    from nodeworthy.procedures.verify import verify

    return {
        "settle": settle,
        "deadlines": deadlines,
        "reconcile": reconcile,
        "watch": lambda house: f"{_watch(house)} {leaks(house, EVERY)} {lemons(house)}",
        "verify": lambda house: f"{verify(house, EVERY, _proofs())} {_checkpoint(house)}",
        "retention": retention,
    }


def _watch(house: House) -> str:
    """Evaluate the brake: incidents open, grow and end."""
    from nodeworthy.procedures.watch import watch
    from nodeworthy.wiring import wiring

    return watch(wiring().brake, house.work.say)


def _proofs() -> Proofs:
    from nodeworthy.procedures.verify import Proofs
    from nodeworthy.wiring import wiring

    return Proofs(wiring().trail, wiring().trusted_keys)


def _checkpoint(house: House) -> str:
    """Sign the heads of all chains, once per the rules' period."""
    from nodeworthy.procedures.checkpoint import checkpoint
    from nodeworthy.wiring import wiring

    if not house.upkeep.claim_chore("checkpoint", house.rules.checkpoint_every):
        return "The last checkpoint is younger than its period."
    made = wiring()
    return checkpoint(made.trail, made.store, made.signer, house.work.say).summary
