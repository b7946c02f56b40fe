"""Results written by hand for the tests of the judge: one healthy node, and small ways to spoil it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from nodeworthy.evidence.measurements import EvidenceReference
from nodeworthy.evidence.records import StoredResult
from nodeworthy.evidence.verdicts import Judgement, Scope
from nodeworthy.qualification.baselines import Baseline, baselines_from_document
from nodeworthy.qualification.checks import failed_checks
from nodeworthy.qualification.columns import demanded
from nodeworthy.qualification.decision import Case, decide
from nodeworthy.qualification.frame import Context, Row, build_rows
from nodeworthy.qualification.references import references_from_document
from nodeworthy.qualification.sku import BmcProfile, Sku
from nodeworthy.qualification.suite_document import suite_from_document
from nodeworthy.qualification.suites import Suite

INCLUDE = Path(__file__).resolve().parents[3] / "include"
GPUS = 8
SIZE = {"size_bytes": 8589934592, "warmup_iterations": 5, "ranks": 8}
H100 = Sku(
    name="h100-sxm-8",
    version=1,
    models=("DGXH100",),
    parts=(),
    bmc=BmcProfile(system_id="DGX", read_timeout=timedelta(seconds=1)),
    firmware_set="h100-sxm-8-2026.11",
    gpus=GPUS,
    nvlinks_per_gpu=18,
    devices={"nic": tuple(f"mlx5_{rail}" for rail in range(8))},
)


class ShippedFiles:
    """The suites and baselines that the product ships, as the judge's library."""

    def suite(self, name: str) -> Suite:
        """Return a shipped suite."""
        return suite_from_document(json.loads((INCLUDE / "suites" / f"{name}.json").read_text()), self.suite, name)

    def baselines(self, sku: str) -> tuple[Baseline, ...]:
        """Return a SKU's shipped baselines with their references."""
        folder = INCLUDE / "baselines"
        references = references_from_document(json.loads((folder / f"{sku}-reference.json").read_text()))
        return baselines_from_document(json.loads((folder / f"{sku}.json").read_text()), references, sku)


def row(test: str, component: str, metric: str, value: float, unit: str, statistic: str = "single") -> dict[str, Any]:
    """Return one measurement of a result document."""
    return {
        "test": test,
        "component": component,
        "metric": metric,
        "value": value,
        "unit": unit,
        "statistic": statistic,
        "status": "ok",
        "parameters": dict(SIZE) if test == "collective.all_reduce" else {},
        "transport": None,
    }


PER_GPU = {
    "memory_total": (81559, "MiB"),
    "pcie_generation": (5, "count"),
    "pcie_width": (16, "count"),
    "pcie_width_current": (16, "count"),
    "nvlinks_up": (18, "count"),
    "ecc_uncorrected": (0, "count"),
    "rows_remap_pending": (0, "bool"),
    "rows_remap_failure": (0, "bool"),
    "throttle_hardware": (0, "bool"),
    "temperature": (31, "C"),
    "power_limit": (700, "W"),
    "persistence_mode": (1, "bool"),
    "fabric_state": (3, "count"),
    "recovery_action": (0, "count"),
    "fabric_status": (0, "count"),
    "ecc_mode": (1, "bool"),
    "mig_mode": (0, "bool"),
    "memory_used": (1, "MiB"),
    "inforom_valid": (1, "bool"),
    "pages_retired": (0, "count"),
}
OF_NODE = {
    "kernel.log": dict.fromkeys(
        (
            "xid_new",
            "sxid_new",
            "xid_since_boot",
            "xid_awaiting_boot",
            "hardware_events_new",
            "corrected_events_new",
            "pcie_links_narrow",
        ),
        (0, "count"),
    ),
    "host.settings": {
        "cpus_of_another_governor": (0, "count"),
        "modules_missing": (0, "count"),
        "numa_balancing": (0, "bool"),
        "clocksource_trusted": (1, "bool"),
        "gpu_direct_rdma": (1, "bool"),
        "swap": (0, "MiB"),
        "locked_memory_unlimited": (1, "bool"),
        "file_systems_full": (0, "count"),
        "numa_nodes_fragmented": (0, "count"),
    },
    "host.processes": dict.fromkeys(("processes_stuck", "file_systems_read_only", "zombies"), (0, "count")),
    "pcie.acs": {"acs_redirects": (0, "count")},
    "nvlink.topology": {"nvlink_pairs": (28, "count"), "nvlinks_per_pair": (18, "count")},
    "host.counters": {"memory_uncorrected_new": (0, "count"), "pcie_uncorrected_new": (0, "count")},
}
COUNTERS = {
    "gpu.counters": {
        "ecc_uncorrected_new": (0, "count"),
        "rows_remapped_new": (0, "count"),
        "pcie_replay_rate": (0, "1/min"),
        "slowed_by_heat": (0, "ms"),
    },
    "nvlink.counters": {"nvlink_errors_new": (0, "count")},
    "pcie.under_load": {"pcie_generation_reached": (5, "count")},
}
OF_NIC = {
    "pcie.link": {"link_share": (1, "ratio"), "link_width": (16, "count")},
    "pcie.settings": {"max_read_request": (4096, "B"), "relaxed_ordering": (1, "bool")},
    "network.ports": {"port_active": (1, "bool"), "port_rate": (400, "Gb/s")},
    "network.flaps": {"link_flaps": (0, "count")},
    "network.counters": {"link_downed_new": (0, "count"), "port_errors_new": (0, "count")},
}


def _measurements(noise: Callable[[float], float]) -> list[dict[str, Any]]:
    rows = [row("gpu.identity", "node", "gpu_count", GPUS, "count")]
    for gpu in range(GPUS):
        rows += [row("gpu.identity", f"gpu/{gpu}", name, *figure) for name, figure in PER_GPU.items()]
        rows += [row("gpu.diag", f"gpu/{gpu}", f"diag_{kind}failures", 0, "count") for kind in ("", "config_")]
        rows += [
            row("pcie.bandwidth", f"gpu/{gpu}", f"{way}_bandwidth", noise(52.0), "GB/s")
            for way in ("host_to_device", "device_to_host")
        ]
        peers = {other: noise(396.0) for other in range(GPUS) if other != gpu}
        rows += [
            row("nvlink.bandwidth", f"gpu/{gpu}-gpu/{other}", "peer_bandwidth", value, "GB/s")
            for other, value in peers.items()
        ]
        rows.append(row("nvlink.bandwidth", f"gpu/{gpu}", "peer_bandwidth_min", min(peers.values()), "GB/s", "min"))
    rows += [
        row("gpu.diag", "node", "diag_tests_run", 3, "count"),
        row("gpu.diag", "node", "diag_tests_skipped", 0, "count"),
    ]
    collective = "collective.all_reduce"
    rows.append(row(collective, "node", "bus_bandwidth", noise(478.9), "GB/s", "max"))
    rows += [
        row(collective, "node", name, value, unit)
        for name, value, unit in (
            ("wrong_values", 0, "count"),
            ("correctness_checked", 1, "bool"),
            ("ranks", 8, "count"),
        )
    ]
    for components, tests in (
        (("node",), OF_NODE),
        (tuple(f"gpu/{gpu}" for gpu in range(GPUS)), COUNTERS),
        (tuple(f"nic/{name}" for name in H100.devices["nic"]), OF_NIC),
    ):
        for test, figures in tests.items():
            rows += [row(test, one, name, *figure) for one in components for name, figure in figures.items()]
    return rows


TOOLS = {
    "gpu.identity": "nvml",
    "gpu.diag": "dcgmi",
    "pcie.bandwidth": "nvbandwidth",
    "nvlink.bandwidth": "nvbandwidth",
    "collective.all_reduce": "all_reduce_perf",
    "kernel.log": "kernel-log",
    "host.settings": "host-state",
    "host.processes": "host-processes",
    "nvlink.topology": "nvidia-smi",
    "pcie.link": "pci-link",
    "pcie.settings": "pci-settings",
    "pcie.acs": "pci-acs",
    "network.ports": "ibstat",
    "network.flaps": "link-flaps",
    **dict.fromkeys(
        ("gpu.counters", "nvlink.counters", "host.counters", "network.counters", "pcie.under_load"), "counters"
    ),
}


def healthy(node: str = "gpu-a01", noise: Callable[[float], float] = lambda figure: figure) -> dict[str, Any]:
    """Return the result document of a healthy H100 node of the virtual fleet, suite l1, episode 1."""
    tests = [
        {
            "test": test,
            "tool": tool,
            "tool_version": "1",
            "command": [tool],
            "parameters": {},
            "transport": "NVLS" if test == "collective.all_reduce" else None,
            "execution": "completed",
            "exit_code": 0,
            "duration_seconds": 1.5,
            "reason": None,
            "raw": {"file": f"raw/{test}.txt", "sha256": "0" * 64, "bytes": 10, "truncated": False},
        }
        for test, tool in TOOLS.items()
    ]
    return {
        "schema": "nodeworthy.result/1",
        "simulated": True,
        "probe_version": "1",
        "node": node,
        "serial": f"SN-{node}",
        "boot_id": "boot-1",
        "machine_id": "machine-1",
        "image": "validation-2026.11",
        "episode": 1,
        "nonce": "a" * 64,
        "suite": "l1",
        "sku": "h100-sxm-8",
        "plan_sha256": "b" * 64,
        "started_at": "2026-11-30T10:00:00+00:00",
        "finished_at": "2026-11-30T10:05:00+00:00",
        "versions": {"driver": "570.86.15", "cuda": "12.8", "dcgm": "4.4.2", "nccl": "2.26.2", "kernel": "6.8.0"},
        "tests": tests,
        "measurements": _measurements(noise),
        "texts": [],
        "findings": [],
        "attestation": None,
    }


def whole(document: dict[str, Any], sku: Sku) -> dict[str, Any]:
    """Return a document with the good result of each test of L1 that a SKU has by what it declares: files of its hosts,
    drives, parts. `healthy` is of a SKU that declares none of it."""
    files = ShippedFiles()
    known = {(one.test, one.metric, one.statistic): one for one in files.baselines(sku.name)}
    extra = [test for test in files.suite("l1").for_scope(Scope.HARDWARE, sku) if test.test not in TOOLS]
    records = [{**document["tests"][0], "test": test.test, "tool": test.tool, "transport": None} for test in extra]
    rows = []
    for test in extra:
        for spec in test.metrics:
            limit = known.get((test.test, spec.metric, spec.statistic))
            value = 0.0 if limit is None else limit.reached if limit.equals is None else limit.equals
            for component in demanded(spec, sku):
                rows.append(row(test.test, component, spec.metric, value or 0.0, spec.unit, spec.statistic))
    return {**document, "tests": [*document["tests"], *records], "measurements": [*document["measurements"], *rows]}


def noisy(seed: object, spread: float = 0.003, run: float = 0.01) -> Callable[[float], float]:
    """Return noise around a figure: the node's own spread and the run's noise, both normal, as fractions."""
    random = Random(str(seed))
    return lambda figure: figure * (1 + random.gauss(0.0, spread)) * (1 + random.gauss(0.0, run))


def find(document: Mapping[str, Any], metric: str, component: str) -> dict[str, Any]:
    """Return one measurement of a document, to be spoilt."""
    found: dict[str, Any] = next(
        row for row in document["measurements"] if (row["metric"], row["component"]) == (metric, component)
    )
    return found


def find_test(document: Mapping[str, Any], test: str) -> dict[str, Any]:
    """Return one test's record of a document, to be spoilt."""
    found: dict[str, Any] = next(row for row in document["tests"] if row["test"] == test)
    return found


def spoilt(change: Callable[[dict[str, Any]], object], node: str = "gpu-a01") -> dict[str, Any]:
    """Return a healthy document after `change`."""
    document = copy.deepcopy(healthy(node))
    change(document)
    return document


def degraded(document: dict[str, Any], gpu: int, amount: float) -> None:
    """Slow one GPU's links and the node's collective by `amount`, while nothing else shows."""
    for measured in document["measurements"]:
        if measured["test"] == "nvlink.bandwidth" and f"gpu/{gpu}" in measured["component"].split("-"):
            measured["value"] *= 1 - amount
        if measured["metric"] == "bus_bandwidth":
            measured["value"] *= 1 - amount
    for measured in document["measurements"]:
        if measured["metric"] == "peer_bandwidth_min":
            peers = [
                pair["value"]
                for pair in document["measurements"]
                if pair["metric"] == "peer_bandwidth" and pair["component"].startswith(f"{measured['component']}-")
            ]
            measured["value"] = min(peers)


def stored(document: Mapping[str, Any], node: str = "", scope: Scope = Scope.HARDWARE) -> StoredResult:
    """Return a document as the ledger keeps it."""
    name = node or str(document.get("node"))
    reference = EvidenceReference(f"SN-{name}/1/{scope}/bundle.tar.gz", "c" * 64, 1000)
    return StoredResult(name, 1, scope, "l1", reference, document, judged=False)


def context(result: StoredResult, files: ShippedFiles | None = None) -> Context:
    """Return what a stored result is judged with."""
    library = files or ShippedFiles()
    return Context(result, library.suite("l1"), H100, library.baselines("h100-sxm-8"), H100.firmware_set)


def judged_purely(document: Mapping[str, Any], node: str = "gpu-a01") -> Judgement:
    """Return the judgement of the reference implementation, without Great Expectations."""
    return judge_context(context(stored(document, node)))


def judge_context(given: Context) -> Judgement:
    """Return the reference implementation's judgement in a given context."""
    rows: tuple[Row, ...] = build_rows([given])
    failed = failed_checks(rows, given.suite.checks())
    return decide(Case(given.stored, given.suite, rows, failed))
