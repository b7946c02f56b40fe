"""Builds the admit DAG: proven spares enter service, one by one, each as an operator's own decision."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, Param, TriggerRule

from nodeworthy.tasks.procedure import ProcedureOperator
from nodeworthy.tasks.steps import NODE_LABEL
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
        default_args={"retries": 2, "retry_delay": timedelta(seconds=10)},
    ) as dag:
        named = NamedNodes(task_id="nodes", trigger_rule=TriggerRule.ALL_SUCCESS)
        admit = ProcedureOperator.partial(task_id="admit", procedure="admit", map_index_template=NODE_LABEL)
        admit.expand(node=named.output)
    return dag
