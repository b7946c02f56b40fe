"""Compute rates below Airflow: the lab's tools, the real probe, the shipped L2 and its limits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from nodeworthy.evidence.verdicts import Scope, Verdict

from tests.contract.judge.nodes import judged_node
from tests.contract.tools.conftest import RunProbe, node_folder, run_probe
from tests.doubles.bench import library

__all__ = ["node_folder", "run_probe"]
FORMATS = {"gpu.gemm_fp64", "gpu.gemm_tf32", "gpu.gemm_fp8", "gpu.gemm_fp4"}


@pytest.mark.parametrize(
    ("sku", "formats"),
    [
        ("a100-sxm4-80-8", {"fp64", "tf32"}),
        ("h100-sxm-8", {"fp64", "tf32", "fp8"}),
        ("gb200-nvl-4", {"fp64", "tf32", "fp8"}),
        ("l40s-pcie-4", {"tf32", "fp8"}),
        ("mi300x-8", set()),
    ],
)
def test_a_sku_has_tests_of_the_formats_that_it_offers(sku: str, formats: set[str]) -> None:
    """A100 and older know no fp8, L40S has no fp64 in its tensor cores, and no released tool knows fp4."""
    tests = library().suite("l2").for_scope(Scope.HARDWARE, library().sku(sku))
    assert {test.test for test in tests} & FORMATS == {f"gpu.gemm_{one}" for one in formats}


def test_a_format_that_a_site_adds_is_tested() -> None:
    """`fp4` under `offers` in the SKU's file is all that it takes."""
    sku = replace(library().sku("b200-sxm-8"), offers=("fp4",))
    tests = library().suite("l2").for_scope(Scope.HARDWARE, sku)
    assert {test.test for test in tests} & FORMATS == {"gpu.gemm_fp4"}


@pytest.mark.parametrize("sku", ["h100-sxm-8", "h200-sxm-8"])
def test_a_healthy_node_computes_at_its_rate_in_every_format(tmp_path: Path, run_probe: RunProbe, sku: str) -> None:
    """fp64, TF32 and fp8 of all eight GPUs lie inside the limits."""
    judgement = judged_node(tmp_path, run_probe, ("l2", {"gpu.identity", *FORMATS}), sku)
    assert judgement.verdict is Verdict.PASS, judgement.sentence


def test_a_gpu_that_is_slow_among_fast_ones_is_named(tmp_path: Path, run_probe: RunProbe) -> None:
    """794 less 12 % is 699 TFLOPS, above the floor of 657: only the other seven GPUs, within 8 %, show it."""
    tests = ("l2", {"gpu.identity", "gpu.gemm"})
    judgement = judged_node(tmp_path, run_probe, tests, fault=("gpu-slow", {}))
    assert judgement.verdict is Verdict.FAIL
    assert {(reason.component, reason.metric) for reason in judgement.reasons} == {("gpu/6", "gemm_rate")}
    assert "own node" in judgement.sentence or "of its node" in judgement.sentence, judgement.sentence


def test_a_tool_without_the_format_gives_no_figure_and_no_pass(tmp_path: Path, run_probe: RunProbe) -> None:
    """The lab's cublaslt_gemm ends with an unknown type, as the released one does."""
    tests = ("l2", {"gpu.identity", "gpu.gemm_fp4"})
    judgement = judged_node(tmp_path, run_probe, tests, offers=("fp4",))
    assert judgement.verdict is Verdict.INCOMPLETE
    assert "gpu.gemm_fp4" in judgement.sentence or "gemm_rate" in judgement.sentence


HEAT = ("l3", {"gpu.identity", "gpu.burn", "gpu.sustained"})


def test_a_healthy_node_holds_its_rate_through_a_burn(tmp_path: Path, run_probe: RunProbe) -> None:
    """Nothing of the rate is lost, and 58 C are left before any GPU slows down: 89 C less 31 C."""
    judgement = judged_node(tmp_path, run_probe, HEAT)
    assert judgement.verdict is Verdict.PASS, judgement.sentence


def test_cooling_that_gives_way_after_minutes_is_found(tmp_path: Path, run_probe: RunProbe) -> None:
    """After 240 s of load gpu/5 computes at 85 % and is 1 C beyond its slowdown; it computes no wrong value."""
    judgement = judged_node(tmp_path, run_probe, HEAT, fault=("cooling-weak", {}))
    assert judgement.verdict is Verdict.FAIL
    found = {(reason.component, reason.metric) for reason in judgement.reasons}
    assert found >= {("gpu/5", "rate_kept"), ("gpu/5", "thermal_margin_lowest")}
    assert {component for component, _ in found} == {"gpu/5"}
    assert "check fans, airflow, heat sink and coolant" in judgement.sentence


def test_a_load_that_lasts_too_short_does_not_show_it(tmp_path: Path, run_probe: RunProbe) -> None:
    """The same GPU is sound through everything of L2 that lasts less than four minutes."""
    tests = ("l2", {"gpu.identity", "gpu.gemm"})
    judgement = judged_node(tmp_path, run_probe, tests, fault=("cooling-weak", {}))
    assert judgement.verdict is Verdict.PASS, judgement.sentence


def test_without_its_load_there_is_nothing_to_follow(tmp_path: Path, run_probe: RunProbe) -> None:
    """A pool that switches the burn off has no trace of it: not-run with the reason, never a pass."""
    judgement = judged_node(tmp_path, run_probe, ("l3", {"gpu.identity", "gpu.sustained"}))
    assert judgement.verdict is Verdict.NOT_RUN
    assert "no test 'gpu.burn' ran in this plan" in judgement.sentence


FIELD = ("field", {"gpu.identity", "gpu.eud"})


def test_the_field_diagnostic_passes_a_sound_node(tmp_path: Path, run_probe: RunProbe) -> None:
    """It ran on every GPU and found nothing."""
    judgement = judged_node(tmp_path, run_probe, FIELD)
    assert judgement.verdict is Verdict.PASS, judgement.sentence


def test_what_the_field_diagnostic_finds_asks_for_another_gpu(tmp_path: Path, run_probe: RunProbe) -> None:
    """DCGM_FR_EUD_TEST_FAILED (95) is ISOLATE, whatever number stands beside it."""
    found = {"gpu": 3, "test": "eud", "error_id": 95, "category": 16, "severity": 4, "text": "GPU 3 EUD test failed."}
    judgement = judged_node(tmp_path, run_probe, FIELD, fault=("dcgm-fail", found))
    assert judgement.verdict is Verdict.FAIL
    assert ("gpu/3", "diag_failures") in {(reason.component, reason.metric) for reason in judgement.reasons}
    assert "replace the GPU" in judgement.sentence


def test_a_field_diagnostic_that_died_says_nothing_of_the_gpu(tmp_path: Path, run_probe: RunProbe) -> None:
    """DCGM issue 190: exit code 139 on every GPU was a crash of the diagnostic: a tool-error, never a fail."""
    text = "GPU 3 EUD process exited with non-zero exit code. Exit code: 139"
    found = {"gpu": 3, "test": "eud", "error_id": 94, "category": 16, "severity": 4, "text": text}
    judgement = judged_node(tmp_path, run_probe, FIELD, fault=("dcgm-fail", found))
    assert judgement.verdict is Verdict.TOOL_ERROR, judgement.sentence
    assert "eud did not work" in judgement.sentence


CORRECT = ("l2", {"gpu.identity", "gpu.correct", "collective.all_reduce"})


def test_a_gpu_that_computes_wrong_is_found_in_the_standard_check(tmp_path: Path, run_probe: RunProbe) -> None:
    """Three products of gpu/6 differ from the others: no counter rises and the collective's sums stay right."""
    judgement = judged_node(tmp_path, run_probe, CORRECT, fault=("computes-wrong", {}))
    assert judgement.verdict is Verdict.FAIL
    found = {(reason.component, reason.metric) for reason in judgement.reasons}
    assert found == {("gpu/6", "burn_errors"), ("gpu/6", "burn_ok")}
    assert "computes wrong values" in judgement.sentence


def test_a_gpu_that_computes_right_passes_it(tmp_path: Path, run_probe: RunProbe) -> None:
    """Twenty seconds, no error, on all eight."""
    judgement = judged_node(tmp_path, run_probe, ("l2", {"gpu.identity", "gpu.correct"}), "h200-sxm-8")
    assert judgement.verdict is Verdict.PASS, judgement.sentence
