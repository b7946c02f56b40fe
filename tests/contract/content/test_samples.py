"""Real outputs of the tools give the verdict and the key values of their index.

Words and figures were written by hand from the index of the samples, which are not part of this repository (see
`reading.SAMPLES`). The index speaks in prose; where it says that something is not known or not there, the word is
`incomplete`. Two excerpts without head and foot and one with rows taken out are incomplete as files, whatever their
figures are worth as references.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.contract.content.reading import SAMPLES, judged, parsed, value

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples of real tool outputs are not here")


class Sample(NamedTuple):
    """One file: the word, a part of the reason or of a finding, and figures (component, metric, value, details)."""

    file: str
    verdict: str
    says: str = ""
    figures: tuple[tuple[str, str, float, dict[str, object]], ...] = ()


def _at(size: int, placement: str) -> dict[str, object]:
    return {"size_bytes": size, "placement": placement}


BIG = 8589934592
SAMPLES_EXPECTED = (
    Sample("active-suite/nvcre_aws_gb200_4node_report.txt", "pass", "", (
        ("node", "bus_bandwidth", 882.51, {"test": "communication/nccl-all-reduce", "mnnvl": "Enabled"}),
        ("node", "bus_bandwidth", 191.40, {"test": "communication/nccl-all-reduce", "mnnvl": "Disabled"}),
        ("node", "bus_bandwidth", 58.15, {"test": "communication/nccl-alltoall"}))),
    Sample("active-suite/oci_h100_active_check.json", "impossible", "above what a H100 can do (3350)", (
        ("node", "gpus", 8, {}), ("node", "compute_rate", 5312.959155673028, {"statistic": "sum"}),
        ("node", "bus_bandwidth", 400.199, {"test": "all_reduce"}))),
    Sample("dcgm-diag-json/dcgm2_min_fail_and_warn.json", "fail-config", "Persistence Mode", (("node", "tests", 9, {}),
        )),
    Sample("dcgm-diag-json/dcgm2_min_pass.json", "pass", "", (("node", "tests_run", 9, {}),)),
    Sample("dcgm-diag-json/dcgm4_gb10_r1_persistence_fail.json", "fail-config", "dcgm/29", (("node", "tests", 1, {}),)),
    Sample("dcgm-diag-json/dcgm4_gb10_r2_plugins_allowed.json", "fail-config", "dcgm/29", (
        ("node", "tests", 3, {}), ("gpu/0", "gpu_to_host_bandwidth", 58.62, {}), ("gpu/0", "host_to_gpu_bandwidth",
            58.88, {}),
        ("gpu/0", "bidirectional_bandwidth", 58.69, {}), ("gpu/0", "memory_allocated", 87.5, {}))),
    Sample("dcgm-diag-text/dcgm318_h200_persistence_fail_wrapped.txt", "fail-config", "GPU 5", (("node", "gpus", 8,
        {}),)),
    Sample("dcgm-diag-text/dcgm333_a100_r2_pass.txt", "pass", "", (("node", "gpus", 8, {}), ("node", "tests", 11, {}))),
    Sample("dcgm-diag-text/dcgm339_a10g_targeted_power_fail.txt", "fail", "near miss", (
        ("gpu/1", "power_max", 224.1, {}), ("gpu/0", "power_max", 299.5, {}), ("gpu/2", "power_max", 227.0, {}),
        ("gpu/3", "power_max", 225.6, {}), ("gpu/1", "diag_failures", 1, {}))),
    Sample("dcgm-diag-text/dcgm442_a10g_r2_pass_single.txt", "pass", "", (("node", "tests", 3, {}),)),
    Sample("dcgm-diag-text/fragment_remap_pending.txt", "fail", "gpu/3"),
    Sample("dcgm-diag-text/nvlink_status_up.txt", "pass", "", (("gpu/0", "nvlinks_up", 12, {}), ("gpu/1", "nvlinks_up",
        12, {}))),
    Sample("dcgm-health/preflight_dcgm_diag_structured_log.jsonl", "fail", "dcgm/29", (
        ("node", "tests_failed", 2, {}), ("node", "tests_warned", 2, {}), ("node", "tests_skipped", 2, {}), ("node",
            "tests", 6, {}))),
    Sample("dmesg/kmsg_raw_format.txt", "pass", "", (("node", "xid_events", 0, {}), ("node", "sxid_events", 0, {}))),
    Sample("dmesg/pcie_limited_bandwidth.txt", "fail", "9c:00.0", (
        ("pci/0000:04:00.0", "pcie_available", 252.048, {}), ("pci/0000:9c:00.0", "pcie_available", 252.056, {}),
        ("pci/0000:02:00.0", "pcie_available", 4.0, {}))),
    Sample("dmesg/sxid_hopper.txt", "fail", "sxid/24007", (
        ("node", "sxid_continuations", 3, {}), ("pci/0000:c3:00", "events", 2, {"code": "sxid/24007"}))),
    Sample("dmesg/xid119_gsp_timeout.txt", "fail", "Xid 119", (("pci/0000:9b:00", "events", 5, {}),)),
    Sample("dmesg/xid13_storm_iso_unknown_pid.txt", "pass", "Xid 13", (
        ("pci/0000:38:00", "events", 58, {"code": "xid/13"}), ("pci/0000:38:00", "events", 2, {"code": "xid/43"}))),
    Sample("dmesg/xid149_144_145_nvlink5_lines.txt", "fail", "reset the GPU", (("pci/0000:00:00", "events", 2, {}),)),
    Sample("fabric-manager/fabric_manager_nonfatal_12028.log", "fail", "12028", (
        ("node", "error_lines", 18, {}), ("node", "error_ports", 9, {}))),
    Sample("fio/fio333_seqread_ok.json", "invalid", "direct=0", (("seqread", "error", 0, {}),)),
    Sample("fio/fio333_verify_failed_mixed.txt", "fail", "offset 983040", (("verify", "error", 84, {}),)),
    Sample("fio/nvme_randrw_fio316.json", "pass", "", (
        ("rand_read_write", "read_bandwidth", 340570, {}), ("rand_read_write", "read_iops", 85138.890741, {}),
        ("rand_read_write", "write_bandwidth", 340283, {}), ("rand_read_write", "write_iops", 85066.128925, {}),
        ("rand_read_write", "read_latency", 2244608, {}), ("rand_read_write", "write_latency", 2072576, {}))),
    Sample("gpu-burn/a100_8gpu_ok.txt", "pass", "", (
        *((f"gpu/{gpu}", "burn_ok", 1, {}) for gpu in range(8)), ("gpu/0", "compute_rate", 16942, {}), ("gpu/7",
            "errors", 0, {}))),
    Sample("gpu-burn/t4_faulty.txt", "fail", "FAULTY", (
        ("gpu/0", "errors", 30472096, {"statistic": "first"}), ("gpu/0", "compute_rate", 3064, {}), ("gpu/0",
            "temperature", 70, {}))),
    Sample("gpu-copy/superbench_gpu_copy_bw.log", "pass", "", (
        ("gpu/0", "cpu_to_gpu0_by_dma_under_numa0", 26.2387, {}), ("gpu/0", "gpu0_to_cpu_by_dma_under_numa0", 25.8516,
            {}),
        ("gpu/0", "gpu0_to_cpu_by_sm_under_numa0", 5.67346, {}), ("gpu/0", "gpu0_to_gpu1_write_by_dma", 279.287, {}))),
    Sample("gpu-metrics/dcgm_exporter_a800_mig_gpu0.prom", "incomplete", "gpu/0", (
        ("gpu/0/mig/3", "memory_free", 19957, {}), ("gpu/1", "memory_free", 81226, {}), ("gpu/7", "remap_failure", 0,
            {}))),
    Sample("gpu-metrics/nvidia_gpu_exporter_h100_idle.prom", "pass", "", (
        ("gpu/0", "sm_clock", 3.45e8, {}), ("gpu/0", "gpu_idle", 1, {}), ("gpu/0", "pcie_width", 16, {}),
        ("gpu/0", "power_average", 69.85, {}), ("gpu/0", "remap_histogram_max", 2560, {}), ("gpu/0", "remap_failure",
            0, {}))),
    Sample("gpu-metrics/nvidia_gpu_exporter_h200_load.prom", "pass", "", (
        ("gpu/0", "sm_clock", 1.98e9, {}), ("gpu/0", "sram_threshold", 0, {}), ("gpu/0", "pcie_width", 16, {}))),
    Sample("host-inventory/edac_sysfs.txt", "fail", "ue_count is 5", (
        ("mc/0", "ce_count", 1, {}), ("mc/0", "ce_noinfo_count", 2, {}), ("mc/0", "ue_count", 5, {}), ("mc/0",
            "ue_noinfo_count", 6, {}))),
    Sample("host-inventory/ethtool_eth0_statistics.txt", "incomplete", "two samples", (
        ("nic", "tx_packets", 961500, {}), ("nic", "rx_packets", 1260062, {}), ("nic", "rx_missed", 401, {}),
        ("nic", "port.rx_dropped", 12028, {}), ("nic", "duplicate metric", 1, {}), ("nic", "duplicate_metric", 2, {}))),
    Sample("host-inventory/gb200_compute_tray_1_info.json", "invalid", "GB200", (
        ("node", "gpus", 4, {}), ("node", "infiniband", 6, {}), ("node", "nics", 6, {}), ("node", "nvme", 1, {}),
        ("node", "block_devices", 12, {}))),
    Sample("hpl/hpl_cpu_trimmed.log", "pass", "", (
        ("node", "compute_rate", 8126.1, {"variant": "WR0XR8C48", "n": 384000, "nb": 384, "p": 1, "q": 2}),
        ("node", "time", 4645.37, {}), ("node", "residual", 4.12139792e-03, {}), ("node", "tests_passed", 1, {}),
        ("node", "tests_failed", 0, {}))),
    Sample("ibstat/ibstat.47.0.h100.all.active.1.txt", "pass", "", (("node", "ports", 12, {}), ("node", "ports_active",
        12, {}))),
    Sample("ibstat/ibstat.47.0.h100.some.down.0.txt", "fail", "Disabled", (("node", "ports", 12, {}), ("node",
        "ports_active", 9, {}))),
    Sample("ibstat/ibstatus.39.0.a100.all.active.0.txt", "pass", "", (
        ("port/mlx5_0/1", "rate", 200, {}), ("port/mlx5_8/1", "rate", 40, {}))),
    Sample("ibstat/rdma_link_text.txt", "pass", "", (("node", "ports", 9, {}), ("node", "fabric_ports_active", 8, {}))),
    Sample("ibstat/sysfs_infiniband_mlx4_i40iw.txt", "incomplete", "N/A (no PMA)", (
        ("port/mlx4_0/1", "link_downed", 0, {}), ("port/mlx4_0/1", "port_xmit_discards", 5, {}), ("port/mlx4_0/2",
            "link_downed", 0, {}))),
    Sample("k8s/allocatable_gpu_7_of_8.json", "incomplete", "MIG", (("node", "allocatable nvidia.com/gpu", 7, {}),)),
    Sample("k8s/describe_capacity_excerpt.txt", "pass", "", (("node", "capacity nvidia.com/gpu", 7, {}),)),
    Sample("k8s/eks_node_condition_xid79.txt", "fail", "xid/79", (("node", "condition AcceleratedHardwareReady", 0,
        {}),)),
    Sample("lldp/lldpcli_json_cumulus.json", "pass", "", (("node", "interfaces", 3, {}),)),
    Sample("lsblk/lsblk_4.json", "pass", "", (("node", "block_devices", 26, {}), ("node", "drives", 10, {}))),
    Sample("mlxlink/mft4341_400g_ok.json", "pass", "", (
        ("link", "raw_physical_ber", 5e-10, {}), ("lane/1", "raw_physical_ber", 1e-9, {}), ("link",
            "effective_physical_ber", 0, {}),
        ("link", "effective_physical_errors", 0, {}), ("link", "link_down", 0, {}), ("module", "module_temperature",
            61, {}),
        ("link", "rate", 400, {}), ("link", "width", 4, {}))),
    Sample("nccl-tests/a100_8gpu_allreduce_oldlayout_novalidation.txt", "incomplete", "not compared", (
        ("node", "bus_bandwidth", 235.26, _at(BIG, "out-of-place")), ("node", "bus_bandwidth", 235.03, _at(BIG,
            "in-place")),
        ("node", "average_bus_bandwidth", 68.4048, {}))),
    Sample("nccl-tests/a100_8gpu_alltoall.txt", "incomplete", "not compared", (
        ("node", "bus_bandwidth", 224.31, _at(BIG, "out-of-place")), ("node", "bus_bandwidth", 226.16, _at(BIG,
            "in-place")),
        ("node", "average_bus_bandwidth", 58.6481, {}))),
    Sample("nccl-tests/a100_8gpu_reducescatter.txt", "incomplete", "not compared", (
        ("node", "bus_bandwidth", 231.52, _at(BIG, "out-of-place")), ("node", "bus_bandwidth", 231.25, _at(BIG,
            "in-place")),
        ("node", "average_bus_bandwidth", 60.168, {}))),
    Sample("nccl-tests/gb200_nvl72_72gpu_excerpt.txt", "pass", "", (
        ("node", "ranks", 72, {}), ("node", "bus_bandwidth", 834.57, _at(BIG, "out-of-place")),
        ("node", "bus_bandwidth", 846.82, _at(BIG, "in-place")), ("node", "bus_bandwidth", 839.16, _at(4294967296,
            "out-of-place")),
        ("node", "average_bus_bandwidth", 745.53, {}), ("node", "out_of_bounds", 0, {}))),
    Sample("nccl-tests/gh200_2node_wrong_values.txt", "fail", "wrong values at 1048576", (
        ("node", "wrong_values", 96, _at(1048576, "out-of-place")), ("node", "wrong_values", 32, _at(1048576,
            "in-place")),
        ("node", "ranks", 2, {}), ("node", "nodes", 2, {}), ("node", "out_of_bounds", 4, {}),
        ("node", "bus_bandwidth", 22.80, _at(134217728, "in-place")), ("node", "average_bus_bandwidth", 4.79995, {}))),
    Sample("nccl-tests/h200_8gpu_single_size.txt", "pass", "", (
        ("node", "bus_bandwidth", 476.96, _at(BIG, "out-of-place")), ("node", "bus_bandwidth", 476.98, _at(BIG,
            "in-place")),
        ("node", "average_bus_bandwidth", 476.967, {}), ("node", "ranks", 8, {}), ("node", "nodes", 1, {}))),
    Sample("nccl-tests/p4de_2node_16gpu_mpi_prefix.txt", "incomplete", "average line", (
        ("node", "rows", 29, {}), ("node", "bus_bandwidth", 78.33, _at(2147483648, "in-place")))),
    Sample("nccl-tests/p5_2node_16gpu_mpi_prefix.txt", "incomplete", "average line", (
        ("node", "rows", 32, {}), ("node", "bus_bandwidth", 487.26, _at(17179869184, "in-place")))),
    Sample("nccl-tests/rccl_mi300x_2node_16gpu.txt", "incomplete", "8 of 32 rows", (
        ("node", "bus_bandwidth", 357.46, _at(17179869184, "out-of-place")), ("node", "bus_bandwidth", 356.00, _at(BIG,
            "in-place")),
        ("node", "average_bus_bandwidth", 92.3318, {}))),
    Sample("nvbandwidth/a100_d2d_readme.txt", "pass", "", (
        ("node", "device_to_device_memcpy_write_ce", 274.89, {"statistic": "min", "row": 6, "column": 0}),
        ("node", "device_to_device_memcpy_write_ce", 276.76, {"statistic": "max", "row": 4, "column": 3}))),
    Sample("nvbandwidth/gh200_v06_text.txt", "pass", "", (
        ("node", "host_to_device_memcpy_ce", 1985.60, {"statistic": "sum"}),
        ("node", "device_to_host_memcpy_ce", 607.26, {"statistic": "sum"}),
        ("node", "host_to_device_bidirectional_memcpy_ce", 176.92, {"statistic": "sum"}))),
    Sample("nvbandwidth/json_v05_1gpu_waived.json", "pass", "", (
        ("node", "host_to_device_memcpy_ce", 12.396361291250001, {"statistic": "sum"}), ("node", "waived_tests", 17,
            {}))),
    Sample("nvidia-smi/lspci_nn_gb200.txt", "pass", "", (("node", "gpus", 4, {}),)),
    Sample("nvidia-smi/nvlink_status_a100.txt", "pass", "", (
        ("node", "gpus", 8, {}), ("gpu/7", "nvlinks_up", 12, {}), ("gpu/7", "nvlink_speed", 25, {}))),
    Sample("nvidia-smi/q_a10_535.129.03_remap_pending.txt", "fail", "remap_pending is Yes", (
        ("gpu/0", "rows_remapped_correctable", 0, {}), ("gpu/0", "rows_remapped_uncorrectable", 4, {}),
        ("gpu/0", "remap_pending", 1, {}), ("gpu/0", "remap_failure", 0, {}), ("gpu/0", "temperature", 33, {}))),
    Sample("nvidia-smi/q_h100x8_535.161.08.txt", "fail", "hw_power_brake_slowdown is active", (
        ("node", "gpus", 8, {}), ("gpu/0", "power", 67.74, {}), ("gpu/0", "power_limit", 700, {}), ("gpu/0",
            "pcie_width", 16, {}),
        ("gpu/0", "pcie_generation", 5, {}), ("gpu/0", "remap_pending", 0, {}))),
    Sample("nvidia-smi/qx_a10g_v11.xml", "pass", "8x of 16x", (
        ("gpu/0", "temperature", 17, {}), ("gpu/0", "power", 25.58, {}), ("gpu/0", "pcie_generation", 1, {}), ("gpu/0",
            "pcie_width", 8, {}))),
    Sample("nvidia-smi/qx_t4_v11.xml", "pass", "", (
        ("gpu/0", "temperature", 40, {}), ("gpu/0", "power", 26.78, {}), ("gpu/0", "pages_pending", 0, {}))),
    Sample("nvidia-smi/table_550.90.07.txt", "pass", "", (
        ("node", "gpus", 8, {}), ("gpu/0", "temperature", 27, {}), ("gpu/0", "power", 72, {}), ("gpu/0",
            "memory_total", 81559, {}),
        ("gpu/0", "ecc_uncorrected", 0, {}))),
    Sample("nvidia-smi/topo_m_h100_mlx5_names.txt", "pass", "", (
        ("node", "gpus", 8, {}), ("node", "nvlink_pairs", 28, {}), ("node", "nvlinks_per_pair", 18, {}))),
    Sample("perftest/ib_send_bw_roce_mtu1024_slow.txt", "incomplete", "line rate", (
        ("node", "bandwidth", 56.75, {"statistic": "mean"}), ("node", "message_rate", 0.108237, {}))),
    Sample("perftest/ib_write_bw_hdr_8M_mbps.txt", "pass", "", (
        ("node", "bandwidth", 24056.72 * 2**20 * 8 / 1e9, {"statistic": "mean", "printed": 24056.72}),)),
    Sample("perftest/ib_write_bw_rdma_cm_200g.txt", "pass", "", (
        ("node", "bandwidth", 193.21, {"statistic": "mean"}), ("node", "bandwidth", 194.39, {"statistic": "peak"}))),
    Sample("redfish/dmtf_rackmount1_tree.json", "pass", "", (("node", "resources", 86, {}), ("node", "gpus", 0, {}))),
    Sample("redfish/gb300_exporter_tree.json", "pass", "", (
        ("node", "resources", 35, {}), ("node", "distinct_resources", 22, {}), ("node", "gpus", 4, {}))),
    Sample("redfish/leak_detector_leak.json", "fail", "LeakDetected"),
    Sample("redfish/supermicro_gb300_nvl_tree.json", "pass", "GB200", (
        ("node", "resources", 92, {}), ("node", "gpus", 4, {}), ("node", "cpus", 2, {}), ("node", "systems", 2, {}),
        ("node", "firmware_entries", 29, {}), ("/redfish/v1/Systems/HGX_Baseboard_0/Processors", "members", 6, {}))),
    Sample("redfish/thermal_subsystem_buggy.json", "pass"),
    Sample("smartctl/nvme_good.json", "pass", "", (
        ("drive/nvme0", "passed", 1, {}), ("drive/nvme0", "available_spare", 100, {}), ("drive/nvme0", "media_errors",
            0, {}),
        ("drive/nvme0", "percentage_used", 0, {}), ("drive/nvme0", "num_err_log_entries", 0, {}))),
    Sample("smartctl/nvme_missing_fields.json", "incomplete", "health log is missing"),
    Sample("stream/cpu_stream_zen.log", "pass", "", (
        ("cpu", "stream_copy", 342008.3, {}), ("cpu", "stream_scale", 342409.6, {}), ("cpu", "stream_add", 343827.7,
            {}),
        ("cpu", "stream_triad", 363208.7, {}))),
    Sample("stream/gpu_stream_b200like.log", "pass", "", (
        ("gpu/0", "stream_copy", 6711.67, {}), ("gpu/0", "stream_scale", 6680.42, {}), ("gpu/0", "stream_add", 7407.27,
            {}),
        ("gpu/0", "stream_triad", 7414.01, {}))),
    Sample("stress-ng/stressng_ok.txt", "pass", "", (("cpu", "bogo_operations", 2762, {}), ("vm", "bogo_operations",
        96089, {}))),
    Sample("stress-ng/stressng_ok.yaml", "pass", "", (("cpu", "bogo_operations", 2762, {}), ("vm", "bogo_operations",
        96089, {}))),
    Sample("time-sync/chronyc_sources_unreachable.txt", "fail", "no source is reachable", (("source/192.0.2.1",
        "reach", 0, {}),)),
    Sample("tpm/checkquote_wrong_nonce.txt", "fail", "nonce"),
    Sample("tpm/pcrread_sha256_and_sha1.txt", "pass", "sha1", (
        ("pcr/sha256", "pcrs", 8, {}), ("pcr/sha256", "zero_pcrs", 4, {}), ("pcr/sha1", "zero_pcrs", 2, {}))),
    Sample("tpm/quote_ok.yaml", "pass", "", (("pcr/sha256", "pcrs", 8, {}),)),
)  # fmt: skip


@pytest.mark.parametrize("sample", SAMPLES_EXPECTED, ids=lambda sample: sample.file)
def test_a_sample(sample: Sample) -> None:
    """The word, what is said about it, and the key values."""
    kind = sample.file.split("/")[0]
    text = (SAMPLES / sample.file).read_text("utf-8", "replace")
    document, verdict = parsed(kind, text), judged(kind, text)

    assert verdict.verdict.value == sample.verdict, verdict.reason
    said = " ".join([verdict.reason, *(f"{finding['code']} {finding['line']}" for finding in document["findings"])])
    assert sample.says in said
    for component, metric, expected, details in sample.figures:
        statistic = details.pop("statistic", None) if (details := dict(details)) else None
        assert value(document, component, metric, statistic, **details) == pytest.approx(expected, rel=1e-9)  # type: ignore[arg-type]


def test_every_sample_is_expected() -> None:
    """No file of the folder is left out of the table."""
    there = {f"{path.parent.name}/{path.name}" for path in SAMPLES.glob("*/*")}

    assert there == {sample.file for sample in SAMPLES_EXPECTED}
