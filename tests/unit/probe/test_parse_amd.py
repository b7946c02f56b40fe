"""AMD's tools and driver: figures as AMD's guide and public captures print them, and what is not believed."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from nodeworthy_probe.amdgpu_sysfs import AmdGpus
from nodeworthy_probe.content.sheet import Sheet
from nodeworthy_probe.parsers import amd_smi, amdgpu_log, hipblaslt, transferbench

P2P = """TransferBench v1.62.00
Bytes Per Direction 67108864
Unidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)
 SRC+EXE\\DST    CPU 00       GPU 00    GPU 01
  CPU 00  ->     42.75        41.97     42.33

  GPU 00  ->     55.23      1689.85     48.46
  GPU 01  ->     55.23        48.51   1672.91
                           CPU->CPU  CPU->GPU  GPU->CPU  GPU->GPU
Averages (During UniDir):       N/A     42.15     55.23     48.48

"""
A2A = """Summary: [67108864 bytes per Transfer]
==========================================================
SRC\\DST  GPU 00     GPU 01     GPU 02         STotal      Actual
GPU 00      N/A     47.056     46.826        93.882      93.652
GPU 01   47.000        N/A     46.751        93.751      93.502
GPU 02   47.098     46.785        N/A        93.883      93.570

RTotal   94.098     93.841     93.577       281.516      93.502      93.652

Average   bandwidth (GPU Timed):   46.919 GB/s
Aggregate bandwidth (GPU Timed):  281.516 GB/s
Aggregate bandwidth (CPU Timed):  201.000 GB/s
"""
TESTS = """Test 1:
 Executor: DMA 00 |   59.334 GB/s |    4.524 ms |    268435456 bytes | 60.973  GB/s (sum)
     Transfer 00  |   60.973 GB/s |    4.403 ms |    268435456 bytes | C0 -> D000:001 -> G1
 Aggregate (CPU)  |   58.541 GB/s |    4.585 ms |    268435456 bytes | Overhead: 0.061 ms
Test 2:
 Executor: DMA 00 │ 48.349 GB/s │ 1.388 ms │ 67108864 bytes │ 48.349 GB/s (sum)
     Transfer 00  │ 48.349 GB/s │ 1.388 ms │ 67108864 bytes │ G0 -> DMA00.*:001 -> C1
 Aggregate (CPU)  │ 44.653 GB/s │ 1.503 ms │ 67108864 bytes │ Overhead: 0.115 ms
"""


def test_the_table_of_all_pairs_is_read_by_device() -> None:
    """Rows are sources, columns targets; the version stands in the head."""
    cells = transferbench.peers(P2P)
    assert isinstance(cells, dict)
    assert (cells["gpu/0", "gpu/1"], cells["gpu/1", "gpu/0"], cells["gpu/1", "gpu/1"]) == (48.46, 48.51, 1672.91)
    assert cells["cpu/0", "gpu/1"] == 42.33
    assert transferbench.version(P2P) == "1.62.00"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("48.46", "38.46", "averages contradict"),
        ("  GPU 01  ->     55.23        48.51   1672.91\n", "", "6 of 9 cells"),
        ("48.51   1672.91", "48.51", "2 cells for 3 columns"),
        ("Averages (During UniDir):", "Averages:", "averages contradict"),
        ("Unidirectional", "Bidirectional", "no table of copies in one direction"),
    ],
)
def test_a_table_that_contradicts_itself_or_is_cut_is_not_believed(old: str, new: str, says: str) -> None:
    """One sentence says why, and no figure comes out."""
    found = transferbench.peers(P2P.replace(old, new))
    assert isinstance(found, str)
    assert says in found


def test_all_to_all_has_three_figures_with_three_names() -> None:
    """The mean over pairs and a column's total differ by the number of peers: 46.9 and 94.1 with two peers each."""
    found = transferbench.all_to_all(A2A)
    assert isinstance(found, transferbench.AllToAll)
    assert (found.average, found.received[0], found.pairs[2, 1]) == (46.919, 94.098, 46.785)
    assert isinstance(transferbench.all_to_all(A2A.replace("46.785", "16.785")), str)
    assert isinstance(transferbench.all_to_all(A2A.replace("GPU 01   47", "GPU 03   47")), str)


def test_the_tests_of_a_file_are_read_in_both_forms() -> None:
    """With bars of ASCII and of box drawing; the engine may carry its number of units."""
    found = transferbench.transfers(TESTS)
    assert not isinstance(found, str)
    assert [(one.source, one.executor, one.target, one.rate) for one in found] == [
        ("C0", "D000", "G1", 60.973),
        ("G0", "DMA00.*", "C1", 48.349),
    ]
    assert isinstance(transferbench.transfers(TESTS.replace("Test 1:", "Test 3:")), str)
    assert isinstance(transferbench.transfers(TESTS.replace("48.349 GB/s │ 1.388", "nan GB/s │ 1.388")), str)


GEMM = (
    "[0]transA,transB,grouped_gemm,batch_count,m,n,k,alpha,lda,stride_a,beta,ldb,stride_b,ldc,stride_c,ldd,stride_d,"
    "d_type,compute_type,activation_type,bias_vector,hipblaslt-Gflops,us\n"
    "N,N,0,1,896,896,896,1,896,802816,0,896,802816,896,802816,896,802816,fp16_r,f32_r,none,0, 58624.5, 24.54\n"
)


@pytest.mark.parametrize(("old", "new", "notes"), [("", "", []), ("58624.5", "98624.5", ["document/contradiction"])])
def test_a_rate_must_follow_from_sizes_and_time(old: str, new: str, notes: list[str]) -> None:
    """896 cubed, twice, in 24.54 us are 58,624 GFLOPS; a rate that is more is not believed."""
    sheet = Sheet("hipblaslt-bench", "hipblaslt-bench")
    hipblaslt.read(GEMM.replace(old, new) if old else GEMM, sheet)
    assert [note.code for note in sheet.notes] == notes
    assert [row.value for row in sheet.rows] == ([] if notes else [58.6245])


def test_amd_smi_in_a_list_below_gpu_data_and_in_two_documents() -> None:
    """Older releases print a list, newer ones gpu_data; `xgmi --link-status` prints two documents for each GPU."""
    row = {"gpu": 0, "limit": {"socket_power": {"value": 750, "unit": "W"}}}
    assert amd_smi.by_gpu(json.dumps([row])) == amd_smi.by_gpu(json.dumps({"gpu_data": [row]})) == {0: row}
    text = 'WARNING: User is missing the group render\n[{"gpu": 0, "bdf": "a"}]\n[{"gpu": 0, "link_status": ["U"]}]\n'
    assert amd_smi.by_gpu(text) == {0: {"gpu": 0, "bdf": "a", "link_status": ["U"]}}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[{"gpu": 0}, {"gpu": 0}]', "twice"),
        ('[{"bdf": "a"}]', "names no GPU"),
        ('[{"gpu": 0}', "cut or garbled"),
        ('[{"gpu": 0, "power": NaN}]', "cut or garbled"),
        ("", "no entry"),
    ],
)
def test_amd_smi_output_that_is_not_believed(text: str, says: str) -> None:
    """Cut, doubled, nameless or with a number that is none."""
    found = amd_smi.by_gpu(text)
    assert isinstance(found, str)
    assert says in found


def test_values_of_amd_smi_need_their_unit_and_na_is_no_number() -> None:
    """750 W is no figure in C; N/A is none; one bad page alone stands without its list."""
    assert amd_smi.figure({"value": 750, "unit": "W"}, "W") == 750
    assert amd_smi.figure({"value": 750, "unit": "W"}, "C") is None
    assert amd_smi.figure("N/A") is None
    assert [amd_smi.pages(value) for value in ("No bad pages found.", {"status": "PENDING"}, [{}, {}], "N/A")] == [
        0, 1, 2, None,
    ]  # fmt: skip


def _gpu(root: Path, bus: str, **files: str) -> Path:
    place = root / f"sys/bus/pci/devices/0000:{bus}:00.0"
    for name, text in {"vendor": "0x1002", "class": "0x120000", **files}.items():
        path = place / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return place


def _table(revision: int, cycles: int, socket: int) -> bytes:
    table = bytearray(1700)
    struct.pack_into("<HBB", table, 0, 1664, 1, revision)
    struct.pack_into("<IIII", table, 32 if revision == 6 else 40, cycles, 0, 0, socket)
    return bytes(table)


def test_counters_come_from_the_drivers_files_in_the_order_of_pci_addresses(tmp_path: Path) -> None:
    """Errors of memory and of links apart; a GPU whose files are missing has None, never zero."""
    _gpu(
        tmp_path,
        "26",
        ras__umc_err_count="ue: 2\nce: 5",
        ras__xgmi_wafl_err_count="ue: 0\nce: 3",
        pcie_replay_count="4",
        ras__gpu_vram_bad_pages="0x001f00a0 : 0x00001000 : R\n0x001f00a1 : 0x00001000 : P",
    )
    _gpu(tmp_path, "05")
    found = AmdGpus(tmp_path).counters()
    assert set(found["0"].values()) == {None}
    one = found["1"]
    assert (one["ecc_uncorrected"], one["ecc_corrected"], one["nvlink_errors"]) == (2, 5, 3)
    assert (one["pcie_replay"], one["bad_pages"]) == (4, 2)


@pytest.mark.parametrize("revision", [6, 7, 8])
def test_heat_is_a_share_of_the_firmwares_cycles(tmp_path: Path, revision: int) -> None:
    """Half of 1000 cycles below the socket's limit, in ten seconds: 5000 ms. A counter may wrap at 32 bits."""
    times = iter([100.0, 110.0])
    place, gpus = _gpu(tmp_path, "05"), AmdGpus(tmp_path, clock=lambda: next(times))
    (place / "gpu_metrics").write_bytes(_table(revision, 2**32 - 400, 7))
    assert gpus.counters()["0"]["slowed_by_heat"] == 0
    (place / "gpu_metrics").write_bytes(_table(revision, 600, 507))
    assert gpus.counters()["0"]["slowed_by_heat"] == pytest.approx(5000)


def test_a_table_of_an_unknown_layout_tells_nothing(tmp_path: Path) -> None:
    """Revision 9 holds attributes instead of fields: unknown is not zero."""
    place = _gpu(tmp_path, "05")
    (place / "gpu_metrics").write_bytes(_table(9, 1, 1))
    assert AmdGpus(tmp_path).counters()["0"]["slowed_by_heat"] is None


LOG = (
    "amdgpu 0000:05:00.0: amdgpu: socket: 0 2 new uncorrectable hardware errors detected in umc block",
    "amdgpu 0000:05:00.0: amdgpu: socket: 0 2 uncorrectable hardware errors detected in total in umc block",
    "amdgpu 0000:26:00.0: amdgpu: 1 correctable hardware errors detected in total in umc block",
    "amdgpu 0000:26:00.0: amdgpu: 0 uncorrectable hardware errors detected in total in gfx block",
    "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring sdma0 timeout, signaled seq=1131, emitted seq=1133",
    "amdgpu 0000:46:00.0: amdgpu: GPU reset begin!",
    "amdgpu 0000:46:00.0: amdgpu: MEM ECC is active.",
)


def test_lines_of_the_driver_become_events_and_a_running_total_is_no_second_one() -> None:
    """Zero errors and ordinary words are none; a timeout without an address stands without one."""
    assert [(event.kind, event.pci) for event in amdgpu_log.parse(LOG)] == [
        ("ras-uncorrected", "0000:05:00"),
        ("ras-corrected", "0000:26:00"),
        ("ring-timeout", None),
        ("gpu-reset", "0000:46:00"),
    ]
