"""Faults of figures, counters, tools and the TPM: each changes a freshly rendered node view, never the ground truth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lab.truth import data, measured_boot
from lab.truth.faults import ActiveFault
from lab.truth.view import xid_line

View = dict[str, Any]
Parameters = Mapping[str, Any]
_UNDER_LOAD_AT = 415.221904  # seconds since boot in the log line; any value after the driver's own lines
_LOAD_TOOLS = ("nvbandwidth", "all_reduce_perf")


def apply(view: View, faults: Iterable[ActiveFault]) -> View:
    """Lay the active faults over `view` (changed in place) and return it."""
    for fault in faults:
        change = _CHANGES.get(fault.name)
        if change is not None:
            change(view, fault.parameters)
    return view


def _gpu(view: View, parameters: Parameters) -> dict[str, Any]:
    gpu: dict[str, Any] = view["gpus"][int(parameters["gpu"])]
    return gpu


def _scale_all_reduce(view: View, factor: float) -> None:
    by_bytes = view["bandwidth"]["all_reduce"]["bus_bandwidth_gbps_by_bytes"]
    for size, value in by_bytes.items():
        by_bytes[size] = round(value * factor, 2)


def _scale_peers(view: View, gpu: int, factor: float) -> None:
    matrix = view["bandwidth"]["device_to_device_gbps"]
    for row, values in enumerate(matrix):
        for column, value in enumerate(values):
            if value is not None and gpu in (row, column):
                values[column] = round(value * factor, 2)


def _nvlink_degraded(view: View, parameters: Parameters) -> None:
    factor = 1.0 - float(parameters["amount"])
    _scale_all_reduce(view, factor)
    _scale_peers(view, int(parameters["gpu"]), factor)


def _nvlink_down(view: View, parameters: Parameters) -> None:
    links = _gpu(view, parameters)["nvlinks"]
    links[int(parameters["link"])]["up"] = False
    factor = sum(link["up"] for link in links) / len(links)
    _scale_all_reduce(view, factor)
    _scale_peers(view, int(parameters["gpu"]), factor)


def _stalls(view: View, parameters: Parameters) -> None:
    share, times = float(parameters["share"]), float(parameters["times"])
    _scale_all_reduce(view, 1.0 / (1.0 + share * (times - 1.0)))
    view["bandwidth"]["all_reduce"]["stalls"] = {"share": share, "times": times}


def _pcie_narrow(view: View, parameters: Parameters) -> None:
    gpu, index = _gpu(view, parameters), int(parameters["gpu"])
    gpu["pcie_width"] = int(parameters["width"])
    for direction in ("host_to_device_gbps", "device_to_host_gbps"):
        values = view["bandwidth"][direction]
        if values[index] is not None:
            values[index] = round(values[index] * gpu["pcie_width"] / gpu["pcie_width_max"], 2)


def _uncorrected(view: View, parameters: Parameters) -> None:
    gpu = _gpu(view, parameters)
    gpu["ecc_uncorrected"] = int(parameters["errors"])
    view["kernel_log"].append(xid_line(gpu, 48, _UNDER_LOAD_AT))


def _remap_pending(view: View, parameters: Parameters) -> None:
    gpu = _gpu(view, parameters)
    gpu["remap"].update(uncorrectable=1, pending=True)
    gpu["recovery_action"] = 1


def _remap_failed(view: View, parameters: Parameters) -> None:
    _gpu(view, parameters)["remap"].update(uncorrectable=8, failure=True)


def _xid_under_load(view: View, parameters: Parameters) -> None:
    view["kernel_log_under_load"].append(xid_line(_gpu(view, parameters), int(parameters["code"]), _UNDER_LOAD_AT))


def _gpu_lost_under_load(view: View, parameters: Parameters) -> None:
    _xid_under_load(view, {**parameters, "code": 79})
    view["tool_faults"].update(dict.fromkeys(_LOAD_TOOLS, "crash"))


def _throttled(view: View, parameters: Parameters) -> None:
    _gpu(view, parameters).update(
        temperature_celsius=int(parameters["temperature_celsius"]), throttle_reasons=int(parameters["reasons"])
    )


def _gpu_slow(view: View, parameters: Parameters) -> None:
    _gpu(view, parameters)["compute_share"] = 1.0 - float(parameters["amount"])


def _cooling_weak(view: View, parameters: Parameters) -> None:
    weak = {name: value for name, value in parameters.items() if name != "gpu"}
    _gpu(view, parameters)["cooling"] = weak


def _dcgm_fail(view: View, parameters: Parameters) -> None:
    view["dcgm"]["problems"].append(
        {
            "test": parameters["test"],
            "gpu": int(parameters["gpu"]),
            "status": "Fail",
            "error_id": int(parameters["error_id"]),
            "error_category": int(parameters["category"]),
            "error_severity": int(parameters["severity"]),
            "text": parameters["text"],
        }
    )


def _rail_slow(view: View, parameters: Parameters) -> None:
    factor = 1.0 - float(parameters["amount"])
    rail = view["rdma"][int(parameters["rail"])]
    rail["write_gbps"] = round(rail["write_gbps"] * factor, 2)
    _leaf_port_slow(view, parameters)


def _leaf_port_slow(view: View, parameters: Parameters) -> None:
    rail = view["rdma"][int(parameters["rail"])]
    rail["port_gbps"] = round(rail["port_gbps"] * (1.0 - float(parameters["amount"])), 2)


def _errors_rise(view: View, parameters: Parameters) -> None:
    rises = view["rises_under_load"].setdefault(str(parameters["where"]), {})
    rises[str(parameters["counter"])] = int(parameters["by"])


def _link_flaps(view: View, parameters: Parameters) -> None:
    rail, times = view["rdma"][int(parameters["rail"])], int(parameters["times"])
    rail["link_downed"] = times
    # The adapter beside the GPU of its number has the bus after it.
    bus = f"0000:{int(_gpu(view, {'gpu': parameters['rail']})['pci_bus_id'].split(':')[1], 16) + 1:02x}:00.0"
    texts = data.load("kernel_log.yaml")
    view["kernel_log"] += [
        str(texts[line]).format(at=_UNDER_LOAD_AT + 3 * turn + seconds, bus=bus, name=f"ib{parameters['rail']}")
        for turn in range(times)
        for seconds, line in ((0, "link_down"), (2, "link_up"))
    ]


def _port_down(view: View, parameters: Parameters) -> None:
    view["rdma"][int(parameters["rail"])]["up"] = False


def _drive_failing(view: View, parameters: Parameters) -> None:
    drive = next(one for one in view["drives"] if one["name"] == f"nvme{int(parameters['drive'])}n1")
    drive.update(
        critical_warning=4, spare_percent=4, media_errors=37, corrupts=True, read_gbps=round(drive["read_gbps"] / 2, 2)
    )


def _tool(what: str) -> Callable[[View, Parameters], None]:
    return lambda view, set_: view["tool_faults"].update({set_["tool"]: what})


def _tpm(what: str) -> Callable[[View, Parameters], None]:
    return lambda view, set_: view["tpm"].update(fault=what)


def _secure_boot_off(view: View, _: Parameters) -> None:
    view["tpm"]["events"] = [
        measured_boot.secure_boot(enabled=False) if event["pcr"] == measured_boot.SECURE_BOOT_PCR else event
        for event in view["tpm"]["events"]
    ]


_CHANGES: Mapping[str, Callable[[View, Parameters], None]] = {
    "nvlink-degraded": _nvlink_degraded,
    "nvlink-down": _nvlink_down,
    "pcie-narrow": _pcie_narrow,
    "hbm-uncorrected": _uncorrected,
    "hbm-slow": lambda view, set_: _gpu(view, set_).update(memory_share=1.0 - float(set_["amount"])),
    "hbm-corrected": lambda view, set_: _gpu(view, set_).update(ecc_corrected=int(set_["errors"])),
    "remap-pending": _remap_pending,
    "remap-failed": _remap_failed,
    "xid-under-load": _xid_under_load,
    "gpu-lost-under-load": _gpu_lost_under_load,
    "wrong-values": lambda view, set_: view["bandwidth"]["all_reduce"].update(wrong=int(set_["wrong"])),
    "intermittent": lambda view, set_: view["bandwidth"]["all_reduce"].update(first_gbps=float(set_["gbps"])),
    "stalls": _stalls,
    "throttled": _throttled,
    "gpu-slow": _gpu_slow,
    "computes-wrong": lambda view, set_: _gpu(view, set_).update(wrong_products=int(set_["errors"])),
    "cooling-weak": _cooling_weak,
    "persistence-off": lambda view, set_: _gpu(view, set_).update(persistence_mode=False),
    "fabric-incomplete": lambda view, set_: _gpu(view, set_).update(fabric_state=int(set_["state"])),
    "gpu-state-wrong": lambda view, set_: _gpu(view, set_).update({set_["value_of"]: set_["value"]}),
    "rail-slow": _rail_slow,
    "leaf-port-slow": _leaf_port_slow,
    "straggler": lambda view, set_: _gpu(view, set_).update(late_ms=float(set_["late_ms"])),
    "uplink-slow": lambda view, set_: view.update(uplink_share=1.0 - float(set_["amount"])),
    "port-down": _port_down,
    "errors-rise": _errors_rise,
    "setting-wrong": lambda view, set_: view["settings"].update({set_["setting"]: set_["value"]}),
    "drive-failing": _drive_failing,
    "nic-pcie-narrow": lambda view, set_: view["rdma"][int(set_["rail"])].update(pcie={"width": int(set_["width"])}),
    "link-flaps": _link_flaps,
    "tcp-slow": lambda view, set_: view.update(tcp_gbps=round(view["tcp_gbps"] * (1.0 - float(set_["amount"])), 2)),
    "roce-setting-wrong": lambda view, set_: view["rdma"][int(set_["rail"])]["ethernet"].update(
        {set_["setting"]: set_["value"]}
    ),
    "acs-on": lambda view, set_: view.update(pci={"acs_redirect": True}, gpu_direct_share=1.0 - float(set_["amount"])),
    "secure-boot-off": _secure_boot_off,
    "rdma-off": lambda view, set_: view.update(rdma_usable=False),
    "tool-hang": _tool("hang"),
    "tool-crash": _tool("crash"),
    "tool-truncated": _tool("truncate"),
    "tool-garbage": _tool("garbage"),
    "check-broken": lambda view, set_: view["tool_faults"].update({set_["check"]: set_["how"]}),
    "dcgm-fail": _dcgm_fail,
    "tpm-stale-quote": _tpm("stale-quote"),
    "tpm-wrong-key": _tpm("wrong-key"),
    "tpm-extra-event": _tpm("extra-event"),
    "tpm-zero-bank": _tpm("zero-bank"),
}
