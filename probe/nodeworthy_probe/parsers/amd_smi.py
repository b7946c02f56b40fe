"""The JSON of ``amd-smi``: one entry per GPU, in a plain list or below ``gpu_data``, several documents after another.

Numbers stand alone or with their unit (``{"value": 750, "unit": "W"}``); what the driver does not tell is the text
``N/A``. ``xgmi --link-status`` prints two documents, whose entries for one GPU belong together. Warnings about groups
may stand before them. Source: ROCm/amdsmi, amdsmi_cli/amdsmi_commands.py and amdsmi_logger.py (ROCm 6.1 to 7.1).
"""

from __future__ import annotations

import json
import re
from typing import Any

from .json_document import mapping, sequence, whole
from .numbers import finite

_START = re.compile(r"^[\[{]", re.MULTILINE)
NO_BAD_PAGES = "No bad pages found."
Gpus = dict[int, dict[str, Any]]


def by_gpu(text: str) -> Gpus | str:
    """Everything that the documents say of each GPU, by its index; or a sentence why nothing can be read."""
    found: Gpus = {}
    decoder, end = json.JSONDecoder(parse_constant=_refuse), 0
    for start in (match.start() for match in _START.finditer(text)):
        if start < end:
            continue
        try:
            document, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            return "the JSON document is cut or garbled"
        problem = _add(document, found)
        if problem:
            return problem
    return found or "the output holds no entry of a GPU"


def _add(document: Any, found: Gpus) -> str | None:
    rows = sequence(mapping(document).get("gpu_data") if isinstance(document, dict) else document)
    seen: set[int] = set()
    for row in map(mapping, rows):
        index = whole(row.get("gpu"))
        if index is None or index in seen:
            return "an entry names no GPU" if index is None else f"GPU {index} is there twice"
        seen.add(index)
        found.setdefault(index, {}).update(row)
    return None


def _refuse(name: str) -> float:
    raise ValueError(name)


def at(row: object, *path: str) -> Any:
    """What lies at a path of keys; None where a step is missing."""
    for step in path:
        row = mapping(row).get(step)
    return row


def figure(value: object, unit: str = "") -> float | None:
    """A number, alone or with exactly this unit; None for ``N/A`` and anything else."""
    if isinstance(value, dict):
        return finite(value.get("value")) if value.get("unit") == unit else None
    return finite(value)


def word(value: object) -> str:
    """A text that is one; empty for ``N/A`` and for what is no text."""
    text = value.strip() if isinstance(value, str) else ""
    return "" if text.upper() == "N/A" else text


def pages(value: object) -> float | None:
    """How many bad pages one list of ``bad-pages`` holds: a sentence for none, one entry alone, or a list."""
    if value == NO_BAD_PAGES:
        return 0.0
    if isinstance(value, dict):
        return 1.0
    return float(len(value)) if isinstance(value, list) else None


_GENERATIONS = {2.5: 1.0, 5.0: 2.0, 8.0: 3.0, 16.0: 4.0, 32.0: 5.0, 64.0: 6.0}


def generation(speed_gts: float | None) -> float | None:
    """The PCIe generation of a link's rate in GT/s."""
    return None if speed_gts is None else _GENERATIONS.get(speed_gts)
