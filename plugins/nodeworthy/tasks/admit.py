"""Builds the admit DAG: proven spares enter service, one by one, each after an answer where the policy asks for one."""

from __future__ import annotations

from airflow.sdk import DAG, Param, TriggerRule, task_group

from nodeworthy.tasks.approval import AdmissionApproval
from nodeworthy.tasks.procedure import ProcedureOperator
from nodeworthy.tasks.steps import RETRIES
from nodeworthy.tasks.wave import NamedNodes

PARAMS = {
    "nodes": Param(
        type="array",
        items={"type": "string", "minLength": 1},
        minItems=1,
        maxItems=256,
        title="Nodes",
        description="Names of standby nodes, one a line.",
    ),
    "why": Param("", type="string", title="Why", description="Kept in the audit with your name."),
}


def admit_dag() -> DAG:
    """Return the DAG that admits."""
    with DAG(
        dag_id="admit",
        description="Standby nodes with both qualifications and a valid certificate enter service",
        doc_md=__doc__,
        schedule=None,
        catchup=False,
        params=PARAMS,
        tags=["service"],
        default_args=RETRIES,
    ) as dag:
        named = NamedNodes(task_id="nodes", trigger_rule=TriggerRule.ALL_SUCCESS)

        @task_group(group_id="enter_service", prefix_group_id=False)
        def steps(node: str) -> None:
            AdmissionApproval(task_id="approve", node=node) >> ProcedureOperator(
                task_id="admit", procedure="admit", node=node
            )

        steps.expand(node=named.output)
    return dag
