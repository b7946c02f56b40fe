"""What the kernel found of processors and memory: sockets, cores, threads, NUMA nodes, frequency."""

from __future__ import annotations

from nodeworthy_probe.parsers.json_document import mapping, sequence, whole
from nodeworthy_probe.parsers.numbers import finite
from nodeworthy_probe.records import Reading

from .context import Context
from .demands import document, nothing, rows

_UNITS = {
    "cpu_sockets": "count",
    "cpu_cores": "count",
    "cpu_threads": "count",
    "numa_nodes": "count",
    "cpu_frequency": "MHz",
    "memory_installed": "MiB",
}


def read(text: str, _context: Context) -> Reading:
    """A row per figure; one that the host does not tell is a missing row."""
    state = document(text)
    if not state:
        return nothing(_UNITS, "what the kernel found of processors and memory is not readable")
    sockets = [mapping(socket) for socket in sequence(state.get("sockets"))]
    memory = whole(state.get("memory_kib"))
    values = {
        "cpu_sockets": float(len(sockets)) if sockets else None,
        "cpu_cores": float(sum(whole(socket.get("cores")) or 0 for socket in sockets)) if sockets else None,
        "cpu_threads": finite(whole(state.get("threads"))),
        "numa_nodes": finite(whole(state.get("numa_nodes"))),
        "cpu_frequency": finite(state.get("frequency_mhz")),
        "memory_installed": None if memory is None else memory / 1024,
    }
    each = ", ".join(f"{socket.get('cores')} cores with {socket.get('threads')} threads" for socket in sockets)
    return Reading(rows(values, _UNITS), lines=(f"sockets: {each or 'none was readable'}",))
