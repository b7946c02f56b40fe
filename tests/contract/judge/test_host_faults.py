"""What can be wrong with a host and its GPUs' state gets a reason, a verdict and a way out, judged by the real probe.

All at once, since each has a row of its own: one run of L0 shows that none hides another.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

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
SKU = "h100-sxm-8"
WRONG: dict[str, tuple[Any, str, Verdict, str]] = {
    "kernel_arguments": ("quiet", "kernel_arguments_missing", Verdict.FAIL_CONFIG, "start the kernel"),
    "locked_memory": ("65536", "locked_memory_unlimited", Verdict.FAIL_CONFIG, "LimitMEMLOCK"),
    "cpu_mhz": (800, "cpu_frequency", Verdict.FAIL_CONFIG, "power cap"),
    "free_blocks": (3, "numa_nodes_fragmented", Verdict.FAIL_CONFIG, "reboot the node"),
    "used_percent": (93, "file_systems_full", Verdict.FAIL_CONFIG, "make room"),
    "services": (["kubelet"], "services_missing", Verdict.FAIL_CONFIG, "start the services"),
    "mounts": (["/"], "mounts_missing", Verdict.FAIL_CONFIG, "mount the file systems"),
    "read_only": (["/"], "file_systems_read_only", Verdict.FAIL, "drive's errors"),
    "stuck": (["dd"], "processes_stuck", Verdict.FAIL, "/proc/PID/stack"),
    "zombies": (["sh"] * 5, "zombies", Verdict.FAIL_CONFIG, "end the parents"),
    "fabric_manager": ("570.86.15", "fabric_manager_differs", Verdict.FAIL_CONFIG, "Fabric Manager"),
}
OF_GPU = {
    "memory_used_mib": (612, "memory_used", Verdict.FAIL_CONFIG),
    "inforom_valid": (False, "inforom_valid", Verdict.FAIL),
    "pages_retired": (11, "pages_retired", Verdict.FAIL),
}


def judged(run: RunProbe, view: dict[str, Any]) -> Judgement:
    """Run suite l0 on a view of the world's node and judge it; its SKU demands /raid too."""
    suite, sku = library().suite("l0"), library().sku(SKU)
    sku = replace(sku, devices={**sku.devices, "mounts": ("/raid",)})
    whom: Addressee = {"node": "gpu-a01", "serial": str(view["serial"]), "episode": 1, "nonce": "a" * 64}
    plan = plan_document(suite, sku, Scope.HARDWARE, **whom)
    document = run({**view, "speed": 100_000.0}, plan).result
    stored = StoredResult("gpu-a01", 1, Scope.HARDWARE, "l0", EvidenceReference("b", "c" * 64, 1), document, False)
    return judge_context(Context(stored, suite, sku, library().baselines(SKU), sku.firmware_set, whom["serial"]))


def started(folder: Path) -> World:
    """Return a world of one healthy node."""
    spec = NodeSpec("gpu-a01", SKU, "A1", 1, image="validation-2026.11")
    world = World(FleetFile("lab", (spec,)), folder, 1, LabClock(speed=0, start=datetime(2026, 11, 30, tzinfo=UTC)))
    world.start()
    return world


def test_a_healthy_host_passes(tmp_path: Path, run_probe: RunProbe) -> None:
    """Nothing of it is missing or outside."""
    judgement = judged(run_probe, started(tmp_path).view("gpu-a01"))
    assert judgement.verdict is Verdict.PASS, judgement.sentence


def test_everything_that_is_wrong_is_a_reason_with_a_way_out(tmp_path: Path, run_probe: RunProbe) -> None:
    """Eleven settings and three states of GPUs; a reason that fails hardware outweighs those of the configuration."""
    world = started(tmp_path)
    view = world.view("gpu-a01")
    for setting, (value, *_) in WRONG.items():
        world.inject("gpu-a01", "setting-wrong", {"setting": setting, "value": value})
        view["settings"][setting] = world.view("gpu-a01")["settings"][setting]
    for gpu, (name, (value, *_)) in enumerate(OF_GPU.items()):
        world.inject("gpu-a01", "gpu-state-wrong", {"gpu": gpu, "value_of": name, "value": value})
        view["gpus"][gpu] = world.view("gpu-a01")["gpus"][gpu]
    judgement = judged(run_probe, view)
    reasons = {(reason.component, reason.metric): reason for reason in judgement.reasons}
    for _, metric, verdict, action in WRONG.values():
        reason = reasons.pop(("node", metric))
        assert (reason.verdict, action in reason.sentence) == (verdict, True), reason.sentence
    for gpu, (_, metric, verdict) in enumerate(OF_GPU.values()):
        assert reasons.pop((f"gpu/{gpu}", metric)).verdict is verdict
    assert not reasons
    assert judgement.verdict is Verdict.FAIL
