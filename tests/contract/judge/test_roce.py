"""A SKU that declares RoCE: the lab's adapters, the real probe, the shipped suite and limits, the judge's words."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Judgement, Scope, Verdict
from nodeworthy.qualification.frame import Context
from nodeworthy.qualification.plans import Addressee, plan_document

from lab.truth.fleet import FleetFile, NodeSpec
from lab.truth.world import LabClock, World
from tests.contract.tools.conftest import RunProbe, node_folder, run_probe
from tests.doubles.bench import library
from tests.unit.qualification.written_results import judge_context

__all__ = ["node_folder", "run_probe"]
NAME = "h100-sxm-8"
H100 = library().sku(NAME)
ROCE = replace(H100, devices={**H100.devices, "roce": H100.devices["nic"]})


def judged(folder: Path, run: RunProbe, mounted: str = "/host/sys", **fault: Any) -> Judgement:
    """Judge the two tests alone, on a node whose adapter 3 is set to something else when a fault is named."""
    spec = NodeSpec("gpu-a01", NAME, "A1", 1, image="validation-2026.11")
    world = World(FleetFile("lab", (spec,)), folder, 1, LabClock(speed=0, start=datetime(2026, 11, 30, tzinfo=UTC)))
    world.start()
    if fault:
        world.inject("gpu-a01", "roce-setting-wrong", {"rail": 3, **fault})
    view = {**world.view("gpu-a01"), "speed": 2000.0}
    whole = library().suite("l0")
    suite = whole.without([one.test for one in whole.tests if one.test not in ("network.ethernet", "network.roce")])
    serial = str(view["serial"])
    whom: Addressee = {"node": "gpu-a01", "serial": serial, "episode": 1, "nonce": "a" * 64}
    document = run(view, plan_document(suite, ROCE, Scope.HARDWARE, **whom), NODEWORTHY_LAB_MOUNTED=mounted).result
    document["versions"]["driver"] = "570.172.08"  # told by NVML, which these tests do not ask
    stored = StoredResult("gpu-a01", 1, Scope.HARDWARE, "l0", EvidenceReference("b", "c" * 64, 1), document, False)
    return judge_context(Context(stored, suite, ROCE, library().baselines(NAME), ROCE.firmware_set, serial))


def test_only_a_sku_that_declares_roce_has_the_tests() -> None:
    """As shipped the fabrics are InfiniBand: no plan holds them."""
    whom: Addressee = {"node": "n", "serial": "s", "episode": 1, "nonce": "a" * 64}
    for sku, held in ((H100, set()), (ROCE, {"network.ethernet", "network.roce"})):
        tests = {test["test"] for test in plan_document(library().suite("l0"), sku, Scope.HARDWARE, **whom)["tests"]}
        assert tests & {"network.ethernet", "network.roce"} == held


def test_adapters_that_are_set_right_pass(tmp_path: Path, run_probe: RunProbe) -> None:
    """400 Gb/s, 9000 bytes, traffic class 106, ECN on for priority 3."""
    judgement = judged(tmp_path, run_probe)
    assert judgement.verdict is Verdict.PASS, judgement.sentence


@pytest.mark.parametrize(
    ("setting", "value", "verdict", "words"),
    [
        ("mtu", 1500, Verdict.FAIL_CONFIG, "nic/mlx5_3 mtu"),
        ("ecn", 0, Verdict.FAIL_CONFIG, "nic/mlx5_3 congestion_notification 0 is not 1"),
        ("traffic_class", 0, Verdict.FAIL_CONFIG, "nic/mlx5_3 traffic_class 0 is not 106"),
        ("speed_mbps", 200000, Verdict.FAIL, "nic/mlx5_3 speed 200 Gb/s is not 400"),
    ],
)
def test_what_is_set_wrong_is_named(
    tmp_path: Path, run_probe: RunProbe, setting: str, value: int, verdict: Verdict, words: str
) -> None:
    """The adapter, what it is set to and what it must be."""
    judgement = judged(tmp_path, run_probe, setting=setting, value=value)
    assert (judgement.verdict, words in judgement.sentence) == (verdict, True), judgement.sentence


def test_a_pod_that_does_not_see_the_hosts_interfaces_passes_nothing(tmp_path: Path, run_probe: RunProbe) -> None:
    """Without /host/sys every figure is missing."""
    assert judged(tmp_path, run_probe, mounted="").verdict is Verdict.INCOMPLETE
