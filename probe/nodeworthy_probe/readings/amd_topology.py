"""How many pairs of GPUs xGMI joins directly, from ``amd-smi topology --json``.

A pair counts when both ends say the same: an enabled link of type XGMI over one hop. Between two OAM modules of one
baseboard there is one such link. Source: ROCm/amdsmi, CHANGELOG for ROCm 6.1.1 (the form with ``links``).
"""

from __future__ import annotations

from typing import Any

from nodeworthy_probe.parsers import amd_smi
from nodeworthy_probe.parsers.json_document import mapping, sequence, whole
from nodeworthy_probe.records import Measurement, Reading, missing

from .context import Context

_NOTHING = (missing("node", "nvlink_pairs", "count"), missing("node", "nvlinks_per_pair", "count"))


def read(text: str, context: Context) -> Reading:
    """Two rows of the node; without an entry for every expected GPU both are missing."""
    gpus = amd_smi.by_gpu(text)
    if isinstance(gpus, str):
        return Reading(_NOTHING, problem=gpus)
    expected = context.plan.expected_gpus
    lines = [f"{len(gpus)} of {expected} GPUs are in the topology"]
    if set(gpus) != set(range(expected)):
        return Reading(_NOTHING, lines=tuple(lines))
    joined = {index: _joined(row) for index, row in gpus.items()}
    pairs = {(one, other) for one, others in joined.items() for other in others if one < other}
    both = {(one, other) for one, other in pairs if one in joined.get(other, set())}
    lacking = [
        (one, other) for one in range(expected) for other in range(one + 1, expected) if (one, other) not in both
    ]
    lines += [f"GPU {one} and GPU {other} are not joined by a direct xGMI link" for one, other in lacking[:8]]
    lines.append(f"{len(both)} pairs of GPUs are joined by xGMI")
    rows = (
        Measurement("node", "nvlink_pairs", float(len(both)), "count"),
        Measurement("node", "nvlinks_per_pair", float(bool(both)), "count"),
    )
    return Reading(rows, lines=tuple(lines))


def _joined(row: dict[str, Any]) -> set[int]:
    found = set()
    for link in map(mapping, sequence(row.get("links"))):
        index = whole(link.get("gpu"))
        direct = (link.get("link_type"), link.get("link_status"), whole(link.get("num_hops"))) == ("XGMI", "ENABLED", 1)
        if index is not None and direct:
            found.add(index)
    return found
