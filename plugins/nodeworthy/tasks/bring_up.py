"""Builds the bring-up DAG from the onboarding path of the lifecycle table.

Each stage of the path is one mapped task per node, in the table's order. Stages whose rows are judged run a test pod
and end a group: behind it stands one judging task for the whole wave. The approval of the plan stands before the
first stage that needs one. So the default path gives, per node, eight task instances:

    prove_hardware: inspect, approve, firmware, boot_validation, burn_in | judge_hardware
    prove_platform: provision, verify                                    | judge_platform
    finish                                                               | gate

A request that is larger than one wave goes on in a further run, which `next_wave` starts.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, Param, TriggerRule, chain, task_group
from airflow.sdk.definitions.param import ParamsDict

from nodeworthy.evidence.verdicts import Scope
from nodeworthy.lifecycle.path import Stage, onboarding_stages
from nodeworthy.procedures.open_wave import LARGEST_WAVE
from nodeworthy.tasks.again import FinishBehindJudge, ProcedureBehindJudge
from nodeworthy.tasks.approval import PlanApproval
from nodeworthy.tasks.next_wave import NextWave
from nodeworthy.tasks.pods import TestPodOperator
from nodeworthy.tasks.procedure import ProcedureOperator
from nodeworthy.tasks.steps import NODE_LABEL, RETRIES
from nodeworthy.tasks.wave import Gate, JudgeWave, OpenWave

FINISH = "finish"
LEVEL = "{{ params.level }}"
REQUIRED = "{{ params.approve_risky_steps }}"

PARAMS = {
    # Airflow's form demands an answer to every question that may not be null, and only one of these four has one.
    "nodes": Param(
        [],
        type=["null", "array"],
        items={"type": "string", "minLength": 1, "pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"},
        title="Nodes",
        description="Names as the manifest writes them (a-z, 0-9, - and .), one a line. "
        "Give exactly one of nodes, rack, batch and retry_of.",
        section="Which nodes",
    ),
    "rack": Param(
        "", type=["null", "string"], title="Rack", description="All nodes of one rack.", section="Which nodes"
    ),
    "batch": Param(
        "", type=["null", "string"], title="Batch", description="A batch of the fleet manifest.", section="Which nodes"
    ),
    "retry_of": Param(
        "",
        type=["null", "string"],
        title="Retry of",
        description="The id of an earlier run: goes on with the nodes that did not arrive, and skips what is proven.",
        section="Which nodes",
    ),
    "wave_size": Param(
        LARGEST_WAVE,
        type="integer",
        minimum=1,
        maximum=LARGEST_WAVE,
        title="Wave size",
        description="How many nodes this run takes; the others go on in further runs that it starts.",
        section="How",
    ),
    "level": Param(
        "l1",
        # L0 alone proves readiness, not that a node is worthy of service: no run can stop there.
        enum=["l1", "l2", "l3"],
        values_display={
            "l1": "L0 and L1: readiness and a quick check, minutes",
            "l2": "L0 to L2: the standard check, half an hour",
            "l3": "L0 to L3: the deep check, two to three hours",
        },
        type="string",
        title="Suite level",
        description="The highest level of tests; lower ones are included.",
        section="How",
    ),
    "approve_risky_steps": Param(
        False,
        type="boolean",
        title="Ask before risky steps",
        description="Ask a person to approve each node's plan even where the pool's policy would not.",
        section="How",
    ),
}


def bring_up_dag() -> DAG:
    """Return the DAG of the lifecycle that is in force."""
    from nodeworthy.wiring import wiring

    stages = onboarding_stages(wiring().library.lifecycle())
    with DAG(
        dag_id="bring_up",
        description="A batch of racked nodes becomes proven standby capacity",
        doc_md=__doc__,
        schedule=None,
        catchup=False,
        max_active_runs=4,
        tags=["onboarding"],
        render_template_as_native_obj=False,
        default_args=RETRIES,
    ) as dag:
        wave = OpenWave(task_id="open_wave")
        wave >> NextWave(task_id="next_wave", wave=wave.task_id)
        approved = next((stage.name for stage in stages if stage.approval), "")
        last: Any = wave
        for group_of_stages in judged_groups(stages):
            group = _mapped(group_of_stages, wave, approved, path_to(group_of_stages[0], stages))
            last >> group
            last = group
            scope = group_of_stages[-1].judges
            if scope is not None:
                last = _judge(group_of_stages[-1], scope, wave)
                group >> last
        last >> Gate(task_id="gate", wave=wave.task_id, trigger_rule=TriggerRule.ALL_DONE)
    # Behind the tasks: each of them would copy the whole form, several times, in every process that parses this.
    dag.params = ParamsDict(PARAMS)
    return dag


def _judge(stage: Stage, scope: Scope, wave: OpenWave) -> JudgeWave:
    return JudgeWave(
        task_id=f"judge_{scope.value}",
        scope=scope.value,
        ends=stage.ends,
        wave=wave.task_id,
        trigger_rule=TriggerRule.ALL_DONE,
    )


def judged_groups(stages: tuple[Stage, ...]) -> list[list[Stage]]:
    """Cut the path behind each stage that is judged."""
    groups: list[list[Stage]] = [[]]
    for stage in stages:
        groups[-1].append(stage)
        if stage.judges is not None:
            groups.append([])
    return [group for group in groups if group]


def path_to(stage: Stage, stages: tuple[Stage, ...]) -> tuple[str, ...]:
    """Return the names of the stages that lead to one."""
    return tuple(one.name for one in stages[: stages.index(stage)])


def _mapped(stages: list[Stage], wave: OpenWave, approved: str, path: tuple[str, ...]) -> Any:
    """Return the mapped group of some stages, one index per node."""
    scope = stages[-1].judges
    if scope is None and len(stages) == 1:
        finish = FinishBehindJudge.partial(
            task_id=FINISH,
            map_index_template=NODE_LABEL,
            trigger_rule=TriggerRule.ALL_DONE,
            begins=stages[0].begins,
            path=path,
            suite=LEVEL,
            image=probe_image(),
        )
        return finish.expand(node=wave.output)

    return mapped_group(stages, wave, approved, path=path)


def mapped_group(
    stages: list[Stage], wave: OpenWave, approved: str, *, soak: str = "", path: tuple[str, ...] = ()
) -> Any:
    """Return the group of some stages, one index per node.

    `path` names the stages before the first, when a judge stands between: that step measures again what was refused
    there. `soak` names the milestone from which on a node is only tested, where it stands; empty for a bring-up, which
    tests it where it comes by.
    """
    scope = stages[-1].judges

    @task_group(group_id=f"prove_{scope.value if scope else stages[-1].name}")
    def steps(node: str) -> None:
        behind = {stages[0].name: path}
        tasks = [task for stage in stages for task in _tasks(stage, node, approved, soak, behind.get(stage.name, ()))]
        # Each step looks for itself whether its node may go on, whatever the colour of what is in front of it: the
        # judge is red as soon as one node failed. Only behind a person's "no" nothing starts.
        for task in tasks:
            task.trigger_rule = TriggerRule.NONE_SKIPPED
        tasks[0].trigger_rule = TriggerRule.ALL_DONE
        chain(*tasks)

    return steps.expand(node=wave.output)


def _tasks(stage: Stage, node: str, approved: str, soak: str, path: tuple[str, ...]) -> list[Any]:
    """Return a stage's tasks: the approval of the plan where the stage is the first to need one, then its work."""
    tasks: list[Any] = []
    if stage.name == approved:
        tasks.append(PlanApproval(task_id="approve", node=node, begins=stage.begins, required=REQUIRED, until=soak))
    if stage.judges is not None:
        tasks.append(_pod(stage, node, stage.judges, soak))
    elif path:
        tasks.append(_behind_judge(stage, node, path))
    else:
        tasks.append(ProcedureOperator(task_id=stage.name, procedure=stage.name, node=node, begins=stage.begins))
    return tasks


def probe_image() -> str:
    """Return the image of every test pod."""
    from nodeworthy.wiring import wiring

    return wiring().probe_image


def _behind_judge(stage: Stage, node: str, path: tuple[str, ...]) -> ProcedureBehindJudge:
    return ProcedureBehindJudge(
        task_id=stage.name,
        procedure=stage.name,
        node=node,
        begins=stage.begins,
        path=path,
        suite=LEVEL,
        image=probe_image(),
    )


def _pod(stage: Stage, node: str, scope: Scope, soak: str) -> TestPodOperator:
    return TestPodOperator(
        task_id=stage.name,
        node=node,
        begins=stage.begins,
        suite=LEVEL,
        scope=scope.value,
        soak=bool(soak),
        image=probe_image(),
    )
