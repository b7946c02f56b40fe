"""DCGM's `eud` where it cannot run: absent, skipped, or broken itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from nodeworthy_probe.plan import TestSpec, read_plan
from nodeworthy_probe.readings import gpu_diag
from nodeworthy_probe.readings.context import Context
from nodeworthy_probe.records import Reading

from lab.tools import dcgmi
from lab.tools.view import NodeView
from tests.data import node_views

ASKED = ("diag", "-r", "eud", "-j")


def read(text: str) -> Reading:
    """Read a run on a node of two GPUs."""
    plan = read_plan(json.dumps(node_views.plan(expect={"gpus": 2, "nvlinks_per_gpu": 18})))
    return gpu_diag.read(text, Context(plan, TestSpec("gpu.eud", "dcgmi", ASKED, 60.0, {}, {})))


def document(*results: dict[str, Any]) -> str:
    """A run of DCGM 4.x with one result per GPU."""
    rows = [{"entity_group": "GPU", "entity_id": place, **result} for place, result in enumerate(results)]
    test = {"name": "eud", "results": rows, "test_summary": {"status": rows[0]["status"]}}
    return json.dumps({"DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [test]}]}})


def test_a_dcgm_without_the_package_lacks_the_test(tmp_path: Path) -> None:
    """It says that there is no such test: nothing is wrong with its output or the node."""
    view = node_views.view()
    view["dcgm"] = {**view.get("dcgm", {}), "eud": False}
    reading = read(dcgmi.run("dcgmi", list(ASKED), NodeView(view, tmp_path)).text)
    assert "was not found among possible test choices" in (reading.lacking or "")
    assert {row.value for row in reading.measurements} == {None}


def test_what_is_skipped_everywhere_was_not_run() -> None:
    """Skip is no pass, and no row holds a zero."""
    reading = read(document({"status": "Skip"}, {"status": "Skip"}))
    assert reading.lacking == "DCGM skipped eud on every GPU"
    assert {row.value for row in reading.measurements} == {None}


def test_what_is_skipped_on_one_gpu_leaves_that_gpu_missing() -> None:
    """The other one was tested."""
    reading = read(document({"status": "Pass"}, {"status": "Skip"}))
    values = {row.component: row.value for row in reading.measurements if row.metric == "diag_failures"}
    assert (values, reading.lacking) == ({"gpu/0": 0.0, "gpu/1": None}, None)


@pytest.mark.parametrize(("error_id", "broken"), [(89, True), (92, True), (94, True), (95, False), (None, False)])
def test_trouble_of_the_diagnostic_itself_is_none_of_the_gpu(error_id: int | None, broken: bool) -> None:
    """Rights, time and exit of EUD (89 to 94) are the tool's; its finding (95), and what has no number, are not."""
    warning = {"warning": "something", **({"error_id": error_id, "error_severity": 4} if error_id else {})}
    reading = read(document({"status": "Fail", "warnings": [warning]}, {"status": "Pass"}))
    assert bool(reading.problem) is broken
    values = {row.component: row.value for row in reading.measurements if row.metric == "diag_failures"}
    assert values["gpu/0"] == (None if broken else 1.0)
