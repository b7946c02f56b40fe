"""The admit DAG of Airflow: proven spares enter service; the only procedure that removes our taints."""

from nodeworthy.tasks.admit import admit_dag

dag = admit_dag()
