"""The probe on a node of the lab: real process, real formats, documents that match their schemas."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.contract.tools.conftest import REPOSITORY, RunProbe
from tests.data import node_views

SAMPLES = Path(os.environ.get("NODEWORTHY_SAMPLES") or REPOSITORY.parent / "shared" / "samples")


def _errors(name: str, document: dict[str, Any]) -> list[str]:
    schema = json.loads((REPOSITORY / "include" / "schemas" / f"{name}.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(document)]


def test_a_healthy_node_gives_every_figure(run_probe: RunProbe) -> None:
    """L1 from end to end: 270 figures, none missing, no finding, a quote beside them."""
    run = run_probe()

    assert run.exit_code == 0, run.log
    assert _errors("plan-1", node_views.plan()) == []
    assert _errors("result-1", run.result) == []
    assert _errors("receipt-1", run.receipt) == []
    assert [test["execution"] for test in run.result["tests"]] == ["completed"] * 7
    # 1 + 8 x 20 identity, 8 x 2 + 2 diagnostic, 16 host and 56 + 8 peer bandwidths, 4 collective, 7 kernel.
    assert len(run.result["measurements"]) == 161 + 18 + 16 + 64 + 4 + 7
    assert {row["status"] for row in run.result["measurements"]} == {"ok"}
    assert run.result["findings"] == []
    assert run.value("node", "bus_bandwidth") == pytest.approx(478.9, rel=0.01)
    assert run.value("gpu/7", "nvlinks_up") == 18
    assert run.test("collective.all_reduce")["transport"] == "NVLS"
    assert run.result["attestation"]["nonce"] == node_views.NONCE
    assert [event["digest_sha256"] for event in run.result["attestation"]["event_log"]] == ["11" * 32, "22" * 32]


def test_identity_and_versions_are_what_the_node_shows(run_probe: RunProbe) -> None:
    """Who was tested, on which boot, with which software; the record says that it is simulated."""
    result = run_probe().result

    assert result["simulated"] is True
    assert (result["serial"], result["boot_id"]) == (node_views.SERIAL, node_views.view()["boot_id"])
    assert (result["image"], result["machine_id"]) == ("validation-2026.11", node_views.view()["machine_id"])
    assert result["versions"] == {
        "driver": "570.172.08",
        "cuda": "12.8",
        "dcgm": "4.4.2",
        "nccl": "2.27.3",
        "kernel": "6.8.0-87-generic",
    }
    texts = {(text["component"], text["name"]): text["value"] for text in result["texts"]}
    assert texts["gpu/3", "serial"] == "1653022000003"
    assert texts["gpu/3", "model"] == "NVIDIA H100 80GB HBM3"


def test_the_bundle_holds_what_the_result_names(run_probe: RunProbe) -> None:
    """Hashes of bundle, result and every raw output agree."""
    run = run_probe()

    assert hashlib.sha256((run.folder / "bundle.tar.gz").read_bytes()).hexdigest() == run.receipt["bundle_sha256"]
    with tarfile.open(run.folder / "bundle.tar.gz") as archive:
        content = {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]
    assert hashlib.sha256(content["result.json"]).hexdigest() == run.receipt["result_sha256"]
    for test in run.result["tests"]:
        assert hashlib.sha256(content[test["raw"]["file"]]).hexdigest() == test["raw"]["sha256"]


def test_the_log_reads_as_evidence(run_probe: RunProbe) -> None:
    """What is run, the figures with units, and one summary line at the end."""
    log = run_probe().log.splitlines()

    assert log[0].endswith("suite l1 on node gpu-a01, episode 1, 7 tests")
    assert any("host_to_device_bandwidth: 5" in line and "GB/s" in line for line in log)
    assert any("bus bandwidth" in line and "over NVLS, 0 wrong values" in line for line in log)
    assert log[-1].startswith(
        "summary: gpu-a01 l1: 7 of 7 tests completed, 270 figures, 0 without a number, 0 findings"
    )


def test_the_host_log_is_told_apart_from_the_tests(run_probe: RunProbe) -> None:
    """An old Xid is history, a new one belongs to the tests and to its GPU."""
    old = "[    9.1] NVRM: Xid (PCI:0000:1b:00): 31, pid=1, name=x, MMU Fault"
    new = "[  415.2] NVRM: Xid (PCI:0000:9b:00): 94, pid=1, name=x, Contained memory error"
    run = run_probe(node_views.view(kernel_log=[old], kernel_log_under_load=[new]))

    assert run.value("node", "xid_new") == 3  # one for each tool that put load on the GPUs
    assert run.value("node", "xid_since_boot") == 4
    assert {(finding["code"], finding["component"], finding["during"]) for finding in run.result["findings"]} == {
        ("xid/94", "gpu/4", "test"),
        ("xid/31", "gpu/0", "before"),
    }


def test_a_captured_log_comes_while_the_node_is_tested_and_once(run_probe: RunProbe) -> None:
    """What a machine's log holds is judged, not taken for history, however many tools put load on it."""
    line = "[ 8211.1] NVRM: Xid (PCI:0000:1b:00): 79, pid=1, name=x, GPU has fallen off the bus."
    run = run_probe(node_views.view(kernel_log=["[    0.0] Linux version 5.15"], kernel_log_captured=[line]))

    assert run.value("node", "xid_new") == 1
    assert [(finding["code"], finding["during"]) for finding in run.result["findings"]] == [("xid/79", "test")]


@pytest.mark.parametrize(
    ("fault", "execution"),
    [("hang", "timed-out"), ("crash", "crashed"), ("truncate", "unparsable"), ("garbage", "unparsable")],
)
def test_a_broken_tool_costs_its_own_rows_only(run_probe: RunProbe, fault: str, execution: str) -> None:
    """The tool's rows are missing, the other tests are whole, and the exit code stays 0."""
    tests = [
        {**test, "timeout_seconds": 1.5} if test["test"] == "nvlink.bandwidth" else test for test in node_views.L1[:4]
    ]
    plan = node_views.plan(tests=[tests[0], tests[3]])
    run = run_probe(node_views.view(tool_faults={"nvbandwidth": fault}), plan)

    assert run.exit_code == 0
    assert run.test("nvlink.bandwidth")["execution"] == execution
    assert run.test("gpu.identity")["execution"] == "completed"
    rows = [row for row in run.result["measurements"] if row["test"] == "nvlink.bandwidth"]
    assert len(rows) == 64
    assert {(row["status"], row["value"]) for row in rows} == {("missing", None)}
    assert _errors("result-1", run.result) == []


def test_a_missing_tool_is_named(tmp_path: Path) -> None:
    """A tool that the image lacks, and one that the probe does not know: here the image has none at all."""
    tests = [{"test": "a", "tool": "dcgmi"}, {"test": "b", "tool": "no-such-tool"}]
    environment = {
        "PATH": str(tmp_path / "nothing"),
        "PYTHONPATH": str(REPOSITORY / "probe"),
        "NODEWORTHY_OUTPUT": str(tmp_path),
        "NODEWORTHY_PLAN": json.dumps(node_views.plan(tests=tests)),
    }
    command = [sys.executable, "-m", "nodeworthy_probe"]
    subprocess.run(command, env=environment, capture_output=True, timeout=60, check=True)
    result = json.loads((tmp_path / "result.json").read_text())

    assert [test["execution"] for test in result["tests"]] == ["tool-missing", "skipped"]
    assert _errors("result-1", result) == []


def test_a_missing_gpu_keeps_its_rows(run_probe: RunProbe) -> None:
    """Seven of eight: the eighth place of every test is there and empty."""
    gpus = [node_views.gpu(index, present=index != 7) for index in range(8)]
    run = run_probe(node_views.view(gpus=gpus))

    assert run.value("node", "gpu_count") == 7
    for metric in ("memory_total", "diag_failures", "host_to_device_bandwidth", "peer_bandwidth_min"):
        assert run.value("gpu/7", metric) is None
    assert run.value("node", "bus_bandwidth") is None  # all_reduce on eight GPUs cannot start


def test_a_setting_is_told_from_a_defect(run_probe: RunProbe) -> None:
    """Persistence mode off on one GPU, a pending row remap on another."""
    remap = {"correctable": 0, "uncorrectable": 1, "pending": True, "failure": False}
    gpus = [node_views.gpu(0, persistence_mode=False), node_views.gpu(1, remap=remap)]
    gpus += [node_views.gpu(index) for index in range(2, 8)]
    run = run_probe(node_views.view(gpus=gpus), node_views.plan(tests=node_views.L1[:2]))

    assert (run.value("gpu/0", "diag_failures"), run.value("gpu/0", "diag_config_failures")) == (0, 1)
    assert (run.value("gpu/1", "diag_failures"), run.value("gpu/1", "diag_config_failures")) == (1, 0)
    assert (run.value("gpu/0", "persistence_mode"), run.value("gpu/1", "rows_remap_pending")) == (0, 1)
    assert sorted(run.codes()) == ["dcgm/29", "dcgm/85"]


def test_dcgm_3_gives_the_same_rows(run_probe: RunProbe) -> None:
    """The older document shape, the same measurements."""
    image = {**node_views.view()["image"], "dcgm": "3.3.9"}
    run = run_probe(node_views.view(image=image), node_views.plan(tests=node_views.L1[1:2]))

    assert run.result["versions"]["dcgm"] == "3.3.9"
    assert run.value("gpu/7", "diag_failures") == 0
    assert run.value("node", "diag_tests_run") == 9


def test_wrong_values_are_measured(run_probe: RunProbe) -> None:
    """Corrupt data at full bandwidth: both figures stand in the result."""
    bandwidth = node_views.view()["bandwidth"]
    bandwidth["all_reduce"]["wrong"] = 96
    run = run_probe(node_views.view(bandwidth=bandwidth), node_views.plan(tests=node_views.L1[4:5]))

    assert run.value("node", "wrong_values") == 192  # in place and out of place
    assert run.value("node", "bus_bandwidth") == pytest.approx(478.9, rel=0.01)
    assert run.test("collective.all_reduce")["exit_code"] == 1


@pytest.mark.parametrize("changes", [{"schema": "nodeworthy.plan/2"}, {"nonce": "x"}, {"tests": []}])
def test_a_bad_plan_starts_nothing(run_probe: RunProbe, changes: dict[str, Any]) -> None:
    """Exit code 2, one sentence, no document."""
    run = run_probe(plan=node_views.plan(**changes))

    assert run.exit_code == 2
    assert len(run.log.splitlines()) == 1
    assert (run.result, run.receipt) == ({}, {})


def test_an_output_that_cannot_be_written_is_exit_code_3(run_probe: RunProbe, tmp_path: Path) -> None:
    """A file stands where the folder should be; the sentence names it."""
    (tmp_path / "xcom").mkdir()
    (tmp_path / "xcom" / "raw").write_text("not a folder")

    run = run_probe(plan=node_views.plan(tests=node_views.L1[5:6]))

    assert run.exit_code == 3
    assert "cannot be written" in run.log.splitlines()[-1]
    assert run.receipt == {}


def test_cabling_is_read_in_band(run_probe: RunProbe) -> None:
    """LLDP neighbours become texts of their interface."""
    test = {"test": "network.lldp", "tool": "lldpcli", "arguments": ["-f", "json0", "show", "neighbors"]}
    run = run_probe(plan=node_views.plan(tests=[test]))

    assert run.result["texts"] == [
        {"component": "nic/eth0", "name": "lldp_switch", "value": "leaf-01"},
        {"component": "nic/eth0", "name": "lldp_port", "value": "swp1"},
    ]
    assert _errors("result-1", run.result) == []


def test_a_deleted_pod_leaves_a_result_that_says_so(tmp_path: Path, node_folder: Path) -> None:
    """SIGTERM in the middle: the running tool is ended, the rest is skipped, exit code 4."""
    tests = [
        {"test": "nvlink.bandwidth", "tool": "nvbandwidth", "arguments": ["-j"], "timeout_seconds": 60},
        {"test": "gpu.diag", "tool": "dcgmi", "arguments": ["diag", "-r", "1", "-j"], "timeout_seconds": 60},
    ]
    view = node_views.write_node(node_folder, node_views.view(tool_faults={"nvbandwidth": "hang"}))
    environment = {
        "PATH": os.environ["PATH"],
        "NODEWORTHY_LAB_VIEW": str(view),
        "NODEWORTHY_OUTPUT": str(tmp_path / "xcom"),
        "NODEWORTHY_PLAN": json.dumps(node_views.plan(tests=tests)),
    }
    command = [sys.executable, "-I", str(REPOSITORY / "lab" / "images" / "probe" / "enter.py")]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while "nvbandwidth" not in process.stdout.readline():
        pass
    process.terminate()
    log, _ = process.communicate(timeout=60)

    result = json.loads((tmp_path / "xcom" / "result.json").read_text())
    assert process.returncode == 4, log
    assert [test["execution"] for test in result["tests"]] == ["skipped", "skipped"]
    assert all(row["value"] is None for row in result["measurements"])
    assert _errors("result-1", result) == []


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples of real tool outputs are not here")
def test_captures_of_a_real_machine_go_through_the_same_pipeline(run_probe: RunProbe, tmp_path: Path) -> None:
    """A folder of captured outputs and a captured kernel log: their figures come out at the other end."""
    captures = tmp_path / "captures"
    captures.mkdir()
    shutil.copy(SAMPLES / "nccl-tests" / "h200_8gpu_single_size.txt", captures / "all_reduce_perf.txt")
    shutil.copy(SAMPLES / "dcgm-diag-json" / "dcgm4_gb10_r1_persistence_fail.json", captures / "dcgmi.json")
    shutil.copy(SAMPLES / "nvbandwidth" / "json_v05_1gpu_waived.json", captures / "nvbandwidth.json")
    log = (SAMPLES / "dmesg" / "xid119_gsp_timeout.txt").read_text().splitlines()
    run = run_probe(node_views.view(replay_tools=str(captures), kernel_log=log))

    assert _errors("result-1", run.result) == []
    assert run.value("node", "bus_bandwidth") == 476.98
    assert (run.value("gpu/0", "diag_config_failures"), run.value("gpu/1", "diag_config_failures")) == (1, None)
    assert run.value("gpu/0", "host_to_device_bandwidth") == pytest.approx(12.3964)
    assert run.value("node", "xid_since_boot") == 5
    waived = [row["status"] for row in run.result["measurements"] if row["metric"] == "peer_bandwidth"]
    assert set(waived) == {"waived"}
