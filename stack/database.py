"""How Airflow's components wait for each other on SQLite: four processes write, and on a busy machine five seconds, the
driver's own patience, end in an error 500 or a dead scheduler loop.

Named by `AIRFLOW__DATABASE__SQL_ALCHEMY_CONNECT_ARGS`, which takes the path of a mapping.
"""

LOCK_PATIENCE_SECONDS = 60

CONNECT_ARGUMENTS = {"timeout": LOCK_PATIENCE_SECONDS}
ASYNC_CONNECT_ARGUMENTS = {"timeout": LOCK_PATIENCE_SECONDS}
"""Of their own, because Airflow adds to the mapping that it is given."""
