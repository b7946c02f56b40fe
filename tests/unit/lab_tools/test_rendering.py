"""The fake tools render the view in the real formats, repeatably."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from lab.tools import all_reduce_perf, dcgmi, dmesg, lldpcli, nvbandwidth, nvidia_smi
from lab.tools.view import NodeView
from tests.data import node_views


def _view(folder: Path, **changes: Any) -> NodeView:
    return NodeView(node_views.view(**changes), folder)


def test_noise_is_small_and_repeatable(tmp_path: Path) -> None:
    """The same attempt of the same boot reads the same; the next attempt a little different."""
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    arguments = ["-j", "-t", "host_to_device_memcpy_ce"]
    first, same = (nvbandwidth.run("nvbandwidth", arguments, _view(folder)).text for folder in folders)
    second = nvbandwidth.run("nvbandwidth", arguments, _view(folders[0])).text

    assert first == same
    assert first != second
    cells = json.loads(first)["nvbandwidth"]["testcases"][0]["bandwidth_matrix"][0]
    assert all(abs(float(cell) - 55.2) / 55.2 <= 0.005 for cell in cells)


def test_nvbandwidth_totals_agree_with_its_cells(tmp_path: Path) -> None:
    """Sum, minimum, maximum and average belong to the printed matrix."""
    text = nvbandwidth.run("nvbandwidth", ["-j", "-t", "4"], _view(tmp_path)).text
    case = json.loads(text)["nvbandwidth"]["testcases"][0]
    cells = [float(cell) for row in case["bandwidth_matrix"] for cell in row if cell != "N/A"]

    assert case["name"] == "device_to_device_memcpy_read_ce"
    assert len(cells) == 56
    assert case["sum"] == pytest.approx(sum(cells), rel=1e-5)
    assert case["min"] == pytest.approx(min(cells), rel=1e-5)


def test_one_gpu_has_no_peers(tmp_path: Path) -> None:
    """nvbandwidth waives what cannot be run."""
    gpus = [node_views.gpu(0), *(node_views.gpu(index, present=False) for index in range(1, 8))]
    arguments = ["-j", "-t", "device_to_device_memcpy_read_ce"]

    text = nvbandwidth.run("nvbandwidth", arguments, _view(tmp_path, gpus=gpus)).text

    assert json.loads(text)["nvbandwidth"]["testcases"] == [{"name": arguments[2], "status": "Waived"}]


def test_an_unknown_test_is_an_error(tmp_path: Path) -> None:
    """As the real tool: exit code 1 and a line on standard error."""
    output = nvbandwidth.run("nvbandwidth", ["-t", "nonsense"], _view(tmp_path))

    assert (output.exit_code, output.text) == (1, "")


def test_all_reduce_follows_the_curve_and_names_its_transport(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """8 GB reads about 478.9 GB/s; NCCL speaks only when asked."""
    arguments = ["-b", "8G", "-e", "8G", "-f", "2", "-g", "8", "-c", "1"]
    monkeypatch.delenv("NCCL_DEBUG", raising=False)
    quiet = all_reduce_perf.run("all_reduce_perf", arguments, _view(tmp_path)).text
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    loud = all_reduce_perf.run("all_reduce_perf", arguments, _view(tmp_path)).text

    row = next(line.split() for line in quiet.splitlines() if line.strip().startswith("8589934592"))
    assert float(row[7]) == pytest.approx(478.9, rel=0.005)
    assert "NCCL INFO" not in quiet
    assert "16 nvls channels" in loud


def test_wrong_values_fail_the_run(tmp_path: Path) -> None:
    """The #wrong column, the footer and the exit code agree."""
    bandwidth = node_views.view()["bandwidth"]
    bandwidth["all_reduce"]["wrong"] = 96
    output = all_reduce_perf.run(
        "all_reduce_perf", ["-b", "1G", "-e", "1G", "-g", "8"], _view(tmp_path, bandwidth=bandwidth)
    )

    assert output.exit_code == 1
    assert "# Out of bounds values : 1 FAILED" in output.text


def test_more_gpus_than_there_are_is_an_error(tmp_path: Path) -> None:
    """`-g 8` on seven GPUs ends as CUDA ends it."""
    gpus = [node_views.gpu(index, present=index != 3) for index in range(8)]
    output = all_reduce_perf.run("all_reduce_perf", ["-g", "8"], _view(tmp_path, gpus=gpus))

    assert output.exit_code == 2
    assert "Test CUDA failure" in output.text


@pytest.mark.parametrize(
    ("changes", "error_id", "severity"),
    [
        ({"persistence_mode": False}, 29, 5),
        ({"remap": {"correctable": 0, "uncorrectable": 1, "pending": True, "failure": False}}, 85, 6),
        ({"remap": {"correctable": 0, "uncorrectable": 9, "pending": False, "failure": True}}, 80, 6),
        ({"ecc_uncorrected": 2}, 4, 2),
        ({"nvlinks": [{"link": 0, "up": False, "speed_mb_s": 26562}]}, 14, 4),
    ],
)
def test_the_diagnostic_finds_what_is_wrong_with_a_gpu(
    tmp_path: Path, changes: dict[str, Any], error_id: int, severity: int
) -> None:
    """State of a GPU becomes the error id and severity that DCGM gives it."""
    gpus = [node_views.gpu(index, **(changes if index == 2 else {})) for index in range(8)]

    output = dcgmi.run("dcgmi", ["diag", "-r", "1", "-j"], _view(tmp_path, gpus=gpus))

    (test,) = json.loads(output.text)["DCGM Diagnostic"]["test_categories"][0]["tests"]
    failed = [result for result in test["results"] if result["status"] == "Fail"]
    assert [(result["entity_id"], result["warnings"][0]["error_id"]) for result in failed] == [(2, error_id)]
    assert failed[0]["warnings"][0]["error_severity"] == severity
    assert output.exit_code == 226


def test_the_diagnostic_follows_the_version(tmp_path: Path) -> None:
    """3.x has another root, display names and no entity groups; 4.5 repeats warnings."""
    gpus = [node_views.gpu(0, persistence_mode=False), *(node_views.gpu(index) for index in range(1, 8))]
    image = node_views.view()["image"]
    documents = {
        version: json.loads(
            dcgmi.run(
                "dcgmi", ["diag", "-r", "2", "-j"], _view(tmp_path, gpus=gpus, image={**image, "dcgm": version})
            ).text
        )
        for version in ("3.3.9", "4.4.2", "4.5.2")
    }

    old = documents["3.3.9"]["DCGM GPU Diagnostic"]["test_categories"]
    assert [test["name"] for test in old[0]["tests"] if test["results"][0]["status"] == "Fail"] == ["Persistence Mode"]
    assert [category["tests"][0]["name"] for category in old[1:]] == ["PCIe", "GPU Memory"]
    repeated = {
        version: "warnings" in documents[version]["DCGM Diagnostic"]["test_categories"][0]["tests"][0]["test_summary"]
        for version in ("4.4.2", "4.5.2")
    }
    assert repeated == {"4.4.2": False, "4.5.2": True}


def test_nvidia_smi_forms(tmp_path: Path) -> None:
    """List, table, links and matrix of the same eight GPUs."""
    view = _view(
        tmp_path, gpus=[node_views.gpu(index, **({"nvlinks": []} if index == 7 else {})) for index in range(8)]
    )

    assert nvidia_smi.run("nvidia-smi", ["-L"], view).text.count("GPU-0000000") == 8
    table = nvidia_smi.run("nvidia-smi", [], view).text.splitlines()[1:]
    assert {len(line) for line in table} == {91}
    assert nvidia_smi.run("nvidia-smi", ["nvlink", "-s"], view).text.count("26.562 GB/s") == 7 * 18
    matrix = nvidia_smi.run("nvidia-smi", ["topo", "-m"], view).text.splitlines()
    assert matrix[1].split("\t")[1:9] == [" X ", *["NV18"] * 6, "SYS"]
    assert nvidia_smi.run("nvidia-smi", ["--nonsense"], view).exit_code == 2


def test_nvidia_smi_xml(tmp_path: Path) -> None:
    """Well-formed, one element per GPU, the power brake visible."""
    gpus = [node_views.gpu(index, throttle_reasons=0x80 if index == 1 else 0) for index in range(8)]
    root = ElementTree.fromstring(nvidia_smi.run("nvidia-smi", ["-q", "-x"], _view(tmp_path, gpus=gpus)).text)

    brakes = [
        gpu.findtext("clocks_event_reasons/clocks_event_reason_hw_power_brake_slowdown") for gpu in root.iter("gpu")
    ]
    assert brakes == ["Not Active", "Active", *["Not Active"] * 6]
    assert root.findtext("attached_gpus") == "8"


def test_without_gpus_the_tools_say_so(tmp_path: Path) -> None:
    """Every tool has its own way and its own exit code."""
    view = _view(tmp_path, gpus=[])

    assert nvidia_smi.run("nvidia-smi", [], view).text == "No devices were found\n"
    assert dcgmi.run("dcgmi", ["diag", "-r", "1", "-j"], view).exit_code == 205
    assert nvbandwidth.run("nvbandwidth", ["-j"], view).exit_code == 1


def test_lldp_neighbours_are_lists_all_the_way(tmp_path: Path) -> None:
    """json0: one neighbour looks like several; an interface without a switch has none."""
    lldp = [
        {"interface": "eth0", "switch": "leaf-01", "port": "swp1"},
        {"interface": "eth1", "switch": None, "port": None},
    ]
    text = lldpcli.run("lldpcli", ["-f", "json0", "show", "neighbors"], _view(tmp_path, lldp=lldp)).text

    ((interface,),) = [entry["interface"] for entry in json.loads(text)["lldp"]]
    assert (interface["chassis"][0]["name"], interface["port"][0]["id"]) == (
        [{"value": "leaf-01"}],
        [{"type": "ifname", "value": "swp1"}],
    )


def test_dmesg_prints_the_log_with_what_tools_added(tmp_path: Path) -> None:
    """The file beside the view; the view's own lines where there is none yet."""
    view = _view(tmp_path)
    assert dmesg.run("dmesg", [], view).text == "[    0.000000] Linux version 6.8.0-87-generic\n"

    (tmp_path / "kmsg").write_text("old\nnew\n")
    assert dmesg.run("dmesg", [], view).text == "old\nnew\n"
