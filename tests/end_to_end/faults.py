"""What an operator must read for each fault of the lab: written by hand from what the fault is, not from the product.

`words` must all stand in the node's reason (in any case); `milestones` are where the node may stand then. `cure` stands
where the lab would heal the fault by the boot that bring-up does anyway.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

BEFORE_BURN_IN = ("validation_booted",)
QUARANTINED = ("quarantined",)


@dataclass(frozen=True)
class Expected:
    """One fault's row."""

    words: tuple[str, ...]
    milestones: tuple[str, ...]
    need: dict[str, Any] = field(default_factory=dict)


NEVER = {"cure": "never"}
OLD = {"old_firmware": True}
LIQUID = {"sku": "h200-sxm-8"}

EXPECTED = {
    "sku-mismatch": Expected(("GPU", "h100-sxm-8", "names"), ("inventoried",)),
    "gpu-missing": Expected(("7 x GPU", "names 8"), ("inventoried",)),
    "dimm-missing": Expected(("31 x DIMM", "names 32"), ("inventoried",)),
    "dimm-slow": Expected(("DIMM_3 runs at 4400 MT/s", "names 4800 MT/s"), ("inventoried",)),
    "drive-missing": Expected(("7 x drive", "names 8"), ("inventoried",)),
    "nic-missing": Expected(("7 x NIC", "names 8"), ("inventoried",)),
    "serial-swapped": Expected(("serial", "manifest names"), ("declared",)),
    "miscabled": Expected(("cabled to", "manifest names"), ("inventoried",)),
    "firmware-stuck": Expected(("HostBIOS_0 still runs 1.05.03",), ("conformant",), OLD),
    "firmware-task-fails": Expected(("update of HostBIOS_0", "failed"), ("conformant",), OLD),
    "firmware-needs-ac-cycle": Expected(("HostBIOS_0", "1.05.03"), ("conformant",), OLD),
    "bmc-silent": Expected(("BMC", "answer"), ("declared",)),
    "bmc-login-refused": Expected(("BMC", "login"), ("declared",)),
    "sel-critical": Expected(("EventLog", "MemoryECCUncorrectable", "clear the log"), ("inventoried",)),
    "secure-boot-off": Expected(("Secure Boot is disabled", "enable it"), ("inventoried",)),
    "bmc-unsafe": Expected(("account factory", "password"), ("inventoried",)),
    "chassis-failing": Expected(("fan FAN_3", "critical", "replace"), ("inventoried",)),
    "spdm-wrong": Expected(("HGX_IRoT_GPU_SXM_3", "measurement 2"), ("conformant",), LIQUID),
    "leak": Expected(("leaks", "Leak_Detector_0", "LeakDetected", "a person look"), ("declared",), LIQUID),
    "nvlink-degraded": Expected(("gpu/4", "GB/s", "4.0 % below"), QUARANTINED),
    "nvlink-down": Expected(("gpu/2", "nvlinks_up 17 is not 18"), QUARANTINED),
    "pcie-narrow": Expected(("gpu/1", "pcie_width_current 8 is not 16"), QUARANTINED, NEVER),
    "hbm-uncorrected": Expected(("gpu/6", "ecc_uncorrected 2 is not 0"), QUARANTINED, NEVER),
    "remap-pending": Expected(("gpu/0", "rows_remap_pending", "reset the GPU"), QUARANTINED, NEVER),
    "remap-failed": Expected(("gpu/0", "rows_remap_failure", "replace the GPU"), QUARANTINED),
    "xid-under-load": Expected(("Xid", "79"), QUARANTINED),
    "gpu-lost-under-load": Expected(("Xid", "79"), ("quarantined", "validation_booted"), NEVER),
    "wrong-values": Expected(("wrong",), QUARANTINED),
    "throttled": Expected(("gpu/7", "throttle_hardware", "airflow"), QUARANTINED),
    "persistence-off": Expected(("gpu/0", "persistence_mode", "fail-config"), BEFORE_BURN_IN, NEVER),
    "gpu-state-wrong": Expected(("gpu/5", "memory_used", "fail-config"), BEFORE_BURN_IN, NEVER),
    "fabric-incomplete": Expected(("gpu/0", "fabric_state", "Fabric Manager"), QUARANTINED, NEVER),
    "tool-hang": Expected(("tool-error", "pcie.bandwidth", "timed-out"), BEFORE_BURN_IN),
    "tool-crash": Expected(("tool-error", "collective.all_reduce", "signal 11"), BEFORE_BURN_IN),
    "tool-truncated": Expected(("tool-error", "pcie.bandwidth", "cut"), BEFORE_BURN_IN),
    "tool-garbage": Expected(("tool-error", "gpu.diag", "no JSON"), BEFORE_BURN_IN),
    "dcgm-fail": Expected(("gpu/2", "dcgm/80"), QUARANTINED),
    "errors-rise": Expected(("gpu/3", "nvlink_errors_new", "is not 0"), QUARANTINED),
    "port-down": Expected(("nic/mlx5_3", "port_active 0 is not 1", "cable"), QUARANTINED),
    "link-flaps": Expected(("nic/mlx5_3", "link_flaps", "exchange the cable"), QUARANTINED, NEVER),
    "nic-pcie-narrow": Expected(("nic/mlx5_3", "link_width 8 is not 16"), QUARANTINED, NEVER),
    "acs-on": Expected(("acs_redirects 16 is not 0", "fail-config"), BEFORE_BURN_IN, NEVER),
    "setting-wrong": Expected(("cpus_of_another_governor", "fail-config"), BEFORE_BURN_IN, NEVER),
    "no-boot": Expected(("boot progress", "PCIResourceConfigStarted"), ("declared", "firmware_current")),
    "boots-old-image": Expected(("service-2026.08", "service-2026.11"), ("burned_in",)),
    "reset-ignored": Expected(("ignored the reset", "boot progress SetupEntered"), ("firmware_current",)),
    "node-dies-in-test": Expected(("died while its tests ran", "not been Ready"), BEFORE_BURN_IN),
    # It falls silent with the boot: before the boot is proven, or right after.
    "kubelet-silent": Expected(("Ready",), ("firmware_current", "validation_booted"), NEVER),
    "tpm-stale-quote": Expected(("nonce",), ("provisioned",)),
    "tpm-wrong-key": Expected(("sign",), ("provisioned",)),
    "tpm-extra-event": Expected(("PCR 4",), ("provisioned",), NEVER),
    "tpm-zero-bank": Expected(("zero",), ("provisioned",)),
}

BORNE: dict[str, dict[str, Any]] = {
    "bmc-slow": {"set": {"seconds": 0.05}},
    "hbm-corrected": {},
    "hbm-slow": {},
    "check-broken": {},
    "drive-failing": {},
    "gpu-slow": {},
    "cooling-weak": {},
    "computes-wrong": {},
    "rail-slow": {},
    "leaf-port-slow": {},
    "uplink-slow": {},
    "straggler": {},
    "intermittent": {},
    "rdma-off": {},
    "tcp-slow": {},
    "roce-setting-wrong": {},
    "stalls": {},
}
"""Not worth refusing a node: a BMC that takes its time, corrected errors, which no baseline limits, a check of an
operator's own where no suite has one, a figure that was just beyond its limit once, and what L1 on one node cannot see:
drives, compute rates and products, what minutes of load do, single iterations, and the fabric between nodes."""

REMARKED = {"intermittent": ("node bus_bandwidth passed on the second try", "GB/s first, just beyond its limit")}
"""What a fault that can be borne leaves in the node's record all the same."""
