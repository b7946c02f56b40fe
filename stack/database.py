"""How Airflow's components wait for each other on SQLite: four processes write, and on a busy machine five seconds, the
driver's own patience, end in an error 500 or a dead scheduler loop.

Named by `AIRFLOW__DATABASE__SQL_ALCHEMY_CONNECT_ARGS`, which takes the path of a mapping.
"""

LOCK_PATIENCE_SECONDS = 60
API_PATIENCE_SECONDS = 10
"""The API server's own: it writes its log of actions on the loop that all its requests share, so while it waits there,
a request that holds the database cannot end. On 2026-11-30 a trigger and the first heartbeat waited a minute for each
other, and the trigger was answered 500: the shorter the wait, the sooner one gives way and is sent again."""

CONNECT_ARGUMENTS = {"timeout": LOCK_PATIENCE_SECONDS}
API_CONNECT_ARGUMENTS = {"timeout": API_PATIENCE_SECONDS}
ASYNC_CONNECT_ARGUMENTS = {"timeout": LOCK_PATIENCE_SECONDS}
"""Of their own, because Airflow adds to the mapping that it is given."""
