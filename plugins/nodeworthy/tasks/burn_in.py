"""Builds the burn-in DAG: the onboarding path up to the hardware's judgement, with a soak at its end.

A node that is not burned in yet is brought that far, each step as in a bring-up. One that is further on, up to
standby, is soaked where it stands; one in quarantine is tested again from its firmware on. Nothing in service is taken.

A soak of L4 or L5 is one task per node that starts a pod per segment. So the path gives, per node, six task instances:

    prove_hardware: inspect, approve, firmware, boot_validation, burn_in | judge_hardware
    finish                                                               | gate
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, BaseOperator, Context, Param, TriggerRule, chain
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.path import onboarding_stages
from nodeworthy.tasks.bring_up import PARAMS, RETRIES, judged_groups, mapped_group
from nodeworthy.tasks.next_wave import NextWave
from nodeworthy.tasks.steps import NODE_LABEL, for_a_node, lease_of, receipt, say_reason, sentences
from nodeworthy.tasks.wave import JudgeWave, OpenWave, wave_of

if TYPE_CHECKING:
    from nodeworthy.lifecycle.records import NodeRecord
    from nodeworthy.ports import Work

BURN_IN_PARAMS = {
    **PARAMS,
    "level": Param(
        "l4",
        enum=["l1", "l2", "l3", "l4", "l5"],
        values_display={
            "l1": "L1: a quick check, minutes",
            "l2": "L2: the standard check, half an hour",
            "l3": "L3: the deep check, two to three hours",
            "l4": "L4: burn-in of about 24 hours",
            "l5": "L5: burn-in of about 48 hours",
        },
        type="string",
        title="Suite level",
        description="The highest level of tests; lower ones are included.",
        section="How",
    ),
}


def burn_in_dag() -> DAG:
    """Return the DAG of the lifecycle that is in force."""
    from nodeworthy.wiring import wiring

    stages = onboarding_stages(wiring().library.lifecycle())
    proving = next(group for group in judged_groups(stages) if group[-1].judges is Scope.HARDWARE)
    upto = list(stages[: stages.index(proving[-1]) + 1])
    approved = next((stage.name for stage in upto if stage.approval), "")
    with DAG(
        dag_id="burn_in",
        description="A long test of nodes that serve nobody: racked, in onboarding, in quarantine or at standby",
        doc_md=__doc__,
        schedule=None,
        catchup=False,
        max_active_runs=4,
        params=BURN_IN_PARAMS,
        tags=["onboarding", "tests"],
        render_template_as_native_obj=False,
        default_args=RETRIES,
    ) as dag:
        ends = upto[-1].ends
        wave = OpenWave(task_id="open_wave", reached=ends)
        wave >> NextWave(task_id="next_wave", wave=wave.task_id)
        group = mapped_group(upto, wave, approved, soak=ends)
        judge = JudgeSoak(
            task_id="judge_hardware",
            scope=Scope.HARDWARE.value,
            ends=ends,
            wave=wave.task_id,
            trigger_rule=TriggerRule.ALL_DONE,
        )
        finish = FinishSoak.partial(
            task_id="finish", map_index_template=NODE_LABEL, trigger_rule=TriggerRule.ALL_DONE
        ).expand(node=wave.output)
        chain(
            wave, group, judge, finish, SoakGate(task_id="gate", wave=wave.task_id, trigger_rule=TriggerRule.ALL_DONE)
        )
    return dag


def _level(context: Context) -> str:
    return str(context["params"]["level"])


class JudgeSoak(JudgeWave):
    """Judges all segments of all nodes; a node counts once its soak granted a qualification of the level asked for."""

    def _qualified(self, record: NodeRecord, work: Work, context: Context) -> bool:
        from nodeworthy.procedures.segments import soaked

        return soaked(record, _level(context), work) is not None


class FinishSoak(BaseOperator):
    """The last square of a node: green when its soak passed; its lease is given back, its episode ends at standby."""

    template_fields = ("node",)

    def __init__(self, *, node: str, **kwargs: Any) -> None:
        super().__init__(**for_a_node(kwargs))
        self.node = node

    def execute(self, context: Context) -> Any:
        """Say what the soak proved, or turn red with the reason why not."""
        from nodeworthy.procedures.finish import finish_soak
        from nodeworthy.wiring import wiring

        with sentences():
            work = wiring().work(self.log.info)
            (record,) = work.ledger.nodes([self.node])
            end = finish_soak(lambda: lease_of(self.node, work, context), record, work, _level(context))
        self.log.info("%s", end.sentence)
        if end.stopped_by_person:
            raise AirflowSkipException(end.sentence)
        if not end.reached:
            raise AirflowFailException(end.sentence)
        return receipt(self.node, "finish", end.sentence)


class SoakGate(BaseOperator):
    """Fails the run when the soak of any of its nodes granted nothing, so that it is visible and can be run again."""

    def __init__(self, *, wave: str, **kwargs: Any) -> None:
        super().__init__(on_failure_callback=say_reason, **kwargs)
        self.wave = wave

    def execute(self, context: Context) -> dict[str, Any]:
        """Count from our own record who passed."""
        from nodeworthy.procedures.finish import refused_by_person, where_it_stands
        from nodeworthy.procedures.segments import soaked
        from nodeworthy.wiring import wiring

        with sentences():
            work = wiring().work(self.log.info)
            records = work.ledger.nodes(wave_of(context, self.wave))
            stopped = [record for record in records if soaked(record, _level(context), work) is None]
        for record in records:
            self.log.info("%s", where_it_stands(record))
        missing = [record.node.name for record in stopped if not refused_by_person(record)]
        if missing:
            raise AirflowFailException(
                f"{len(missing)} of {len(records)} nodes did not pass {_level(context)}: {', '.join(missing)}. "
                "Their reasons stand above and in their finish tasks; a new run with retry_of goes on with them."
            )
        return {"schema": 1, "passed": len(records) - len(stopped)}
