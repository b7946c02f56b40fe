"""One stack for all end-to-end tests: the lab and Airflow's four components, as processes, in a folder of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stack.services import Stack
from tests.end_to_end.faults import BORNE, EXPECTED
from tests.end_to_end.fleet import short_include, write_fleet
from tests.end_to_end.running import Running

SPEED = 240.0
QUICK_LOSS = {
    # A killed worker is noticed in seconds instead of a minute.
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "15",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "2",
}


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Start the stack on the tests' fleet and end all of it afterwards."""
    root = Path(tmp_path_factory.mktemp("stack"))
    faults = {**{name: row.need for name, row in EXPECTED.items()}, **BORNE}
    fleet = write_fleet(root / "lab-fleet.yaml", faults)
    include = short_include(root / "include")
    stack = Stack(root, NODEWORTHY_INCLUDE=str(include), **QUICK_LOSS)
    try:
        yield Running(stack, stack.up(fleet=str(fleet), speed=SPEED))
    finally:
        stack.down()
