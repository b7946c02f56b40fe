"""Own checks on the probe's side: the turn is given, the output kept, the document read strictly."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from nodeworthy.tasks.check_containers import FOLDER, WAIT_AND_RUN
from nodeworthy_probe.own_check import run_check
from nodeworthy_probe.plan import TestSpec, read_plan
from nodeworthy_probe.readings import own_check
from nodeworthy_probe.readings.context import Context

from tests.data import node_views

SCHEMA = "nodeworthy.check-result/1"


def spec(seconds: float = 20.0) -> TestSpec:
    """Return a check's test."""
    return TestSpec("site.a", "own-check", ("whatever",), seconds, {}, {})


def container(folder: Path, *command: str) -> subprocess.Popen[bytes]:
    """Start what the pod's container runs, with the shared folder in its place."""
    script = WAIT_AND_RUN.replace(FOLDER, str(folder))
    return subprocess.Popen(["/bin/sh", "-c", script, "site.a", *command])


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODEWORTHY_CHECKS", str(tmp_path))


def test_a_check_waits_for_its_turn_and_its_output_comes_home(tmp_path: Path) -> None:
    """Nothing runs before the probe says so; output, errors and exit code are the command's own."""
    running = container(tmp_path, "/bin/sh", "-c", "echo seen; echo heard >&2; exit 3")
    try:
        assert not (tmp_path / "site.a.out").exists()
        done = run_check(spec(), lambda: False)
    finally:
        running.wait(10)
    assert (done.stdout, done.stderr, done.exit_code, done.timed_out) == (b"seen\n", b"heard\n", 3, False)


def test_a_check_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """It counts as timed out, and its process is gone."""
    running = container(tmp_path, sys.executable, "-c", "import time; time.sleep(60)")
    done = run_check(spec(0.5), lambda: False)
    assert running.wait(10) == 0
    assert done.timed_out
    assert done.exit_code == 128 + 15


def test_without_the_folder_the_check_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod that was made without the check's container: a tool that is missing, no pass."""
    monkeypatch.setenv("NODEWORTHY_CHECKS", str(tmp_path / "nowhere"))
    assert run_check(spec(), lambda: False).exit_code is None


def reading(document: object) -> Any:
    """Read one output."""
    plan = read_plan(json.dumps(node_views.plan()))
    text = document if isinstance(document, str) else json.dumps(document)
    return own_check.read(text, Context(plan, spec()))


def test_a_document_becomes_measurements() -> None:
    """Numbers are figures, null is a missing row."""
    rows = [
        {"component": "node", "metric": "m", "value": 4.5, "unit": "ms"},
        {"component": "gpu/0", "metric": "m", "value": None, "unit": "ms", "statistic": "max"},
    ]
    found = reading({"schema": SCHEMA, "version": "1", "measurements": rows})
    assert [(row.component, row.value, row.statistic) for row in found.measurements] == [
        ("node", 4.5, "single"),
        ("gpu/0", None, "max"),
    ]
    assert (found.problem, found.tool_version) == (None, "1")


@pytest.mark.parametrize(
    "document",
    [
        "",
        "not a document",
        [],
        {"schema": "another/1", "measurements": []},
        {"schema": SCHEMA},
        {"schema": SCHEMA, "measurements": [7]},
        {"schema": SCHEMA, "measurements": [{"component": "node", "metric": "m", "value": "4", "unit": "ms"}]},
        {"schema": SCHEMA, "measurements": [{"component": "node", "metric": "m", "value": True, "unit": "ms"}]},
        {"schema": SCHEMA, "measurements": [{"component": "node", "metric": "m", "value": 4}]},
        {"schema": SCHEMA, "measurements": [{"component": "node", "metric": "m", "value": float("nan"), "unit": "x"}]},
    ],
)
def test_anything_else_is_a_broken_tool(document: object) -> None:
    """One slip makes the whole output unusable; nothing of it is a figure."""
    found = reading(document)
    assert found.problem
    assert found.measurements == ()
