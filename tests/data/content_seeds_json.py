"""Healthy documents in JSON and XML for `content_seeds`, one value on each line so that a line is a row."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

ALL = ("cut", "drop", "double", "not_a_number", "other_unit", "wrong_count")


def _text(document: Any) -> str:
    return json.dumps(document, indent=1) + "\n"


def _latency(low: int) -> dict[str, Any]:
    percentiles = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
    return {
        "min": low,
        "max": low * 9,
        "mean": low * 2.5,
        "stddev": low * 0.5,
        "percentile": {f"{place:.6f}": low + int(place * 10) for place in percentiles},
    }


def _fio() -> dict[str, Any]:
    read = {
        "io_bytes": 30720000000,
        "io_kbytes": 30000000,
        "bw_bytes": 1024000000,
        "bw": 1000000,
        "iops": 250000.0,
        "runtime": 30000,
        "total_ios": 7500000,
        "clat_ns": _latency(50000),
    }
    idle = {"io_bytes": 0, "io_kbytes": 0, "bw_bytes": 0, "bw": 0, "iops": 0.0, "runtime": 0, "total_ios": 0}
    options = {"name": "randread", "rw": "randread", "bs": "4k", "direct": "1", "runtime": "30", "time_based": "1"}
    return {
        "fio version": "fio-3.36",
        "jobs": [{"jobname": "randread", "error": 0, "job options": options, "read": read, "write": idle}],
    }


def _smart() -> dict[str, Any]:
    log = {
        "critical_warning": 0,
        "temperature": 42,
        "available_spare": 100,
        "available_spare_threshold": 10,
        "percentage_used": 1,
        "data_units_read": 7,
        "data_units_written": 8,
        "host_reads": 9,
        "host_writes": 11,
        "controller_busy_time": 2,
        "power_cycles": 28,
        "power_on_hours": 1187,
        "unsafe_shutdowns": 2,
        "media_errors": 0,
        "num_err_log_entries": 0,
        "warning_temp_time": 0,
        "critical_comp_time": 0,
    }
    return {
        "smartctl": {"version": [7, 4], "exit_status": 0},
        "device": {"name": "/dev/nvme0", "protocol": "NVMe"},
        "model_name": "M",
        "serial_number": "S",
        "firmware_version": "F",
        "smart_status": {"passed": True},
        "nvme_smart_health_information_log": log,
    }


def _mlxlink() -> dict[str, Any]:
    lanes = {"values": ["0", "0", "0", "0"]}
    module = {
        "Temperature [C]": "55 [-10..80]",
        "Voltage [mV]": "3235.5 [2970..3630]",
        "Bias Current [mA]": "250.1,251.2,252.3,253.4 [40..480]",
        "Rx Power Current [dBm]": "1.1,1.2,1.3,1.4 [-9.9..6.9]",
        "Tx Power Current [dBm]": "2.1,2.2,2.3,2.4 [-6.9..6.9]",
        "DataPath FW Fault": "0",
        "Module FW Fault": "0",
        "Rx CDR LOL [per lane]": lanes,
        "Rx LOS [per lane]": lanes,
        "Tx Fault [per lane]": lanes,
    }
    link = {"State": "Active", "Physical state": "LinkUp", "Speed": "400G", "Width": "4x", "FEC": "RS"}
    errors = {
        "Time Since Last Clear [Min]": "120.5",
        "Effective Physical Errors": "0",
        "Effective Physical BER": "15E-255",
        "Raw Physical BER": "5E-10",
        "Link Down Counter": "0",
        "Link Error Recovery Counter": "0",
        "Raw Physical BER Per Lane": {"values": ["1E-10", "2E-10", "3E-10", "4E-10"]},
    }
    output = {
        "Module Info": module,
        "Operational Info": link,
        "Physical Counters and BER Info": errors,
        "Tool Information": {"MFT Version": "4.34.1"},
    }
    return {"result": {"output": output}, "status": {"code": 0, "message": "success"}}


def _redfish() -> dict[str, Any]:
    base = "/redfish/v1/Systems/HGX_Baseboard_0/Processors"
    members = [{"@odata.id": f"{base}/GPU_{gpu}"} for gpu in range(4)]
    tree = {
        "/redfish/v1": {
            "@odata.id": "/redfish/v1",
            "@odata.type": "#ServiceRoot.v1_15_0.ServiceRoot",
            "RedfishVersion": "1.17.0",
        },
        base: {
            "@odata.id": base,
            "@odata.type": "#ProcessorCollection.ProcessorCollection",
            "Members": members,
            "Members@odata.count": 4,
        },
    }
    for gpu in range(4):
        tree[f"{base}/GPU_{gpu}"] = {
            "@odata.id": f"{base}/GPU_{gpu}",
            "@odata.type": "#Processor.v1_20_0.Processor",
            "ProcessorType": "GPU",
            "Model": "NVIDIA GB300",
            "SerialNumber": f"SN{gpu}",
            "Status": {"Health": "OK", "State": "Enabled"},
        }
    return tree


def _dcgm() -> dict[str, Any]:
    def test(name: str) -> dict[str, Any]:
        results = [{"entity_group": "GPU", "entity_id": gpu, "status": "Pass"} for gpu in range(2)]
        return {"name": name, "results": results, "test_summary": {"status": "Pass"}}

    categories = [
        {"category": "Deployment", "tests": [test("software")]},
        {"category": "Hardware", "tests": [test("memory")]},
    ]
    entities = [{"device_id": "2330", "entity_id": gpu, "serial_num": f"S{gpu}"} for gpu in range(2)]
    return {
        "DCGM Diagnostic": {"test_categories": categories},
        "entity_groups": [{"entities": entities, "entity_group": "GPU"}],
        "metadata": {"Driver Version Detected": "580.82.09", "version": "4.4.1"},
    }


def _lldp() -> dict[str, Any]:
    def entry(port: str) -> dict[str, Any]:
        chassis = {
            "leaf-1": {
                "id": {"type": "mac", "value": "02:00:00:00:00:01"},
                "capability": [{"type": "Bridge", "enabled": True}],
            }
        }
        return {
            "via": "LLDP",
            "rid": "4",
            "age": "1 day, 03:21:35",
            "chassis": chassis,
            "port": {"id": {"type": "ifname", "value": port}, "ttl": "120"},
        }

    return {"lldp": {"interface": {"p0": entry("swp1"), "p1": entry("swp2")}}}


def _lsblk() -> dict[str, Any]:
    drives = [{"name": f"nvme{drive}n1", "type": "disk", "size": "3.5T", "ro": False} for drive in range(4)]
    return {"blockdevices": drives}


def _jsonl() -> str:
    events = [
        {"event": "Running DCGM diagnostic level=2", "version": "dev"},
        {"event": "Diagnostic summary", "passed": 6, "failed": 0, "warned": 0, "skipped": 0, "total": 6},
    ]
    return "".join(json.dumps(event) + "\n" for event in events)


def _prom() -> str:
    lines = []
    for name, value in (
        ("DCGM_FI_DEV_XID_ERRORS", 0),
        ("DCGM_FI_DEV_GPU_TEMP", 45),
        ("DCGM_FI_DEV_POWER_USAGE", 98.5),
        ("DCGM_FI_DEV_ROW_REMAP_PENDING", 0),
        ("DCGM_FI_DEV_ROW_REMAP_FAILURE", 0),
    ):
        lines.append(f"# TYPE {name} gauge")
        lines += [
            f'{name}{{gpu="{gpu}",UUID="GPU-{gpu}",modelName="NVIDIA H100",Hostname="gpu-node-1"}} {value}'
            for gpu in range(2)
        ]
    return "\n".join(lines) + "\n"


def SEEDS(seed: Callable[..., Any]) -> tuple[Any, ...]:
    """The seeds whose text is a document."""
    return (
        seed(
            "fio",
            "fio",
            _text(_fio()),
            r'bw|iops"|io_bytes|runtime": 3|error|total_ios"',
            (('"total_ios": 7500000', '"total_ios": 7400000'),),
            False,
            ALL,
            1,
            '"total_ios": 0',
        ),
        seed(
            "smartctl",
            "smartctl",
            _text(_smart()),
            r"spare|warning|passed|media|percentage|exit",
            (),
            False,
            ALL,
            1,
            "critical_comp_time",
        ),
        seed(
            "mlxlink",
            "mlxlink",
            _text(_mlxlink()),
            r"State|BER|Errors|Speed|Width|Temperature",
            (('"Width": "4x"', '"Width": "8x"'),),
            False,
            ALL,
            1,
            '"code"',
        ),
        seed(
            "redfish",
            "redfish",
            _text(_redfish()),
            r"Members@|ProcessorType|GPU_\d\"$",
            (('count": 4', 'count": 5'),),
            False,
            ALL,
            1,
            '"State"',
        ),
        seed(
            "dcgm-json", "dcgm-diag-json", _text(_dcgm()), r"status|entity_id|\"name\"", (), False, ALL, 1, '"version"'
        ),
        seed("lldp", "lldp", _text(_lldp()), r"ttl|\"value\": \"swp|via", (), False, ALL, 1, "ttl"),
        seed("lsblk", "lsblk", _text(_lsblk()), r"name|type|size", (), False, ALL, 1, "nvme3n1"),
        seed(
            "preflight",
            "dcgm-health",
            _jsonl(),
            r"summary",
            (('"total": 6', '"total": 7'),),
            True,
            ALL,
            1,
            '"skipped": 0',
        ),
        seed("prometheus", "gpu-metrics", _prom(), r"^DCGM", (), True, ALL, 1, 'ROW_REMAP_FAILURE{gpu="1"'),
    )
