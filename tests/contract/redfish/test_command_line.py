"""`python -m lab`: up, the commands of a running lab, down, and nothing left behind."""

from __future__ import annotations

import json
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml

ROOT = Path(__file__).parents[3]


def _lab(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "lab", *words], cwd=ROOT, text=True, capture_output=True, timeout=60)


def _alive(pid: int) -> bool:
    """Whether the process runs; one that only waits to be reaped by init does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The directory of a running lab of BMCs; at the end it is down and gone."""
    folder = tmp_path_factory.mktemp("s") / "lab"
    started = _lab("up", "--bmcs-only", "--detach", "--speed", "600", "--state", str(folder))
    assert started.returncode == 0, started.stderr
    pid = int((folder / "lab.pid").read_text())
    yield folder
    assert _lab("down", "--state", str(folder)).returncode == 0
    assert not folder.exists()
    assert not _alive(pid)


def test_the_files_that_others_need(state: Path) -> None:
    """Addresses, authority, manifest, reference values, and credentials that only the owner may read."""
    endpoints = json.loads((state / "endpoints.json").read_text())
    manifest = yaml.safe_load((state / "fleet.yaml").read_text())
    credentials = json.loads((state / "credentials.json").read_text())
    assert [node["name"] for node in manifest["nodes"]][:2] == ["gpu-a01", "gpu-a02"]
    assert manifest["nodes"][0]["bmc"]["address"] == endpoints["redfish"]
    assert stat.S_IMODE((state / "credentials.json").stat().st_mode) == 0o600
    assert json.loads((state / "golden-measurements.json").read_text())["HostBIOS_0/1.06.07"]
    assert (state / "tpm-ca.pem").read_text().startswith("-----BEGIN CERTIFICATE-----")
    first = manifest["nodes"][0]["bmc"]
    body = {"UserName": credentials["username"], "Password": credentials["password"]}
    path = first["address"] + first["root"] + "SessionService/Sessions"
    assert httpx.post(path, json=body, verify=ssl.create_default_context(cafile=first["ca_file"])).status_code == 201


def test_a_second_lab_is_refused(state: Path) -> None:
    """One directory holds one lab."""
    refused = _lab("up", "--bmcs-only", "--detach", "--state", str(state))
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("lab: A lab already runs in")


def test_faults_come_and_go(state: Path) -> None:
    """inject shows in status, heal takes it away, mistakes are one sentence."""
    where = ("--state", str(state))
    assert _lab("inject", "gpu-a01", "nvlink-degraded", "--set", "amount=0.1", *where).returncode == 0
    status = json.loads(_lab("status", "--json", *where).stdout)
    (fault,) = status["nodes"][0]["faults"]
    assert (fault["fault"], fault["parameters"]["amount"]) == ("nvlink-degraded", 0.1)
    assert _lab("heal", "gpu-a01", *where).stdout == "1 fault(s) taken off gpu-a01.\n"
    wrong = _lab("inject", "gpu-a01", "gremlins", *where)
    assert wrong.returncode == 1
    assert wrong.stderr.startswith("lab: There is no fault gremlins; known are")
    assert wrong.stderr.count("\n") == 1


def test_the_clock_can_be_moved(state: Path) -> None:
    """advance and speed are felt at once."""
    before = json.loads(_lab("status", "--json", "--state", str(state)).stdout)["now"]
    moved = _lab("clock", "--advance", "48h", "--speed", "1", "--state", str(state)).stdout
    assert moved > before
    assert moved.endswith("(x1)\n")


def test_without_a_lab_the_answer_is_a_sentence(tmp_path: Path) -> None:
    """status tells how to start one; down has nothing to do."""
    refused = _lab("status", "--state", str(tmp_path / "none"))
    assert (refused.returncode, refused.stderr.startswith("lab: No lab runs in")) == (1, True)
    assert _lab("down", "--state", str(tmp_path / "none")).returncode == 0


def test_a_strange_directory_is_left_alone(tmp_path: Path) -> None:
    """A directory that holds something else is neither used nor removed."""
    (tmp_path / "thesis.txt").write_text("x")
    refused = _lab("up", "--bmcs-only", "--detach", "--state", str(tmp_path))
    assert refused.returncode == 1
    assert "no lab's directory" in refused.stderr
    _lab("down", "--state", str(tmp_path))
    assert (tmp_path / "thesis.txt").exists()


def test_a_bad_fleet_leaves_nothing(tmp_path: Path) -> None:
    """The reason is told and the directory is gone again."""
    refused = _lab("up", "--bmcs-only", "--detach", "--fleet", "nowhere", "--state", str(tmp_path / "lab"))
    assert refused.returncode == 1
    assert refused.stderr.startswith("lab: There is no fleet nowhere")
    assert not (tmp_path / "lab").exists()
