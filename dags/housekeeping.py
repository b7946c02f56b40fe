"""The housekeeping DAG of Airflow: deadlines act, dead runs are settled, Kubernetes follows the ledger."""

from nodeworthy.tasks.housekeeping import housekeeping_dag

dag = housekeeping_dag()
