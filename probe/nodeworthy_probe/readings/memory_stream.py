"""Memory bandwidth by STREAM's kernels, in GB/s (10^9 bytes): of each GPU (gpu_stream), and of the host (stream)."""

from __future__ import annotations

from nodeworthy_probe.content import stream
from nodeworthy_probe.content.sheet import Sheet
from nodeworthy_probe.records import Measurement, Reading, missing

from .context import Context

_UNFIT = ("document/", "value/", "row/", "tool/", "physics/", "correctness/")
_KERNELS = ("copy", "triad")
_OF_HOST = "cpu"


def read_gpus(text: str, context: Context) -> Reading:
    """Copy and triad of every expected GPU."""
    return _read(text, [(f"gpu/{index}", f"gpu/{index}") for index in context.expected_gpus], 1.0)


def read_host(text: str, _context: Context) -> Reading:
    """Copy and triad of the node; STREAM prints MB/s."""
    return _read(text, [("node", _OF_HOST)], 1e-3)


def _read(text: str, components: list[tuple[str, str]], scale: float) -> Reading:
    sheet = Sheet("stream", "stream")
    stream.read(text, sheet)
    problem = "; ".join(dict.fromkeys(note.line for note in sheet.notes if note.code.startswith(_UNFIT)))[:400]
    found = {} if problem else {(row.component, row.metric): row.value for row in sheet.rows}
    rows: list[Measurement] = []
    for component, name in components:
        for kernel in _KERNELS:
            value = found.get((name, f"stream_{kernel}"))
            metric = f"memory_{kernel}"
            rows.append(
                missing(component, metric, "GB/s", statistic="max")
                if value is None
                else Measurement(component, metric, value * scale, "GB/s", "max")
            )
    known = [(row.value, row.component) for row in rows if row.value is not None]
    spread = f"{min(known)[0]:.1f} GB/s ({min(known)[1]}) to {max(known)[0]:.1f} GB/s" if known else "nothing measured"
    return Reading(tuple(rows), tool_version=sheet.version, problem=problem or None, lines=(spread,))
