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

EXPECTED = {
    "sku-mismatch": Expected(("GPU", "h100-sxm-8", "names"), ("inventoried",)),
    "gpu-missing": Expected(("7 x GPU", "names 8"), ("inventoried",)),
    "dimm-missing": Expected(("31 x DIMM", "names 32"), ("inventoried",)),
    "drive-missing": Expected(("7 x drive", "names 8"), ("inventoried",)),
    "nic-missing": Expected(("7 x NIC", "names 8"), ("inventoried",)),
    "serial-swapped": Expected(("serial", "manifest names"), ("declared",)),
    "miscabled": Expected(("cabled to", "manifest names"), ("inventoried",)),
    "firmware-stuck": Expected(("HostBIOS_0 still runs 1.05.03",), ("conformant",), OLD),
    "firmware-task-fails": Expected(("update of HostBIOS_0", "failed"), ("conformant",), OLD),
    "firmware-needs-ac-cycle": Expected(("HostBIOS_0", "1.05.03"), ("conformant",), OLD),
    "bmc-silent": Expected(("BMC", "answer"), ("declared",)),
    "bmc-login-refused": Expected(("BMC", "login"), ("declared",)),
    "nvlink-degraded": Expected(("GB/s", "GPU 4"), QUARANTINED),
    "nvlink-down": Expected(("NVLink", "GPU 2"), QUARANTINED),
    "pcie-narrow": Expected(("PCIe", "GPU 1", "8"), QUARANTINED, NEVER),
    "hbm-uncorrected": Expected(("uncorrected", "GPU 6"), QUARANTINED, NEVER),
    "remap-pending": Expected(("GPU 0", "remap"), QUARANTINED, NEVER),
    "remap-failed": Expected(("GPU 0", "remap"), QUARANTINED),
    "xid-under-load": Expected(("Xid", "79"), QUARANTINED),
    "gpu-lost-under-load": Expected(("Xid", "79"), ("quarantined", "validation_booted"), NEVER),
    "wrong-values": Expected(("wrong",), QUARANTINED),
    "throttled": Expected(("GPU 7", "throttl"), QUARANTINED),
    "persistence-off": Expected(("persistence", "GPU 0"), BEFORE_BURN_IN, NEVER),
    "fabric-incomplete": Expected(("fabric", "GPU 0"), BEFORE_BURN_IN, NEVER),
    "tool-hang": Expected(("nvbandwidth", "time"), BEFORE_BURN_IN),
    "tool-crash": Expected(("all_reduce_perf",), BEFORE_BURN_IN),
    "tool-truncated": Expected(("nvbandwidth",), BEFORE_BURN_IN),
    "tool-garbage": Expected(("dcgmi",), BEFORE_BURN_IN),
    "dcgm-fail": Expected(("DCGM", "GPU 2", "80"), QUARANTINED),
    "no-boot": Expected(("boot progress", "PCIResourceConfigStarted"), ("declared", "firmware_current")),
    "boots-old-image": Expected(("service-2026.08", "service-2026.11"), ("burned_in",)),
    "reset-ignored": Expected(("ignored the reset",), ("firmware_current",)),
    "node-dies-in-test": Expected(("died while its tests ran", "not been Ready"), BEFORE_BURN_IN),
    "kubelet-silent": Expected(("no Ready Node",), ("firmware_current",), NEVER),
    "tpm-stale-quote": Expected(("nonce",), ("provisioned",)),
    "tpm-wrong-key": Expected(("sign",), ("provisioned",)),
    "tpm-extra-event": Expected(("PCR 4",), ("provisioned",), NEVER),
    "tpm-zero-bank": Expected(("zero",), ("provisioned",)),
}

BORNE = {"bmc-slow": {"set": {"seconds": 0.05}}, "hbm-corrected": {}}
"""Not worth refusing a node: a BMC that takes its time, and corrected errors, which no baseline limits."""
