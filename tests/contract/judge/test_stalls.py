"""Stalls below Airflow: the lab's tool tells each iteration, the real probe brings them, the shipped L2 judges."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Judgement, Scope, Verdict
from nodeworthy.qualification.frame import Context
from nodeworthy.qualification.plans import Addressee, plan_document

from lab.truth.fleet import FleetFile, NodeSpec
from lab.truth.world import LabClock, World
from tests.contract.tools.conftest import RunProbe, node_folder, run_probe
from tests.doubles.bench import INCLUDE, library
from tests.unit.qualification.written_results import judge_context

__all__ = ["node_folder", "run_probe"]
SKU = "h100-sxm-8"
TESTS = {"gpu.identity", "collective.stalls"}


def measured(folder: Path, run: RunProbe, fault: str = "", sku: str = SKU, **of_image: str) -> Context:
    """Run the two tests of suite l2 on one node of a fresh world and return what is judged."""
    spec = NodeSpec("gpu-a01", sku, "A1", 1, image="validation-2026.11")
    world = World(FleetFile("lab", (spec,)), folder, 1, LabClock(speed=0, start=datetime(2026, 11, 30, tzinfo=UTC)))
    world.start()
    if fault:
        world.inject("gpu-a01", fault)
    view = {**world.view("gpu-a01"), "speed": 2000.0}
    view["image"] = {**view["image"], **of_image}
    whole, definition = library().suite("l2"), library().sku(sku)
    suite = whole.without({test.test for test in whole.tests} - TESTS)
    whom: Addressee = {"node": "gpu-a01", "serial": str(view["serial"]), "episode": 1, "nonce": "a" * 64}
    document = run(view, plan_document(suite, definition, Scope.HARDWARE, **whom)).result
    stored = StoredResult("gpu-a01", 1, Scope.HARDWARE, "l2", EvidenceReference("b", "c" * 64, 1), document, False)
    return Context(stored, suite, definition, library().baselines(sku), definition.firmware_set, str(view["serial"]))


def judged(folder: Path, run: RunProbe, fault: str = "", sku: str = SKU, **of_image: str) -> Judgement:
    """Return the judgement of a fresh node."""
    return judge_context(measured(folder, run, fault, sku, **of_image))


@pytest.mark.parametrize("sku", [SKU, "h200-sxm-8"])
def test_the_iterations_of_a_healthy_node_are_alike(tmp_path: Path, run_probe: RunProbe, sku: str) -> None:
    """No stall: both figures of the shape are inside the limits that were frozen from the virtual fleet."""
    judgement = judged(tmp_path, run_probe, sku=sku)
    assert judgement.verdict is Verdict.PASS, judgement.sentence


def test_stalls_fail_the_node_in_words(tmp_path: Path, run_probe: RunProbe) -> None:
    """Every fiftieth iteration takes twice as long: five of 250 in each half, 2 % where 0.8 % are allowed."""
    judgement = judged(tmp_path, run_probe, "stalls")
    assert judgement.verdict is Verdict.FAIL
    words = "node: 2.0% of the iterations of collective.stalls took longer than 1.059 times their median (limit 0.8%)"
    assert any(reason.sentence.startswith(words) for reason in judgement.reasons), judgement.reasons
    assert "look for what holds the GPUs up" in judgement.sentence


def test_a_tool_that_cannot_tell_iterations_was_not_run(tmp_path: Path, run_probe: RunProbe) -> None:
    """nccl-tests 2.13 refuses -I, ends with 0 and measures nothing: not-run with its reason, never a pass."""
    judgement = judged(tmp_path, run_probe, nccl_tests="2.13.6")
    assert judgement.verdict is Verdict.NOT_RUN
    assert "all_reduce_perf knows no -I: install nccl-tests 2.19 or newer" in judgement.sentence


def test_a_shape_that_nobody_learnt_is_a_key_without_a_baseline(tmp_path: Path, run_probe: RunProbe) -> None:
    """Everything came and there is no frozen shape to hold it against: incomplete, with learning as the advice."""
    context = measured(tmp_path, run_probe)
    unlearnt = [row for row in context.baselines if "ratio" not in row.unit or row.test != "collective.stalls"]
    judgement = judge_context(replace(context, baselines=unlearnt))
    assert judgement.verdict is Verdict.INCOMPLETE
    assert {reason.code for reason in judgement.reasons} == {"no_baseline"}
    assert "trigger learn_baselines for this SKU" in judgement.sentence


def test_the_result_holds_each_iteration_and_fits_its_schema(tmp_path: Path, run_probe: RunProbe) -> None:
    """Two halves of 250 iterations, relative to their own medians."""
    document: dict[str, Any] = dict(measured(tmp_path, run_probe).stored.document)
    Draft202012Validator(json.loads((INCLUDE / "schemas" / "result-1.json").read_text())).validate(document)
    (row,) = [one for one in document["measurements"] if one["metric"] == "iteration_time"]
    assert len(row["samples"]) == 500
    assert sorted(row["samples"])[250] == pytest.approx(1.0, abs=0.002)
    assert row["parameters"] == {"size_bytes": 268435456, "iterations": 250}


def test_a_result_without_iterations_is_no_healthy_one(tmp_path: Path, run_probe: RunProbe) -> None:
    """A series that was cut out of the result, or holds what is no number, is missing."""
    context = measured(tmp_path, run_probe)
    for spoilt in ([], [1.0] * 499 + ["fast"]):
        document = json.loads(json.dumps(context.stored.document))
        (row,) = [one for one in document["measurements"] if one["metric"] == "iteration_time"]
        row["samples"] = spoilt
        judgement = judge_context(replace(context, stored=replace(context.stored, document=document)))
        assert judgement.verdict is Verdict.INCOMPLETE
        assert "brought no iteration_similarity" in judgement.sentence
