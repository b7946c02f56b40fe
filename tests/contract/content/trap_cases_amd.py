"""AMD's tools, in the form of `trap_cases`: each word is by content alone."""

from __future__ import annotations

import json

from tests.data.content_seeds_amd import all_to_all, amd_bad_pages, amd_metric, amd_static, amd_xgmi, peers

METRIC, STATIC, XGMI, PAGES = amd_metric(), amd_static(), amd_xgmi(), amd_bad_pages()
PAGE = {"page_address": 1, "page_size": 4096, "status": "x"}


def swap(text: str, old: str, new: str) -> str:
    """The first of one text by another."""
    assert old in text
    return text.replace(old, new, 1)


def _gpus(text: str, count: int) -> str:
    return json.dumps({"gpu_data": json.loads(text)["gpu_data"][:count]}, indent=4)


def _pages(section: str) -> str:
    document = json.loads(PAGES)
    document["gpu_data"][3][section] = PAGE
    return json.dumps(document, indent=4)


CASES = (
    ("amd: one uncorrectable error", "amd-smi",
     swap(METRIC, '"total_uncorrectable_count": 0', '"total_uncorrectable_count": 1'), "fail", "1 uncorrectable"),
    ("amd: errors are not counted", "amd-smi",
     swap(METRIC, '"total_uncorrectable_count": 0', '"total_uncorrectable_count": "N/A"'), "incomplete", "not told"),
    ("amd: deferred errors spoil nothing", "amd-smi",
     swap(METRIC, '"total_deferred_count": 0', '"total_deferred_count": 2'), "pass", ""),
    ("amd: heat slows a GPU", "amd-smi",
     swap(METRIC, '"socket_thermal_violation_status": "NOT ACTIVE"', '"socket_thermal_violation_status": "ACTIVE"'),
     "fail", "socket_thermal"),
    ("amd: seven of eight GPUs", "amd-smi", _gpus(METRIC, 7), "incomplete", "7"),
    ("amd: static of a GPU with other fields", "amd-smi",
     swap(STATIC, '"oam_id": 0', '"oam": 0'), "incomplete", "oam"),
    ("amd: ECC is off", "amd-smi", swap(STATIC, '"UMC": "ENABLED"', '"UMC": "DISABLED"'), "fail-config", "ECC"),
    ("amd: partitions may be meant", "amd-smi", STATIC.replace("SPX", "CPX"), "pass", ""),
    ("amd: another unit", "amd-smi", swap(STATIC, '"unit": "MB"', '"unit": "GB"'), "incomplete", "GB"),
    ("amd: the tool runs twice", "amd-smi", METRIC + METRIC, "incomplete", "twice"),
    ("amd: two commands in one file", "amd-smi", STATIC + METRIC + PAGES, "pass", ""),
    ("amd: a retired page is gone", "amd-smi", _pages("retired"), "pass", ""),
    ("amd: a page waits", "amd-smi", _pages("pending"), "fail", "bad_pages_pending is 1"),
    ("amd: a page cannot be retired", "amd-smi", _pages("un_res"), "fail", "bad_pages_unreservable is 1"),
    ("amd: a link is down", "amd-smi", swap(XGMI, '"U"', '"D"'), "fail", "xGMI link"),
    ("amd: a link is something else", "amd-smi", swap(XGMI, '"U"', '"?"'), "incomplete", "xGMI link"),
    ("amd: no GPU", "amd-smi", "AMD-SMI Command failed: AMDSMI_STATUS_NO_HARDWARE_FOUND\n", "fail", "NO_HARDWARE"),
    ("amd: not its JSON", "amd-smi", "GPU: 0\n    ASIC:\n        OAM_ID: 0\n", "incomplete", "--json"),
    ("amd: an empty list", "amd-smi", "[]\n", "incomplete", "nothing"),
    ("transferbench: a pair is slow, and the averages know nothing", "transferbench",
     swap(peers(), "49.00", "20.00"), "incomplete", "contradict"),
    ("transferbench: nothing was sent", "transferbench",
     all_to_all().split("Average")[0], "incomplete", "no whole summary"),
    ("transferbench: a transfer came back wrong", "transferbench",
     peers() + "[ERROR] Unexpected mismatch at index 7 of destination 0\n", "fail", "mismatch"),
    ("transferbench: a GPU that is not there", "transferbench",
     "TransferBench v1.62.00\n[ERROR] Test 1: GPU index must be between 0 and 6\n", "tool-error", "GPU index"),
    ("transferbench: stopped at its head", "transferbench", "TransferBench v1.62.00\n===\n", "incomplete", "cut"),
    ("transferbench: some cells are others than the averages say", "transferbench",
     peers().replace("49.", "99."), "incomplete", "contradict"),
)  # fmt: skip
