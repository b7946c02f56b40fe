"""An MI300X node below Airflow: the lab's world, AMD's tools, the real probe, the shipped suites, the judge's words."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from nodeworthy.evidence.canonical import canonical_json
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Judgement, Scope, Verdict
from nodeworthy.qualification.frame import Context
from nodeworthy.qualification.near_miss import told_limits
from nodeworthy.qualification.own_checks import switched_off
from nodeworthy.qualification.plans import Addressee, plan_document
from nodeworthy.qualification.rejudge import rejudge
from nodeworthy.qualification.written import (
    Basis,
    baselines_to_document,
    references_to_document,
    suite_to_document,
    verdict_document,
)

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


@pytest.mark.parametrize("level", ["l0", "l1", "l2"])
def test_a_sound_node_passes_and_its_result_fits_the_schema(tmp_path: Path, run_probe: RunProbe, level: str) -> None:
    """Every test of the suite runs on AMD's tools or is waived by name, and every figure is inside its limits."""
    context = measured(tmp_path, run_probe, level)
    schema = json.loads((INCLUDE / "schemas" / "result-1.json").read_text())
    errors = Draft202012Validator(schema).iter_errors(context.stored.document)
    assert not {error.message[:160] for error in errors}
    judgement = judge_context(context)
    assert judgement.verdict is Verdict.PASS, judgement.sentence


@pytest.mark.parametrize(("fault", "verdict"), [("", Verdict.PASS), ("hbm-slow", Verdict.FAIL)])
def test_a_verdict_follows_from_its_dossier_alone(
    tmp_path: Path, run_probe: RunProbe, fault: str, verdict: Verdict
) -> None:
    """What AMD's tools measured is judged again from the frozen files, which know no vendor, to the same bytes."""
    context = measured(tmp_path, run_probe, "l2", fault)
    judgement = judge_context(context)
    assert judgement.verdict is verdict
    basis = Basis(context.suite, context.sku, context.baselines, context.firmware_set, context.serial)
    written = canonical_json(verdict_document(context.stored, judgement, basis, {"bundle.tar.gz": "c" * 64}))
    known = {
        "baselines": baselines_to_document(basis.baselines),
        "references": references_to_document(basis.baselines),
    }
    files = {"suite.json": suite_to_document(basis.suite), "baselines.json": known, "plan.json": {}}
    frozen = {name: canonical_json(content) for name, content in files.items()}
    frozen |= {"result.json": canonical_json(context.stored.document), "verdict.json": written}
    assert rejudge(frozen) == written


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


UNDER_LOAD: dict[str, tuple[str, str, dict[str, Any], Verdict, str]] = {
    "a slow xGMI link": ("l1", "nvlink-degraded", {"amount": 0.2}, Verdict.FAIL, "gpu/4 peer_bandwidth"),
    "one GPU's links a little slower": ("l1", "nvlink-degraded", {}, Verdict.FAIL, "gpu/4 peer_bandwidth"),
    "wrong values": ("l1", "wrong-values", {}, Verdict.FAIL, "wrong_values"),
    "a RAS line": ("l1", "xid-under-load", {"code": 48}, Verdict.FAIL, "ras_uncorrected_new 3 is not 0"),
    "a ring timeout": ("l1", "xid-under-load", {"code": 13}, Verdict.FAIL, "gpu_resets_new 3 is not 0"),
    "a RAS count": (
        "l1", "errors-rise", {"counter": "ecc_uncorrected"}, Verdict.FAIL, "gpu/3 ecc_uncorrected_new 12 is not 0",
    ),
    "an xGMI error": ("l1", "errors-rise", {}, Verdict.FAIL, "gpu/3 nvlink_errors_new 12 is not 0"),
    "heat": ("l1", "errors-rise", {"counter": "slowed_by_heat"}, Verdict.FAIL, "gpu/3 slowed_by_heat"),
    "replays": ("l1", "errors-rise", {"counter": "pcie_replay", "by": 40}, Verdict.FAIL, "gpu/3 pcie_replay_rate 40"),
    "slow HBM": ("l2", "hbm-slow", {}, Verdict.FAIL, "gpu/5 memory_copy"),
    "a hot GPU": ("l2", "throttled", {}, Verdict.FAIL, "gpu/7"),
    "a tool that breaks off": (
        "l1", "tool-truncated", {"tool": "TransferBench"}, Verdict.TOOL_ERROR, "pcie.bandwidth",
    ),
    "amd-smi prints nonsense": ("l0", "tool-garbage", {"tool": "amd-smi"}, Verdict.INCOMPLETE, "which driver"),
}  # fmt: skip


@pytest.mark.parametrize("what", UNDER_LOAD)
def test_a_fault_under_load_is_refused_for_its_reason(tmp_path: Path, run_probe: RunProbe, what: str) -> None:
    """AMD's tools, the driver's counters or its lines in the kernel log show it; the sentence names the culprit."""
    level, fault, parameters, verdict, words = UNDER_LOAD[what]
    judgement = judged(tmp_path, run_probe, level, fault, **parameters)
    said = [reason.sentence for reason in judgement.reasons]
    assert judgement.verdict is verdict, judgement.sentence
    assert any(words in sentence for sentence in said), said


def test_what_amd_has_no_tool_for_is_waived_by_name_in_the_plan(tmp_path: Path, run_probe: RunProbe) -> None:
    """The plan says which tests the SKU does without, why, and on whose word; the probe runs none of them."""
    context = measured(tmp_path, run_probe, "l1")
    waived = {one.test for one in library().sku(SKU).waives}
    run = {row["test"]: row["tool"] for row in context.stored.document["tests"]}
    assert "gpu.diag" in waived
    assert not waived & set(run)
    assert (run["gpu.identity"], run["pcie.bandwidth"], run["nvlink.topology"]) == (
        "amdsmi",
        "TransferBench",
        "amd-smi",
    )
