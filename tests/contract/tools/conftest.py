"""Runs the real probe as a process with the fake tools on its PATH, as the lab's kubelet would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import lab.tpm
from tests.data import node_views

REPOSITORY = Path(__file__).resolve().parents[3]
IMAGE = REPOSITORY / "lab" / "images" / "probe"


class ProbeRun(NamedTuple):
    """What a probe process left behind."""

    exit_code: int
    log: str
    folder: Path
    result: dict[str, Any]
    receipt: dict[str, Any]

    def test(self, name: str) -> dict[str, Any]:
        """The record of one test."""
        (record,) = [test for test in self.result["tests"] if test["test"] == name]
        return dict(record)

    def value(self, component: str, metric: str) -> float | None:
        """The value of one measurement."""
        rows = [row for row in self.result["measurements"] if (row["component"], row["metric"]) == (component, metric)]
        assert len(rows) == 1, (component, metric, rows)
        value: float | None = rows[0]["value"]
        return value

    def codes(self) -> list[str]:
        """The codes of all findings."""
        return [finding["code"] for finding in self.result["findings"]]


RunProbe = Callable[..., ProbeRun]


@pytest.fixture
def node_folder(tmp_path: Path) -> Path:
    """The node's folder of the lab, with its TPM."""
    folder = tmp_path / "state" / "nodes" / "gpu-a01"
    lab.tpm.ensure_node(folder, node_views.SERIAL)
    return folder


@pytest.fixture
def run_probe(tmp_path: Path, node_folder: Path) -> RunProbe:
    """Run the probe on a view and a plan."""

    def run(view: dict[str, Any] | None = None, plan: dict[str, Any] | None = None, **more: str) -> ProbeRun:
        view_path = node_views.write_node(node_folder, view or node_views.view())
        output = tmp_path / "xcom"
        environment = {
            "PATH": os.environ["PATH"],
            "NODEWORTHY_LAB_VIEW": str(view_path),
            "NODEWORTHY_OUTPUT": str(output),
            "NODEWORTHY_LAB_MOUNTED": "/host/proc,/host/log",  # what a pod of L0 mounts of its host
            "NODEWORTHY_PLAN": json.dumps(plan or node_views.plan()),
            **more,
        }
        command = [sys.executable, "-I", str(IMAGE / "enter.py")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        return ProbeRun(
            done.returncode,
            done.stdout + done.stderr,
            output,
            _json(output / "result.json"),
            _json(output / "return.json"),
        )

    return run


def _json(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return document


@pytest.fixture
def run_tool(node_folder: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run one fake tool by its wrapper."""

    def run(view: dict[str, Any], *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        view_path = node_views.write_node(node_folder, view)
        given = {"PATH": os.environ["PATH"], "NODEWORTHY_LAB_VIEW": str(view_path), **environment}
        given["NODEWORTHY_LAB_PYTHON"] = sys.executable
        given["PATH"] = f"{IMAGE / 'bin'}:{given['PATH']}"
        return subprocess.run(
            command, env=given, capture_output=True, text=True, errors="replace", timeout=60, check=False
        )

    return run
