"""Tools that look at the host rather than the GPUs: chronyc, stress-ng, smartctl and fio.

Formats: chrony 4.5 `tracking`; stress-ng 0.17 with `--stdout --metrics`; smartctl 7.4 `-jx`; fio 3.36 JSON.
"""

from __future__ import annotations

import json
from typing import Any

from lab.tools.view import NodeView, Output, disturbed

_PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
_STRESS_TABLE = [
    "stress-ng: metrc: [4711] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s",
    "stress-ng: metrc: [4711]                           (secs)    (secs)    (secs)   (real time) (usr+sys time)",
]
_BLOCKS = {"4k": 4096, "1M": 1 << 20}


def run(tool: str, arguments: list[str], view: NodeView) -> Output:
    """Render one run of the named tool."""
    return _TOOLS[tool](tool, arguments, view)


def _option(arguments: list[str], *names: str) -> str:
    for place, argument in enumerate(arguments):
        if argument in names and place + 1 < len(arguments):
            return arguments[place + 1]
        for name in names:
            if name.startswith("--") and argument.startswith(f"{name}="):
                return argument.partition("=")[2]
    return ""


def _chronyc(_tool: str, arguments: list[str], view: NodeView) -> Output:
    if "tracking" not in arguments:
        return Output("", 1, error="Unrecognized command\n")
    clock = view.document["clock"]
    offset, good = float(clock["offset_seconds"]), bool(clock["synchronised"])
    lines = {
        "Reference ID": "C0000201 (ntp1.lab)" if good else "00000000 ()",
        "Stratum": "3" if good else "0",
        "Ref time (UTC)": "Mon Nov 30 12:00:00 2026" if good else "Thu Jan 01 00:00:00 1970",
        "System time": f"{abs(offset):.9f} seconds {'fast' if offset >= 0 else 'slow'} of NTP time",
        "Last offset": f"{offset:+.9f} seconds",
        "RMS offset": f"{abs(offset) * 1.4:.9f} seconds",
        "Frequency": "12.345 ppm slow",
        "Residual freq": "+0.001 ppm",
        "Skew": "0.050 ppm",
        "Root delay": "0.000512000 seconds",
        "Root dispersion": "0.000210000 seconds",
        "Update interval": "64.2 seconds",
        "Leap status": "Normal" if good else "Not synchronised",
    }
    return Output("".join(f"{name:<16}: {value}\n" for name, value in lines.items()), seconds=0.1)


def _stress_ng(_tool: str, arguments: list[str], view: NodeView) -> Output:
    wanted = [(name, _option(arguments, f"--{name}")) for name in ("cpu", "vm", "matrix") if f"--{name}" in arguments]
    seconds = float((_option(arguments, "--timeout", "-t") or "60s").rstrip("s"))
    head = "stress-ng: info:  [4711] "
    hogs = [(name, int(count) or 112) for name, count in wanted]
    lines = [f"{head}setting to a {seconds:.0f} secs run per stressor",
             f"{head}dispatching hogs: {', '.join(f'{count} {name}' for name, count in hogs)}",
             *_STRESS_TABLE]  # fmt: skip
    noise = view.noise("stress-ng", view.attempt("stress-ng"))
    for name, count in hogs:
        operations = int(disturbed(900.0 * count * seconds, noise))
        busy = seconds * count * 0.98
        lines.append(f"stress-ng: metrc: [4711] {name:<13} {operations:>9} {seconds:>9.2f} {busy:>9.2f} {0.4:>9.2f} "
                     f"{operations / seconds:>12.2f} {operations / (busy + 0.4):>14.2f}")  # fmt: skip
    told = " ".join(f"{name} ({count})" for name, count in hogs)
    cores = 112
    lines += [f"{head}for a {seconds:.2f}s run time:", f"{head}{seconds * cores:10.2f}s available CPU time",
              f"{head}{seconds * cores * 0.98:10.2f}s user time   ( 98.00%)",
              f"{head}{0.8:10.2f}s system time (  0.01%)",
              f"{head}{seconds * cores * 0.98 + 0.8:10.2f}s total time  ( 98.01%)",
              f"{head}load average: 98.11 61.20 25.30"]  # fmt: skip
    lines += [f"{head}skipped: 0", f"{head}passed: {sum(count for _, count in hogs)}: {told}", f"{head}failed: 0",
              f"{head}metrics untrustworthy: 0", f"{head}successful run completed in {seconds:.2f} secs"]  # fmt: skip
    return Output("\n".join(lines) + "\n", seconds=seconds)


def _drive(arguments: list[str], view: NodeView, name: str) -> dict[str, Any] | None:
    return next((drive for drive in view.document["drives"] if drive["name"] == name.rsplit("/", 1)[-1]), None)


def _smartctl(_tool: str, arguments: list[str], view: NodeView) -> Output:
    drive = _drive(arguments, view, arguments[-1])
    head = {"version": [7, 4], "argv": ["smartctl", *arguments], "exit_status": 0 if drive else 2}
    if drive is None:
        missing = {"string": f"Smartctl open device: {arguments[-1]} failed: No such device", "severity": "error"}
        return Output(json.dumps({"smartctl": {**head, "messages": [missing]}}, indent=2) + "\n", 2, 0.3)
    document = {
        "json_format_version": [1, 0],
        "smartctl": head,
        "device": {"name": f"/dev/{drive['name']}", "type": "nvme", "protocol": "NVMe"},
        "model_name": drive["model"],
        "serial_number": drive["serial"],
        "firmware_version": drive["revision"],
        "smart_status": {"passed": not drive["critical_warning"], "nvme": {"value": drive["critical_warning"]}},
        "nvme_smart_health_information_log": {
            "critical_warning": drive["critical_warning"], "temperature": 34, "available_spare": drive["spare_percent"],
            "available_spare_threshold": 10, "percentage_used": drive["used_percent"], "data_units_read": 1204,
            "data_units_written": 988, "host_reads": 40211, "host_writes": 30112, "power_cycles": 21,
            "power_on_hours": 310, "unsafe_shutdowns": 4, "media_errors": drive["media_errors"],
            "num_err_log_entries": 0,
        },
    }  # fmt: skip
    return Output(json.dumps(document, indent=2) + "\n", seconds=0.3)


def _fio(_tool: str, arguments: list[str], view: NodeView) -> Output:
    place, seconds = _option(arguments, "--filename"), float((_option(arguments, "--runtime") or "30").rstrip("s"))
    drive = _drive(arguments, view, place)
    if drive is None:
        return Output(f"fio: failed opening {place}: No such file or directory\n", 1, 0.2)
    options = {word.removeprefix("--").partition("=")[0]: word.partition("=")[2] for word in arguments}
    kind = options.get("rw", "read")
    rate = disturbed(_rate(drive, kind), view.noise(f"fio {place}", view.attempt("fio")))
    block = _BLOCKS.get(options.get("bs", ""), 1 << 20)
    size = options.get("size", "")
    seconds = float(size.rstrip("g")) * (1 << 30) / rate if size.endswith("g") else seconds
    moved = _direction(rate, seconds, block)
    verified = kind == "write" and "verify" in options
    document = {
        "fio version": "fio-3.36",
        "global options": {},
        "jobs": [
            {
                "jobname": options.get("name", "read"),
                "groupid": 0,
                "error": 0,
                "job options": {**options, "filename": place},
                "read": moved if kind != "write" or verified else _direction(0.0, 0.0, block),
                "write": moved if kind == "write" else _direction(0.0, 0.0, block),
            }
        ],
    }
    wrong = verified and drive.get("corrupts")
    said = f"verify: bad magic header 0, wanted acca at file {place} offset 4096, length 1048576\n" if wrong else ""
    return Output(said + json.dumps(document, indent=2) + "\n", 1 if wrong else 0, seconds)


def _rate(drive: dict[str, Any], kind: str) -> float:
    """Bytes a second: sequential reads as the drive says, writes at half of that, random reads of 4 KiB at 40 %."""
    full = float(drive["read_gbps"]) * 1e9
    return {"write": full / 2, "randread": full * 0.4}.get(kind, full)


def _direction(rate: float, seconds: float, block: int) -> dict[str, Any]:
    count = int(rate * seconds / block)
    moved, milliseconds = count * block, int(seconds * 1000)
    per_second = int(moved / seconds) if seconds else 0
    latencies = {f"{point:.6f}": int(250_000 * (1 + point / 50)) for point in _PERCENTILES} if count else {}
    return {"io_bytes": moved, "io_kbytes": moved // 1024, "bw_bytes": per_second, "bw": per_second // 1024,
            "iops": count / seconds if seconds else 0.0, "runtime": milliseconds, "total_ios": count, "short_ios": 0,
            "drop_ios": 0, "clat_ns": {"min": 0, "max": 0, "mean": 0.0, "percentile": latencies}}  # fmt: skip


_TOOLS = {
    "chronyc": _chronyc,
    "stress-ng": _stress_ng,
    "smartctl": _smartctl,
    "fio": _fio,
}
