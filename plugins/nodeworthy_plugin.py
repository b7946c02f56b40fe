"""The one plugin of Nodeworthy: its pages inside the Airflow UI.

It also imports the pod operator. Airflow's LocalExecutor forks its workers from the scheduler, which loads plugins
first; without this, every pod task would pay about a second of CPU for that import.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import airflow.providers.cncf.kubernetes.operators.pod
from airflow.plugins_manager import AirflowPlugin

__all__ = ["NodeworthyPlugin", "airflow"]


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
