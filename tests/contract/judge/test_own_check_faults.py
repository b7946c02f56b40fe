"""An operator's own check that breaks its contract, from the lab's fault to the judge's word: never a pass."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Judgement, Scope, Verdict
from nodeworthy.qualification.frame import Context
from nodeworthy.qualification.own_checks import check_from_document, with_checks
from nodeworthy.qualification.plans import plan_document
from nodeworthy.tasks.check_containers import FOLDER, WAIT_AND_RUN
from nodeworthy_probe.plan import read_plan
from nodeworthy_probe.readings import own_check
from nodeworthy_probe.readings.context import Context as ReadingContext

from lab.truth.fleet import FleetFile, NodeSpec
from lab.truth.world import LabClock, World
from tests.contract.tools.conftest import REPOSITORY, RunProbe, node_folder, run_probe
from tests.data import node_views
from tests.doubles.bench import library
from tests.unit.qualification.written_results import judge_context

__all__ = ["node_folder", "run_probe"]
SKU, NAME = "h100-sxm-8", "site.mounts"
SCRIPT = REPOSITORY / "lab" / "images" / "example-check" / "bin" / "check-mounts"
CHECK = REPOSITORY / "tests" / "data" / "checks" / "site.mounts.yaml"


@pytest.fixture
def checks(tmp_path: Path) -> Path:
    """The folder that probe and check share."""
    folder = tmp_path / "checks"
    folder.mkdir()
    return folder


def _judged(folder: Path, checks: Path, run: RunProbe, how: str | None) -> Judgement:
    """Run one own check beside the real probe and judge what both left."""
    world = World(
        FleetFile("lab", (NodeSpec("gpu-a01", SKU, "A1", 1, image="validation-2026.11"),)),
        folder,
        1,
        LabClock(speed=0, start=datetime(2026, 11, 30, tzinfo=UTC)),
    )
    world.start()
    if how:
        world.inject("gpu-a01", "check-broken", {"how": how})
    view = {**world.view("gpu-a01"), "speed": 2000.0}
    check = check_from_document(yaml.safe_load(CHECK.read_text()), str(CHECK))
    shipped = library().suite("l0")
    # The GPUs' identity names the driver, without which nothing is judged.
    suite = with_checks(replace(shipped, tests=shipped.tests[:1]), [check])
    definition, serial = library().sku(SKU), str(view["serial"])
    plan = plan_document(suite, definition, Scope.HARDWARE, node="gpu-a01", serial=serial, episode=1, nonce="a" * 64)
    plan["tests"][1]["timeout_seconds"] = 2
    view_file = folder / "view.json"
    script = WAIT_AND_RUN.replace(FOLDER, str(checks)).replace("sleep 1", "sleep 0.1")
    command = ["/bin/sh", "-c", script, NAME, str(SCRIPT), "--read", "4.5"]
    view_file.write_text(json.dumps(view))
    container = subprocess.Popen(command, env={"PATH": "/usr/bin:/bin", "NODEWORTHY_LAB_VIEW": str(view_file)})
    try:
        document = run(view, plan, NODEWORTHY_CHECKS=str(checks)).result
    finally:
        container.wait(30)
    stored = StoredResult("gpu-a01", 1, Scope.HARDWARE, "l0", EvidenceReference("b", "c" * 64, 1), document, False)
    limits = [*library().baselines(SKU), *check.limits["*"]]
    return judge_context(Context(stored, suite, definition, limits, definition.firmware_set, serial))


def test_a_check_that_keeps_its_contract_passes(tmp_path: Path, checks: Path, run_probe: RunProbe) -> None:
    """The healthy check of the lab."""
    judgement = _judged(tmp_path, checks, run_probe, None)
    assert judgement.verdict is Verdict.PASS, judgement.sentence


WORDS = {
    "hang": (Verdict.TOOL_ERROR, "timed-out"),
    "schema": (Verdict.TOOL_ERROR, "unparsable"),
    "unit": (Verdict.INVALID, "lines"),
    "silent": (Verdict.INCOMPLETE, "mounts"),
}


@pytest.mark.parametrize("how", WORDS)
def test_a_broken_check_gets_its_word(tmp_path: Path, checks: Path, run_probe: RunProbe, how: str) -> None:
    """A broken contract is a broken tool, another unit is not the same measurement, a figure left out is missing."""
    verdict, words = WORDS[how]
    judgement = _judged(tmp_path, checks, run_probe, how)
    assert (judgement.verdict, words in judgement.sentence) == (verdict, True), judgement.sentence


@pytest.mark.parametrize("how", ["crash", "garbage", "truncate", "twice", "schema", "text", "nan", "unitless"])
def test_a_slip_makes_the_whole_output_unusable(tmp_path: Path, how: str) -> None:
    """Nothing of a document that is not as agreed is read."""
    view = tmp_path / "view.json"
    view.write_text(json.dumps({"tool_faults": {"check-mounts": how}}))
    environment = {"PATH": "/usr/bin:/bin", "NODEWORTHY_LAB_VIEW": str(view)}
    done = subprocess.run([SCRIPT], env=environment, capture_output=True, text=True, timeout=10, check=False)
    plan = read_plan(json.dumps(node_views.plan()))

    reading = own_check.read(done.stdout, ReadingContext(plan, plan.tests[0]))

    assert reading.problem
    assert not reading.measurements
