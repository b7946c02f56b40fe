"""The active check of OCI's GPU scanner: a list whose items have different shapes.

``final_result`` says pass with parts that failed, so each part counts. Numbers stand as numbers,
as text, and as text with a unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, whole
from nodeworthy_probe.parsers.numbers import close, finite

from .sheet import Sheet

_GOOD = re.compile(r"pass|complete|ideal|acceptable|success|ok|good|normal", re.IGNORECASE)
_BAD = re.compile(r"fail|error|critical|poor|bad", re.IGNORECASE)
_SKIP = re.compile(r"skip|not run|unsupported|n/a", re.IGNORECASE)
_FIGURES = {"tflops": ("compute_rate", "TFLOPS"), "effective_tflops": ("compute_rate", "TFLOPS"),
            "achieved_tflops": ("compute_rate", "TFLOPS"), "mfu_percentage": ("mfu", "%"),
            "average_temperature": ("temperature", "C"), "average_power_w": ("power", "W"),
            "average_utilization": ("utilisation", "%"), "max_diff": ("max_difference", "")}  # fmt: skip
_STATES = ("status", "result", "overall_status", "final_result")


def read(document: Any, sheet: Sheet) -> None:
    """Read every item."""
    sheet.tool = "oci-gpu-scanner"
    items = [mapping(item) for item in (document if isinstance(document, list) else [document])]
    if document is None:
        return
    if not any("tests" in item for item in items):
        sheet.note("document/unreadable", "file", "the document is no active check that is known")
    for item in items:
        if "tests" in item:
            _check(item, sheet)
        else:
            _collectives(item, sheet)


def _collectives(item: dict[str, Any], sheet: Sheet) -> None:
    for name, values in item.items():
        for value in values if isinstance(values, list) else []:
            sheet.number("node", "bus_bandwidth", value, "GB/s", parameters={"test": name.removesuffix("_perf")})


def _check(item: dict[str, Any], sheet: Sheet) -> None:
    tests, info = mapping(item.get("tests")), mapping(item.get("gpu_info"))
    count = whole(info.get("gpu_count"))
    sheet.text("node", "model", info.get("gpu_name"))
    sheet.number("node", "gpus", count, "count")
    for name in ("final_result", "dtype"):
        if name not in item:
            sheet.note("row/missing", "file", f"{name} is missing")
    if _BAD.search(str(item.get("final_result", ""))):
        sheet.note("hardware/suite-failed", "node", f"final result {item['final_result']}")
    numbers: dict[str, int] = {}
    for name, part in tests.items():
        rows = mapping(mapping(part).get("gpu_results")) or mapping(mapping(part).get("per_gpu")) or mapping(part)
        gpus = {
            key: mapping(value)
            for key, value in rows.items()
            if key.upper().startswith("GPU") and isinstance(value, dict)
        }
        if gpus and count is not None and len(gpus) != count:
            sheet.note("row/missing", name, f"{name} has {len(gpus)} of {count} GPUs")
        for gpu, values in gpus.items():
            component = f"gpu/{numbers.setdefault(gpu, len(numbers))}"
            _gpu(component, name, values, str(info.get("gpu_name", "")), sheet)
        _states(name, part, sheet)
        _total(name, mapping(part), gpus, sheet)
    if len(numbers) != (count or 0):
        sheet.note("document/contradiction", "file", f"{len(numbers)} GPUs are named where the count is {count}")


def _gpu(component: str, test: str, values: dict[str, Any], model: str, sheet: Sheet) -> None:
    details = {"test": test}
    sheet.text(component, "model", model or values.get("gpu_name"))
    for key, (metric, unit) in _FIGURES.items():
        if key in values:
            sheet.number(component, metric, values[key], unit, parameters=details)
    if "bandwidth_gbps" in values and test == "memory_bandwidth":
        sheet.number(component, "memory_bandwidth", values["bandwidth_gbps"], "GB/s", parameters=details)
    difference, tolerance = finite(values.get("max_diff")), finite(values.get("tolerance"))
    if difference is not None and tolerance is not None and difference > tolerance:
        sheet.note(
            "correctness/wrong", component, f"{test}: difference {difference:g} above the tolerance {tolerance:g}"
        )
    if not values:
        sheet.note("row/missing", component, f"{test}: no figure")


def _states(test: str, part: object, sheet: Sheet) -> None:
    for place, state in _every_state(part, test, 0):
        if _BAD.search(state):
            sheet.note("hardware/suite-failed", place, f"{place} says {state}")
        elif _SKIP.search(state):
            sheet.note("test/skipped", place, f"{place} says {state}")
        elif "WARN" in state.upper():
            sheet.note("note/suite-warning", place, f"{place} says {state}")
        elif not _GOOD.search(state):
            sheet.note("row/unreadable", place, f"{place} says {state}")


def _every_state(value: object, place: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > 8:
        return
    for name, inner in mapping(value).items():
        if name in _STATES:
            yield place, str(inner)
        else:
            yield from _every_state(inner, f"{place}/{name}", depth + 1)


def _total(test: str, part: dict[str, Any], gpus: dict[str, dict[str, Any]], sheet: Sheet) -> None:
    total = finite(part.get("total_tflops"))
    if total is None:
        return
    sheet.number("node", "compute_rate", total, "TFLOPS", statistic="sum", parameters={"test": test})
    own = sum(finite(values.get("tflops")) or 0.0 for values in gpus.values())
    if not close(total, own, 1e-3):
        sheet.note("document/contradiction", test, f"{test}: the total contradicts its GPUs")
    if len(gpus) != whole(part.get("num_gpus")):
        sheet.note("row/missing", test, f"{test}: {len(gpus)} of {part.get('num_gpus')} GPUs")
