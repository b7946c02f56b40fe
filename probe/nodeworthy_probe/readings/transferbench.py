"""Host and peer bandwidth of AMD's GPUs in GB/s (10^9 bytes), from TransferBench.

The first argument says what is measured, which is no argument of the tool:

- ``host``: each GPU with the host memory of its own NUMA node, one way after the other, by the GPU's copy engine;
- ``host-both``: the same, both ways at once;
- ``peers`` and ``peers-write``: every ordered pair of GPUs alone (preset p2p), read or written by the one that copies;
- ``local``: each GPU within its own memory (the diagonal of p2p);
- ``all``: all pairs at once (preset a2a): the pairs' mean, each GPU's slowest pair, and what it receives in all.

For ``host`` a configuration file is written, because the presets let processors copy where a user's copy runs on the
GPU's engine. Source: ROCm/TransferBench, docs/examples/configfile_format.rst.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from nodeworthy_probe.amdgpu_sysfs import places
from nodeworthy_probe.parsers import transferbench
from nodeworthy_probe.records import Measurement, Reading, missing

from .context import Context

TOOL = "TransferBench"
_ROOT = "NODEWORTHY_HOST_ROOT"
_FILE = "transfers.cfg"
_HOST, _BOTH = "host", "host-both"
_PRESETS = {"peers": "p2p", "peers-write": "p2p", "local": "p2p", "all": "a2a"}
_HOST_METRICS = {
    _HOST: ("host_to_device_bandwidth", "device_to_host_bandwidth"),
    _BOTH: ("host_to_device_bidirectional_bandwidth", "device_to_host_bidirectional_bandwidth"),
}
_PEER_METRICS = {"peers": "peer_bandwidth", "peers-write": "peer_write_bandwidth"}
_UNIT = "GB/s"


def command(context: Context, folder: Path) -> list[str]:
    """The command line; what the presets do not offer is written to a configuration file in ``folder``."""
    mode, *rest = context.test.arguments or ("",)
    if mode in _PRESETS:
        return [TOOL, _PRESETS[mode], *rest]
    path = folder / _FILE
    path.write_text("".join(f"{line}\n" for line in _lines_of(mode, context)), "ascii")
    return [TOOL, str(path), *rest]


def _lines_of(mode: str, context: Context) -> list[str]:
    """One test a line: how many transfers, one engine for each, source -> engine -> target."""
    nodes = [_numa_node(place) for place in places(Path(os.environ.get(_ROOT) or "/"))]
    lines = []
    for gpu in context.expected_gpus:
        node = nodes[gpu] if gpu < len(nodes) else 0
        there, back = f"(C{node}->D{gpu}->G{gpu})", f"(G{gpu}->D{gpu}->C{node})"
        lines += [f"2 1 {there} {back}"] if mode == _BOTH else [f"1 1 {there}", f"1 1 {back}"]
    return lines


def _numa_node(place: Path) -> int:
    """The GPU's NUMA node; 0 where the firmware names none (-1)."""
    try:
        text = (place / "numa_node").read_text("ascii").strip()
    except OSError:
        return 0
    return int(text) if text.isdigit() else 0


def read(text: str, context: Context, _folder: Path | None = None) -> Reading:
    """A row per expected GPU (or pair), measured or missing."""
    mode = context.test.arguments[0] if context.test.arguments else ""
    reader = _READERS.get(mode)
    if reader is None:
        return Reading(problem=f"TransferBench is not asked for {mode!r}; there are {', '.join(_READERS)}")
    rows, problem = reader(text, mode, context)
    return Reading(tuple(rows), tool_version=transferbench.version(text), problem=problem, lines=_spread(rows))


Rows = tuple[list[Measurement], str | None]


def _host(text: str, mode: str, context: Context) -> Rows:
    found = transferbench.transfers(text)
    names = _HOST_METRICS[mode]
    known: dict[tuple[str, str], list[float]] = {}
    for one in () if isinstance(found, str) else found:
        metric = names[0] if one.source.startswith("C") else names[1]
        gpu = one.target if one.source.startswith("C") else one.source
        known.setdefault((f"gpu/{gpu[1:]}", metric), []).append(one.rate)
    rows = [_row(f"gpu/{index}", metric, known.get((f"gpu/{index}", metric), ()))
            for index in context.expected_gpus for metric in names]  # fmt: skip
    return rows, found if isinstance(found, str) else None


def _peers(text: str, mode: str, context: Context) -> Rows:
    cells = transferbench.peers(text)
    known: Mapping[tuple[str, str], float | None] = {} if isinstance(cells, str) else cells
    metric, rows = _PEER_METRICS[mode], []
    for index in context.expected_gpus:
        others = [other for other in context.expected_gpus if other != index]
        values = [known.get((f"gpu/{index}", f"gpu/{other}")) for other in others]
        rows += [_row(f"gpu/{index}-gpu/{other}", metric, () if value is None else (value,))
                 for other, value in zip(others, values, strict=True)]  # fmt: skip
        measured = [value for value in values if value is not None]
        lowest = (min(measured),) if measured and len(measured) == len(others) else ()
        rows.append(_row(f"gpu/{index}", f"{metric}_min", lowest, "min"))
    return rows, cells if isinstance(cells, str) else None


def _local(text: str, _mode: str, context: Context) -> Rows:
    cells = transferbench.peers(text)
    known: Mapping[tuple[str, str], float | None] = {} if isinstance(cells, str) else cells
    values = {index: known.get((f"gpu/{index}", f"gpu/{index}")) for index in context.expected_gpus}
    rows = [_row(f"gpu/{index}", "local_copy_bandwidth", () if value is None else (value,))
            for index, value in values.items()]  # fmt: skip
    return rows, cells if isinstance(cells, str) else None


def _all(text: str, _mode: str, context: Context) -> Rows:
    found = transferbench.all_to_all(text)
    whole = None if isinstance(found, str) else found
    rows = [_row("node", "all_to_all_pair", () if whole is None else (whole.average,), "mean")]
    for index in context.expected_gpus:
        sent = [rate for (one, _), rate in whole.pairs.items() if one == index] if whole else []
        total = (whole.received[index],) if whole and index in whole.received else ()
        rows.append(_row(f"gpu/{index}", "all_to_all_pair", (min(sent),) if sent else (), "min"))
        rows.append(_row(f"gpu/{index}", "all_to_all_received", total, "sum"))
    return rows, found if isinstance(found, str) else None


_READERS: Mapping[str, Callable[[str, str, Context], Rows]] = {
    _HOST: _host,
    _BOTH: _host,
    "peers": _peers,
    "peers-write": _peers,
    "local": _local,
    "all": _all,
}


def _row(
    component: str, metric: str, values: tuple[float, ...] | list[float], statistic: str = "single"
) -> Measurement:
    """The one value; none or several are a missing row."""
    if len(values) != 1:
        return missing(component, metric, _UNIT, statistic=statistic)
    return Measurement(component, metric, values[0], _UNIT, statistic)


def _spread(rows: list[Measurement]) -> tuple[str, ...]:
    lines = []
    for metric in dict.fromkeys(row.metric for row in rows):
        known = [(row.value, row.component) for row in rows if row.metric == metric and row.value is not None]
        if known:
            (low, lowest), (high, _) = min(known), max(known)
            lines.append(f"{metric}: {low:.2f} {_UNIT} ({lowest}) to {high:.2f} {_UNIT} over {len(known)} figures")
    return tuple(lines)
