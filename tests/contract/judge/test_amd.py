"""An MI300X node below Airflow: the lab's world, AMD's tools, the real probe, the shipped suites, the judge's words."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Judgement, Scope, Verdict
from nodeworthy.qualification.frame import Context
from nodeworthy.qualification.near_miss import told_limits
from nodeworthy.qualification.own_checks import switched_off
from nodeworthy.qualification.plans import Addressee, plan_document

from lab.truth.fleet import FleetFile, NodeSpec
from lab.truth.world import LabClock, World
from tests.contract.tools.conftest import RunProbe, node_folder, run_probe
from tests.doubles.bench import INCLUDE, library
from tests.unit.qualification.written_results import judge_context

__all__ = ["node_folder", "run_probe"]
SKU = "mi300x-8"
NOW = datetime(2026, 11, 30, tzinfo=UTC)


def measured(folder: Path, run: RunProbe, level: str, fault: str = "", **parameters: Any) -> Context:
    """Run a suite on one node of a fresh world as its plan would be made, and return what is judged."""
    world = World(
        FleetFile("lab", (NodeSpec("gpu-a01", SKU, "A1", 1, image="validation-2026.11"),)),
        folder,
        1,
        LabClock(speed=0, start=NOW),
    )
    world.start()
    if fault:
        world.inject("gpu-a01", fault, parameters or None)
    view = {**world.view("gpu-a01"), "speed": 100_000.0}
    definition, serial = library().sku(SKU), str(view["serial"])
    suite, baselines = library().suite(level).on(definition.vendor), library().baselines(SKU)
    off = switched_off({}, suite, NOW, definition)
    limits = told_limits(suite, definition, Scope.HARDWARE, baselines)
    whom: Addressee = {"node": "gpu-a01", "serial": serial, "episode": 1, "nonce": "a" * 64}
    plan = plan_document(suite, definition, Scope.HARDWARE, off, limits=limits, **whom)
    document = run(view, plan).result
    stored = StoredResult("gpu-a01", 1, Scope.HARDWARE, level, EvidenceReference("b", "c" * 64, 1), document, False)
    asked = suite.without([one.test for one in off])
    return Context(stored, asked, definition, baselines, definition.firmware_set, serial)


def judged(folder: Path, run: RunProbe, level: str, fault: str = "", **parameters: Any) -> Judgement:
    """Return the judgement of a fresh node."""
    return judge_context(measured(folder, run, level, fault, **parameters))


@pytest.mark.parametrize("level", ["l0"])
def test_a_sound_node_passes_and_its_result_fits_the_schema(tmp_path: Path, run_probe: RunProbe, level: str) -> None:
    """Every test of the suite runs on AMD's tools or is waived by name, and every figure is inside its limits."""
    context = measured(tmp_path, run_probe, level)
    schema = json.loads((INCLUDE / "schemas" / "result-1.json").read_text())
    errors = Draft202012Validator(schema).iter_errors(context.stored.document)
    assert not {error.message[:160] for error in errors}
    judgement = judge_context(context)
    assert judgement.verdict is Verdict.PASS, judgement.sentence


FAULTS: dict[str, tuple[Verdict, str]] = {
    "gpu-missing": (Verdict.INCOMPLETE, "for gpu/7 (missing)"),
    "hbm-uncorrected": (Verdict.FAIL, "gpu/6 ecc_uncorrected 2 is not 0"),
    "remap-pending": (Verdict.FAIL, "gpu/0 bad_pages_pending 1 is not 0"),
    "remap-failed": (Verdict.FAIL, "gpu/0 bad_pages_unreservable 1 is not 0"),
    "nvlink-down": (Verdict.FAIL, "gpu/2 nvlinks_up 6 is not 7"),
    "pcie-narrow": (Verdict.FAIL, "gpu/1 pcie_width_current 8 is not 16"),
    "throttled": (Verdict.FAIL, "gpu/7 throttle_hardware 1 is not 0"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_identity_shows_is_refused_for_its_reason(tmp_path: Path, run_probe: RunProbe, fault: str) -> None:
    """Suite l0 alone finds it, and the sentence names the component and the figure."""
    parameters = {"link": 3} if fault == "nvlink-down" else {}
    judgement = judged(tmp_path, run_probe, "l0", fault, **parameters)
    verdict, words = FAULTS[fault]
    assert (judgement.verdict, words in judgement.sentence) == (verdict, True), judgement.sentence
