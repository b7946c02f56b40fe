"""What the probe brings of a whole suite is what the result's schema says."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.qualification.plans import Addressee, plan_document

from lab.truth.fleet import FleetFile, NodeSpec
from lab.truth.world import LabClock, World
from tests.contract.tools.conftest import RunProbe, node_folder, run_probe
from tests.doubles.bench import INCLUDE, library

__all__ = ["node_folder", "run_probe"]
SKU = "h100-sxm-8"


@pytest.mark.parametrize("level", ["l1", "l3"])
def test_the_result_of_a_suite_fits_its_schema(tmp_path: Path, run_probe: RunProbe, level: str) -> None:
    """Units, statistics and names of every measurement, by the real probe on the lab's tools."""
    spec = NodeSpec("gpu-a01", SKU, "A1", 1, image="validation-2026.11")
    world = World(FleetFile("lab", (spec,)), tmp_path, 1, LabClock(speed=0, start=datetime(2026, 11, 30, tzinfo=UTC)))
    world.start()
    view = {**world.view("gpu-a01"), "speed": 100_000.0}
    whom: Addressee = {"node": "gpu-a01", "serial": str(view["serial"]), "episode": 1, "nonce": "a" * 64}
    plan = plan_document(library().suite(level), library().sku(SKU), Scope.HARDWARE, **whom)
    schema = json.loads((INCLUDE / "schemas" / "result-1.json").read_text())
    found = Draft202012Validator(schema).iter_errors(run_probe(view, plan).result)
    assert not {error.message[:160] for error in found}
