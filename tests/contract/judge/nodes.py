"""One node of a fresh virtual fleet, measured by the real probe with a few tests of a shipped suite, and judged."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Judgement, Scope
from nodeworthy.qualification.frame import Context
from nodeworthy.qualification.plans import Addressee, plan_document

from lab.truth.fleet import FleetFile, NodeSpec
from lab.truth.world import LabClock, World
from tests.contract.tools.conftest import RunProbe
from tests.doubles.bench import library
from tests.unit.qualification.written_results import judge_context

NODE = "gpu-a01"


def judged_node(
    folder: Path,
    run: RunProbe,
    suite: tuple[str, Collection[str]],
    sku: str = "h100-sxm-8",
    fault: tuple[str, Mapping[str, Any]] | None = None,
    offers: tuple[str, ...] = (),
) -> Judgement:
    """Run the named tests of a suite on one node under a fault, and return the verdict by the shipped limits."""
    spec = NodeSpec(NODE, sku, "A1", 1, image="validation-2026.11")
    world = World(FleetFile("lab", (spec,)), folder, 1, LabClock(speed=0, start=datetime(2026, 11, 30, tzinfo=UTC)))
    world.start()
    if fault is not None:
        world.inject(NODE, fault[0], dict(fault[1]))
    view = {**world.view(NODE), "speed": 2000.0}
    name, tests = suite
    whole, definition = library().suite(name), library().sku(sku)
    definition = replace(definition, offers=(*definition.offers, *offers))
    chosen = whole.without({test.test for test in whole.tests} - set(tests))
    whom: Addressee = {"node": NODE, "serial": str(view["serial"]), "episode": 1, "nonce": "a" * 64}
    document = run(view, plan_document(chosen, definition, Scope.HARDWARE, **whom)).result
    stored = StoredResult(NODE, 1, Scope.HARDWARE, name, EvidenceReference("b", "c" * 64, 1), document, False)
    baselines = library().baselines(sku)
    return judge_context(Context(stored, chosen, definition, baselines, definition.firmware_set, str(view["serial"])))
