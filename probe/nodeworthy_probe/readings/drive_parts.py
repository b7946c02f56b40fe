"""The NVMe drives that the kernel found, compared with the parts of the SKU.

Arguments: ``--parts`` and a JSON list of ``count``, ``models``, ``capacity_mib`` with ``tolerance_percent``, and
``firmware`` (the last three may be left out); ``--scratch A,B``, drives whose content may be destroyed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nodeworthy_probe.parsers.json_document import mapping, sequence, whole
from nodeworthy_probe.parsers.numbers import finite
from nodeworthy_probe.records import Reading, Text

from .context import Context
from .demands import count_of, document, named, nothing, rows

_UNITS = {
    "drives_missing": "count",
    "drives_unknown": "count",
    "drives_of_another_size": "count",
    "drives_of_another_firmware": "count",
}
_SCRATCH = {"scratch_drives_in_use": "count"}
Drive = Mapping[str, Any]
Part = Mapping[str, Any]


def read(text: str, context: Context) -> Reading:
    """Drives that lack, are of no model of the SKU, or of another size or firmware than their part."""
    drives = _drives(text)
    parts = _parts(context.test.arguments)
    if drives is None or not parts:
        why = "the kernel's list of drives cannot be read" if parts else "the test names no parts to compare with"
        return nothing(_UNITS, why)
    found = _compared(drives, parts)
    head = f"{len(drives)} NVMe drives, {sum(_wanted(part) for part in parts)} demanded"
    lines = tuple(f"{metric.replace('_', ' ')}: {', '.join(said)}" for metric, said in found.items() if said)
    values = {metric: float(len(said)) for metric, said in found.items()}
    return Reading(rows(values, _UNITS), texts=_texts(drives), lines=(head, *lines))


def _compared(drives: Sequence[Drive], parts: Sequence[Part]) -> dict[str, list[str]]:
    """What is wrong with which drive, by metric."""
    by_model = {model: part for part in parts for model in sequence(part.get("models"))}
    known = [(one, by_model[_model(one)]) for one in drives if _model(one) in by_model]
    missing = [
        "/".join(sequence(part.get("models")))
        for part in parts
        for _ in range(_wanted(part) - sum(of is part for _, of in known))
    ]
    return {
        "drives_missing": missing,
        "drives_unknown": [_said(one) for one in drives if _model(one) not in by_model],
        "drives_of_another_size": [
            f"{_said(one)}, {one.get('capacity_mib')} MiB" for one, part in known if not _fits(one, part)
        ],
        "drives_of_another_firmware": [
            f"{_said(one)}, firmware {one.get('firmware')}"
            for one, part in known
            if part.get("firmware") and one.get("firmware") not in sequence(part.get("firmware"))
        ],
    }


def read_scratch(text: str, context: Context) -> Reading:
    """How many of the drives whose content may be destroyed are in use: partitioned, or part of something bigger."""
    drives = _drives(text)
    asked = [word for word in context.test.arguments[-1:] for word in word.split(",") if word]
    by_name = {one.get("name"): one for one in drives or ()}
    if drives is None or not asked or not set(asked) <= set(by_name):
        absent = ", ".join(sorted(set(asked) - set(by_name))) or "every drive"
        return nothing(_SCRATCH, f"the kernel does not know {absent}")
    used = [
        f"{name} ({', '.join(by)})"
        for name in asked
        if (by := [*sequence(by_name[name].get("partitions")), *sequence(by_name[name].get("holders"))])
    ]
    line = named(used, "scratch drives that something uses", "")
    return Reading(rows({"scratch_drives_in_use": count_of(used)}, _SCRATCH), lines=(line,))


def _drives(text: str) -> list[Drive] | None:
    found = document(text).get("drives")
    return [mapping(one) for one in sequence(found)] if isinstance(found, list) else None


def _parts(arguments: Sequence[str]) -> list[Part]:
    try:
        found = json.loads(arguments[arguments.index("--parts") + 1])
    except (ValueError, IndexError, RecursionError):
        return []
    return [mapping(part) for part in sequence(found)]


def _wanted(part: Part) -> int:
    return whole(part.get("count")) or 0


def _model(drive: Drive) -> str:
    return str(drive.get("model") or "")


def _said(drive: Drive) -> str:
    return f"{drive.get('name')} {_model(drive) or 'without a model'}"


def _fits(drive: Drive, part: Part) -> bool:
    wanted, seen = finite(part.get("capacity_mib")), finite(drive.get("capacity_mib"))
    if wanted is None:
        return True
    tolerance = finite(part.get("tolerance_percent")) or 0.0
    return seen is not None and abs(seen - wanted) <= wanted * tolerance / 100.0


def _texts(drives: Sequence[Drive]) -> tuple[Text, ...]:
    return tuple(
        Text(f"drive/{one['name']}", name, value)
        for one in drives
        if isinstance(one.get("name"), str)
        for name in ("model", "serial", "firmware")
        if isinstance(value := one.get(name), str) and value
    )
