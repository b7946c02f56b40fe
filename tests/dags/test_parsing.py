"""DAG files are tables of contents: cheap to parse, free of heavy libraries, and shaped as the lifecycle says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
DAGS = sorted((REPOSITORY / "dags").glob("*.py"))
HEAVY = ("great_expectations", "pandas", "sushy", "pynvml")

PARSE = """
import json, sys, time, runpy
import airflow.sdk, airflow.providers.cncf.kubernetes.operators.pod
imported = time.process_time()
runpy.run_path(sys.argv[1])
added = time.process_time() - imported
heavy = [name for name in sys.argv[2:] if name in sys.modules]
print(json.dumps({"share": added / imported, "seconds": added, "heavy": heavy}))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An Airflow home of its own, so that nothing of the machine's leaks in."""
    home = tmp_path_factory.mktemp("airflow")
    return {**os.environ, "AIRFLOW_HOME": str(home), "PYTHONPATH": str(REPOSITORY / "plugins")}


@pytest.mark.parametrize("path", DAGS, ids=lambda path: path.stem)
def test_a_dag_file_adds_little_to_the_parse_and_no_heavy_library(path: Path, environment: dict[str, str]) -> None:
    """It adds less than a fifth of what airflow.sdk and the pod operator cost (0.06 when quiet), and no heavy library.

    A share and not seconds: on a busy machine both grow, though not alike.
    """
    command = [sys.executable, "-c", PARSE, str(path), *HEAVY]
    runs = [
        json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
        for _ in range(2)
    ]
    assert runs[0]["heavy"] == []
    assert min(run["share"] for run in runs) < 1 / 5


SHAPE = """
import json, sys, runpy
dag = runpy.run_path(sys.argv[1])["dag"]
mapped = [t.task_id for t in dag.tasks if t.is_mapped or any(True for _ in t.iter_mapped_task_groups())]
print(json.dumps({"tasks": [t.task_id for t in dag.tasks], "mapped": mapped,
  "retries": {t.task_id: t.retries for t in dag.tasks},
  "time_limit": [t.task_id for t in dag.tasks if getattr(t, "execution_timeout", None)]}))
"""


def test_bring_up_has_eight_task_instances_per_node_and_a_gate(environment: dict[str, str]) -> None:
    """The default path gives the mapped steps in the lifecycle's order, two judges, and retries of at least two."""
    command = [sys.executable, "-c", SHAPE, str(REPOSITORY / "dags" / "bring_up.py")]
    shape = json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
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
    assert min(shape["retries"].values()) >= 2
    assert {"prove_hardware.burn_in", "prove_platform.verify"} <= set(shape["time_limit"])


def test_burn_in_has_six_task_instances_per_node_however_long_the_soak(environment: dict[str, str]) -> None:
    """The segments of a soak are pods of one task: twenty-four of them add no task instance."""
    command = [sys.executable, "-c", SHAPE, str(REPOSITORY / "dags" / "burn_in.py")]
    shape = json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert shape["mapped"] == [
        "prove_hardware.inspect",
        "prove_hardware.approve",
        "prove_hardware.firmware",
        "prove_hardware.boot_validation",
        "prove_hardware.burn_in",
        "finish",
    ]
    assert set(shape["tasks"]) - set(shape["mapped"]) == {"open_wave", "next_wave", "judge_hardware", "gate"}
    assert min(shape["retries"].values()) >= 2
    assert "prove_hardware.burn_in" in shape["time_limit"]


def test_a_group_test_has_one_task_instance_per_node(environment: dict[str, str]) -> None:
    """All rounds of the screening are one task, whatever their number."""
    command = [sys.executable, "-c", SHAPE, str(REPOSITORY / "dags" / "group_test.py")]
    shape = json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert shape["mapped"] == ["finish"]
    assert set(shape["tasks"]) - set(shape["mapped"]) == {"open_wave", "next_wave", "screen", "gate"}
    assert min(shape["retries"].values()) >= 2
    assert "screen" in shape["time_limit"]


def test_housekeeping_is_a_handful_of_tasks_that_all_run(environment: dict[str, str]) -> None:
    """Nothing is mapped, one follows the other whatever became of it, and the last one tells."""
    command = [sys.executable, "-c", SHAPE, str(REPOSITORY / "dags" / "housekeeping.py")]
    shape = json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert shape["mapped"] == []
    assert shape["tasks"] == ["settle", "deadlines", "reconcile", "watch", "verify", "retention", "report"]
    assert min(shape["retries"].values()) >= 2
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
