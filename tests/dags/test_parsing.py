"""DAG files are tables of contents: cheap to parse, free of heavy libraries, and shaped as the lifecycle says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
DAGS = sorted((REPOSITORY / "dags").glob("*.py"))
Parsed = dict[str, list[dict[str, Any]]]
HEAVY = ("great_expectations", "pandas", "sushy", "pynvml")

PARSE = """
import json, os, runpy, sys, time
began = time.process_time()
import airflow.sdk, airflow.providers.cncf.kubernetes.operators.pod
imported = time.process_time() - began

def parsed(path):
    began = time.process_time()
    dag = runpy.run_path(path)["dag"]
    return {
        "share": (time.process_time() - began) / imported,
        "heavy": [name for name in sys.argv[1].split(",") if name in sys.modules],
        "tasks": [task.task_id for task in dag.tasks],
        "mapped": [t.task_id for t in dag.tasks if t.is_mapped or any(True for _ in t.iter_mapped_task_groups())],
        "retries": {task.task_id: task.retries for task in dag.tasks},
        "policy": {task.task_id: type(task.retry_policy).__name__ for task in dag.tasks if not task.is_mapped},
        "images": {task.task_id: task.image for task in dag.tasks if hasattr(task, "image")},
        "time_limit": [task.task_id for task in dag.tasks if getattr(task, "execution_timeout", None)],
    }

for path in sys.argv[2:]:
    end, start = os.pipe()
    if os.fork() == 0:
        os.write(start, json.dumps(parsed(path)).encode())
        os._exit(0)
    os.close(start)
    with os.fdopen(end) as said:
        print(said.read())
    os.wait()
"""
"""Each file is parsed in a fork of its own, as by Airflow: nothing that one imports helps another."""

IMAGE = "registry.test/nodeworthy/probe:9"
TRIES = 2
"""The better of two, since a busy machine may slow one of them."""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An Airflow home of its own, so that nothing of the machine's leaks in."""
    home = tmp_path_factory.mktemp("airflow")
    ours = {"AIRFLOW_HOME": str(home), "PYTHONPATH": str(REPOSITORY / "plugins"), "NODEWORTHY_PROBE_IMAGE": IMAGE}
    return {**os.environ, **ours}


@pytest.fixture(scope="module")
def parsed(environment: dict[str, str]) -> Parsed:
    """What each DAG file cost and gave, by its name, each time that it was parsed."""
    paths = [str(path) for path in DAGS for _ in range(TRIES)]
    command = [sys.executable, "-c", PARSE, ",".join(HEAVY), *paths]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
    found = [json.loads(line) for line in said if line.startswith("{")]
    return {path.stem: found[number * TRIES :][:TRIES] for number, path in enumerate(DAGS)}


@pytest.mark.parametrize("dag", [path.stem for path in DAGS])
def test_a_dag_file_adds_little_to_the_parse_and_no_heavy_library(dag: str, parsed: Parsed) -> None:
    """It adds less than a fifth of what airflow.sdk and the pod operator cost (0.06 when quiet), and no heavy library.

    A share and not seconds: on a busy machine both grow, though not alike.
    """
    assert parsed[dag][0]["heavy"] == []
    assert min(once["share"] for once in parsed[dag]) < 1 / 5


@pytest.mark.parametrize("dag", [path.stem for path in DAGS])
def test_every_task_is_tried_again_when_its_error_says_so(dag: str, parsed: Parsed) -> None:
    """At least two more tries, and our errors say when."""
    (shape, *_) = parsed[dag]
    assert min(shape["retries"].values()) >= 2
    assert set(shape["policy"].values()) == {"WhenWorthIt"}


def test_bring_up_has_eight_task_instances_per_node_and_a_gate(parsed: Parsed) -> None:
    """The default path gives the mapped steps in the lifecycle's order and two judges."""
    (shape, *_) = parsed["bring_up"]
    assert shape["mapped"] == [
        "prove_hardware.inspect",
        "prove_hardware.approve",
        "prove_hardware.firmware",
        "prove_hardware.boot_validation",
        "prove_hardware.burn_in",
        "prove_platform.provision",
        "prove_platform.verify",
        "finish",
    ]
    assert set(shape["tasks"]) - set(shape["mapped"]) == {
        "open_wave",
        "next_wave",
        "judge_hardware",
        "judge_platform",
        "gate",
    }
    assert {"prove_hardware.burn_in", "prove_platform.verify"} <= set(shape["time_limit"])


@pytest.mark.parametrize("dag", ["bring_up", "burn_in"])
def test_test_pods_run_in_the_image_that_the_settings_name(dag: str, parsed: Parsed) -> None:
    """Nodes pull from a registry of their own, so the image's name is a setting."""
    (shape, *_) = parsed[dag]
    assert shape["images"]
    assert set(shape["images"].values()) == {IMAGE}


def test_burn_in_has_six_task_instances_per_node_however_long_the_soak(parsed: Parsed) -> None:
    """The segments of a soak are pods of one task: twenty-four of them add no task instance."""
    (shape, *_) = parsed["burn_in"]
    assert shape["mapped"] == [
        "prove_hardware.inspect",
        "prove_hardware.approve",
        "prove_hardware.firmware",
        "prove_hardware.boot_validation",
        "prove_hardware.burn_in",
        "finish",
    ]
    assert set(shape["tasks"]) - set(shape["mapped"]) == {"open_wave", "next_wave", "judge_hardware", "gate"}
    assert "prove_hardware.burn_in" in shape["time_limit"]


def test_a_group_test_has_one_task_instance_per_node(parsed: Parsed) -> None:
    """All rounds of the screening are one task, whatever their number."""
    (shape, *_) = parsed["group_test"]
    assert shape["mapped"] == ["finish"]
    assert set(shape["tasks"]) - set(shape["mapped"]) == {"open_wave", "next_wave", "screen", "gate"}
    assert "screen" in shape["time_limit"]


def test_housekeeping_is_a_handful_of_tasks_that_all_run(parsed: Parsed) -> None:
    """Nothing is mapped, one follows the other whatever became of it, and the last one tells."""
    (shape, *_) = parsed["housekeeping"]
    assert shape["mapped"] == []
    assert shape["tasks"] == ["settle", "deadlines", "reconcile", "watch", "verify", "retention", "report"]
    assert set(shape["time_limit"]) == set(shape["tasks"])


LOADED = """
import json
from airflow._shared.module_loading.file_discovery import find_path_from_directory
import sys
found = [str(path) for path in find_path_from_directory(sys.argv[1], ".airflowignore", "glob")]
print(json.dumps([path for path in found if path.endswith(".py")]))
"""


def test_airflow_loads_exactly_one_file_below_plugins(environment: dict[str, str]) -> None:
    """Airflow imports every file it finds there by its bare name, so it may find the one plugin only."""
    command = [sys.executable, "-c", LOADED, str(REPOSITORY / "plugins")]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    found = json.loads(said.splitlines()[-1])
    assert [Path(path).name for path in found] == ["nodeworthy_plugin.py"]
