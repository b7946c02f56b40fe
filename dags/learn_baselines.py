"""The learn_baselines DAG of Airflow: proposes baselines from the fleet's own measurements and waits for a person."""

from nodeworthy.tasks.learn import learn_baselines_dag

dag = learn_baselines_dag()
