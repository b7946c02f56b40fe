"""The group_test DAG of Airflow: pairs, racks or all nodes of a fleet measure together, and who spoils it is named."""

from nodeworthy.tasks.group_test import group_test_dag

dag = group_test_dag()
