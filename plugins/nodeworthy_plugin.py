"""The one plugin of Nodeworthy: its pages inside the Airflow UI.

In the scheduler it also imports what tasks import, reads the files that they read, and compiles what they say to the
ledger. Airflow's LocalExecutor forks its workers from the scheduler, which loads plugins first; without this, every
task would pay for it again: a pod task about a second of CPU, a judging task three. The DAG processor forks a process
per file and look: half a second each.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

from airflow.plugins_manager import AirflowPlugin

USED_BY_DAGS = (
    "airflow.providers.cncf.kubernetes.operators.pod",
    "nodeworthy.tasks.bring_up",
    "nodeworthy.tasks.burn_in",
    "nodeworthy.tasks.group_test",
    "nodeworthy.tasks.housekeeping",
    "nodeworthy.tasks.learn",
)
USED_BY_TASKS = (
    *USED_BY_DAGS,
    "jinja2.ext",
    "nodeworthy.adapters.library_in_force",
    "nodeworthy.adapters.bmc_redfish",
    "nodeworthy.adapters.cluster_kubernetes",
    "nodeworthy.adapters.evidence_objectstore",
    "nodeworthy.adapters.ledger_sql",
    "nodeworthy.adapters.library_yaml",
    "nodeworthy.procedures.admit",
    "nodeworthy.procedures.again",
    "nodeworthy.procedures.ask",
    "nodeworthy.procedures.boot_validation",
    "nodeworthy.procedures.finish",
    "nodeworthy.procedures.firmware",
    "nodeworthy.procedures.inspect",
    "nodeworthy.procedures.lease_life",
    "nodeworthy.procedures.provision",
    "nodeworthy.procedures.receive",
    "nodeworthy.procedures.test_plan",
    "nodeworthy.tasks.check_containers",
    "nodeworthy.tasks.pod_trigger",
    "nodeworthy.tasks.privileges",
)


def _preload(modules: tuple[str, ...]) -> None:
    """Import what forked processes will use and read what they will read."""
    for module in modules:
        import_module(module)
    from nodeworthy.wiring import read_ahead

    read_ahead()


if "scheduler" in sys.argv:
    _preload(USED_BY_TASKS)
    import_module("nodeworthy.adapters.judge_gx").load()
    import_module("nodeworthy.tasks.rehearsal").rehearse()
elif "dag-processor" in sys.argv:
    _preload(USED_BY_DAGS)


class _Pages:
    """An ASGI application that is built at its first request: only the API server ever makes one."""

    def __init__(self) -> None:
        self._app: Callable[..., Awaitable[None]] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._app is None:
            from nodeworthy.ui.pages import app

            self._app = app()
        await self._app(scope, receive, send)


class NodeworthyPlugin(AirflowPlugin):
    """Registers the pages and their place in the menu."""

    name = "nodeworthy"
    fastapi_apps = [{"app": _Pages(), "url_prefix": "/nodeworthy", "name": "nodeworthy"}]
    external_views = [
        {
            "name": "Nodes",
            "href": "/nodeworthy/nodes",
            "destination": "nav",
            "category": "browse",
            "url_route": "nodeworthy-nodes",
        }
    ]
