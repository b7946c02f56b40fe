"""Builds the group test's DAG: nodes are tested together, and who spoils a group is found by halves and confirmed.

The screening is one task for all nodes: it starts the pods of a round, waits without a worker, judges all groups of the
round in one validation, and plans the next. So there is, per node, one task instance:

    screen
    finish | gate
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from airflow.sdk import DAG, BaseOperator, Context, Param, TriggerRule, chain

from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.path import onboarding_stages
from nodeworthy.tasks.bring_up import PARAMS
from nodeworthy.tasks.next_wave import NextWave
from nodeworthy.tasks.steps import NODE_LABEL, RETRIES, lease_of, run_of, say_reason, sentences
from nodeworthy.tasks.triggers import PodsTrigger
from nodeworthy.tasks.wave import FinishNode, Gate, OpenWave, wave_of

if TYPE_CHECKING:
    from nodeworthy.lifecycle.records import Lease, NodeRecord
    from nodeworthy.ports import Work
    from nodeworthy.procedures.finish import End
    from nodeworthy.procedures.outcome import Done, Waiting

GROUP_PARAMS = {
    **{name: PARAMS[name] for name in ("nodes", "rack", "batch", "retry_of", "wave_size")},
    "suite": Param(
        "m1",
        enum=["m1", "m2", "m3"],
        values_display={
            "m1": "M1: pairs of nodes, minutes",
            "m2": "M2: a rack or NVLink domain at a time",
            "m3": "M3: each rack, then one good node of each rack together",
        },
        type="string",
        title="Suite",
        description="How large the first groups are.",
        section="How",
    ),
}


def group_test_dag() -> DAG:
    """Return the DAG of the lifecycle that is in force."""
    from nodeworthy.wiring import wiring

    stages = onboarding_stages(wiring().library.lifecycle())
    reached = next(stage.ends for stage in stages if stage.judges is Scope.HARDWARE)
    with DAG(
        dag_id="group_test",
        description="Nodes that serve nobody are tested together; who spoils a group is named, its partners are not",
        doc_md=__doc__,
        schedule=None,
        catchup=False,
        max_active_runs=4,
        params=GROUP_PARAMS,
        tags=["tests"],
        render_template_as_native_obj=False,
        default_args=RETRIES,
    ) as dag:
        wave = OpenWave(task_id="open_wave", reached=reached, only_reached=True)
        wave >> NextWave(task_id="next_wave", wave=wave.task_id)
        screening = ScreenNodes(task_id="screen", wave=wave.task_id, execution_timeout=timedelta(hours=1))
        finish = FinishScreened.partial(
            task_id="finish", map_index_template=NODE_LABEL, trigger_rule=TriggerRule.ALL_DONE
        ).expand(node=wave.output)
        gate = ScreenGate(task_id="gate", wave=wave.task_id, trigger_rule=TriggerRule.ALL_DONE)
        chain(wave, screening, finish, gate)
    return dag


def _suite(context: Context) -> str:
    return str(context["params"]["suite"])


class ScreenNodes(BaseOperator):
    """Screens all nodes of the run; each wait for a round's pods is deferred."""

    def __init__(self, *, wave: str, **kwargs: Any) -> None:
        super().__init__(on_failure_callback=say_reason, **kwargs)
        self.wave = wave

    def execute(self, context: Context, event: Any = None) -> dict[str, Any]:
        """Go on with the screening; it reads from the ledger how far it has come."""
        from nodeworthy.procedures.outcome import Waiting

        with sentences():
            outcome = self._screen(context)
        if isinstance(outcome, Waiting):
            self._wait(outcome, run_of(context))
        return {"schema": 1, "summary": outcome.summary, **outcome.facts}

    def _wait(self, waiting: Waiting, holder: str) -> NoReturn:
        self.log.info("Waiting for %s, at most until %s.", waiting.what, waiting.deadline.isoformat(timespec="seconds"))
        groups, poll = list(waiting.check["groups"]), waiting.poll.total_seconds()
        trigger = PodsTrigger(groups, poll, waiting.deadline.isoformat(), holder)
        self.defer(trigger=trigger, method_name="execute")
        raise AssertionError("defer raises")

    def _screen(self, context: Context) -> Done | Waiting:
        from nodeworthy.procedures.screen import screen
        from nodeworthy.procedures.trial import Court
        from nodeworthy.wiring import wiring

        made = wiring()
        work = made.work(self.log.info)
        names = wave_of(context, self.wave)
        leases = {name: lease_of(name, work, context) for name in names}
        records = {record.node.name: record for record in work.ledger.nodes(names)}
        suite = work.library.suite(_suite(context))
        return screen(Court(run_of(context), suite, records, leases, work, made.pods), made.judging())


class FinishScreened(FinishNode):
    """The last square of a node: green when it passed with its partners; its lease is given back."""

    def end(self, take_lease: Callable[[], Lease], record: NodeRecord, work: Work, context: Context) -> End:
        """Say what was measured with whom."""
        from nodeworthy.procedures.finish import finish_screened

        return finish_screened(take_lease, record, work, _suite(context))


class ScreenGate(Gate):
    """Fails the run when any node did not pass with its partners."""

    def passed(self, record: NodeRecord, work: Work, context: Context) -> bool:
        """Tell whether the newest group test of the suite let the node pass."""
        from nodeworthy.procedures.finish import screened

        return screened(record, work, _suite(context)).reached

    def short_of(self, context: Context) -> str:
        """Return what the missing nodes did not do."""
        return f"did not pass {_suite(context)}"
