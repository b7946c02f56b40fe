"""One stack for all end-to-end tests: the lab and Airflow's four components, as processes, in a folder of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stack.demo import open_ledger, wait_for_dag
from stack.rest import AirflowApi
from stack.services import Stack

SPEED = 240.0


class Running:
    """A started stack with what the tests ask of it."""

    def __init__(self, stack: Stack, api: AirflowApi) -> None:
        self.stack = stack
        self.api = api
        self.ledger = open_ledger(stack)

    def milestones(self) -> dict[str, str]:
        """Return the milestone of every node."""
        return {record.node.name: record.milestone for record in self.ledger.nodes()}

    def reason(self, node: str) -> str:
        """Return why the node stopped."""
        return self.ledger.nodes([node])[0].reason

    def effects(self) -> list[dict[str, object]]:
        """Return what the lab counted, from outside."""
        import json

        return list(json.loads(self.stack.lab("status", "--effects", "--json"))["effects"])

    def bring_up(self, *, patience_seconds: float = 600, **conf: object) -> tuple[str, str]:
        """Run bring_up to its end and return (run id, state)."""
        wait_for_dag(self.api, "bring_up")
        run = self.api.trigger("bring_up", conf)
        return run, self.api.wait("bring_up", run, patience_seconds=patience_seconds)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Start the stack on the demonstration's fleet and end all of it afterwards."""
    stack = Stack(Path(tmp_path_factory.mktemp("stack")))
    try:
        yield Running(stack, stack.up(speed=SPEED))
    finally:
        stack.down()
