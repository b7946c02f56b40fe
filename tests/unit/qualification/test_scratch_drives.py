"""Tests that destroy data run on drives alone that a SKU declares as scratch, and nowhere else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from nodeworthy.adapters.library_yaml import YamlLibrary
from nodeworthy.errors import Permanent
from nodeworthy.evidence.verdicts import Scope
from nodeworthy.qualification.columns import demanded
from nodeworthy.qualification.plans import plan_document
from nodeworthy.qualification.suite_document import suite_from_document
from nodeworthy.qualification.written import suite_to_document
from nodeworthy_probe.plan import TestSpec, read_plan
from nodeworthy_probe.readings import devices
from nodeworthy_probe.readings.context import Context

from lab.tools import host
from lab.tools.view import NodeView
from lab.truth.fleet import FleetFile, NodeSpec
from lab.truth.world import LabClock, World
from tests.data import node_views

INCLUDE = Path(__file__).resolve().parents[3] / "include"
LIBRARY = YamlLibrary(INCLUDE)
H100 = LIBRARY.sku("h100-sxm-8")
WITH_SCRATCH = replace(H100, devices={**H100.devices, "scratch": ("nvme9n1",)})
VERIFY = "storage.verify"


def planned(sku: Any) -> dict[str, list[str]]:
    """Return the arguments of each test of L3 on a SKU."""
    whom = {"node": "n", "serial": "s", "episode": 1, "nonce": "a" * 64}
    plan = plan_document(LIBRARY.suite("l3"), sku, Scope.HARDWARE, **whom)  # type: ignore[arg-type]
    return {test["test"]: test["arguments"] for test in plan["tests"]}


def test_no_shipped_sku_declares_a_scratch_drive_and_none_is_written_to() -> None:
    """As shipped no plan holds the test, and no plan's fio writes."""
    for path in (INCLUDE / "skus").glob("*.yaml"):
        tests = planned(LIBRARY.sku(path.stem))
        assert VERIFY not in tests
        assert not [line for line in tests.values() if "--rw=write" in line]


def test_a_declared_scratch_drive_is_written_and_judged() -> None:
    """The plan names the drive alone, and the judge demands its row."""
    assert planned(WITH_SCRATCH)[VERIFY][0] == "nvme9n1"
    (test,) = [test for test in LIBRARY.suite("l3").tests if test.test == VERIFY]
    assert {demanded(spec, WITH_SCRATCH) for spec in test.metrics} == {("drive/nvme9n1",)}


@pytest.mark.parametrize("pattern", ["--rw=write", "--rw=randrw", "--readwrite=trim", "--rw=randwrite"])
@pytest.mark.parametrize("change", [{"only_with": ""}, {"arguments": ["{drives}"]}])
def test_a_suite_that_would_write_elsewhere_is_refused(pattern: str, change: dict[str, Any]) -> None:
    """Writing on drives that may only be read is no slip that a loader lets through."""
    good = {
        "test": "t.a",
        "tool": "fio",
        "timeout_seconds": 9,
        "only_with": "scratch",
        "arguments": ["{scratch_drives}"],
    }
    row = {**good, **change}
    row["arguments"] = [*row["arguments"], pattern]
    document = json.loads((INCLUDE / "suites" / "l0.json").read_text())
    with pytest.raises(Permanent, match="writes to drives"):
        suite_from_document({**document, "tests": [row]})


def test_what_a_suite_says_of_scratch_stands_in_the_dossier() -> None:
    """The suite reads back with the same condition."""
    again = suite_from_document(suite_to_document(LIBRARY.suite("l3")))
    assert [test.only_with for test in again.tests] == [test.only_with for test in LIBRARY.suite("l3").tests]


@pytest.mark.parametrize(("corrupts", "errors"), [(False, 0), (True, 1)])
def test_a_drive_that_returns_something_else_is_found(tmp_path: Path, corrupts: bool, errors: int) -> None:
    """What was written and read back agrees on a good drive; a bad one has an error, and still its bandwidth."""
    world = World(FleetFile("lab", (NodeSpec("a", "h100-sxm-8", "A1", 1),)), tmp_path, 1, LabClock(speed=0))
    world.start()
    view = NodeView(world.view("a"), tmp_path)
    next(drive for drive in view.document["drives"] if drive["name"] == "nvme9n1")["corrupts"] = corrupts
    names, *arguments = planned(WITH_SCRATCH)[VERIFY]
    out = host.run("fio", [word.replace("{device}", names) for word in arguments], view)
    spec = TestSpec(VERIFY, "fio", (names, *arguments), 9.0, {}, {})
    text = f"=== device {names}\n{out.text}=== exit {out.exit_code}\n"
    reading = devices.read(text, Context(read_plan(json.dumps(node_views.plan())), spec))
    found = {row.metric: row.value for row in reading.measurements}
    assert found["io_errors"] == errors
    assert found["write_bandwidth"] == pytest.approx(6.2, rel=0.01)
