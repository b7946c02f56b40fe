"""A small world on a clock that stands still until a test moves it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lab.truth.fleet import FleetFile, NodeSpec
from lab.truth.world import LabClock, World, WorldEvent

START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.fixture
def make_world(tmp_path: Path) -> Callable[..., tuple[World, list[WorldEvent]]]:
    """`make_world(spec, ...)`: a started world and the list its events go to."""

    def make(*specs: NodeSpec, seed: int = 1) -> tuple[World, list[WorldEvent]]:
        nodes = specs or (NodeSpec("a", "h100-sxm-8", "A1", 1), NodeSpec("b", "h200-sxm-8", "A1", 2))
        world = World(FleetFile("lab", tuple(nodes)), tmp_path, seed, LabClock(speed=0, start=START))
        events: list[WorldEvent] = []
        world.subscribe(events.append)
        world.start()
        return world, events

    return make
