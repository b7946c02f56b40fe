"""One stack for all end-to-end tests: the lab and Airflow's four components, as processes, in a folder of their own.

Who works on these tests may keep a stack: with `NODEWORTHY_TEST_STACK=<folder>` it is started once and left running.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from stack.rest import AirflowApi
from stack.services import Stack
from tests.end_to_end.faults import BORNE, EXPECTED
from tests.end_to_end.fleet import USERS, short_include, write_fleet
from tests.end_to_end.running import Running

SPEED = 240.0
QUICK_LOSS = {
    # A killed worker is noticed in seconds instead of a minute.
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "15",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "2",
    # Most of a wave that is struck in every step would be waiting for the next try.
    "AIRFLOW__CORE__DEFAULT_TASK_RETRY_DELAY": "5",
}


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Start the stack on the tests' fleet and end all of it afterwards."""
    kept = os.environ.get("NODEWORTHY_TEST_STACK")
    root = Path(kept) if kept else Path(tmp_path_factory.mktemp("stack"))
    users = ",".join(f"{name}:{role}" for name, role in USERS.items())
    settings = {"NODEWORTHY_INCLUDE": str(root / "include"), "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": users}
    stack = Stack(root, **settings, **QUICK_LOSS)
    try:
        yield Running(stack, stack.api() if stack.groups.all() else start(stack))
    finally:
        if not kept:
            stack.down()


def start(stack: Stack) -> AirflowApi:
    """Write the tests' fleet and data files, and start the stack on them."""
    root = stack.layout.root
    root.mkdir(parents=True, exist_ok=True)
    faults = {**{name: row.need for name, row in EXPECTED.items()}, **BORNE}
    short_include(root / "include")
    return stack.up(fleet=str(write_fleet(root / "lab-fleet.yaml", faults)), speed=SPEED)
