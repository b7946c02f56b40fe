"""How many pairs of GPUs NVLink joins, and by how many links at least, from ``nvidia-smi topo -m``."""

from __future__ import annotations

from nodeworthy_probe.content import nvidia_topology
from nodeworthy_probe.content.sheet import Sheet
from nodeworthy_probe.records import Measurement, Reading, missing

from .context import Context

_UNFIT = ("document/", "value/", "row/", "tool/")


def read(text: str, context: Context) -> Reading:
    """Two rows of the node; without a consistent matrix of all expected GPUs both are missing."""
    sheet = Sheet("nvidia-smi", "nvidia-smi topo")
    nvidia_topology.topology(text.splitlines(), sheet)
    problem = "; ".join(dict.fromkeys(note.line for note in sheet.notes if note.code.startswith(_UNFIT)))[:400]
    found = {row.metric: row.value or 0.0 for row in sheet.rows}
    listed, expected = int(found.get("gpus", 0)), context.plan.expected_gpus
    if problem or listed != expected:
        nothing = (missing("node", "nvlink_pairs", "count"), missing("node", "nvlinks_per_pair", "count"))
        lines = (f"{listed} of {expected} GPUs are in the matrix",)
        return Reading(nothing, problem=problem or None, lines=lines)
    rows = tuple(
        Measurement("node", name, found.get(name, 0.0), "count") for name in ("nvlink_pairs", "nvlinks_per_pair")
    )
    lines = (f"{rows[0].value:g} pairs of GPUs are joined by NVLink, each by {rows[1].value:g} links at least",)
    notes = tuple(note.line for note in sheet.notes if note.code.startswith(("hardware/", "context/")))
    return Reading(rows, texts=tuple(sheet.texts), lines=(*lines, *notes[:8]))
