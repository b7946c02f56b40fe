"""Builds the burn-in DAG: the onboarding path up to the hardware's judgement, with a soak at its end.

A node that is not burned in yet is brought that far, each step as in a bring-up. One that is further on, up to
standby, is soaked where it stands; one in quarantine is tested again from its firmware on. Nothing in service is taken.

A soak of L4 or L5 is one task per node that starts a pod per segment. So the path gives, per node, six task instances:

    prove_hardware: inspect, approve, firmware, boot_validation, burn_in | judge_hardware
    finish                                                               | gate
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, Context, Param, TriggerRule, chain

from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.path import onboarding_stages
from nodeworthy.tasks.again import FinishBehindJudge
from nodeworthy.tasks.bring_up import LEVEL, PARAMS, judged_groups, mapped_group, probe_image
from nodeworthy.tasks.next_wave import NextWave
from nodeworthy.tasks.steps import NODE_LABEL, RETRIES
from nodeworthy.tasks.wave import Gate, JudgeWave, OpenWave

if TYPE_CHECKING:
    from nodeworthy.lifecycle.path import Stage
    from nodeworthy.lifecycle.records import Lease, NodeRecord
    from nodeworthy.ports import Work
    from nodeworthy.procedures.finish import End

BURN_IN_PARAMS = {
    **PARAMS,
    "level": Param(
        "l4",
        enum=["l1", "l2", "l3", "l4", "l5", "field"],
        values_display={
            "l1": "L1: a quick check, minutes",
            "l2": "L2: the standard check, half an hour",
            "l3": "L3: the deep check, two to three hours",
            "l4": "L4: burn-in of about 24 hours",
            "l5": "L5: burn-in of about 48 hours",
            "field": "L1 and the vendor's field diagnostic, half an hour, where its package is installed",
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
        gate = SoakGate(task_id="gate", wave=wave.task_id, trigger_rule=TriggerRule.ALL_DONE)
        chain(wave, group, judge, _finish(upto).expand(node=wave.output), gate)
    return dag


def _finish(upto: Sequence[Stage]) -> Any:
    """Return the last square of a node, which tests it again once a person has cleared it."""
    return FinishSoak.partial(
        task_id="finish",
        map_index_template=NODE_LABEL,
        trigger_rule=TriggerRule.ALL_DONE,
        path=tuple(stage.name for stage in upto),
        suite=LEVEL,
        soak=True,
        image=probe_image(),
    )


def _level(context: Context) -> str:
    return str(context["params"]["level"])


class JudgeSoak(JudgeWave):
    """Judges all segments of all nodes; a node counts once its soak granted a qualification of the level asked for."""

    def _qualified(self, record: NodeRecord, work: Work, context: Context) -> bool:
        from nodeworthy.procedures.segments import soaked

        return soaked(record, _level(context), work) is not None


class FinishSoak(FinishBehindJudge):
    """The last square of a node: green when its soak passed; its lease is given back, its episode ends at standby.

    A person who clears it after a bad verdict has the node soaked again.
    """

    def is_there(self, record: NodeRecord, work: Work, context: Context) -> bool:
        """Tell whether the soak granted a qualification."""
        from nodeworthy.procedures.segments import soaked

        return soaked(record, _level(context), work) is not None

    def end(self, take_lease: Callable[[], Lease], record: NodeRecord, work: Work, context: Context) -> End:
        """Say what the soak proved."""
        from nodeworthy.procedures.finish import finish_soak

        return finish_soak(take_lease, record, work, _level(context))


class SoakGate(Gate):
    """Fails the run when the soak of any of its nodes granted nothing, so that it is visible and can be run again."""

    def passed(self, record: NodeRecord, work: Work, context: Context) -> bool:
        """Tell whether the soak granted a qualification."""
        from nodeworthy.procedures.segments import soaked

        return soaked(record, _level(context), work) is not None

    def short_of(self, context: Context) -> str:
        """Return what the missing nodes did not do."""
        return f"did not pass {_level(context)}"
