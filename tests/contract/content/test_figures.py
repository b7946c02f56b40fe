"""Figures that stand in free text, in lists and under old names are found under the part that they belong to."""

from __future__ import annotations

import json

from tests.contract.content.reading import parsed, value
from tests.contract.content.trap_cases_found import OLD_NAMES, SLOT, old_diag
from tests.contract.content.trap_cases_lists import NVME_TABLE, NVME_TREE, ROOTED

VERBOSE = "GPU 1 GPU to Host bandwidth:\t\t24.02 GB/s, GPU 1 Host to GPU bandwidth:\t\t25.93 GB/s"
BURN = "GPU 1 GPU 1 calculated at approximately 21688.18 gigaflops during this test, GPU 1 Allocated 9 bytes (98.4%)"
LSPCI = (
    "0001:00:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 SXM4 80GB] [10de:20b2] (rev a1)\n"
    "0005:00:00.0 Bridge [0680]: NVIDIA Corporation Device [10de:1af1] (rev a1)\n"
    "0006:00:00.0 Bridge [0680]: NVIDIA Corporation Device [10de:1af1] (rev a1)\n"
)


def test_the_texts_of_a_diagnostic_name_their_gpu() -> None:
    """One text holds several figures, each with its GPU; DCGM 3 tells its version inside of the diagnostic."""
    document = json.loads(old_diag(*OLD_NAMES).partition("\n")[2])
    result = {"gpu_id": "1", "status": "PASS", "info": [VERBOSE, BURN]}
    document["DCGM GPU Diagnostic"]["test_categories"][1]["tests"][0]["results"][1] = result

    read = parsed("dcgm-diag-json", json.dumps(document))

    assert read["version"] == "3.1.0"
    assert value(read, "gpu/1", "gpu_to_host_bandwidth") == 24.02
    assert value(read, "gpu/1", "host_to_gpu_bandwidth") == 25.93
    assert value(read, "gpu/1", "compute_rate") == 21688.18
    assert value(read, "gpu/1", "memory_allocated") == 98.4


def test_an_error_belongs_to_the_gpu_that_it_names() -> None:
    """A result for two GPUs whose text names one of them."""
    text = "Max stress level of 2128.7 did not exceed desired stress level of 3000.0 for GPU 0"
    document = json.loads(old_diag(*OLD_NAMES).partition("\n")[2])
    failed = {"gpu_ids": "0,1", "status": "FAIL", "warnings": [text]}
    document["DCGM GPU Diagnostic"]["test_categories"][1]["tests"][0] = {"name": "sm_stress", "results": [failed]}

    found = parsed("dcgm-diag-json", json.dumps(document))["findings"]

    assert [finding["component"] for finding in found if "2128.7" in finding["line"]] == ["gpu/0"]


def test_a_bridge_without_a_name_is_a_switch() -> None:
    """An older list of ids calls an NVSwitch a device; a PCI bridge has a class of its own."""
    assert value(parsed("nvidia-smi", LSPCI), "node", "nvswitches") == 2


def test_the_lanes_of_a_slot() -> None:
    """Width, generation and the eye of each lane."""
    read = parsed("mlxlink", json.dumps(SLOT))

    assert value(read, "slot", "pcie_width") == 16
    assert value(read, "slot", "pcie_generation") == 5
    assert value(read, "pcie-lane/1", "initial_fom") == 140


def test_the_drives_of_nvmes_list() -> None:
    """Both of its forms, each with size and serial number."""
    for text in (NVME_TABLE, NVME_TREE):
        assert 3.8e12 < (value(parsed("lsblk", text), "drive/nvme0n1", "capacity") or 0) < 3.9e12, text


def test_a_record_of_a_dpu_whose_part_is_another() -> None:
    """Sizes of processors and memory, and the part that is not the product."""
    record = {
        "machine_type": "aarch64",
        "dmi_data": {"product_name": "BlueField-3 SmartNIC Main Card"},
        "cpu_info": [{"model": "0x1", "sockets": 1, "cores": 8, "threads": 8}],
        "memory_devices": [{"size_mb": 1024}],
        "dpu_info": {"part_number": "MBF2", "part_description": "NVIDIA Bluefield-2 SuperNIC", "switches": [{}]},
    }

    read = parsed("host-inventory", json.dumps(record))

    assert value(read, "cpu/0", "cores") == 8
    assert value(read, "memory/0", "size") == 1024
    assert value(read, "dpu", "switches") == 1
    assert "invalid/sku-mismatch" in {finding["code"] for finding in read["findings"]}


def test_which_collective_a_table_without_a_name_is() -> None:
    """By what its rows have: an operation, a root, and the factor of its bus bandwidth."""
    summed = ROOTED.replace("type    root", "type   redop    root").replace("float       0", "float     sum       0")

    for text, name in ((ROOTED, "broadcast"), (summed, "reduce"), (summed.replace("sum       0", "sum      -1"),
                       "all_reduce")):  # fmt: skip
        assert [row["value"] for row in parsed("nccl-tests", text)["texts"] if row["name"] == "collective"] == [name]
