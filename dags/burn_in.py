"""The burn_in DAG of Airflow: long tests of nodes that serve nobody, in segments that an interruption may cost."""

from nodeworthy.tasks.burn_in import burn_in_dag

dag = burn_in_dag()
