"""dcgmi: ``discovery -l``, ``diag -r N [-j]`` (shapes of 4.x and 3.x) and ``health -c``.

The shape follows the DCGM version of the running image; ``NODEWORTHY_LAB_DCGM`` overrides it.
"""

from __future__ import annotations

import json
import os
from typing import Any

from lab.tools.dcgm_problems import category_of, problems
from lab.tools.view import NodeView, Output

_LEVELS = {
    1: (("Deployment", "software"),),
    2: (("Deployment", "software"), ("Integration", "pcie"), ("Hardware", "memory")),
    3: (("Deployment", "software"), ("Integration", "pcie"), ("Hardware", "memory"), ("Hardware", "diagnostic"),
        ("Stress", "targeted_stress"), ("Stress", "targeted_power"), ("Stress", "memory_bandwidth")),
    4: (("Deployment", "software"), ("Integration", "pcie"), ("Hardware", "memory"), ("Hardware", "diagnostic"),
        ("Hardware", "memtest"), ("Hardware", "pulse_test"), ("Stress", "targeted_stress"),
        ("Stress", "targeted_power"), ("Stress", "memory_bandwidth")),
}  # fmt: skip
_SECONDS = {1: 6.0, 2: 150.0, 3: 1500.0, 4: 5400.0}
_RUNS = {str(level): (tests, _SECONDS[level]) for level, tests in _LEVELS.items()}
_RUNS["targeted_power"] = ((("Stress", "targeted_power"),), 130.0)
_RUNS["eud"] = ((("Hardware", "eud"),), 1500.0)
_OLD_NAMES = {
    "eud": "EUD",
    "pcie": "PCIe",
    "memory": "GPU Memory",
    "diagnostic": "Diagnostic",
    "targeted_stress": "Targeted Stress",
    "targeted_power": "Targeted Power",
    "memory_bandwidth": "Memory Bandwidth",
    "memtest": "Memtest",
    "pulse_test": "Pulse Test",
}
_OLD_DEPLOYMENT = ("Denylist", "NVML Library", "CUDA Main Library", "Permissions and OS Blocks", "Persistence Mode",
                   "Environment Variables", "Page Retirement/Row Remap", "Graphics Processes", "Inforom")  # fmt: skip
_EXIT_ON_FAILURE = 226  # -30 as an unsigned byte, what dcgmi returns when the diagnostic found something


def run(_tool: str, arguments: list[str], view: NodeView) -> Output:
    """Dispatch to a subcommand."""
    command = arguments[0] if arguments else ""
    if command == "discovery":
        return Output(_discovery(view), seconds=0.5)
    if command == "diag":
        return _diag(arguments[1:], view)
    if command == "health":
        return Output(_health(view), seconds=0.5)
    if command in ("-v", "--version"):
        return Output(f"Version : {_version(view)}\n")
    return Output("", 1, error="PARSE ERROR: Couldn't find match for argument\n")


def _version(view: NodeView) -> str:
    return os.environ.get("NODEWORTHY_LAB_DCGM") or str(view.image.get("dcgm") or "4.4.2")


def _discovery(view: NodeView) -> str:
    gpus = view.gpus
    bar = "+--------+----------------------------------------------------------------------+"
    lines = [f"{len(gpus)} GPU{'' if len(gpus) == 1 else 's'} found.", bar,
             "| GPU ID | Device Information                                                   |", bar]  # fmt: skip
    for number, gpu in enumerate(gpus):
        facts = (f"Name: {gpu['name']}", f"PCI Bus ID: {gpu['pci_bus_id']}", f"Device UUID: {gpu['uuid']}")
        lines += [f"| {number if row == 0 else '':<6} | {fact:<68} |" for row, fact in enumerate(facts)] + [bar]
    lines += ["0 NvSwitches found.", "+-----------+", "| Switch ID |", "+-----------+", "+-----------+"]
    return "\n".join(lines) + "\n"


def _health(view: NodeView) -> str:
    found = problems(view)
    bar = "+---------------------------+----------------------------------------------------------+"
    lines = [bar, "| Health Monitor Report                                                                 |", bar,
             f"| {'Overall Health':<25} | {'Failure' if found else 'Healthy':<56} |"]  # fmt: skip
    for problem in found:
        lines.append(f"| {'GPU: ' + str(problem['gpu']):<25} | {problem['text'][:56]:<56} |")
    return "\n".join([*lines, bar]) + "\n"


def _diag(arguments: list[str], view: NodeView) -> Output:
    options = dict(zip(arguments, [*arguments[1:], ""], strict=True))
    level = options.get("-r", options.get("--run", "1"))
    if level not in _RUNS:
        return Output("", 1, error=f"Error: the lab's dcgmi runs {', '.join(_RUNS)}, not {level}\n")
    if not view.gpus:
        return Output("", 205, 1.0, "Error: Cannot get GPUs: No GPUs were found\n")
    if level == "eud" and not view.document.get("dcgm", {}).get("eud", True):
        text = 'Error: requested test "eud" was not found among possible test choices.'
        return Output(json.dumps({"DCGM Diagnostic": {"runtime_error": text}}) + "\n", _EXIT_ON_FAILURE, 2.0)
    tests, seconds = _RUNS[level]
    old = _version(view).startswith(("2.", "3."))
    found = [problem for problem in problems(view) if problem["test"] in {name for _, name in tests}]
    if "-j" in arguments or "--json" in arguments:
        document = _old_document(tests, found, view) if old else _document(tests, found, view)
        text = json.dumps(document, indent=2) + "\n"
    else:
        text = _table(tests, found, view)
    return Output(text, _EXIT_ON_FAILURE if found else 0, seconds, uses_gpu=level != "1")


def _document(tests: tuple[tuple[str, str], ...], found: list[dict[str, Any]], view: NodeView) -> dict[str, Any]:
    categories: dict[str, list[dict[str, Any]]] = {}
    for category, name in tests:
        categories.setdefault(category, []).append(_test(name, found, view))
    entities = [{"device_id": gpu["pci_device_id"][:4].lower(), "entity_id": number, "serial_num": gpu["serial"]}
                for number, gpu in enumerate(view.gpus)]  # fmt: skip
    return {
        "DCGM Diagnostic": {
            "test_categories": [{"category": name, "tests": rows} for name, rows in categories.items()]
        },
        "entity_groups": [{"entities": entities, "entity_group": "GPU", "entity_group_id": 1}],
        "metadata": {"Driver Version Detected": view.image.get("driver", ""), "version": _version(view)},
    }


def _test(name: str, found: list[dict[str, Any]], view: NodeView) -> dict[str, Any]:
    results: list[dict[str, Any]] = []
    all_warnings: list[dict[str, Any]] = []
    for number in range(len(view.gpus)):
        warnings = [_warning(problem) for problem in found if problem["test"] == name and problem["gpu"] == number]
        result: dict[str, Any] = {"entity_group": "GPU", "entity_group_id": 1, "entity_id": number,
                                  "status": "Fail" if warnings else "Pass"}  # fmt: skip
        if warnings:
            result["warnings"] = warnings
        elif name == "memory":
            size = int(view.gpus[number]["memory_total_mib"]) * 1024 * 1024
            result["info"] = [f"Allocated {size * 97 // 100} bytes (97.0%)"]
        results.append(result)
        all_warnings += warnings
    summary: dict[str, Any] = {"status": "Fail" if all_warnings else "Pass"}
    if all_warnings and _version(view) >= "4.5":
        summary["warnings"] = all_warnings  # 4.5 repeats them
    return {"name": name, "results": results, "test_summary": summary}


def _warning(problem: dict[str, Any]) -> dict[str, Any]:
    return {
        "error_category": problem.get("error_category", category_of(problem["error_id"])),
        "error_id": problem["error_id"],
        "error_severity": problem["error_severity"],
        "warning": problem["text"],
    }


def _old_document(tests: tuple[tuple[str, str], ...], found: list[dict[str, Any]], view: NodeView) -> dict[str, Any]:
    categories: dict[str, list[dict[str, Any]]] = {}
    for category, name in tests:
        rows = _old_deployment(found) if name == "software" else [_old_test(name, found, view)]
        categories.setdefault(category, []).extend(rows)
    gpus = view.gpus
    return {
        "DCGM GPU Diagnostic": {
            "test_categories": [{"category": name, "tests": rows} for name, rows in categories.items()]
        },
        "Driver Version Detected": view.image.get("driver", ""),
        "GPU Device IDs": [gpu["pci_device_id"][:4].lower() for gpu in gpus],
        "GPU Device Serials": {str(number): gpu["serial"] for number, gpu in enumerate(gpus)},
        "version": _version(view),
    }


def _old_deployment(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    problems_by_name: dict[str, list[dict[str, Any]]] = {}
    for problem in found:
        if problem["test"] == "software":
            problems_by_name.setdefault(problem.get("old_test", "Inforom"), []).append(problem)
    rows: list[dict[str, Any]] = []
    for name in _OLD_DEPLOYMENT:
        bad = problems_by_name.get(name, [])
        result: dict[str, Any] = {"status": "Fail" if bad else "Pass"}
        if bad:
            result["warnings"] = [{"warning": problem["text"], "error_id": problem["error_id"]} for problem in bad]
        rows.append({"name": name, "results": [result]})
    return rows


def _old_test(name: str, found: list[dict[str, Any]], view: NodeView) -> dict[str, Any]:
    results: list[dict[str, Any]] = []
    for number in range(len(view.gpus)):
        bad = [problem for problem in found if problem["test"] == name and problem["gpu"] == number]
        result: dict[str, Any] = {"gpu_ids": str(number), "status": "Fail" if bad else "Pass"}
        if bad:
            result["warnings"] = [{"warning": problem["text"], "error_id": problem["error_id"]} for problem in bad]
        results.append(result)
    return {"name": _OLD_NAMES[name], "results": results}


def _table(tests: tuple[tuple[str, str], ...], found: list[dict[str, Any]], view: NodeView) -> str:
    bar = "+---------------------------+------------------------------------------------+"
    ids = ",".join(gpu["pci_device_id"][:4].lower() for gpu in view.gpus)
    lines = ["Successfully ran diagnostic for group.", bar, _cells("Diagnostic", "Result"),
             "+===========================+================================================+",
             "|-----  Metadata  ----------+------------------------------------------------|",
             _cells("DCGM Version", _version(view)),
             _cells("Driver Version Detected", str(view.image.get("driver", ""))),
             _cells("GPU Device IDs Detected", ids[:46])]  # fmt: skip
    seen = ""
    for category, name in tests:
        if category != seen:
            lines.append(f"|-----  {category + '  ':-<20}+{'':-<48}|")
            seen = category
        bad = {problem["gpu"]: problem["text"] for problem in found if problem["test"] == name}
        lines.append(_cells(name, "Fail" if bad else "Pass"))
        lines += [_cells("", f"GPU{number}: {'Fail' if number in bad else 'Pass'}") for number in range(len(view.gpus))]
        for text in bad.values():
            lines += [_cells("Warning" if not at else "", text[at : at + 46]) for at in range(0, len(text), 46)]
    return "\n".join([*lines, bar]) + "\n"


def _cells(left: str, right: str) -> str:
    return f"| {left:<25} | {right:<46} |"
