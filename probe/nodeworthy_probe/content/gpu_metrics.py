"""Exporters of GPU metrics: dcgm-exporter, nvidia_gpu_exporter, AMD's device metrics exporter.

A GPU that lacks a series which others have (MIG and vGPU drop some) has an unknown state, not a
good one. What each series means stands in ``data/gpu_metrics.json``.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from functools import cache
from importlib import resources
from typing import Any

from .prometheus import Series, series
from .sheet import Sheet

TOOL = "gpu-exporter"
_GPU_LABELS = ("gpu", "gpu_id", "uuid", "UUID")
_PER_PROCESS = ("pid", "process_name", "err_code", "window_size_in_ms")
_TOOLS = (
    ("DCGM_FI_", "dcgm-exporter"),
    ("nvidia_smi_", "nvidia_gpu_exporter"),
    ("amd_", "amd-exporter"),
    ("gpu_", "amd-exporter"),
)


def read(text: str, sheet: Sheet) -> None:
    """Read all series and say what each GPU's mean."""
    found = series(text, sheet)
    sheet.tool = next((tool for prefix, tool in _TOOLS if any(one.name.startswith(prefix) for one in found)), TOOL)
    gpus = _gpus(found)
    names: dict[str, set[str]] = defaultdict(set)
    for one in found:
        gpu = _gpu(one, gpus)
        if gpu is not None:
            if not any(label in one.labels for label in _PER_PROCESS):
                names[gpu].add(one.name)
            _labels(gpu, one, sheet)
        _meaning(gpu or "node", one, sheet)
    sheet.number("node", "gpus", len(names), "count")
    if not names:
        sheet.note("document/unreadable", "file", "no series names a GPU")
    _lacking(names, sheet)


def _gpus(found: list[Series]) -> dict[str, str]:
    keys: dict[str, str] = {}
    for one in found:
        key = _key(one)
        if key is not None and key not in keys:
            keys[key] = f"gpu/{one.labels.get('gpu', len(keys))}"
    return keys


def _key(one: Series) -> str | None:
    return next((f"{one.labels[label]}" for label in _GPU_LABELS if label in one.labels), None)


def _gpu(one: Series, gpus: dict[str, str]) -> str | None:
    key = _key(one)
    return gpus.get(key) if key is not None else None


def _labels(gpu: str, one: Series, sheet: Sheet) -> None:
    known = {(text.component, text.name) for text in sheet.texts} if len(sheet.texts) < 600 else set()
    for label, name in (("modelName", "model"), ("name", "model"), ("UUID", "uuid"), ("uuid", "uuid"),
                        ("GPU_I_PROFILE", "mig_profile")):  # fmt: skip
        if label in one.labels and (gpu, name) not in known and len(sheet.texts) < 600:
            sheet.text(gpu, name, one.labels[label])
    driver = one.labels.get("DCGM_FI_DRIVER_VERSION") or one.labels.get("driver_version")
    sheet.version = sheet.version or driver


def _meaning(gpu: str, one: Series, sheet: Sheet) -> None:
    rule = next((rule for rule in _rules() if rule["pattern"].fullmatch(one.name)), None)
    if rule is None:
        return
    slice_id = one.labels.get("GPU_I_ID")
    component = f"{gpu}/mig/{slice_id}" if slice_id is not None else gpu
    sheet.number(component, rule["metric"], one.value, rule["unit"], parameters={"series": one.name})
    for code in _notes(rule, one):
        sheet.note(code, component, f"{one.name}{_which(rule, one)} is {one.value:g}")


def _which(rule: dict[str, Any], one: Series) -> str:
    return f" of {one.labels.get(rule['label'])}" if "label" in rule else ""


def _notes(rule: dict[str, Any], one: Series) -> list[str]:
    """What the value is worth: a mask names each of its bits, a count may stand under the label of an event."""
    if "bits" in rule:
        return [str(code) for bit, code in rule["bits"].items() if int(one.value) & int(bit)]
    if one.value <= 0:
        return [str(rule["note_if_zero"])] if "note_if_zero" in rule else []
    if "note" not in rule or ("values" in rule and one.value not in rule["values"]):
        return []
    if rule["note"] == "xid":
        number = one.labels.get(rule["label"], "0") if "label" in rule else f"{int(one.value)}"
        return [f"xid/{int(number)}"] if number.isdigit() and len(number) < 6 and int(number) else []
    return [str(rule["note"])] if "among" not in rule or one.labels.get(rule["label"]) in rule["among"] else []


def _lacking(names: dict[str, set[str]], sheet: Sheet) -> None:
    every = set().union(*names.values()) if names else set()
    for gpu, own in sorted(names.items()):
        lacking = sorted(every - own)
        for name in lacking[:20]:
            sheet.absent(gpu, name, "")
        if lacking:
            sheet.note("row/missing", gpu, f"{gpu} lacks {len(lacking)} series that others have, such as {lacking[0]}")
        if not any(_repair().search(name) for name in own):
            sheet.absent(gpu, "remap_state", "bool")
            sheet.note("row/missing", gpu, f"nothing tells whether {gpu} waits for a memory repair")
        if not any(re.search(r"temp", name, re.IGNORECASE) for name in every) and len(every) > 20:
            sheet.note("row/missing", gpu, f"no temperature of {gpu}")


@cache
def _data() -> dict[str, Any]:
    text = resources.files("nodeworthy_probe").joinpath("data/gpu_metrics.json").read_text("utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


@cache
def _rules() -> tuple[dict[str, Any], ...]:
    return tuple({**rule, "pattern": re.compile(rule["series"])} for rule in _data()["series"])


@cache
def _repair() -> re.Pattern[str]:
    return re.compile(str(_data()["memory_repair"]))
